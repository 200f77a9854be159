"""What the clients need that is not a package of the project, installed once for all tests here.

rotel is not among the packages for development: it has wheels for some systems only, is a
pre-release of 10 MB, and needs Python's shared library when it runs. Who cannot have it can work
on spanward all the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.senders import HERE, NODE, ROTEL, Client, Installed

ROTEL_VERSION = "0.0.1a15"


def _node(folder: Path) -> Path:
    """The agent for Node.js beside its packages, as the lock file has them."""
    for name in ("package.json", "package-lock.json", "agent.mjs"):
        shutil.copy(HERE / name, folder)
    _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", at=folder)
    return folder / "agent.mjs"


def _rotel(folder: Path) -> Path:
    """The program of rotel."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, "--no-deps", "--target", str(folder), f"rotel=={ROTEL_VERSION}", at=folder)
    program = folder / "rotel" / "rotel-agent"
    _run(str(program), "--version", at=folder)
    return program


def _run(*command: str, at: Path) -> None:
    """Run a command. Raises ``OSError`` with what it said when it fails."""
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")


PLACES: dict[str, Callable[[Path], Path]] = {NODE: _node, ROTEL: _rotel}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What could be installed; in CI (the variable ``CI`` is set) that must be everything."""
    places = {}
    for name, install in PLACES.items():
        try:
            places[name] = install(tmp_path_factory.mktemp("installed"))
        except OSError as error:
            if os.environ.get("CI"):
                pytest.fail(f"{name} cannot be had, and CI tests all clients: {error}")
            sys.stderr.write(f"\n{name} cannot be had: {error}\n")
    return Installed(places)


@pytest.fixture
def must_have(installed: Installed) -> Callable[[Client], None]:
    """Skips a test whose client cannot be started, and says why."""

    def check(client: Client) -> None:
        if not installed.has(client):
            pytest.skip(f"{client} was NOT tested: it needs {' and '.join(client.needs)}")

    return check
