"""The pages of the documentation, as what a test can look at: fenced blocks, links, headings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).parents[2]
"""The top of the repository."""

_FENCE: Final = re.compile(
    r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```[ ]*$", re.DOTALL | re.MULTILINE
)
_LINK: Final = re.compile(r"\[[^\]]*\]\((?P<target>[^()\s]+)\)")
_HEADING: Final = re.compile(r"^#{1,6} (?P<words>.+)$", re.MULTILINE)
_NO_PART_OF_AN_ANCHOR: Final = re.compile(r"[^\w\- ]")


class Block(msgspec.Struct, frozen=True):
    """A fenced block: its page, the line of its fence, what stands behind the fence, its text."""

    page: Path
    line: int
    info: str
    text: str

    @property
    def title(self) -> str:
        """The block as a test's id shows it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page for users: the project's README and all below ``docs/``."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found["info"].strip(), found["text"])
        for found in _FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """The targets of a page's links, in order."""
    return [found["target"] for found in _LINK.finditer(prose(page))]


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, as GitHub makes it of their words."""
    headings = (found["words"] for found in _HEADING.finditer(prose(page)))
    return {
        _NO_PART_OF_AN_ANCHOR.sub("", words.lower()).strip().replace(" ", "-") for words in headings
    }


def table(page: Path, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, without its head; cells without blanks around.

    Raises ``ValueError`` when there is no such heading.
    """
    lines = page.read_text("utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.lstrip("#").strip() == heading)
    first = next(at for at in range(start, len(lines)) if lines[at].startswith("|"))
    rows = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def names_in(cell: str) -> list[str]:
    """What is written as code in a cell."""
    return re.findall(r"`([^`]+)`", cell)
