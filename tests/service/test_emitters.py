"""Emitters: what goes out, what happens when it cannot, and the shape of a verdict span."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace.status import StatusCode

from spanward.emitters import identity
from spanward.emitters.outbox import Outbox
from spanward.emitters.outlet import Emitter, NeverTaken, Outlet
from spanward.emitters.spans import GRPC, HTTP_PROTOBUF, VerdictSpans, exporter
from spanward.emitters.tally import Histogram
from spanward.saved import Sending
from spanward.verdict import Announcement, Cause, Result, Verdict, Witness

STEP = Witness("0" * 31 + "1", "0" * 15 + "2", None, "tool.call", "rm", 7, 1, 10)
BARE_LOG = Witness("", "", "log", "event", "e", None, None, 10)


def announced(**more: Any) -> Announcement:
    """An announcement; fields of the verdict may be given."""
    turn_key = more.pop("turn_key", None)
    fields: dict[str, Any] = {
        "spec": "never-rm",
        "operator": "never",
        "severity": "critical",
        "unit": "session",
        "session": "s1",
        "turn": None,
        "job": None,
        "result": Result.FAIL,
        "reason": "a forbidden item occurred",
        "early": True,
        "cause": Cause.ITEM,
        "revision": 0,
        "decided_by": STEP,
        "witnesses": (STEP,),
        "details": None,
        **more,
    }
    return Announcement(Verdict(**fields), "ab" * 32, {"team": "x"}, None, turn_key, 20)


class Kept(SpanExporter):
    """Keeps what is exported."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing to do."""


def span_of(announcement: Announcement) -> ReadableSpan:
    """The verdict span of an announcement."""
    kept = Kept()
    emitter = VerdictSpans(kept, frozenset(map(str, Result)), "1.2.3")
    assert emitter.emit([announcement], 99)
    emitter.close()
    return kept.spans[0]


def test_the_shape_of_a_verdict_span() -> None:
    """Name, scope, place in the agent's trace, attributes and status, as the interface says."""
    span = span_of(announced())
    assert (span.name, span.start_time, span.end_time) == ("spanward.verdict", 99, 99)
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "spanward"
    assert span.parent is not None
    assert (span.parent.trace_id, span.parent.span_id) == (1, 2)
    assert span.context.trace_id == 1
    assert [link.context.span_id for link in span.links] == [2]
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "a forbidden item occurred"
    assert span.resource.attributes["service.name"] == "spanward"
    assert dict(span.attributes or {}) == {
        "gen_ai.evaluation.name": "never-rm",
        "gen_ai.evaluation.score.label": "fail",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.evaluation.explanation": "a forbidden item occurred",
        "gen_ai.conversation.id": "s1",
        "spanward.operator": "never",
        "spanward.severity": "critical",
        "spanward.unit": "session",
        "spanward.early": True,
        "spanward.cause": "item",
        "spanward.revision": 0,
        "spanward.spec.sha256": "ab" * 32,
        "spanward.label.team": "x",
    }


def test_a_verdict_without_a_step_has_a_trace_of_its_own() -> None:
    """The same one whenever it is sent; no parent, and no error unless it failed."""
    quiet = announced(result=Result.PASS, witnesses=(), turn=3, job="j")
    first, second = span_of(quiet), span_of(quiet)
    assert first.parent is None
    assert first.context.trace_id == second.context.trace_id != 1
    assert first.status.status_code is StatusCode.UNSET
    assert (first.attributes or {})["gen_ai.evaluation.score.value"] == 1.0
    assert (first.attributes or {})["spanward.turn"] == 3
    assert (first.attributes or {})["spanward.job"] == "j"
    unknown = span_of(announced(result=Result.UNKNOWN))
    assert "gen_ai.evaluation.score.value" not in (unknown.attributes or {})


def test_a_step_without_ids_gives_no_parent_and_no_link() -> None:
    """Some log records have none."""
    span = span_of(announced(witnesses=(BARE_LOG, STEP)))
    assert span.parent is None
    assert len(span.links) == 1


def test_ids_tell_verdicts_apart_and_nothing_else() -> None:
    """Spec, unit, revision and result make the id; a turn known by key is so by its key."""
    ids = {
        identity.span_id(identity.identifying(each))
        for each in (
            announced(),
            announced(revision=1),
            announced(result=Result.PASS),
            announced(session="s2"),
            announced(turn=1),
            announced(turn=1, turn_key="k"),
            announced(turn=1, turn_key="m"),
            announced(job="j"),
        )
    }
    assert len(ids) == 8
    moved = [identity.identifying(announced(turn=turn, turn_key="k")) for turn in (1, 2)]
    assert identity.span_id(moved[0]) == identity.span_id(moved[1])
    worded = identity.identifying(announced(reason="other", witnesses=()))
    assert identity.span_id(worded) == identity.span_id(identity.identifying(announced()))


def test_only_the_wanted_results_go_out() -> None:
    """``emitters.spans.results``."""
    kept = Kept()
    emitter = VerdictSpans(kept, frozenset({"fail"}), "1")
    assert emitter.emit([announced(result=Result.PASS)], 1)
    assert emitter.emit([announced(), announced(result=Result.UNKNOWN)], 1)
    assert len(kept.spans) == 1


def test_exporters_are_the_sdks() -> None:
    """For both protocols; the HTTP one is told the path."""
    for protocol in (GRPC, HTTP_PROTOBUF):
        made = exporter("http://127.0.0.1:1/", protocol)
        made.shutdown()
    assert exporter("http://127.0.0.1:1/", HTTP_PROTOBUF)._endpoint == (  # type: ignore[attr-defined]
        "http://127.0.0.1:1/v1/traces"
    )


