"""The worker: the one thread that owns decoder, dialects, engine and store.

Requests wait in a bounded queue; the worker takes all that wait as a group, decodes and judges
them, saves what changed, hands the announcements on (which never waits), and answers the senders.
What could not be saved stays to be saved, and no sender is told "ok" before it is. What one
request does wrong is its own affair: it is answered and counted, and the worker goes on. A fault
of the service's own is counted and told, and never ends the thread: every request is answered.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from math import inf
from typing import Final, TypeVar

import msgspec

from spanward.dialects import Dialect
from spanward.emitters.outlet import Outlet
from spanward.emitters.tally import VerdictTally
from spanward.engine.counters import Counters
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.exchange import Exchange
from spanward.hearing import Hearing
from spanward.ledger import Ledger
from spanward.memory import MemoryLimits
from spanward.published import Published
from spanward.request import Answer, Request, Tally
from spanward.specs.spec import Spec
from spanward.stores import Store, StoreError
from spanward.verdict import Announcement, Cause

log = logging.getLogger(__name__)

_Given = TypeVar("_Given")

_TICK: Final = 0.25
"""Seconds between looks at the clocks when nothing comes."""
_MOST_IN_GROUP: Final = 64
"""Requests that share a commit; more would make the first of them wait."""
_SNAPSHOT_SHARE: Final = 50.0
"""A snapshot of the gauges may take one part in so many of the worker's time."""
_UNSAVED: Final = Answer(unsaved="the store cannot save or read just now, try again")


class Gauges(msgspec.Struct, frozen=True):
    """Figures that go up and down, as they were at the last snapshot."""

    sessions_active: int = 0
    units_open: int = 0


