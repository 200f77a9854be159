"""Torture: the real service is killed again and again, and must not lose or double anything.

Several clients send at full speed, in any order, with calls reported twice, sessions that become
known late, windows, turns and jobs. The process kills itself at named points and is killed from
outside at random moments; whoever was not told "ok" sends again. In the end the verdicts, their
witnesses and the counters are those of a run that nothing disturbed.

``python -m tests.stores.torture [KILLS [SEED]]``: about two kills a second.
"""

from __future__ import annotations

import json
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.errors import Problems
from spanward.specs.loader import load
from spanward.stores.sqlite import SqliteStore
from tests.stores.tortured import WHERE

CLIENTS = 3
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
BASE_NS = 1_700_000_000_000_000_000

SPECS = """
name: no-force-push
assert: {never: {tool: {}, input: '--force'}}
---
name: tests-before-push
assert:
  each: {tool: {ops: git.push}}
  requires_prior: {tool: {ops: test}}
  within: {seq: 8}
---
name: approved-first
assert: {before: {first: {approval: {status: approved}}, then: {tool: {ops: git.push}}}}
---
name: read-edit-test
assert: {order: [{tool: {kind: read}}, {tool: {kind: edit}}, {tool: {ops: test}}]}
---
name: some-failures
assert: {count: {match: {tool: {}, where: {status: error}}, max: 3}}
---
name: few-shells-a-turn
unit: turn
assert: {count: {match: {tool: {kind: shell}}, max: 2}}
---
name: in-the-source
assert: {all: {paths: {from: [file.change]}, match: 'src/*'}}
---
name: one-push-a-job
unit: job
assert: {count: {match: {tool: {ops: git.push}}, max: 4}}
---
name: expected
unit: session
assert: {expected_tools: [read_file, {name: shell, args: {force: true}, count: 2}]}
"""

CONFIG = """
receivers:
  otlp_grpc: {{endpoint: "127.0.0.1:{grpc}"}}
  otlp_http: {{endpoint: "127.0.0.1:0"}}
admin: {{endpoint: "127.0.0.1:{admin}"}}
specs: {{paths: ["{folder}/specs.yaml"]}}
sessions: {{settle: 300ms}}
store: {{path: "{folder}/spanward.db"}}
drain_timeout: 60s
"""


def _attribute(key: str, value: Any) -> KeyValue:
    if isinstance(value, list):
        array = ArrayValue(values=[AnyValue(string_value=one) for one in value])
        return KeyValue(key=key, value=AnyValue(array_value=array))
    name = "int_value" if isinstance(value, int) else "string_value"
    return KeyValue(key=key, value=AnyValue(**{name: value}))


def _span(trace: bytes, span: bytes, start: int, lasts: int, **more: Any) -> dict[str, Any]:
    return {"trace_id": trace, "span_id": span, "start": start, "end": start + lasts, **more}


def session_of(number: int, rng: Random) -> list[dict[str, Any]]:
    """The spans of a session: in every third one the calls do not say whose they are."""
    trace, name = rng.randbytes(16), f"session-{number}"
    late = number % 3 == 0
    spans = []
    for seq in range(1, 25):
        start = BASE_NS + number * 10**12 + seq * 10**9
        kind = rng.choice(["read", "edit", "shell", "shell"])
        ops = rng.choice([["test"], ["git.push"], []]) if kind == "shell" else []
        own = {
            "hangar.seq": seq,
            "hangar.turn": 1 + seq // 8,
            "hangar.job.id": f"job-{number // 3}",
            **({} if late else {"hangar.session.id": name}),
        }
        if rng.random() < 0.1:
            asked = {**own, "hangar.approval.status": "approved"}
            spans.append(
                _span(trace, rng.randbytes(8), start, 5, name="approval", attributes=asked)
            )
            continue
        attributes = {
            **own,
            "gen_ai.tool.name": {"read": "read_file", "edit": "edit_file"}.get(kind, "shell"),
            "gen_ai.tool.call.id": f"call-{number}-{seq}",
            "hangar.tool.kind": kind,
            "hangar.shell.ops": ops,
            "hangar.tool.input": rng.choice(["git push --force", "make", "ls"]),
            "hangar.tool.status": rng.choice(["ok", "ok", "error"]),
            "hangar.file.repo_path": rng.choice(["src/a.py", "src/b.py", "etc/x"]),
            "gen_ai.tool.call.arguments": json.dumps({"force": rng.random() < 0.5}),
        }
        call = _span(trace, rng.randbytes(8), start, 10**8, name="tool.call", attributes=attributes)
        call["changes"] = kind == "edit"
        spans.append(call)
        if rng.random() < 0.3:  # the call was told of before, without what came of it
            known = {key: attributes[key] for key in attributes if key != "hangar.shell.ops"}
            spans.append({**call, "attributes": known, "changes": False})
    root = {"hangar.session.id": name} if late else {}
    spans.append(
        _span(trace, rng.randbytes(8), BASE_NS, 10**15, name="invoke_agent", attributes=root)
    )
    return spans


