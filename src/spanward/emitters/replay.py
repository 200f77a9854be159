"""Sending recorded spans again, through the SDK's own exporter, as their runtime once did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from spanward.emitters.spans import GRPC, exporter

_STATUS = {0: StatusCode.UNSET, 1: StatusCode.OK, 2: StatusCode.ERROR}


def recorded_spans(lines: Iterator[str]) -> Iterator[ReadableSpan]:
    """The spans of OTLP JSON lines in their order, as the SDK would have them."""
    for line in lines:
        for resource in json.loads(line).get("resourceSpans", []):
            sent_by = Resource(_attributes(resource.get("resource", {})))
            for scope in resource["scopeSpans"]:
                named = scope.get("scope", {})
                by = InstrumentationScope(named.get("name", ""), named.get("version"))
                for span in scope["spans"]:
                    yield _span(span, sent_by, by)


class Replay:
    """Sends spans to an OTLP/gRPC endpoint (a URL). Raises ``ConnectionError`` when refused."""

    def __init__(self, endpoint: str) -> None:
        self._exporter = exporter(endpoint, GRPC)

    def send(self, span: ReadableSpan) -> None:
        """Send one span and wait until it was taken."""
        if self._exporter.export([span]) is not SpanExportResult.SUCCESS:
            raise ConnectionError("the service did not take a span")

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()


def _span(span: dict[str, Any], resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    trace_id = int(span["traceId"], 16)
    parent = span.get("parentSpanId")
    status = span.get("status", {})
    return ReadableSpan(
        name=span["name"],
        context=_context(trace_id, span["spanId"]),
        parent=_context(trace_id, parent) if parent else None,
        resource=resource,
        attributes=_attributes(span),
        events=[
            Event(event["name"], _attributes(event), int(event["timeUnixNano"]))
            for event in span.get("events", [])
        ],
        status=Status(_STATUS[status.get("code", 0)]),
        start_time=int(span["startTimeUnixNano"]),
        end_time=int(span["endTimeUnixNano"]),
        instrumentation_scope=scope,
    )


def _context(trace_id: int, span_id: str) -> SpanContext:
    return SpanContext(trace_id, int(span_id, 16), False, TraceFlags(TraceFlags.SAMPLED))


def _attributes(owner: dict[str, Any]) -> dict[str, Any]:
    pairs = ((each["key"], _value(each.get("value", {}))) for each in owner.get("attributes", []))
    return {key: value for key, value in pairs if value is not None}


def _value(value: dict[str, Any]) -> Any:
    if "intValue" in value:
        return int(value["intValue"])
    if "arrayValue" in value:
        return [_value(each) for each in value["arrayValue"].get("values", [])]
    return next(iter(value.values()), None)
