"""Programs that these tests run and that the project does not depend on.

Without them a test is skipped, loudly; where ``SPANWARD_NEED_TOOLS`` is set (``.ci/run`` sets it)
it fails instead, so that nothing goes unchecked there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
"""The top of the repository."""
DEPLOY: Final = ROOT / "deploy"


def tool(name: str) -> str:
    """The path of a program: the one that ``SPANWARD_<NAME>`` names, or the one on the path."""
    variable = f"SPANWARD_{name.upper().replace('-', '_')}"
    found = shutil.which(os.environ.get(variable, name))
    return found or lacking(f"{name} is not to be had; {variable} may say where it is")


def given(variable: str, what: str) -> str:
    """The value of an environment variable that only a step of ``.ci/run`` can give."""
    return os.environ.get(variable) or lacking(f"{variable} is not set: {what}")


def lacking(words: str) -> str:
    """Skip this test, or fail it where everything must be there."""
    if os.environ.get("SPANWARD_NEED_TOOLS"):
        pytest.fail(words)
    pytest.skip(words)
