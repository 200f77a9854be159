"""OTLP protobuf to records: only what somebody asks for is decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from google.protobuf.message import DecodeError

from spanward.item import CUT, Attributes
from spanward.otlp import view
from spanward.otlp.assembly import (
    OWN_SCOPE,
    OWN_SPAN,
    STATUS_ERROR,
    Assembly,
    moment,
)
from spanward.otlp.bounds import Allowance, check_logs, check_records, check_traces
from spanward.otlp.malformed import Malformed
from spanward.otlp.record import Batch, EventRecord, Source, SpanRecord
from spanward.otlp.values import INT64_MAX
from spanward.otlp.wirevalues import attribute, everything, parted, text, whole_text, whole_value

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_KNOWN: Final = 8192
"""Attributes remembered, wanted or not. What repeats comes back soon after it is forgotten."""
_LONGEST_KNOWN: Final = 256
"""Bytes of an attribute that is remembered; longer ones seldom repeat."""
_MOST_SOURCES: Final = 256
"""Resources remembered, and scopes."""
_LONGEST_SOURCE: Final = 16 * 1024
"""Bytes of a resource or scope that is remembered; a bound on their number alone would let the
memory grow with what a sender puts there."""

_Read = TypeVar("_Read")
_Attribute = tuple[str, Any] | None
"""Name and value; None for what nobody wants."""


class WireReader:
    """Decodes requests for those who want some attributes: ``wanted`` are their names.

    Keeps memories of what it has decoded, for attributes mostly repeat; they are bounded in number
    and in size. What was decoded once may stand in many records, so nobody changes it. Not safe
    for use by several threads.
    """

    def __init__(self, wanted: frozenset[str]) -> None:
        self.wanted = wanted
        self._known = _Known(wanted)
        self._read: Callable[[bytes], _Attribute] = self._known.__getitem__
        self._resources: dict[bytes, Attributes] = {}
        self._scopes: dict[bytes, tuple[str, str, Attributes]] = {}

    def traces(self, data: bytes) -> Batch:
        """The spans of an ``ExportTraceServiceRequest``. Raises ``Malformed`` and ``TooMuch``."""
        check_traces(data)
        self._known.allowance = Allowance()
        assembly = Assembly()
        try:
            for resource in view.parse_traces(data).resource_spans:
                of_resource = self._resource(resource.resource)
                for scope in resource.scope_spans:
                    source = Source(*self._scope(scope.scope), of_resource)
                    self._spans(assembly, source, scope.spans)
        except DecodeError as error:
            raise Malformed(str(error)) from None
        return assembly.batch

    def logs(self, data: bytes) -> Batch:
        """The records of an ``ExportLogsServiceRequest``. Raises ``Malformed`` and ``TooMuch``."""
        check_logs(data)
        self._known.allowance = Allowance()
        assembly = Assembly()
        try:
            for resource in view.parse_logs(data).resource_logs:
                of_resource = self._resource(resource.resource)
                for scope in resource.scope_logs:
                    source = Source(*self._scope(scope.scope), of_resource)
                    check_records(len(assembly.batch.records) + len(scope.log_records))
                    for record in scope.log_records:
                        self._log(assembly, source, record)
        except DecodeError as error:
            raise Malformed(str(error)) from None
        return assembly.batch

    def _spans(self, assembly: Assembly, source: Source, spans: Any) -> None:
        """Read the spans of one scope; one loop, for a call a span is what would cost most."""
        add, attributes = assembly.batch.records.append, self._attributes
        may_be_own = source.scope == OWN_SCOPE
        check_records(len(assembly.batch.records) + len(spans))
        for span in spans[:]:
            trace_id, span_id = span.trace_id, span.span_id
            if not assembly.accepts(trace_id, span_id):
                assembly.reject(trace_id, len(span.events))
                continue
            if span.dropped_attributes_count:
                assembly.batch.dropped += 1
            name = span.name.decode("utf-8", "replace")
            own = may_be_own and name == OWN_SPAN
            events, status = span.events, span.status
            start, end = span.start_time_unix_nano, span.end_time_unix_nano
            if start > INT64_MAX or end > INT64_MAX:
                start, end = moment(start), moment(end)
            add(
                SpanRecord(
                    source,
                    trace_id,
                    span_id,
                    name,
                    start,
                    max(start, end),
                    bool(status) and view.parse_status(status).code == STATUS_ERROR,
                    everything(span.attributes, self._known.allowance)
                    if own
                    else attributes(span.attributes),
                    tuple(map(self._event, events[:])) if events else (),
                )
            )

    def _event(self, event: Any) -> EventRecord:
        time = moment(event.time_unix_nano)
        return EventRecord(text(event.name), time, self._attributes(event.attributes))

    def _log(self, assembly: Assembly, source: Source, record: Any) -> None:
        if record.dropped_attributes_count:
            assembly.batch.dropped += 1
        said = {
            "time": record.time_unix_nano,
            "observed": record.observed_time_unix_nano,
            "severity": record.severity_number,
            "severity_text": text(record.severity_text),
            "body": whole_value(record.body, self._known.allowance),
            "attributes": everything(record.attributes, self._known.allowance),
            "flags": record.flags,
            "trace": record.trace_id,
            "span": record.span_id,
            "event_name": text(record.event_name),
        }
        assembly.log(source, said, self.wanted)

    def _resource(self, raw: bytes) -> Attributes:
        """The wanted attributes of a resource: read once for all its scopes, however many."""
        found = self._resources.get(raw)
        if found is None:
            found = self._attributes(view.parse_resource(raw).attributes)
            if len(raw) <= _LONGEST_SOURCE and CUT not in found.values():
                _remember(self._resources, raw, found, _MOST_SOURCES)
        return found

    def _scope(self, raw: bytes) -> tuple[str, str, Attributes]:
        """Name, version and wanted attributes of a scope."""
        found = self._scopes.get(raw)
        if found is None:
            read = view.parse_scope(raw)
            found = (text(read.name), text(read.version), self._attributes(read.attributes))
            if len(raw) <= _LONGEST_SOURCE and CUT not in found[2].values():
                _remember(self._scopes, raw, found, _MOST_SOURCES)
        return found

    def _attributes(self, raw_attributes: Any) -> Attributes:
        """The wanted ones of some raw attributes; a key that stands twice has its last value.

        Here and elsewhere a repeated field is copied to a list before it is iterated over, which
        costs a third less (measured): a field itself has only the slow protocol of ``__getitem__``.
        """
        return dict(filter(None, map(self._read, raw_attributes[:])))


class _Known(dict[bytes, _Attribute]):
    """Raw attributes, each read once: name and value, None for one that nobody wants.

    A dict that fills itself, so that reading what is known costs no call of ours. What could not
    be taken whole is not remembered: it may be for the sake of what else was in its request.
    """

    def __init__(self, wanted: frozenset[str]) -> None:
        self.allowance = Allowance()
        self._wanted = {name.encode(): name for name in wanted}

    def __missing__(self, raw: bytes) -> _Attribute:
        found = self._read(raw)
        if len(raw) <= _LONGEST_KNOWN and (found is None or found[1] is not CUT):
            _remember(self, raw, found, _MOST_KNOWN)
        return found

    def _read(self, raw: bytes) -> _Attribute:
        parts = parted(raw)
        if parts is None:
            return self._parsed(raw)
        key, inner = parts
        name = self._wanted.get(key)
        if name is None:
            return None
        value = whole_text(inner)  # nearly all are texts
        if value is None:
            value = whole_value(inner, self.allowance)
        return None if value is None else (name, value)

    def _parsed(self, raw: bytes) -> _Attribute:
        name, value = attribute(raw, self.allowance)
        return None if value is None or name.encode() not in self._wanted else (name, value)


def _remember(memory: dict[bytes, _Read], raw: bytes, read: _Read, most: int) -> None:
    if len(memory) >= most:
        memory.clear()
    memory[raw] = read
