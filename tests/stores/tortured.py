"""A service that ends in the middle of its work: ``python -m tests.stores.tortured FILE WHERE N``.

FILE is a configuration; WHERE names a point at which the process kills itself when it comes there
for the N-th time (``never`` for none). It is the real service, with the real store.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from spanward.app import running
from spanward.config import load_config
from spanward.emitters.jsonl import JsonLines
from spanward.errors import Problems
from spanward.saved import Saving
from spanward.specs.loader import load
from spanward.stores.sqlite import SqliteStore
from spanward.verdict import Announcement

WHERE = ("before-commit", "in-commit", "after-commit", "before-emit", "after-emit")


class Fate:
    """Kills the process at one point, at the N-th time."""

    def __init__(self, where: str, times: int) -> None:
        self._where, self._times = where, times

    def at(self, point: str) -> None:
        """The process has come to a point."""
        if point != self._where:
            return
        self._times -= 1
        if self._times == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Doomed(SqliteStore):
    """A store whose process may end around a commit, or in it."""

    def __init__(self, path: Path, fate: Fate) -> None:
        super().__init__(path, "aside")
        self._fate = fate

    def commit(self, saving: Saving) -> None:
        if not saving.sendings and not saving.changes.facts:
            super().commit(saving)  # so that the figures count commits that matter
            return
        self._fate.at("before-commit")
        super().commit(saving)
        self._fate.at("after-commit")

    def _save_changes(self, changes: object) -> None:
        super()._save_changes(changes)  # type: ignore[arg-type]
        self._fate.at("in-commit")


class Teller:
    """Writes verdicts as the service does; the process may end around that."""

    name = "teller"

    def __init__(self, lines: JsonLines, at: Callable[[str], None]) -> None:
        self._lines, self._at = lines, at

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        self._at("before-emit")
        went_out = self._lines.emit(announcements, at_ns)
        self._at("after-emit")
        return went_out

    def close(self) -> None:
        self._lines.close()


async def serve(file: Path, fate: Fate) -> None:
    """Serve until a signal ends it, with everything made final, or fate does."""
    problems = Problems()
    config = load_config(file, problems)
    specs = load(config.specs, problems)
    assert not problems.errors
    assert config.store is not None
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    verdicts = JsonLines((file.parent / "verdicts.jsonl").open("ab"), keep_open=False)
    teller = Teller(verdicts, fate.at)
    async with running(
        config, specs, drain=True, more_emitters=[teller], store=Doomed(config.store, fate)
    ):
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), Fate(sys.argv[2], int(sys.argv[3]))))