def requests_of(seed: int, sessions: int, size: int) -> list[bytes]:
    """The requests of a run, in a random order, some of them twice."""
    rng = Random(seed)
    spans = [span for number in range(sessions) for span in session_of(number, rng)]
    rng.shuffle(spans)
    made = []
    for first in range(0, len(spans), size):
        request = ExportTraceServiceRequest()
        scope = request.resource_spans.add().scope_spans.add()
        for one in spans[first : first + size]:
            span = scope.spans.add(
                trace_id=one["trace_id"],
                span_id=one["span_id"],
                name=one["name"],
                start_time_unix_nano=one["start"],
                end_time_unix_nano=one["end"],
            )
            span.attributes.extend(_attribute(*pair) for pair in one["attributes"].items())
            if one.get("changes"):
                event = span.events.add(name="file.change", time_unix_nano=one["end"])
                path = one["attributes"]["hangar.file.repo_path"]
                event.attributes.append(_attribute("hangar.file.repo_path", path))
        made.append(request.SerializeToString())
    return made + rng.choices(made, k=len(made) // 10)


@dataclass
class Run:
    """A service in a folder of its own, and what its clients still have to send."""

    folder: Path
    ports: tuple[int, int]
    kills: int = 0
    unsent: queue.Queue[bytes] = field(default_factory=queue.Queue)
    process: subprocess.Popen[bytes] | None = None

    def start(self, where: str = "never", times: int = 0) -> None:
        """Start the process; clients find it when it listens."""
        command = [sys.executable, "-m", "tests.stores.tortured", self.folder / "config.yaml"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*map(str, command), where, str(times)], stdout=log, stderr=log
            )

    def send_all(self) -> None:
        """One client: each request until it is acknowledged."""
        with grpc.insecure_channel(f"127.0.0.1:{self.ports[0]}", options=_QUICK) as channel:
            export = channel.unary_unary(
                EXPORT, request_serializer=bytes, response_deserializer=bytes
            )
            while True:
                try:
                    request = self.unsent.get_nowait()
                except queue.Empty:
                    return
                while not _acknowledged(export, request):
                    pass

    def figures(self) -> dict[str, float]:
        """What was counted of violations, by spec."""
        address = f"http://127.0.0.1:{self.ports[1]}/metrics"
        with urllib.request.urlopen(address, timeout=10) as answer:
            text = answer.read().decode()
        found = re.findall(
            r'^spanward_violations_total\{.*spec="(.+)"\} (\S+)$', text, re.MULTILINE
        )
        return {spec: float(number) for spec, number in found}


_AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_QUICK = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 100),
)


def _acknowledged(export: Any, request: bytes) -> bool:
    try:
        export(request, timeout=20, wait_for_ready=True)
    except grpc.RpcError as error:
        if error.code() not in _AGAIN:
            raise
        return False
    return True


def prepare(folder: Path, requests: list[bytes]) -> Run:
    """A run that has not begun."""
    folder.mkdir()
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = (sockets[0].getsockname()[1], sockets[1].getsockname()[1])
    for one in sockets:
        one.close()
    (folder / "specs.yaml").write_text(SPECS)
    (folder / "config.yaml").write_text(CONFIG.format(folder=folder, grpc=ports[0], admin=ports[1]))
    run = Run(folder, ports)
    for request in requests:
        run.unsent.put(request)
    return run


