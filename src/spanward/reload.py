"""Reloading specs while the service runs: read, checked as at start, and judged from then on.

All files are read before any of them is compiled, and none of it counts unless all of it is good:
a bad reload leaves the specs as they are, is told with the place of each mistake, and shows in the
metrics. A watched directory is looked at by its content, not by the times or numbers of its files:
so a link that is swapped (as Kubernetes does with a ConfigMap) is seen.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from spanward.errors import Problem, Problems, render_all
from spanward.published import Reloads
from spanward.specs.files import sources
from spanward.specs.loader import load_sources
from spanward.specs.source import Source
from spanward.specs.spec import Spec, bundle_digest
from spanward.worker import Worker

log = logging.getLogger(__name__)

_STAY: Final = "those of before are judged"
_MOST_READINGS: Final = 5
"""Readings of files that change while they are read."""


class Reading(msgspec.Struct, frozen=True):
    """What stands in spec files: their texts, what could not be read, the digest of both."""

    sources: tuple[Source, ...]
    problems: tuple[Problem, ...]
    digest: bytes


def read(paths: Sequence[Path]) -> Reading:
    """Read all spec files at some paths. Two readings in a row that agree are taken for whole."""
    found = _read(paths)
    for _ in range(_MOST_READINGS):
        before, found = found, _read(paths)
        if found.digest == before.digest:
            break
    return found


def compiled(reading: Reading, problems: Problems) -> tuple[Spec, ...]:
    """The specs of a reading; none when there is any mistake, in files or of reading them."""
    for one in reading.problems:
        problems.error(one.place, one.message, one.hint)
    return load_sources(reading.sources, problems)


class Outcome(msgspec.Struct, frozen=True):
    """How a reload went: ``words``, and the mistakes and warnings as they are shown."""

    good: bool
    words: str
    shown: str = ""


class Reloader:
    """Reloads the specs at some paths into a worker, which judges those of ``reading`` now.

    ``wall`` gives Unix seconds. ``figures`` tell how it went. Belongs to one event loop.
    """

    def __init__(
        self, paths: Sequence[Path], worker: Worker, wall: Callable[[], float], reading: bytes
    ) -> None:
        self.figures = Reloads(wall())
        self._paths = tuple(paths)
        self._worker = worker
        self._wall = wall
        self._one_at_a_time = asyncio.Lock()
        self._tried = self._seen = reading

    async def reload(self) -> Outcome:
        """Read all specs and have them judged; raises nothing for what stands in them."""
        async with self._one_at_a_time:
            return await self._reload(await asyncio.to_thread(read, self._paths))

    async def look(self) -> Outcome | None:
        """Reload if the files are others than last time; None if they are not.

        What changed is loaded when two looks in a row found the same, so that files which are
        being written are let be. Content with mistakes is not tried again before it changes;
        content that could not be taken, since the store failed, is.
        """
        async with self._one_at_a_time:
            found = await asyncio.to_thread(_read, self._paths)
            steady, self._seen = found.digest == self._seen, found.digest
            if not steady or found.digest == self._tried:
                return None
            return await self._reload(found)

    async def _reload(self, found: Reading) -> Outcome:
        self._tried = self._seen = found.digest
        problems = Problems()
        try:
            specs = await asyncio.to_thread(compiled, found, problems)
            good, words = await self._take(specs, problems)
        except Exception:
            log.exception("specs could not be loaded, which is a defect of the service")
            good, words = False, f"specs not reloaded: a defect; {_STAY}"
        self.figures.note(good=good, at=self._wall())
        outcome = Outcome(good, words, render_all(problems.found))
        (log.info if good else log.error)("%s", words, extra={"shown": outcome.shown})
        return outcome

    async def _take(self, specs: tuple[Spec, ...], problems: Problems) -> tuple[bool, str]:
        if problems.errors:
            number = _counted(len(problems.errors), "mistake")
            return False, f"specs not reloaded: {number}; {_STAY}"
        number = _counted(len(specs), "spec")
        if bundle_digest(specs) == self._worker.published.sha256:
            return True, f"specs reloaded: {number}, nothing changed"
        try:
            await asyncio.wrap_future(self._worker.reload(specs))
        except OSError as error:
            self._tried = b""
            return False, f"specs not reloaded: {error}; {_STAY}"
        return True, f"specs reloaded: {number}"


class Watch:
    """Waits for reasons to reload: being asked, or, ``every`` so many seconds, other content.

    Without ``every`` nobody looks at the content.
    """

    def __init__(self, reloader: Reloader, every: float | None) -> None:
        self._reloader = reloader
        self._every = every
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Have specs reloaded soon. To be called in the loop, as a signal's handler is."""
        self._asked.set()

    async def run(self) -> None:
        """Reload whenever there is a reason, until cancelled."""
        while True:
            try:
                await asyncio.wait_for(self._asked.wait(), self._every)
            except TimeoutError:
                await _guarded(self._reloader.look)
            else:
                self._asked.clear()
                await _guarded(self._reloader.reload)


async def _guarded(work: Callable[[], Awaitable[object]]) -> None:
    """A fault of our own in one reload must not end all later ones."""
    try:
        await work()
    except Exception:
        log.exception("specs could not be reloaded")


def _read(paths: Sequence[Path]) -> Reading:
    problems = Problems()
    texts = tuple(sources(paths, problems))
    digest = hashlib.sha256()
    for source in texts:
        digest.update(repr((source.file, source.text)).encode())
    digest.update(repr(problems.found).encode())
    return Reading(texts, problems.found, digest.digest())


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
