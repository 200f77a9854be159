"""Reading recordings: OTLP JSON lines from files, ``.gz`` files, and standard input."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

STDIN = "-"


def lines(paths: Iterable[str]) -> Iterator[tuple[str, int, bytes]]:
    """The lines of all files in order: (file, line number from 1, text); blank ones are skipped.

    Raises ``OSError`` or ``EOFError`` for what cannot be read to its end.
    """
    for path in paths:
        with _opened(path) as source:
            for number, line in enumerate(source, 1):
                if line.strip():
                    yield path, number, line


def _opened(path: str) -> BinaryIO:
    if path == STDIN:
        return sys.stdin.buffer
    if path.endswith(".gz"):
        return gzip.open(path)  # type: ignore[return-value]  # a GzipFile reads as a BinaryIO
    return Path(path).open("rb")
