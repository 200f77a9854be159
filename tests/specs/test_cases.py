"""Every mistake and warning of spec files, as ``spanward lint`` shows it (``cases/*.yaml``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spanward.errors import Problems, render_all
from spanward.specs.loader import load_text

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


def _cases() -> list[Any]:
    return [
        pytest.param(case["spec"], case["problems"], id=f"{path.stem}: {case['case']}")
        for path in CASES
        for case in yaml.safe_load(path.read_text("utf-8"))
    ]


@pytest.mark.parametrize(("spec", "expected"), _cases())
def test_problems_are_shown_exactly(spec: str, expected: str) -> None:
    """The whole report is as expected, and specs are given exactly when it holds no error."""
    problems = Problems()
    specs = load_text(spec, "spec.yaml", problems)
    assert render_all(problems.found) == expected.removesuffix("\n")
    assert bool(specs) == (": error: " not in expected and "holds no spec" not in expected)
