"""The load: a process that sends prepared requests over gRPC with a few concurrent clients.

``python bench/replay.py FILE PORT CLIENTS FIRST LAST RATE`` sends the requests FIRST up to LAST of
FILE, each answered before its client sends the next, RATE a second (0: as fast as they are
answered). Prints a line of JSON: the seconds that took, and the median and the 99th percentile of
the milliseconds from when a request was due to its answer.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc

if TYPE_CHECKING:
    from collections.abc import Iterable

EXPORT: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
DEADLINE_SECONDS: Final = 30.0
BUSY_SECONDS: Final = 0.05
LENGTH_BYTES: Final = 4


def write(path: Path, requests: Iterable[bytes]) -> None:
    """Keep requests in a file, each after its length."""
    with path.open("wb") as file:
        for request in requests:
            file.write(len(request).to_bytes(LENGTH_BYTES, "big"))
            file.write(request)


def read(path: Path) -> list[bytes]:
    """The requests of a file."""
    data = path.read_bytes()
    requests = []
    at = 0
    while at < len(data):
        start = at + LENGTH_BYTES
        at = start + int.from_bytes(data[at:start], "big")
        requests.append(data[start:at])
    return requests


def send(requests: list[bytes], port: int, clients: int, rate: float) -> dict[str, float]:
    """Send all requests with a number of concurrent clients; the figures.

    Raises ``grpc.RpcError`` when a request fails for another reason than a busy service.
    """
    since = time.monotonic()
    step = 1 / rate if rate else 0.0
    waiting = deque((since + number * step, request) for number, request in enumerate(requests))
    failures: list[grpc.RpcError] = []
    taken: list[float] = []
    threads = [
        threading.Thread(target=_client, args=(waiting, port, taken, failures))
        for _ in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    taken.sort()
    p50, p99 = (taken[int(len(taken) * share)] * 1e3 for share in (0.5, 0.99))
    return {"seconds": time.monotonic() - since, "p50_ms": p50, "p99_ms": p99}


def _client(
    waiting: deque[tuple[float, bytes]],
    port: int,
    taken: list[float],
    failures: list[grpc.RpcError],
) -> None:
    # a pool of its own: otherwise all channels of a process share one connection
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        export = channel.unary_unary(EXPORT, bytes, bytes)
        while waiting and not failures:
            try:
                due, request = waiting.popleft()
            except IndexError:
                return
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                _export(export, request)
            except grpc.RpcError as error:
                failures.append(error)
            taken.append(time.monotonic() - due)


def _export(export: grpc.UnaryUnaryMultiCallable[bytes, bytes], request: bytes) -> None:
    while True:
        try:
            export(request, timeout=DEADLINE_SECONDS)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            time.sleep(BUSY_SECONDS)
        else:
            return


def main() -> None:
    """See the module's docstring."""
    path, port, clients, first, last, rate = sys.argv[1:]
    requests = read(Path(path))[int(first) : int(last)]
    print(json.dumps(send(requests, int(port), int(clients), float(rate))))


if __name__ == "__main__":
    main()
