"""The reader: what must be decoded, and what is rejected."""

from __future__ import annotations

import pytest

from spanward.dialects import DIALECTS, Reader
from spanward.otlp.record import Batch, LogRecord, SpanRecord
from tests.dialects.records import EVERYTHING, event, log, source, span


def test_records_of_one_source_share_its_attributes() -> None:
    """What is asked of scope and resource is worked out once, and again for another source."""
    one, other = source(resource={"x.y": 1}), source(resource={"x.y": 2})
    records: list[SpanRecord | LogRecord] = [
        span("tool.call", source=each) for each in (one, one, other, one)
    ]
    reports = Reader(DIALECTS.values(), EVERYTHING).reports(Batch(records, {}))
    found = [each.items[0].attribute("x.y") for each in reports]
    assert found == [1, 1, 2, 1]
    assert reports[0].items[0].outer is reports[1].items[0].outer


def test_wanted_is_what_dialects_and_specs_read() -> None:
    """A decoder that decodes these misses nothing."""
    wanted = Reader(DIALECTS.values(), EVERYTHING).wanted
    assert {"x.y", "hangar.seq", "gen_ai.tool.call.arguments", "event.name"} <= wanted
    assert "nobody" not in wanted


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"session.id": "é" * 129}, "session_id"),
        ({"session.id": "x" * 257}, "session_id"),
        ({"hangar.job.id": "x" * 300}, "job_id"),
    ],
)
def test_ids_that_are_too_long_reject_their_record(attributes: dict[str, str], reason: str) -> None:
    """More than 256 bytes, of a span or a log; an event is left out of its span's items."""
    records: list[SpanRecord | LogRecord] = [
        span("tool.call", attributes),
        span("tool.call", events=(event("e", attributes),)),
        log(attributes),
        span("tool.call", {"session.id": "x" * 256}),
    ]
    batch = Batch(records, {})
    reports = Reader(DIALECTS.values(), EVERYTHING).reports(batch)
    whole, last = reports
    assert [len(report.items) for report in (whole, last)] == [1, 1]
    assert batch.rejected == {reason: 3}
