"""What the documentation shows is what the product does; nothing of the language is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from spanward.config import load_config
from spanward.dialects.hangar import Hangar
from spanward.errors import Problems, render_all
from spanward.item import COLUMNS, KINDS
from spanward.match import args, matcher, tool, where
from spanward.match.paths import SOURCES
from spanward.node import value_of
from spanward.operators import OPERATORS, SIBLINGS
from spanward.operators.each import _WINDOWS
from spanward.receive.senders import read_tokens
from spanward.specs import yaml
from spanward.specs.document import KEYS
from spanward.specs.source import Source
from spanward.specs.spec import SEVERITIES, UNITS
from spanward.verdict import Cause, Result
from tests.docs import examples as ex
from tests.docs.pages import ROOT, anchors, blocks, links, names_in, pages, prose, table

SPECS_PAGE: Final = ROOT / "docs" / "specs.md"
PAGES: Final = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages()]
BLOCKS: Final = [block for page in pages() for block in blocks(page)]
EXAMPLES: Final = [example for page in pages() for example in ex.examples(page)]

EXECUTED: Final = (
    ex.SPEC, ex.ITEMS, ex.AFTER_A_GAP, ex.MATCHERS, ex.WRONG, ex.VERDICT, ex.ANNOUNCEMENTS,
    ex.PROBLEMS, "yaml config", "text tokens", "console", "json verdict",
)  # fmt: skip
"""Kinds of blocks that tests run."""
FOR_READING: Final = ("sh", "python")
"""Kinds of blocks that are for reading only."""


def _shown(info: str) -> list[object]:
    found = [example for example in EXAMPLES if example.shown.info == info]
    return [pytest.param(example, id=example.shown.title) for example in found]


def _with(info: str) -> list[object]:
    return [pytest.param(block.text, id=block.title) for block in BLOCKS if block.info == info]


@pytest.mark.parametrize("example", _shown(ex.VERDICT))
def test_verdicts(example: ex.Example, tmp_path: Path) -> None:
    """The verdict that is shown is the product's, to the last word."""
    assert ex.verdicts(example, tmp_path) == example.shown.text


@pytest.mark.parametrize("example", _shown(ex.ANNOUNCEMENTS))
def test_announcements(example: ex.Example, tmp_path: Path) -> None:
    """What is announced, and when, is what is shown."""
    assert ex.announcements(example, tmp_path) == example.shown.text


@pytest.mark.parametrize("example", _shown(ex.MATCHERS))
def test_matchers(example: ex.Example, tmp_path: Path) -> None:
    """Each matcher matches the items that its comment names, and no others."""
    lines = ex.matcher_lines(example.shown)
    said = [(one, ex.matching(one, example, tmp_path)) for one, _ in lines]
    assert said == lines


@pytest.mark.parametrize("example", _shown(ex.PROBLEMS))
def test_problems(example: ex.Example) -> None:
    """A mistake is told in the very words and with the very caret that are shown."""
    assert ex.problems(example.spec) + "\n" == example.shown.text


@pytest.mark.parametrize("text", _with(ex.SPEC))
def test_specs_load(text: str) -> None:
    """A spec that is not shown for its mistakes has none, and no warning."""
    assert ex.compiled(text)


@pytest.mark.parametrize("text", _with("yaml config"))
def test_configurations_load(text: str, tmp_path: Path) -> None:
    """A configuration that is shown is accepted without a warning."""
    file = tmp_path / "config.yaml"
    file.write_text(text, "utf-8")
    problems = Problems()
    load_config(file, problems, {})
    assert render_all(problems.found) == ""


@pytest.mark.parametrize("text", _with("text tokens"))
def test_token_files_load(text: str, tmp_path: Path) -> None:
    """A token file that is shown is one, and names those of whom the page speaks."""
    (tmp_path / "tokens").write_text(text, "utf-8")
    assert set(read_tokens(tmp_path / "tokens").values()) == {"agent-7", "people"}


def test_every_block_is_of_a_known_kind() -> None:
    """A block that is neither run nor plainly for reading would go stale unseen."""
    strange = [f"{b.title}: {b.info}" for b in BLOCKS if b.info not in (*EXECUTED, *FOR_READING)]
    assert strange == []


# --- nothing of the language is left out


def _documents() -> list[object]:
    """All specs and matchers that the language reference shows, as values."""
    texts = [block.text for block in blocks(SPECS_PAGE) if block.info == ex.SPEC]
    for example in ex.examples(SPECS_PAGE):
        if example.shown.info == ex.MATCHERS:
            texts += [f"assert: {{never: {one}}}" for one, _ in ex.matcher_lines(example.shown)]
    nodes = [node for text in texts for node in yaml.read(Source("f", text), Problems())]
    return [value_of(node) for node in nodes]


SHOWN: Final = {path for document in _documents() for path in ex.key_paths(document)}


def _below(parent: str) -> set[str]:
    """The keys that stand directly below one key somewhere."""
    return {path[-1] for path in SHOWN if len(path) > 1 and path[-2] == parent}


def _two_below(parent: str) -> set[str]:
    return {path[-1] for path in SHOWN if len(path) > 2 and path[-3] == parent}


def test_every_operator_has_an_example() -> None:
    """And so have the keys beside it, its windows, and the sources of paths."""
    siblings = {key for keys in SIBLINGS.values() for key in keys}
    assert _below("assert") == {*OPERATORS, *siblings}
    assert _below("within") >= set(_WINDOWS)
    assert _below("count") >= {"match", "min", "max"}
    assert _below("from") >= set(SOURCES)
    assert _below("expected_tools") >= {"name", "args", "count"}


def test_every_matcher_key_has_an_example() -> None:
    """At the top of a matcher and inside of ``tool`` and ``approval``."""
    assert {path[-1] for path in SHOWN} >= set(matcher._KEYS)
    assert _below("tool") >= set(tool._TOOL_KEYS)
    assert _below("mcp") >= set(tool._MCP_COLUMNS)
    assert _below("approval") >= set(tool._APPROVAL_KEYS)
    assert _two_below("args") >= set(args._KINDS)


def test_every_test_of_where_has_an_example() -> None:
    """Scalars, lists and null too."""
    assert _two_below("where") >= {*where._PREDICATES, "<str>", "<int>", "<NoneType>", "<list>"}


def test_every_key_of_a_spec_is_shown() -> None:
    """With its example, or at least in the table."""
    assert {row[0].strip("`") for row in table(SPECS_PAGE, "Keys")} == set(KEYS)
    told = prose(SPECS_PAGE)
    words = (*KINDS, *UNITS, *SEVERITIES, *Result, *Cause)
    assert [word for word in words if f"`{word}`" not in told] == []


def test_every_column_is_told() -> None:
    """All that ``where`` may ask by a short name."""
    assert {row[0].strip("`") for row in table(SPECS_PAGE, "Columns")} == set(COLUMNS)


def test_every_native_attribute_is_told() -> None:
    """The table names what the native dialect reads, and nothing else."""
    rows = table(SPECS_PAGE, "Native attributes")
    assert {name for row in rows for name in names_in(row[0])} == Hangar.attributes


# --- links


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link leads to a file of the repository, and to a heading when it names one."""
    broken = []
    for link in links(page):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_can_be_found() -> None:
    """The index of the documentation links to every page, and the project's README to the index."""
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    assert {page for page in pages()[1:] if page != index} <= linked
    assert "docs/README.md" in links(ROOT / "README.md")
