"""A mixed run: all that senders do, right and wrong, through both doors; then the books are read.

``python -m tests.service.mixed RECORDS SEED`` prints what became of so many records.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import grpc
import msgspec
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanward.emitters.identity import span_id
from spanward.engine.limits import Limits
from spanward.saved import Saving
from spanward.stores import StoreError
from spanward.stores.sqlite import SqliteStore
from tests.otlp.roads import as_json
from tests.service.test_http import JSON, PROTOBUF, post
from tests.service.world import HERE, NEVER_RM, apart, exporting, figures, request, service

SPECS: Final = f"{NEVER_RM}---\n{NEVER_RM.replace('never-rm', 'per-turn')}unit: turn\n"
RECORDS_A_REQUEST: Final = 50
SENDERS: Final = 4
LONG: Final = "x" * 300


class Shaky(SqliteStore):
    """A store of which every so many commits fail."""

    commits = 0

    def commit(self, saving: Saving) -> None:
        self.commits += 1
        if self.commits % 7 == 0:
            raise StoreError("no space left")
        super().commit(saving)


class Sender:
    """One sender, with its own sessions; it sends again what was refused for a while."""

    def __init__(self, number: int, seed: int, ports: tuple[int, int]) -> None:
        self._rng = random.Random(seed * 100 + number)
        self._name = f"sender-{number}"
        self._grpc, self._http = ports
        self._way = grpc.insecure_channel(f"127.0.0.1:{self._grpc}")
        self._sent: list[Span] = []
        self.unread = 0

    def send(self, records: int) -> None:
        """Send so many records, and as many mistakes as come along."""
        left = records
        while left > 0:
            left -= self._send_one()
        self._way.close()

    def _send_one(self) -> int:
        rng = self._rng
        if rng.random() < 0.02:
            self._spoil()
        if rng.random() < 0.2:
            logs = ExportLogsServiceRequest()
            found = logs.resource_logs.add().scope_logs.add().log_records
            found.extend(self._log() for _ in range(RECORDS_A_REQUEST))
            self._deliver(logs.SerializeToString(), as_json(logs).encode(), "logs")
            return RECORDS_A_REQUEST
        spans = [self._span() for _ in range(RECORDS_A_REQUEST)]
        ours = rng.random() < 0.05
        if ours:
            spans = [self._verdict(each) for each in spans]
        raw = request(*spans, scope="spanward" if ours else "agent")
        message = ExportTraceServiceRequest.FromString(raw)
        self._deliver(raw, as_json(message).encode(), "trace")
        return len(spans) + sum(len(span.events) for span in spans)

    def _deliver(self, raw: bytes, text: bytes, signal: str) -> None:
        """By any door, in any encoding, until it is taken."""
        names = {"trace": "trace.v1.TraceService", "logs": "logs.v1.LogsService"}
        export = exporting(self._way, f"/opentelemetry.proto.collector.{names[signal]}/Export")
        path = "/v1/traces" if signal == "trace" else "/v1/logs"
        kind = self._rng.choice(["grpc", "protobuf", "json", "gzip"])
        while True:
            try:
                if kind == "grpc":
                    export(raw, timeout=60)
                    return
                body, headers = (text, JSON) if kind == "json" else (raw, PROTOBUF)
                if kind == "gzip":
                    body, headers = gzip.compress(raw, 1), {**PROTOBUF, "Content-Encoding": "gzip"}
                if post(self._http, body, headers, path).status == 200:
                    return
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise

    def _spoil(self) -> None:
        """A request that is no good: refused before any record of it was read."""
        body, headers = self._rng.choice(
            [
                (b"\xff\xff\xff", PROTOBUF),
                (b"{", JSON),
                (b'{"resourceLogs": []}', JSON),
                (b"xxxx", {**PROTOBUF, "Content-Encoding": "gzip"}),
                (b"", {"Content-Type": "text/plain"}),
                (b'{"a":[' + b"1," * 4_000_001 + b"1]}", JSON),
            ]
        )
        assert post(self._http, body, headers).status in (400, 413, 415)
        self.unread += 1

    def _span(self) -> Span:
        rng = self._rng
        if self._sent and rng.random() < 0.2:
            again = Span.FromString(rng.choice(self._sent).SerializeToString())
            if rng.random() < 0.5:  # amended, or too late
                again.end_time_unix_nano += rng.choice([-1, 1, 1000])
            return again
        made = Span(
            trace_id=rng.randbytes(16),
            span_id=rng.randbytes(8),
            name=rng.choice(["tool.call", "tool.call", "approval", "chat"]),
            start_time_unix_nano=1_700_000_000_000_000_000 + rng.randrange(10**9),
        )
        made.end_time_unix_nano = made.start_time_unix_nano + 500
        for key, value in self._attributes_of(made).items():
            made.attributes.add(key=key).value.string_value = value
        for _ in range(rng.choice([0, 0, 1, 3])):
            event = made.events.add(name=rng.choice(["file.change", "retry"]))
            if rng.random() < 0.05:
                event.attributes.add(key="session.id").value.string_value = LONG
        self._sent = [*self._sent[-200:], made]
        return made

    def _attributes_of(self, made: Span) -> dict[str, str]:
        """What a span says; now and then something of it is wrong."""
        rng = self._rng
        known = {
            "hangar.session.id": f"{self._name}-{rng.randrange(200)}",
            "gen_ai.tool.name": rng.choice(["rm", "ls", "cat"]),
        }
        if rng.random() < 0.3:
            known["gen_ai.tool.call.id"] = f"c{rng.randrange(50)}"
        match rng.randrange(40):
            case 0:
                made.trace_id = rng.choice([b"", bytes(16), b"short"])
            case 1:
                made.span_id = bytes(8)
            case 2:
                known["hangar.session.id"] = LONG
            case 3:
                known["hangar.job.id"] = LONG
            case 4:
                del known["hangar.session.id"]
            case 5:
                made.dropped_attributes_count = 3
            case _:
                pass
        return known

    def _verdict(self, made: Span) -> Span:
        """A verdict of the service's own that comes back, or one that is only called so."""
        revision = len(self._sent)
        made.ClearField("attributes")
        made.attributes.add(key="gen_ai.evaluation.name").value.string_value = "never-rm"
        made.attributes.add(key="spanward.revision").value.int_value = revision
        made.name = "spanward.verdict"
        if self._rng.random() < 0.8:
            made.span_id = span_id({"spanward.revision": revision})
        return made

    def _log(self) -> LogRecord:
        rng = self._rng
        made = LogRecord(time_unix_nano=rng.randrange(1, 10**18), event_name="note")
        if rng.random() < 0.8:
            session = f"{self._name}-{rng.randrange(200)}" if rng.random() < 0.95 else LONG
            made.attributes.add(key="session.id").value.string_value = session
        elif rng.random() < 0.5:
            made.trace_id = rng.randbytes(16)
        return made


