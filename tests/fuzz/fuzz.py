"""Coverage-guided fuzzing of a decoder: ``python -m tests.fuzz.fuzz TARGET [libFuzzer options]``.

Needs ``atheris``. Begins with the corpus, and leaves what covers more in ``build/fuzz/TARGET``
(``tests.fuzz.corpus`` packs it); what breaks a decoder is written to ``crash-*``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

from tests.fuzz.corpus import unpack

with atheris.instrument_imports(include=["spanward.otlp", "spanward.dialects"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """See the module's docstring."""
    target, *options = sys.argv[1:]
    folder = Path("build/fuzz") / target
    unpack(target, folder)
    atheris.Setup([sys.argv[0], *options, str(folder)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
