"""Paths to the texts of spec files."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from spanward.errors import Place, Problems
from spanward.specs.source import Source

_SUFFIXES: Final = (".yaml", ".yml")
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def sources(paths: Sequence[Path], problems: Problems) -> Iterator[Source]:
    """The text of every spec file under some paths; what cannot be read is noted and left out.

    A path is a file, or a directory whose ``*.yaml`` and ``*.yml`` are taken, recursively and
    sorted; what is hidden (a name that begins with a dot) is not. A file that several paths or
    links lead to is read once.
    """
    seen: set[str] = set()
    for path in paths:
        for file in _files(path, problems):
            real = os.path.realpath(file)
            if real in seen:
                continue
            seen.add(real)
            source = _read(file, problems)
            if source is not None:
                yield source


def decode(raw: bytes, file: str, problems: Problems) -> Source | None:
    """The text of a file's bytes; None, with the place noted, when they are not UTF-8."""
    try:
        return Source(file, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        source = Source(file, raw.decode("utf-8", "replace"))
        index = len(raw[: error.start].decode("utf-8").removeprefix("\ufeff"))
        hint = "save it as UTF-8"
        if raw.startswith(_UTF16):
            hint = "it looks like UTF-16: save it as UTF-8"
        message = f"the file is not UTF-8: byte 0x{raw[error.start]:02x} cannot stand here"
        problems.error(source.place(index), message, hint)
        return None


def _read(file: Path, problems: Problems) -> Source | None:
    try:
        raw = file.read_bytes()
    except OSError as error:
        problems.error(_top(file), f"cannot read it: {_reason(error, file)}")
        return None
    return decode(raw, str(file), problems)


def _files(path: Path, problems: Problems) -> list[Path]:
    """The spec files that a path stands for, sorted."""
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return [path]
        found = sorted(_walk(path))
    except (OSError, ValueError) as error:
        problems.error(_top(path), f"cannot read it: {_reason(error, path)}")
        return []
    if not found:
        hint = f"spec files are named *{' or *'.join(_SUFFIXES)}"
        problems.error(_top(path), "no spec file in this directory", hint)
    return found


def _walk(top: Path) -> Iterator[Path]:
    """The spec files of a directory. Links to directories are followed, each directory once."""
    pending = [top]
    seen: set[str] = set()
    while pending:
        directory = pending.pop()
        real = os.path.realpath(directory)
        if real in seen:
            continue
        seen.add(real)
        for path in directory.iterdir():
            if path.name.startswith("."):
                continue
            mode = _mode(path)
            if stat.S_ISDIR(mode):
                pending.append(path)
            # What has no mode is told when it is read; pipes and devices are not for us.
            elif path.name.endswith(_SUFFIXES) and (stat.S_ISREG(mode) or not mode):
                yield path


def _mode(path: Path) -> int:
    """The mode of what a path leads to; 0 when it leads nowhere."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _reason(error: OSError | ValueError, path: Path) -> str:
    """What the system said, and of which path when it is not the one that was asked for."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    within = "" if error.filename in (None, str(path)) else f" ({error.filename})"
    return error.strerror[:1].lower() + error.strerror[1:] + within


def _top(path: Path) -> Place:
    return Place(str(path), 1, 1)