def run(records: int, seed: int, folder: Path) -> tuple[dict[str, float], int]:
    """All samples of ``/metrics`` after a run, and how many requests were spoilt."""
    limits = Limits(settle=0.05, amend_window=0.5, max_open=600, idle_timeout=2.0, retain=5.0)
    config = msgspec.structs.replace(HERE, limits=limits)

    async def story() -> tuple[dict[str, float], int]:
        store = Shaky(folder / "s.db", "aside")
        async with service(SPECS, config, store=store) as running:
            ports = running.grpc_port, running.http_port
            senders = [Sender(number, seed, ports) for number in range(SENDERS)]
            with ThreadPoolExecutor(SENDERS) as pool:
                loop = asyncio.get_running_loop()
                await asyncio.gather(
                    *(loop.run_in_executor(pool, each.send, records // SENDERS) for each in senders)
                )
            return await apart(figures, running.admin_port), sum(each.unread for each in senders)

    return asyncio.run(story())


def balance(counted: dict[str, float]) -> tuple[float, dict[str, float]]:
    """What was received, and what became of it."""
    received = sum(
        value
        for name, value in counted.items()
        if name.startswith(
            (
                "spanward_spans_received_total",
                "spanward_span_events_received_total",
                "spanward_log_records_received_total",
            )
        )
    )
    prefix = 'spanward_records_total{fate="'
    fates = {
        name.removeprefix(prefix).removesuffix('"}'): value
        for name, value in counted.items()
        if name.startswith(prefix)
    }
    return received, fates


def main() -> None:
    """See the module's docstring."""
    logging.disable(logging.ERROR)
    records, seed = (int(word) for word in sys.argv[1:3])
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        counted, spoilt = run(records, seed, Path(folder))
    received, fates = balance(counted)
    sys.stdout.write(f"{received:,.0f} records in {time.monotonic() - started:.0f} s\n")
    for fate, number in sorted(fates.items()):
        sys.stdout.write(f"  {number:>12,.0f} {fate}\n")
    refused = {name: n for name, n in counted.items() if "requests_refused_total{" in name and n}
    sys.stdout.write(f"{spoilt} requests were spoilt; refused: {refused}\n")
    sys.exit(received != sum(fates.values()))


if __name__ == "__main__":
    main()