class Flaky:
    """An emitter that fails a number of times, or for ever, or raises."""

    name = "flaky"

    def __init__(self, failures: int, *, raises: bool = False) -> None:
        self.failures = failures
        self.raises = raises
        self.tried = threading.Event()
        self.went_out = threading.Event()
        self.closed = threading.Event()

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        self.failures -= 1
        self.tried.set()
        if self.failures < 0:
            self.went_out.set()
        if self.failures >= 0 and self.raises:
            raise ConnectionError("gone")
        return self.failures < 0

    def close(self) -> None:
        self.closed.set()


def sending(number: int = 1, emitter: str = "flaky", at_ns: int = 1) -> Sending:
    """An announcement on its way."""
    return Sending(number, emitter, at_ns, announced())


def outlet_of(emitter: Emitter, **more: Any) -> Outlet:
    """An outlet that does not wait between attempts."""
    return Outlet(emitter, pause=0.0, **more)


@pytest.mark.parametrize("raises", [False, True])
def test_an_outlet_tries_until_it_succeeds(raises: bool) -> None:
    """In order, and every attempt is counted; an exception is a failure like any other."""
    emitter = Flaky(3, raises=raises)
    outlet = outlet_of(emitter)
    outlet.put([sending(1), sending(2)])
    outlet.put([sending(3)])
    emitter.went_out.wait(5)
    assert outlet.close(5) == 0
    assert emitter.closed.is_set()
    assert outlet.emitted == {"failure": 6, "success": 3}
    assert outlet.done() == [1, 2, 3]
    assert outlet.done() == []


def test_what_never_goes_out_is_not_done() -> None:
    """It is told how many there are: the store has them for the next time."""
    emitter = Flaky(10**9)
    outlet = outlet_of(emitter)
    outlet.put([sending(1), sending(2)])
    assert outlet.close(5) == 2
    assert emitter.closed.is_set()
    assert outlet.done() == []
    assert outlet.emitted["success"] == 0


def test_what_is_closed_is_tried_once_more() -> None:
    """And no pause is waited for then."""
    emitter = Flaky(1)
    outlet = Outlet(emitter, pause=1000.0)
    outlet.put([sending(1)])
    emitter.tried.wait(5)
    assert outlet.close(5) == 0
    assert outlet.emitted == {"failure": 1, "success": 1}


class Counting:
    """An emitter that remembers how much it was given at once."""

    name = "counting"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        self.batches.append(len(announcements))
        return True

    def close(self) -> None:
        """Nothing to do."""


class Stuck:
    """An emitter that waits until it is let go."""

    name = "stuck"

    def __init__(self) -> None:
        self.free = threading.Event()

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        return self.free.wait(10)

    def close(self) -> None:
        """Nothing to do."""


class Refused(Counting):
    """An emitter whose other side will not have the first ones, ever."""

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        super().emit(announcements, at_ns)
        if len(self.batches) == 1:
            raise NeverTaken("bad request")
        return True


def test_what_is_refused_for_good_holds_nobody_up() -> None:
    """It is given up and counted, and what comes after it goes out."""
    outlet = outlet_of(Refused())
    outlet.put([sending(1), sending(2)])
    outlet.put([sending(3)])
    assert outlet.close(5) == 0
    assert outlet.emitted == {"dropped": 2, "success": 1}
    assert sorted(outlet.done()) == [1, 2, 3]


def test_a_stuck_emitter_holds_nobody_up() -> None:
    """What does not fit is given up and counted; closing gives up after its time."""
    emitter = Stuck()
    outlet = outlet_of(emitter, most=3)
    for number in range(5):
        outlet.put([sending(number)])
    assert outlet.emitted["dropped"] == 2
    assert outlet.done() == [3, 4]
    assert outlet.close(0.01) == 3
    emitter.free.set()


def test_much_at_once_goes_out_in_parts() -> None:
    """What fits is taken of a batch that does not, and no batch is larger than one can send."""
    emitter = Counting()
    outlet = outlet_of(emitter, most=1200)
    outlet.put([sending(number) for number in range(1300)])
    assert outlet.close(5) == 0
    assert emitter.batches == [500, 500, 200]
    assert outlet.emitted == {"dropped": 100, "success": 1200}
    assert sorted(outlet.done()) == list(range(1300))


def test_the_outbox_goes_on_where_it_stopped() -> None:
    """Numbers go on; what is for an emitter that is gone is given up; the rest goes out."""
    emitter = Flaky(0)
    outlet = outlet_of(emitter)
    outbox = Outbox([outlet], [sending(7), sending(8, "gone"), sending(9, at_ns=2)])
    made = outbox.make([announced(), announced()], 5)
    assert [(one.number, one.emitter, one.at_ns) for one in made] == [
        (10, "flaky", 5),
        (11, "flaky", 5),
    ]
    outbox.send(made)
    assert outlet.close(5) == 0
    assert outbox.done() == [8, 7, 9, 10, 11]


def test_a_histogram_counts_by_upper_bounds() -> None:
    """A bound belongs to its bucket; a clock that runs behind counts as no time."""
    histogram = Histogram((1.0, 2.0))
    for seconds in (-5.0, 1.0, 1.5, 2.0, 9.0):
        histogram.observe(seconds)
    assert histogram.counts == [2, 2, 1]
    assert histogram.total == 13.5
