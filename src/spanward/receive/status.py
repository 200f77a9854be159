"""From what became of a request to the gRPC status that its sender is owed, in one place.

Sources: OTLP specification, *OTLP/gRPC Response*; the exporters of the Go and Python SDKs, of which
the one reads the retry delay from ``grpc-status-details-bin``, the other from its own trailer.
"""

from __future__ import annotations

from typing import Final

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

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


def traces_response(rejected: int, reason: str) -> bytes:
    """The answer to taken spans; ``partial_success`` is unset when all were taken."""
    response = ExportTraceServiceResponse()
    if rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = reason
    return response.SerializeToString()


def logs_response(rejected: int, reason: str) -> bytes:
    """The answer to taken log records; ``partial_success`` is unset when all were taken."""
    response = ExportLogsServiceResponse()
    if rejected:
        response.partial_success.rejected_log_records = rejected
        response.partial_success.error_message = reason
    return response.SerializeToString()
