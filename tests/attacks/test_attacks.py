"""Hostile senders: memory stays below its limit, and others are served right and in time.

A small part of each attack; the whole is ``python -m tests.attacks.run``.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from tests.attacks.attacks import ATTACKS
from tests.attacks.run import LIMIT_MIB, attacked, under_attack

SHARE = 0.03
"""Of the whole attack."""


def test_attacks_cost_others_little(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each in turn on the same service; every violation of an honest sender is told, once."""
    refused: set[str] = set()
    with under_attack(tmp_path) as (serving, verdicts):
        for attack in ATTACKS:
            made = attacked(serving, verdicts, attack, SHARE)
            with capsys.disabled():
                print(f"{attack}: {made.most_mib:.0f} MiB, {max(made.told):.3f} s at worst")
            assert made.most_mib < LIMIT_MIB
            assert median(made.told) < 1.0
            assert max(made.told) < 5.0
            refused |= made.refused.keys()
    assert {"malformed", "too_much"} <= refused
