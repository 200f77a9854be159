"""What both roads in share: from decoded parts to records, with the checks that ids must pass."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final

from spanward.otlp.record import Batch, LogRecord, Source
from spanward.otlp.values import INT64_MAX

TRACE_ID_BYTES: Final = 16
SPAN_ID_BYTES: Final = 8
_NO_TRACE: Final = bytes(TRACE_ID_BYTES)
_NO_SPAN: Final = bytes(SPAN_ID_BYTES)
STATUS_ERROR: Final = 2
"""The code of a span's status that says it failed."""

OWN_SPAN: Final = "spanward.verdict"
OWN_SCOPE: Final = "spanward"
"""A verdict span that returns is read whole, so that it can be told from one that only looks so."""


def identifier(found: bytes, length: int) -> bytes:
    """An id of the right length that is not zero; empty for anything else."""
    return found if len(found) == length and any(found) else b""


def moment(nanoseconds: int) -> int:
    """A time that a 64-bit signed integer can hold."""
    return min(nanoseconds, INT64_MAX)


class Assembly:
    """Collects the records of one batch."""

    def __init__(self) -> None:
        self.batch = Batch(records=[], rejected={})

    def reject(self, trace_id: bytes, events: int) -> None:
        """Count a span that ``accepts`` did not accept, and its events, which go with it."""
        reason = "span_id" if _is_trace_id(trace_id) else "trace_id"
        rejected = self.batch.rejected
        rejected[reason] = rejected.get(reason, 0) + 1
        self.batch.lost_events += events

    def accepts(self, trace_id: bytes, span_id: bytes) -> bool:
        """Whether a span's ids are good; it must be rejected when one is not."""
        return _is_trace_id(trace_id) and len(span_id) == SPAN_ID_BYTES and span_id != _NO_SPAN

    def log(self, source: Source, said: dict[str, Any], wanted: frozenset[str]) -> None:
        """Add a log record from all that it says; only wanted attributes are kept.

        ``said`` has the keys ``time observed severity severity_text body attributes flags trace
        span event_name``; together they are what makes two log records the same.
        """
        trace = identifier(said["trace"], TRACE_ID_BYTES)
        attributes = said["attributes"]
        self.batch.records.append(
            LogRecord(
                source,
                trace,
                identifier(said["span"], SPAN_ID_BYTES),
                moment(said["time"] or said["observed"]),
                said["event_name"],
                said["body"],
                {name: attributes[name] for name in wanted & attributes.keys()},
                _digest(said),
            )
        )


def _is_trace_id(found: bytes) -> bool:
    return len(found) == TRACE_ID_BYTES and found != _NO_TRACE


def _digest(said: dict[str, Any]) -> bytes:
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), default=_foreign)
    return blake2b(canonical.encode(), digest_size=16).digest()


def _foreign(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else repr(value)
