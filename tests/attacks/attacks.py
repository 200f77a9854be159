"""Attacks on a running service, each in a process of its own.

``python -m tests.attacks.attacks NAME GRPC_PORT HTTP_PORT TOKEN SHARE``: SHARE is the part of the
whole attack that is made, so that a test can make a small one.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

EXPORT: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
MIB: Final = 1024 * 1024
PROTOBUF: Final = {"Content-Type": "application/x-protobuf"}


class Target:
    """The service under attack, and how much of the attack is made."""

    def __init__(self, grpc_port: int, http_port: int, token: str, share: float) -> None:
        self.grpc_port = grpc_port
        self.http_port = http_port
        self.share = share
        self._authorization = f"Bearer {token}"
        self.token = (("authorization", self._authorization),)
        self._way = grpc.insecure_channel(
            f"127.0.0.1:{grpc_port}", options=[("grpc.max_send_message_length", -1)]
        )
        self._export = self._way.unary_unary(EXPORT, bytes, bytes)

    def some(self, number: int) -> int:
        """So many, or the share of them that is made."""
        return max(1, int(number * self.share))

    def by_grpc(self, data: bytes) -> None:
        """Send by gRPC; what the service says to it does not matter."""
        with contextlib.suppress(grpc.RpcError):
            self._export(data, timeout=120, metadata=self.token)

    def by_http(self, data: bytes, **headers: str) -> None:
        """Send by HTTP; what the service says to it does not matter."""
        known = {**PROTOBUF, **headers, "Authorization": self._authorization}
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=120)
            connection.request("POST", "/v1/traces", data, known)
            connection.getresponse().read()
            connection.close()


def span(session: str, number: int, name: str = "tool.call") -> Span:
    """A tool call of a session."""
    made = Span(
        trace_id=number.to_bytes(16, "big"),
        span_id=(number + 1).to_bytes(8, "big"),
        name=name,
        start_time_unix_nano=1_700_000_000_000_000_000 + number,
        end_time_unix_nano=1_700_000_000_000_000_001 + number,
    )
    made.attributes.add(key="hangar.session.id").value.string_value = session
    made.attributes.add(key="gen_ai.tool.name").value.string_value = "rm"
    return made


def request(*spans: Span) -> bytes:
    """A request of some spans."""
    message = ExportTraceServiceRequest()
    message.resource_spans.add().scope_spans.add().spans.extend(spans)
    return message.SerializeToString()


def large_requests(target: Target) -> None:
    """40 requests of 56 MiB at once, half of them by each door."""
    made = span("large", 1)
    made.attributes.add(key="filler").value.string_value = "x" * target.some(56 * MIB)
    data = request(made)
    with ThreadPoolExecutor(40) as pool:
        for number in range(40):
            pool.submit(target.by_grpc if number % 2 else target.by_http, data)


def gzip_bombs(target: Target) -> None:
    """A gigabyte of zeros as a megabyte of gzip, a hundred times, by both doors."""
    bomb = gzip.compress(bytes(target.some(1024 * MIB)), 1)
    options = [("grpc.default_compression_algorithm", 2), ("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{target.grpc_port}", options=options) as way:
        export = way.unary_unary(EXPORT, bytes, bytes)
        zeros = bytes(target.some(300 * MIB))
        for _ in range(target.some(100)):
            target.by_http(bomb, **{"Content-Encoding": "gzip"})
        for _ in range(target.some(20)):
            with contextlib.suppress(grpc.RpcError):
                export(zeros, timeout=60, metadata=target.token)


def many_sessions(target: Target) -> None:
    """200,000 sessions of one item each."""
    for first in range(0, target.some(200_000), 500):
        spans = [span(f"many-{number}", number) for number in range(first, first + 500)]
        target.by_grpc(request(*spans))


def long_session(target: Target) -> None:
    """One session of 500,000 items."""
    for first in range(0, target.some(500_000), 500):
        target.by_grpc(request(*(span("long", number) for number in range(first, first + 500))))


def many_attributes(target: Target) -> None:
    """2,000 spans of 10,000 attributes each."""
    made = span("attributes", 1)
    for number in range(10_000):
        made.attributes.add(key=f"key-{number}").value.int_value = number
    for number in range(target.some(2000)):
        made.span_id = (number + 1).to_bytes(8, "big")
        target.by_grpc(request(made))


def long_ids(target: Target) -> None:
    """Session ids of 64 KiB, each another one."""
    for first in range(0, target.some(20_000), 100):
        spans = [
            span(f"{number}".rjust(64 * 1024, "x"), number) for number in range(first, first + 100)
        ]
        target.by_grpc(request(*spans))


def small_records(target: Target) -> None:
    """16 MiB of records of two bytes each, by both doors: eight million of them."""
    data = _wrapped(b"\x12\x00" * target.some(8 * MIB))
    for _ in range(3):
        target.by_grpc(data)
        target.by_http(data)


def _wrapped(spans: bytes) -> bytes:
    scope = b"\x12" + _varint(len(spans)) + spans
    return b"\x0a" + _varint(len(scope)) + scope


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)


def slow_connections(target: Target) -> None:
    """2,000 connections that say nothing, and 200 that say a byte a second, for 30 seconds."""
    connections: list[socket.socket] = []
    for number in range(target.some(2000)):
        port = target.grpc_port if number % 2 else target.http_port
        with contextlib.suppress(OSError):
            connections.append(socket.create_connection(("127.0.0.1", port), timeout=5))
    talkers = connections[:: max(1, len(connections) // 200)]
    head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
    until = time.monotonic() + 30 * target.share
    for byte in _again(head):
        for talker in talkers:
            with contextlib.suppress(OSError):
                talker.send(byte)
        time.sleep(1)  # the attack is to be slow
        if time.monotonic() > until:
            break
    for each in connections:
        each.close()


def _again(head: bytes) -> Iterator[bytes]:
    while True:
        for number in range(len(head)):
            yield head[number : number + 1]


ATTACKS: Final[dict[str, Callable[[Target], None]]] = {
    each.__name__: each
    for each in (
        large_requests,
        gzip_bombs,
        many_sessions,
        long_session,
        many_attributes,
        long_ids,
        small_records,
        slow_connections,
    )
}


if __name__ == "__main__":
    name, grpc_port, http_port, token, share = sys.argv[1:]
    ATTACKS[name](Target(int(grpc_port), int(http_port), token, float(share)))
