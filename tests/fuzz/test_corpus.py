"""What fuzzing found worth keeping breaks no decoder: ``make fuzz`` looks for more."""

from __future__ import annotations

import pytest

from tests.fuzz.corpus import inputs
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_of_the_corpus_breaks_a_decoder(target: str) -> None:
    """Read, malformed or too much; nothing else, and no more items than records."""
    found = inputs(target)
    assert len(found) > 50
    for data in found:
        TARGETS[target](data)
