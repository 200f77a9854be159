"""What passes between a door and the worker: a request, its answer, and what is counted of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, Literal

import msgspec

Signal = Literal["traces", "logs"]
Transport = Literal["grpc", "http"]
Encoding = Literal["protobuf", "json"]


REJECTED: Final = "rejected"
OWN_VERDICT: Final = "own_verdict"
NO_ITEM: Final = "not_an_item"
REFUSED: Final = "refused"
FATES: Final = (REJECTED, OWN_VERDICT, NO_ITEM, REFUSED)
"""Of a record: it broke a rule; it is a verdict of ours that came back; it is no step of an agent,
or none that a spec asks for; its request could not be judged to its end."""


class Answer(msgspec.Struct, frozen=True):
    """What a sender is told: words, empty when all went well.

    ``malformed``, ``too_large`` and ``failed``: sending it again is of no use; ``unsaved``: it is.
    """

    rejected: int = 0
    reason: str = ""
    malformed: str = ""
    too_large: str = ""
    failed: str = ""
    unsaved: str = ""


class Request(msgspec.Struct, frozen=True):
    """One request that waits. ``answer`` is called exactly once, from the worker's thread.

    ``sender`` is the name under which the door knows who sent it; None when it knows nobody.
    """

    signal: Signal
    data: bytes
    answer: Callable[[Answer], None]
    transport: Transport = "grpc"
    encoding: Encoding = "protobuf"
    sender: str | None = None


class Tally:
    """What doors and the worker count, apart from the engine.

    ``refused`` is by reason: doors write theirs in their loop, the worker ``malformed``,
    ``too_much`` and ``unsaved`` and all else in its thread, so that no figure has two writers.
    ``received`` is by (signal, transport), ``events`` counts the span events that came with them.
    ``fates`` is of the records that gave the engine no item: one of ``FATES``. ``failures`` counts
    faults of the service itself: it must stay 0. ``unreadable`` counts reads that the store could
    not do.
    """

    def __init__(self) -> None:
        self.received: Counter[tuple[Signal, Transport]] = Counter()
        self.events: Counter[Transport] = Counter()
        self.fates: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.incomplete = 0
        self.own_verdicts = 0
        self.failures = 0
        self.unreadable = 0