def go(run: Run, rng: Random | None, most_kills: int) -> dict[str, float]:
    """Send everything while the service is killed (never, without ``rng``); what was counted."""
    clients = [threading.Thread(target=run.send_all, daemon=True) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        if rng is None or run.kills >= most_kills:
            run.start()
            for client in clients:
                client.join(120)
                assert not client.is_alive(), (run.folder / "log").read_text()[-3000:]
            break
        _one_life(run, rng, clients)
    return _finish(run)


def _one_life(run: Run, rng: Random, clients: list[threading.Thread]) -> None:
    """Start the service and see it killed, unless everything was sent before."""
    where = rng.choice([*WHERE, "outside"])
    run.start(where, rng.randint(1, 4))
    assert run.process is not None
    give_up = time.monotonic() + (rng.uniform(0.6, 1.5) if where == "outside" else 20)
    while run.process.poll() is None and any(client.is_alive() for client in clients):
        if time.monotonic() > give_up:
            run.process.kill()
            run.process.wait()
        time.sleep(0.01)
    if run.process.poll() is not None:
        assert run.process.returncode == -signal.SIGKILL, (run.folder / "log").read_text()[-3000:]
        run.kills += 1


def _figures_of(run: Run) -> dict[str, float]:
    """The figures, once the service answers."""
    give_up = time.monotonic() + 30
    while True:
        try:
            return run.figures()
        except OSError:
            assert time.monotonic() < give_up, (run.folder / "log").read_text()[-3000:]
            time.sleep(0.05)


def _finish(run: Run) -> dict[str, float]:
    """Let the service end in good order, with everything final; what it had counted."""
    assert run.process is not None
    if run.process.poll() is not None:
        run.start()
    figures = _figures_of(run)
    run.process.send_signal(signal.SIGTERM)
    code = run.process.wait(120)
    if code == -signal.SIGKILL:  # its fate came while it ended
        run.start()
        run.kills += 1
        return _finish(run)
    assert code == 0, (run.folder / "log").read_text()[-3000:]
    return figures


def final_verdicts(run: Run) -> list[tuple[Any, ...]]:
    """What the store says in the end, of every unit: results, witnesses, details."""
    problems = Problems()
    specs = load([run.folder / "specs.yaml"], problems)
    store = SqliteStore(run.folder / "spanward.db", "aside")
    assert not store.lost
    assert store.sendings() == []
    engine = Engine(specs, Limits(), store, store.clock)
    names = [name for name, _, _ in store.quietest(10**6, "")]
    for name in names:
        engine._registry.find(name)
    found = [
        (one.spec, one.session, one.turn, one.job, one.result, one.witnesses, one.details)
        for one in engine.report()
    ]
    store.close()
    return found


def told(run: Run) -> dict[tuple[Any, ...], dict[int, str]]:
    """What was told, by spec and unit: the result of each revision. One each, come what may."""
    by_unit: dict[tuple[Any, ...], dict[int, str]] = defaultdict(dict)
    for line in (run.folder / "verdicts.jsonl").read_text().splitlines():
        one = json.loads(line)
        revisions = by_unit[one["spec"], one["session"], one["turn"], one["job"]]
        before = revisions.setdefault(one["revision"], one["result"])
        assert before == one["result"], f"one revision, two results: {one}"
    for unit, revisions in by_unit.items():
        assert sorted(revisions) == list(range(len(revisions))), f"a revision is missing: {unit}"
    return by_unit


def torture(folder: Path, kills: int, seed: int) -> int:
    """One run that nothing disturbs and one with kills, compared; how many kills there were."""
    requests = requests_of(seed, sessions=6 + kills // 2, size=8)
    calm, wild = prepare(folder / "calm", requests), prepare(folder / "wild", requests)
    expected = go(calm, None, 0)
    counted = go(wild, Random(seed), kills)
    assert counted == expected
    verdicts = final_verdicts(calm)
    assert verdicts
    assert final_verdicts(wild) == verdicts
    last = {unit: revisions[max(revisions)] for unit, revisions in told(wild).items()}
    for spec, session, turn, job, result, *_ in verdicts:
        assert last[spec, session, turn, job] == result, (spec, session, turn, job)
    told(calm)
    return wild.kills


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    begun, done, round_ = time.monotonic(), 0, int(sys.argv[2]) if len(sys.argv) > 2 else 1
    while done < asked:
        with tempfile.TemporaryDirectory() as scratch:
            done += torture(Path(scratch), min(40, asked - done), round_)
        seconds = time.monotonic() - begun
        sys.stdout.write(f"seed {round_}: {done} kills, {seconds:.0f} s: nothing lost\n")
        sys.stdout.flush()
        round_ += 1
