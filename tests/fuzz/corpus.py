"""The corpus of a target: a file with an input a line, in base64.

``python -m tests.fuzz.corpus TARGET FOLDER`` makes it of what a fuzzer left in a folder.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent


def inputs(target: str) -> list[bytes]:
    """What was found worth keeping."""
    lines = (HERE / f"{target}.corpus").read_text(encoding="ascii").splitlines()
    return [b64decode(line, validate=True) for line in lines]


def unpack(target: str, folder: Path) -> None:
    """Write each input to a file of its own, as fuzzers want it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(inputs(target)):
        (folder / f"{number:05d}").write_bytes(data)


def pack(target: str, folder: Path) -> None:
    """The other way, each input once."""
    found = {path.read_bytes() for path in folder.iterdir()}
    lines = sorted(b64encode(data).decode("ascii") for data in found)
    (HERE / f"{target}.corpus").write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    pack(sys.argv[1], Path(sys.argv[2]))
