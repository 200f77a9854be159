"""A short run of what ``make torture`` does at length."""

from __future__ import annotations

from pathlib import Path

from tests.stores.torture import torture


def test_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    """A dozen times, at named points and at random moments."""
    assert torture(tmp_path, kills=12, seed=7) >= 6
