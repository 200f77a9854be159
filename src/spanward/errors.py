"""Places, problems, and the one renderer that shows a person what is wrong and where."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

ERROR: Final = "error"
WARNING: Final = "warning"


class Place(msgspec.Struct, frozen=True):
    """Where something stands: ``line`` and ``column`` count from 1, columns in code points.

    ``text`` is the whole line, for the caret; ``width`` is how many characters the caret marks.
    """

    file: str
    line: int
    column: int
    text: str = ""
    width: int = 1


class Problem(msgspec.Struct, frozen=True):
    """One mistake, or one warning, at one place, with the likely fix (empty when none is known)."""

    place: Place
    message: str
    hint: str = ""
    severity: Literal["error", "warning"] = "error"


class Problems:
    """Collects problems, so that all of them are told at once."""

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._mistakes = 0

    def error(self, place: Place, message: str, hint: str = "") -> None:
        """Note a mistake; nothing is loaded once there is one."""
        self._found.append(Problem(place, message, hint, ERROR))
        self._mistakes += 1

    def warning(self, place: Place, message: str, hint: str = "") -> None:
        """Note what is legal but probably not meant."""
        self._found.append(Problem(place, message, hint, WARNING))

    @property
    def mistakes(self) -> int:
        """How often an error was noted so far; cheap, to ask whether a step added one."""
        return self._mistakes

    @property
    def found(self) -> tuple[Problem, ...]:
        """All problems, each once, by file, line and column."""
        return tuple(
            sorted(
                dict.fromkeys(self._found),
                key=lambda p: (p.place.file, p.place.line, p.place.column),
            )
        )

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The mistakes alone, in the same order."""
        return tuple(problem for problem in self.found if problem.severity == ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The warnings alone, in the same order."""
        return tuple(problem for problem in self.found if problem.severity == WARNING)


_EDITS: Final = 2
"""How far a misspelling may be from what was meant."""


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A hint that names the choice nearest to a word; empty when none is within two edits."""
    near = [(distance(word, choice), choice) for choice in choices]
    # As many edits as the word has letters would turn it into anything.
    likely = [(edits, choice) for edits, choice in near if edits <= _EDITS and edits < len(word)]
    if not likely:
        return ""
    _, nearest = min(likely, key=lambda pair: pair[0])
    return f"did you mean {str(nearest)!r}?"


def distance(word: str, other: str) -> int:
    """How many edits make one word the other: a letter put in, left out, changed, or two swapped.

    (Optimal string alignment.) Words whose lengths differ by more than two are not compared: the
    difference in length, which is then a lower bound, is the answer.
    """
    if abs(len(word) - len(other)) > _EDITS:
        return abs(len(word) - len(other))
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        before, above, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                best = min(best, above[j - 2] + 1)
            row.append(best)
    return row[-1]


_INDENT: Final = "    "
_SHOWN: Final = 96
"""Characters of a source line that are shown at most."""
_BEFORE: Final = 48
"""Characters of a longer line that are shown before the caret."""
_LONGEST: Final = 400
"""Characters of a message or a hint that are shown at most."""
_ELLIPSIS: Final = "…"


def render_all(problems: Iterable[Problem]) -> str:
    """Every problem as ``render`` shows it, one after the other; empty for none."""
    return "\n".join(render(problem) for problem in problems)


def render(problem: Problem) -> str:
    """A problem as text without a newline at its end.

    ``file:line:column: error: message`` (or ``warning:``), then, indented, the line, a caret under
    the place and the hint; what is not known is left out. Control characters are escapes.
    """
    place = problem.place
    where = f"{visible(place.file)}:{place.line}:{place.column}"
    lines = [f"{where}: {problem.severity}: {_clipped(problem.message)}"]
    if place.text:
        lines += [_INDENT + line for line in _excerpt(place)]
    if problem.hint:
        lines.append(f"{_INDENT}hint: {_clipped(problem.hint)}")
    return "\n".join(lines)


def visible(text: str) -> str:
    """A text in which each character that cannot be seen, or moves others, is an escape."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    # Controls, formats (bidi overrides), surrogates, line and paragraph separators.
    if unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    return character.encode("unicode_escape").decode("ascii")


def _clipped(text: str) -> str:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + _ELLIPSIS
    return visible(shown)


def _excerpt(place: Place) -> tuple[str, str]:
    """The line, clipped around the place, and the caret line that belongs under it."""
    at = place.column - 1
    start = max(0, min(at - _BEFORE, len(place.text) - _SHOWN)) if len(place.text) > _SHOWN else 0
    end = start + _SHOWN
    cells = [_cell(character) for character in place.text[start:end]]
    if start:
        cells.insert(0, _ELLIPSIS)
        start -= 1
    marked = at - start
    pad = "".join(_blank(cell) for cell in cells[:marked]) + " " * (marked - len(cells))
    under = "".join(_blank(cell) for cell in cells[marked : marked + place.width])
    if end < len(place.text):
        cells.append(_ELLIPSIS)
    return "".join(cells), f"{pad}^{'~' * (len(under) - 1)}"


def _cell(character: str) -> str:
    """What is shown for one character of a line; a tab stays one, so that it lines up."""
    return character if character == "\t" else _visible(character)


def _blank(cell: str) -> str:
    """As much blank as a cell is wide on a terminal."""
    return cell if cell == "\t" else " " * sum(_columns(character) for character in cell)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
