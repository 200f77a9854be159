"""Verdicts as spans, in the trace of the agent that they are about.

Attributes use the names of the GenAI semantic conventions where they have one
(``gen_ai.evaluation.*``). Spans go out through the exporters of the OpenTelemetry SDK, by their
own ``export()``: no processor, so no queue that drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from spanward.emitters import identity
from spanward.verdict import Announcement, Result, Verdict, Witness

_SCORES: Final = {Result.PASS: 1.0, Result.FAIL: 0.0}

GRPC: Final = "grpc"
HTTP_PROTOBUF: Final = "http/protobuf"
PROTOCOLS: Final = (GRPC, HTTP_PROTOBUF)


def exporter(endpoint: str, protocol: str) -> SpanExporter:
    """The SDK's exporter for an endpoint (a URL) and one of ``PROTOCOLS``."""
    if protocol == GRPC:
        return GrpcExporter(endpoint=endpoint, insecure=not endpoint.startswith("https://"))
    return HttpExporter(endpoint=endpoint.rstrip("/") + "/v1/traces")


class VerdictSpans:
    """Exports the announcements whose result is among ``results``."""

    name = "spans"

    def __init__(self, to: SpanExporter, results: frozenset[str], version: str) -> None:
        self._exporter = to
        self._results = results
        self._resource = Resource({"service.name": "spanward", "service.version": version})
        self._scope = InstrumentationScope(identity.SCOPE, version)

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        spans = [
            self._span(announcement, at_ns)
            for announcement in announcements
            if str(announcement.verdict.result) in self._results
        ]
        if not spans:
            return True
        return self._exporter.export(spans) is SpanExportResult.SUCCESS

    def close(self) -> None:
        self._exporter.shutdown()

    def _span(self, announcement: Announcement, at_ns: int) -> ReadableSpan:
        verdict = announcement.verdict
        identifying = identity.identifying(announcement)
        contexts = [_context(witness) for witness in verdict.witnesses]
        seen = [context for context in contexts if context is not None]
        parent = contexts[0] if contexts else None
        trace_id = parent.trace_id if parent else int.from_bytes(identity.trace_id(identifying))
        own_id = int.from_bytes(identity.span_id(identifying))
        return ReadableSpan(
            name=identity.SPAN_NAME,
            context=SpanContext(trace_id, own_id, False, TraceFlags(TraceFlags.SAMPLED)),
            parent=parent,
            resource=self._resource,
            attributes=_attributes(announcement, identifying),
            links=[Link(context) for context in seen],
            kind=SpanKind.INTERNAL,
            status=_status(verdict),
            start_time=at_ns,
            end_time=at_ns,
            instrumentation_scope=self._scope,
        )


def _context(witness: Witness) -> SpanContext | None:
    """The span of a witness; None for a log record without ids."""
    if not witness.trace_id or not witness.span_id:
        return None
    trace_id, span_id = int(witness.trace_id, 16), int(witness.span_id, 16)
    return SpanContext(trace_id, span_id, True, TraceFlags(TraceFlags.SAMPLED))


def _status(verdict: Verdict) -> Status:
    if verdict.result is Result.FAIL:
        return Status(StatusCode.ERROR, verdict.reason)
    return Status(StatusCode.UNSET)


def _attributes(announcement: Announcement, identifying: dict[str, Any]) -> dict[str, Any]:
    verdict = announcement.verdict
    attributes = {
        identity.SPEC: verdict.spec,
        "gen_ai.evaluation.explanation": verdict.reason,
        "spanward.operator": verdict.operator,
        "spanward.severity": verdict.severity,
        "spanward.early": verdict.early,
        "spanward.cause": str(verdict.cause),
        **identifying,
        **{f"spanward.label.{name}": value for name, value in announcement.labels.items()},
    }
    score = _SCORES.get(verdict.result)
    if score is not None:
        attributes["gen_ai.evaluation.score.value"] = score
    return attributes
