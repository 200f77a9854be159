"""Coverage-guided fuzzing of a decoder: ``python -m tests.fuzz.fuzz TARGET [libFuzzer options]``.

Needs ``atheris``. Begins with the corpus in ``tests/fuzz/corpus/TARGET``, and puts what covers more
there; what breaks a decoder is written to ``crash-*``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["spanward.otlp", "spanward.dialects"]):
    from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


def main() -> None:
    """See the module's docstring."""
    target, *options = sys.argv[1:]
    corpus = CORPUS / target
    corpus.mkdir(parents=True, exist_ok=True)
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
