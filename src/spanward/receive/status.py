"""From what became of a request to the messages that its sender is owed, in one place.

Sources: OTLP specification, *OTLP/gRPC Response* and *OTLP/HTTP Response*; the
exporters of the Go and Python SDKs, of which the one reads the retry delay from
``grpc-status-details-bin``, the other from its own trailer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToJson
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from spanward.request import Signal

RETRY_SECONDS: Final = 2
"""A Python exporter drops at once when told to wait 10 s or more."""

Trailers = tuple[tuple[str, bytes], ...]


def retry_trailers(words: str) -> Trailers:
    """What makes every client that retries at all send an overloaded request again."""
    info = RetryInfo(retry_delay=Duration(seconds=RETRY_SECONDS))
    status = Status(code=grpc.StatusCode.UNAVAILABLE.value[0], message=words)
    status.details.add().Pack(info)
    return (
        ("grpc-status-details-bin", status.SerializeToString()),
        ("google.rpc.retryinfo-bin", info.SerializeToString()),
    )


def status_message(code: int, words: str) -> Message:
    """The body of an error over HTTP."""
    status: Message = Status(code=code, message=words)
    return status


def as_json(message: Message) -> bytes:
    """A message as JSON, as ProtoJSON has it."""
    return MessageToJson(message, indent=None).encode()


def _traces(rejected: int, reason: str) -> Message:
    response = ExportTraceServiceResponse()
    if reason:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = reason
    return response


def _logs(rejected: int, reason: str) -> Message:
    response = ExportLogsServiceResponse()
    if reason:
        response.partial_success.rejected_log_records = rejected
        response.partial_success.error_message = reason
    return response


RESPONSES: Final[dict[Signal, Callable[[int, str], Message]]] = {"traces": _traces, "logs": _logs}
"""The answer to taken records, of which so many were rejected for a reason; ``partial_success`` is
unset when all were taken. Zero of them with a reason is a warning: only span events were bad."""
