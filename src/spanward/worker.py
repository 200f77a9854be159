"""The worker: the one thread that owns decoder, dialects, engine and store.

Requests wait in a bounded queue; the worker takes all that wait as a group, decodes and judges
them, commits, hands the announcements on (which never waits), and answers the senders. What one
request does wrong is its own affair: it is answered and counted, and the worker goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

import msgspec

from spanward.dialects import Dialect, Reader
from spanward.emitters.identity import is_own_verdict
from spanward.engine.counters import Counters
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.errors import visible
from spanward.otlp import Malformed
from spanward.otlp.record import Batch, SpanRecord
from spanward.otlp.wire import WireReader
from spanward.specs.asking import asked_by
from spanward.specs.spec import Spec
from spanward.stores import Store
from spanward.verdict import Announcement, Cause

log = logging.getLogger(__name__)

Signal = Literal["traces", "logs"]

_TICK: Final = 0.25
"""Seconds between looks at the clocks when nothing comes."""
_MOST_IN_GROUP: Final = 64
"""Requests that share a commit; more would make the first of them wait."""
_SNAPSHOT_SHARE: Final = 50.0
"""A snapshot of the gauges may take one part in so many of the worker's time."""


Announce = Callable[[Sequence[Announcement], Sequence[str], int], None]
"""(announcements, specs that were violated, wall time in Unix nanoseconds) → nothing."""


class Answer(msgspec.Struct, frozen=True):
    """What a sender is told. ``malformed`` and ``failed`` are words; empty when all went well."""

    rejected: int = 0
    reason: str = ""
    malformed: str = ""
    failed: str = ""


class Request(msgspec.Struct, frozen=True):
    """One request that waits. ``answer`` is called once, from the worker's thread."""

    signal: Signal
    data: bytes
    answer: Callable[[Answer], None]


class Gauges(msgspec.Struct, frozen=True):
    """Figures that go up and down, as they were at the last snapshot."""

    sessions_active: int = 0
    units_open: int = 0


class Tally:
    """What the worker counts, apart from the engine. Written by its thread alone."""

    def __init__(self) -> None:
        self.received: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.incomplete = 0
        self.own_verdicts = 0
        self.failures = 0
        self.evaluation_seconds: Callable[[float], None] = _ignore


def _ignore(seconds: float) -> None:
    """Nobody measures."""


class Worker:
    """Takes requests by ``offer``; tells ``announce`` what there is to tell.

    Call ``start`` once, then ``stop`` once. ``most_requests`` and ``most_bytes`` bound the queue.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        limits: Limits,
        dialects: Iterable[Dialect],
        store: Store,
        announce: Announce,
        *,
        most_requests: int,
        most_bytes: int,
    ) -> None:
        self.tally = Tally()
        self.gauges = Gauges()
        self.capacity = most_requests
        self._engine = Engine(specs, limits)
        self._reader = Reader(dialects, asked_by(specs))
        self._wire = WireReader(self._reader.wanted)
        self._store = store
        self._announce = announce
        self._most_bytes = most_bytes
        self._waiting: deque[Request] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._drain = False
        self._next_snapshot = 0.0
        self._names = [spec.name for spec in specs]
        self._violations = [0] * len(specs)
        self._thread = threading.Thread(target=self._run, name="spanward-worker", daemon=True)

    @property
    def counters(self) -> Counters:
        """The engine's counters, to be read only."""
        return self._engine.counters

    @property
    def queue_length(self) -> int:
        """Requests that wait."""
        return len(self._waiting)

    @property
    def has_room(self) -> bool:
        """Whether one request more may be read."""
        return len(self._waiting) < self.capacity and self._bytes < self._most_bytes

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def offer(self, request: Request) -> None:
        """Queue a request; look at ``has_room`` first."""
        with self._changed:
            self._waiting.append(request)
            self._bytes += len(request.data)
            self._changed.notify()

    def stop(self, *, drain: bool) -> None:
        """Finish what waits and end the thread; ``drain`` makes every open result final first."""
        with self._changed:
            self._stopping = True
            self._drain = drain
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            group = self._take_group()
            if group is None:
                break
            self._work(group)
        if self._drain:
            self._tell(self._engine.finish(Cause.SHUTDOWN, time.monotonic()))

    def _take_group(self) -> list[Request] | None:
        """The requests that wait, perhaps none; None when it is time to stop."""
        with self._changed:
            if not self._waiting and not self._stopping:
                self._changed.wait(_TICK)
            if not self._waiting and self._stopping:
                return None
            group = [
                self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_IN_GROUP))
            ]
            self._bytes -= sum(len(request.data) for request in group)
            return group

    def _work(self, group: list[Request]) -> None:
        announced: list[Announcement] = []
        answers = [(request, self._judge(request, announced)) for request in group]
        announced += self._engine.advance(time.monotonic())
        self._store.commit()
        self._tell(announced)
        for request, answer in answers:
            request.answer(answer)
        self._look_at_gauges()

    def _judge(self, request: Request, announced: list[Announcement]) -> Answer:
        started = time.perf_counter()
        try:
            batch = self._decode(request)
            announced += self._engine.take(self._reader.reports(batch), time.monotonic())
        except Malformed as mistake:
            self.tally.refused["malformed"] += 1
            log.warning("a %s request is malformed: %s", request.signal, visible(str(mistake)))
            return Answer(malformed=f"not an OTLP {request.signal} request")
        except Exception:
            # A fault of ours: the sender may try again, the others must not wait for it.
            self.tally.failures += 1
            log.exception("a %s request could not be judged", request.signal)
            return Answer(failed="internal error")
        self._tell_faults()
        self.tally.evaluation_seconds(time.perf_counter() - started)
        self.tally.rejected.update(batch.rejected)
        rejected = sum(batch.rejected.values())
        if not rejected:
            return Answer()
        reason = ", ".join(f"{n} with a bad {what}" for what, n in sorted(batch.rejected.items()))
        log.warning("%d records of a %s request rejected: %s", rejected, request.signal, reason)
        return Answer(rejected=rejected, reason=f"rejected: {reason}")

    def _decode(self, request: Request) -> Batch:
        decode = self._wire.traces if request.signal == "traces" else self._wire.logs
        batch = decode(request.data)
        received = len(batch.records) + sum(batch.rejected.values())
        self.tally.received[request.signal] += received
        self.tally.incomplete += batch.dropped
        if any(map(_is_own, batch.records)):
            kept = [record for record in batch.records if not _is_own(record)]
            self.tally.own_verdicts += len(batch.records) - len(kept)
            batch.records = kept
        return batch

    def _tell(self, announced: list[Announcement]) -> None:
        violated = self._newly_violated()
        if announced or violated:
            self._announce(announced, violated, time.time_ns())

    def _newly_violated(self) -> list[str]:
        """The specs that were violated since this was last asked, in failed units too."""
        violations = self._engine.counters.violations
        if violations == self._violations:
            return []
        seen = zip(self._names, violations, self._violations, strict=True)
        violated = [name for name, now, before in seen if now != before]
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


def _is_own(record: object) -> bool:
    return isinstance(record, SpanRecord) and is_own_verdict(
        record.name, record.source.scope, record.span_id, record.attributes
    )