class Worker:
    """Takes requests by ``offer``; puts what there is to tell into the outbox, and into figures.

    Call ``start`` once, then ``stop`` once, then, when the outlets are closed, ``close``. Whoever
    offers bounds what waits (``Admission``). Raises ``OSError`` when the store cannot be read.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        limits: Limits,
        dialects: Iterable[Dialect],
        store: Store,
        outlets: Sequence[Outlet] = (),
        memory: MemoryLimits | None = None,
    ) -> None:
        self.tally = Tally()
        self.gauges = Gauges()
        self._limits = limits
        self._memory = memory or MemoryLimits()
        self._store = store
        self._start = store.clock - time.monotonic()
        self._lost_until = self._now() + limits.idle_timeout if store.lost else -inf
        self._ledger = Ledger([spec.name for spec in specs], store, outlets, time.perf_counter)
        self._engine = self._make_engine(tuple(specs))
        self._ledger.restore(self._engine)
        self._sound = True
        self._dialects = tuple(dialects)
        self._exchange = Exchange()
        self._waiting: deque[Request] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._drain = False
        self._next_snapshot = 0.0
        self._judge_by(tuple(specs))
        self._thread = threading.Thread(target=self._run, name="spanward-worker", daemon=True)

    @property
    def counters(self) -> Counters:
        """The engine's counters, to be read only."""
        return self._engine.counters

    @property
    def verdicts(self) -> VerdictTally:
        """What was announced, in figures, to be read only."""
        return self._ledger.verdicts

    @property
    def store_failures(self) -> int:
        """Commits and reads that the store could not do."""
        return self._ledger.failures + self.tally.unreadable + self._store.damaged

    @property
    def store_was_lost(self) -> bool:
        """Whether the store could not be read at start, and is a new one."""
        return self._store.lost

    @property
    def queue_length(self) -> int:
        """Requests that wait."""
        return len(self._waiting)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def offer(self, request: Request) -> None:
        """Queue a request; it is answered once, whatever becomes of it."""
        with self._changed:
            self._waiting.append(request)
            self._changed.notify()

    def reload(self, specs: Sequence[Spec]) -> Future[None]:
        """Have other specs judged from the next group on; what is open goes on.

        May be called from any thread. The future raises ``OSError`` when the store cannot save or
        read just now, or the worker stops: the specs are those of before then.
        """
        asked = self._exchange.ask(specs)
        with self._changed:
            self._changed.notify()
        return asked

    def stop(self, *, drain: bool, timeout: float) -> bool:
        """Finish what waits and end the thread; ``drain`` makes every open result final first.

        False when that took longer than ``timeout`` seconds and the thread was left behind.
        """
        with self._changed:
            self._stopping = True
            self._drain = drain
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Save what went out since the thread ended, and close the store."""
        engine = self._engine if self._sound else None
        self._guarded(lambda: self._ledger.close(engine, self._now()), None)

    def _run(self) -> None:
        while (group := self._take_group()) is not None:
            self._work(group)
        self._exchange.close()
        if self._drain:
            self._finish_all()

    def _make_engine(
        self, specs: tuple[Spec, ...], counters: Counters | None = None, *, goes_on: bool = False
    ) -> Engine:
        """An engine over what was saved. Raises ``OSError`` when it cannot be read."""
        return Engine(
            specs,
            self._limits,
            self._store.vault,
            self._now(),
            lost_until=self._lost_until,
            counters=counters,
            goes_on=goes_on,
        )

    def _judge_by(self, specs: tuple[Spec, ...]) -> None:
        """Read what these specs ask for, and publish what the engine counts of them."""
        self._hearing = Hearing(self._dialects, specs, self.tally)
        self._violations = list(self.counters.violations)
        self.published = Published.of(specs, self.counters, self.verdicts)

    def _turn_to(self, specs: tuple[Spec, ...]) -> None:
        """Put an engine with other specs in the place of the one that there is.

        Raises ``OSError``, and leaves everything as it is, when the store cannot save or read.
        """
        if not self._sound or not self._ledger.hand_over(self._engine, self._now()):
            raise StoreError("the store cannot save or read just now")
        try:
            counters = self.counters.for_specs(len(specs))
            engine = self._make_engine(specs, counters, goes_on=True)
        finally:
            self._store.taken()
        self._engine = engine
        self._ledger.turn_to(engine, [spec.name for spec in specs])
        self._judge_by(specs)

    def _now(self) -> float:
        """The service's clock: seconds that it ran in all, with the same store."""
        return time.monotonic() + self._start

    def _finish_all(self) -> None:
        """Make every open result final, some sessions at a time if the store has them."""
        left = -1
        while self._settle(self._trusted(self._finish, [])):
            self._tell_faults()
            before, left = left, self._trusted(lambda: self._engine.sessions_active, 0)
            if not left or left == before:
                return

    def _finish(self) -> list[Announcement]:
        return self._engine.finish(Cause.SHUTDOWN, self._now())

    def _relieve(self) -> list[Announcement]:
        return self._engine.relieve()

    def _advance(self) -> list[Announcement]:
        return self._engine.advance(self._now())

    def _take_group(self) -> list[Request] | None:
        """The requests that wait, perhaps none; None when it is time to stop."""
        with self._changed:
            if not self._waiting and not self._stopping:
                self._changed.wait(_TICK)
            if not self._waiting and self._stopping:
                return None
            size = min(len(self._waiting), _MOST_IN_GROUP)
            return [self._waiting.popleft() for _ in range(size)]

    def _work(self, group: list[Request]) -> None:
        if not self._sound:
            self._guarded(self._begin_anew, None)
        self._guarded(lambda: self._exchange.serve(self._turn_to), None)
        announced: list[Announcement] = []
        answers = [self._judge(request, announced) for request in group]
        announced += self._trusted(self._advance, [])
        if self._guarded(lambda: self._memory.needs_relief(time.monotonic()), otherwise=False):
            log.warning("memory runs short: the quietest sessions of the largest sender go")
            announced += self._trusted(self._relieve, [])
        if not self._settle(announced):
            answers = [
                answer if answer.malformed or answer.too_large or answer.failed else _UNSAVED
                for answer in answers
            ]
        self.tally.refused["unsaved"] += sum(bool(answer.unsaved) for answer in answers)
        for request, answer in zip(group, answers, strict=True):
            self._guarded(partial(request.answer, answer), None)
        self._trusted(self._look_at_gauges, None)

    def _settle(self, announced: list[Announcement]) -> bool:
        """Save what was taken and tell what there is to tell; whether all was saved."""
        if not self._sound:
            return False
        violated, now, at_ns = self._newly_violated(), self._now(), time.time_ns()
        return self._guarded(
            lambda: self._ledger.settle(self._engine, announced, violated, now, at_ns),
            otherwise=False,
        )

    def _trusted(self, work: Callable[[], _Given], otherwise: _Given) -> _Given:
        """What some work of the engine gives, if it is sound and the store can be read."""
        if not self._sound:
            return otherwise
        try:
            return self._guarded(work, otherwise, but=OSError)
        except OSError as error:
            self._distrust(error)
            return otherwise

    def _distrust(self, error: OSError) -> None:
        """The store could not be read in the middle of something: what the engine holds is void."""
        self.tally.unreadable += 1
        self._sound = False
        log.error("%s: going back to what was saved, senders are asked to try again", error)

    def _begin_anew(self) -> None:
        """Go on from what was saved, as after a crash. No sender was told that the rest is safe."""
        try:
            engine = self._make_engine(self.published.specs, self._engine.counters)
        except OSError as error:
            self._distrust(error)
            return
        self._engine, self._sound = engine, True
        self._ledger.restore(engine)
        self._violations = list(self.counters.violations)

    def _guarded(
        self, work: Callable[[], _Given], otherwise: _Given, but: type[Exception] | None = None
    ) -> _Given:
        """What some work gives, or the other value when it fails; the thread must not end of it.

        ``but`` is a kind of exception that is let through.
        """
        try:
            return work()
        except Exception as error:
            if but is not None and isinstance(error, but):
                raise
            self.tally.failures += 1
            log.exception("the worker failed, and goes on")
            return otherwise

    def _judge(self, request: Request, announced: list[Announcement]) -> Answer:
        if not self._sound:
            return _UNSAVED
        started = time.perf_counter()
        try:
            answer = self._hearing.hear(request, self._engine, self._now(), announced)
        except OSError as error:
            self._distrust(error)
            return _UNSAVED
        self._tell_faults()
        self.verdicts.evaluation.observe(time.perf_counter() - started)
        return answer

    def _newly_violated(self) -> list[str]:
        """The specs that were violated since this was last asked, in failed units too."""
        violations = self._engine.counters.violations
        if violations == self._violations:
            return []
        seen = zip(self.published.specs, violations, self._violations, strict=True)
        violated = [spec.name for spec, now, before in seen if now != before]
        self._violations = list(violations)
        return violated

    def _tell_faults(self) -> None:
        for fault in self._engine.faults:
            log.error("a record could not be judged", exc_info=fault)
        self._engine.faults.clear()

    def _look_at_gauges(self) -> None:
        started = time.monotonic()
        if started < self._next_snapshot:
            return
        self.gauges = Gauges(self._engine.sessions_active, self._engine.units_open)
        ended = time.monotonic()
        self._next_snapshot = ended + max(1.0, _SNAPSHOT_SHARE * (ended - started))
