"""The load: a process that sends prepared requests over gRPC with a few concurrent clients.

``python bench/replay.py FILE PORT CLIENTS FIRST LAST`` sends the requests FIRST up to LAST of
FILE, each answered before its client sends the next, and prints the seconds that took.
"""

from __future__ import annotations

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


def send(requests: list[bytes], port: int, clients: int) -> float:
    """Send all requests with a number of concurrent clients; the seconds until the last answer.

    Raises ``grpc.RpcError`` when a request fails for another reason than a busy service.
    """
    waiting = deque(requests)
    failures: list[grpc.RpcError] = []
    threads = [
        threading.Thread(target=_client, args=(waiting, port, failures)) for _ in range(clients)
    ]
    since = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return time.monotonic() - since


def _client(waiting: deque[bytes], port: int, failures: list[grpc.RpcError]) -> None:
    # a pool of its own: otherwise all channels of a process share one connection
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        export = channel.unary_unary(EXPORT, bytes, bytes)
        while waiting and not failures:
            try:
                request = waiting.popleft()
            except IndexError:
                return
            try:
                _export(export, request)
            except grpc.RpcError as error:
                failures.append(error)


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
    path, port, clients, first, last = sys.argv[1:]
    requests = read(Path(path))[int(first) : int(last)]
    print(send(requests, int(port), int(clients)))


if __name__ == "__main__":
    main()
