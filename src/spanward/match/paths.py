"""The paths of an item, for ``all`` and ``any``: three questions that make a matcher each.

A ``file.change`` event gives one path; every element of ``hangar.diff.files`` gives one. A path
that is missing or no text matches nothing; a withheld one may be good or bad (semantics, 3, 5).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from spanward.item import EVENT, KINDS, SPAN
from spanward.match.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanward.item import Item
    from spanward.match.text import Pattern
    from spanward.match.truth import Truth

FILE_CHANGE: Final = "file.change"
DIFF_FILES: Final = "diff.files"
SOURCES: Final = (FILE_CHANGE, DIFF_FILES)

_KINDS: Final = frozenset(KINDS) - {SPAN}
"""A plain span is looked at only for its diff files; dialects make an item of it for these."""


class Paths:
    """Where paths come from, and which of them are good."""

    def __init__(self, sources: tuple[str, ...], globs: tuple[str, ...], good: Pattern) -> None:
        self.source = json.dumps([sorted(set(sources)), list(globs)])
        self._from_events = FILE_CHANGE in sources
        self._from_diffs = DIFF_FILES in sources
        self._good = good

    def may_come_from(self, item: Item) -> Truth:
        """Whether an item gives any path at all; a signature is enough to know."""
        if self._from_events and item.kind == EVENT and item.name == FILE_CHANGE:
            return True
        if self._from_diffs and "diff_files" in item.withheld:
            return None
        return self._from_diffs and bool(item.diff_files)

    def verdicts(self, item: Item) -> Iterator[Truth]:
        """Of each path of an item: whether it is good (None: withheld)."""
        if self._from_events and item.kind == EVENT and item.name == FILE_CHANGE:
            withheld = item.path is None and "path" in item.withheld
            yield None if withheld else self._is_good(item.path)
        if self._from_diffs and "diff_files" in item.withheld:
            yield None
        elif self._from_diffs:
            yield from map(self._is_good, item.diff_files or ())

    def _is_good(self, path: str | None) -> bool:
        return path is not None and self._good(path)


class _MayHavePath:
    """The item is of a kind that can give paths: what the signature alone can say."""

    key = "paths"
    cheap = True

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def __call__(self, item: Item) -> Truth:
        return self._paths.may_come_from(item)

    def found(self, item: Item) -> str:
        return f"a {item.kind} item without paths"


class _HasPath:
    """The item has a path of the wanted sort: any, a good one, a bad one."""

    key = "match"
    cheap = False

    def __init__(self, paths: Paths, wanted: bool) -> None:
        self._paths = paths
        self._wanted = wanted

    def __call__(self, item: Item) -> Truth:
        good = list(self._paths.verdicts(item))
        if self._wanted in good:
            return True
        return None if None in good else False

    def found(self, item: Item) -> str:
        names = {True: "good", False: "bad", None: "not captured"}
        return ", ".join(names[good] for good in self._paths.verdicts(item)) + " paths"


def has_path(paths: Paths) -> Matcher:
    """Matches an item with at least one path."""
    return Matcher(f"paths {paths.source}", (_MayHavePath(paths),), _KINDS)


def has_good(paths: Paths) -> Matcher:
    """Matches an item with at least one good path."""
    tests = (_MayHavePath(paths), _HasPath(paths, wanted=True))
    return Matcher(f"good {paths.source}", tests, _KINDS)


def has_bad(paths: Paths) -> Matcher:
    """Matches an item with at least one bad path."""
    tests = (_MayHavePath(paths), _HasPath(paths, wanted=False))
    return Matcher(f"bad {paths.source}", tests, _KINDS)
