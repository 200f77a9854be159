"""The paths of items: where they come from, which are good, and what is withheld."""

from __future__ import annotations

import pytest

from spanward.item import Item
from spanward.match.matcher import Matcher
from spanward.match.paths import Paths, has_bad, has_good, has_path

from .compiled import call, event, span


def _asked(*sources: str) -> tuple[Matcher, Matcher, Matcher]:
    paths = Paths(sources, ("src/*",), lambda path: path.startswith("src/"))
    return has_path(paths), has_good(paths), has_bad(paths)


BOTH = ("file.change", "diff.files")


@pytest.mark.parametrize(
    ("sources", "item", "answers"),
    [
        (BOTH, event("file.change", path="src/a"), (True, True, False)),
        (BOTH, event("file.change", path="lib/a"), (True, False, True)),
        (BOTH, event("file.change"), (True, False, True)),
        (BOTH, event("file.change", withheld=["path"]), (True, None, None)),
        (BOTH, event("file.changed", path="src/a"), (False, False, False)),
        (BOTH, call(name="file.change", path="src/a"), (False, False, False)),
        (BOTH, span(diff_files=("src/a", "lib/b")), (True, True, True)),
        (BOTH, call(diff_files=("src/a", "src/b")), (True, True, False)),
        (BOTH, call(diff_files=("src/a", None)), (True, True, True)),
        (BOTH, call(diff_files=()), (False, False, False)),
        (BOTH, call(), (False, False, False)),
        (BOTH, call(withheld=["diff_files"]), (None, None, None)),
        (
            BOTH,
            event("file.change", path="src/a", withheld=["diff_files"]),
            (True, True, None),
        ),
        (("diff.files",), event("file.change", path="src/a"), (False, False, False)),
        (("file.change",), span(diff_files=("src/a",)), (False, False, False)),
        (("file.change",), call(withheld=["diff_files"]), (False, False, False)),
    ],
)
def test_the_paths_of_an_item(
    sources: tuple[str, ...], item: Item, answers: tuple[bool | None, ...]
) -> None:
    """Whether it has any, a good one, a bad one; one that is no text matches nothing."""
    assert tuple(matcher.answer(item) for matcher in _asked(*sources)) == answers


def test_the_same_paths_are_the_same_matcher() -> None:
    """However often and in whichever order the sources are named."""
    assert _asked(*BOTH)[0].source == _asked("diff.files", "file.change", "diff.files")[0].source
    assert _asked(*BOTH)[0].source != _asked("file.change")[0].source
    assert len({matcher.source for matcher in _asked(*BOTH)}) == 3


def test_words_for_paths() -> None:
    """What is there, in the order of the paths."""
    _, good, bad = _asked(*BOTH)
    assert good.why(call()) == ("paths", "a tool.call item without paths")
    assert good.why(event("file.change", withheld=["path"])) == ("match", "not captured paths")
    assert bad.why(call(diff_files=("src/a", "src/b"))) == ("match", "good, good paths")
    assert good.why(call(diff_files=("lib/a",))) == ("match", "bad paths")
