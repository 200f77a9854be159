"""A file's text and its lines: from a position in the text to a place that can be shown."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from spanward.errors import Place

_BREAK: Final = re.compile(r"\r\n|\n|\r")
# What YAML does not allow (1.2, production 1), and what looks like nothing in an editor but ends
# a line or a word for some readers of YAML.
_UNREADABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029\ufeff]"
)
_MARK: Final = "\ufeff"
"""The byte order mark: legal before the first character, where it is no part of the text."""


class Source:
    """The text of a file without byte order mark, and the places of its characters."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text.removeprefix(_MARK)
        breaks = list(_BREAK.finditer(self.text))
        self._starts = [0, *(found.end() for found in breaks)]
        self._ends = [*(found.start() for found in breaks), len(self.text)]
        self._lines: dict[int, str] = {}

    def place(self, start: int, end: int = 0) -> Place:
        """The place of the characters ``start <= i < end``, of those that are on start's line.

        At least one character is marked, also past the end of the line.
        """
        number = bisect_right(self._starts, start) - 1
        first, last = self._starts[number], self._ends[number]
        line = self._lines.setdefault(number, self.text[first:last])
        width = max(1, min(end, last) - start)
        return Place(self.file, number + 1, start - first + 1, line, width)

    @property
    def unreadable(self) -> int | None:
        """The position of the first character that no spec file may hold; None without one."""
        found = _UNREADABLE.search(self.text)
        return None if found is None else found.start()
