"""The two workloads of the benchmark: seeded telemetry, the same bytes on every machine.

``chatter`` is what a service-wide tee delivers: 5 % of the spans are tool calls and attributes
mostly repeat. In ``tools`` 30 % are tool calls, each with five attributes that occur only once:
call id, arguments, output, path and input. Both: 100 spans a request, about 1 KB and 14 or 15
attributes a span, 0.3 span events a span, 50 sessions.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

SPANS_A_REQUEST: Final = 100
SESSIONS: Final = 50
SPANS_A_TURN: Final = 40
EVENTS_A_SPAN: Final = 0.3
CHAT_SHARE: Final = 0.5
"""Of the spans that are no tool calls; the rest are HTTP calls."""
BASE_NS: Final = 1_700_000_000_000_000_000

TOOL_SHARE: Final[Mapping[str, float]] = {"chatter": 0.05, "tools": 0.30}

Value = str | int | bool | list[str]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the agents use it: the file operation or shell operations it stands for."""

    name: str
    kind: str
    file_op: str
    ops: tuple[tuple[str, ...], ...]
    command: str


TOOLS: Final = (
    Tool("read_file", "read", "read", ((),), "sed -n 1,80p"),
    Tool("search_code", "search", "read", ((),), "rg --line-number --no-heading"),
    Tool("edit_file", "edit", "edit", ((),), "apply_patch <<'PATCH'"),
    Tool("bash", "shell", "run", ((), (), ("test",), ("git.commit",)), "bash -lc 'make build'"),
    Tool("web_fetch", "web", "read", ((),), "curl --silent --location"),
)
TOOL_WEIGHTS: Final = (35, 15, 20, 25, 5)

CHAT: Final[tuple[dict[str, Value], ...]] = tuple(
    {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "example",
        "gen_ai.request.model": model,
        "gen_ai.response.model": f"{model}-2026-01-15",
        "gen_ai.response.id": f"resp-{number:04d}-5f3c2c1b7a0d4e6f9b8a7c6d5e4f3a2b",
        "gen_ai.request.max_tokens": 8192,
        "gen_ai.request.temperature": "0.2",
        "gen_ai.usage.input_tokens": 1024 + 256 * number,
        "gen_ai.usage.output_tokens": 128 + 32 * number,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.system_instructions": (
            "You are a careful software engineer. Read before you write, run the tests before "
            "you commit, keep changes small, and say plainly what you did not check. "
        )
        * 2,
        "server.address": "models.internal.example",
        "server.port": 443,
    }
    for number, model in enumerate(["large-4", "large-4", "small-4", "fast-3"])
)
HTTP: Final[tuple[dict[str, Value], ...]] = tuple(
    {
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": 200,
        "url.full": f"https://api.internal.example{route}?page=1&page_size=100&sort=updated_at&fields=id,title,state,labels,assignee,author",
        "url.scheme": "https",
        "server.address": "api.internal.example",
        "server.port": 443,
        "client.address": "10.24.7.19",
        "network.protocol.version": "1.1",
        "user_agent.original": "agent-runtime/4.2.1 (linux; x86_64) http-client/2.9 python/3.11",
        "k8s.namespace.name": "agents",
        "k8s.pod.name": "agent-runtime-7c9d5b6f4d-x2x7k",
        "deployment.environment.name": "production",
        "code.function.name": "agent.transport.client.HttpTransport.send_with_retries",
        "code.file.path": "/srv/agent/lib/python3.11/site-packages/agent/transport/client.py",
    }
    for method, route in [
        ("GET", "/v1/repositories"),
        ("GET", "/v1/issues"),
        ("POST", "/v1/messages"),
        ("PUT", "/v1/artifacts"),
    ]
)
EVENTS: Final[tuple[tuple[str, dict[str, Value]], ...]] = (
    ("gen_ai.choice", {"finish_reason": "tool_calls", "index": 0}),
    ("retry", {"attempt": 1, "reason": "rate limited by the upstream service"}),
    ("cache", {"hit": True, "key": "prompt-prefix"}),
)


@dataclass(slots=True)
class Session:
    """Where one session stands: the trace of its turn, and its counters."""

    number: int
    rng: random.Random
    seq: int = 0
    turn: int = 0
    trace_id: bytes = b""
    root_id: bytes = b""
    left_in_turn: int = 0
    now_ns: int = field(default=BASE_NS)

    @property
    def id(self) -> str:
        """The session id on the wire."""
        return f"session-{self.number:05d}"

    def step(self) -> tuple[int, int]:
        """Begin the next span: its start and end; the spans of a session do not overlap."""
        if not self.left_in_turn:
            self.turn += 1
            self.trace_id = self.rng.randbytes(16)
            self.root_id = self.rng.randbytes(8)
            self.left_in_turn = SPANS_A_TURN
        self.left_in_turn -= 1
        self.seq += 1
        start = self.now_ns + self.rng.randrange(1_000, 2_000_000)
        self.now_ns = start + self.rng.randrange(1_000_000, 400_000_000)
        return start, self.now_ns


def requests(workload: str, count: int, seed: int = 1) -> Iterator[bytes]:
    """``count`` serialized requests of a workload; the same for the same seed."""
    rng = random.Random(f"{workload}:{seed}")
    share = TOOL_SHARE[workload]
    sessions = [Session(number, rng) for number in range(SESSIONS)]
    for _ in range(count):
        request = ExportTraceServiceRequest()
        resource = request.resource_spans.add()
        put(resource.resource.attributes, {"service.name": "agents", "host.name": "node-17"})
        scope = resource.scope_spans.add()
        scope.scope.name = "bench.workload"
        scope.scope.version = "1.0.0"
        for _ in range(SPANS_A_REQUEST):
            write_span(scope.spans.add(), rng.choice(sessions), rng, share)
        yield request.SerializeToString()


def write_span(span: Span, session: Session, rng: random.Random, tool_share: float) -> None:
    """Fill one span: a tool call, a chat or an HTTP call, and its events."""
    start, end = session.step()
    span.trace_id = session.trace_id
    span.span_id = rng.randbytes(8)
    span.parent_span_id = session.root_id
    span.kind = Span.SPAN_KIND_CLIENT
    span.start_time_unix_nano = start
    span.end_time_unix_nano = end
    if rng.random() < tool_share:
        span.name = "tool.call"
        attributes = tool_call(session, rng)
        put(span.attributes, attributes)
    elif rng.random() < CHAT_SHARE:
        attributes = rng.choice(CHAT)
        span.name = f"chat {attributes['gen_ai.request.model']}"
        put(span.attributes, attributes)
        put(span.attributes, {"gen_ai.conversation.id": session.id})
    else:
        attributes = rng.choice(HTTP)
        span.name = f"{attributes['http.request.method']} {attributes['http.route']}"
        put(span.attributes, attributes)
    if rng.random() < EVENTS_A_SPAN:
        event = span.events.add()
        event.name, of_event = an_event(attributes, rng)
        event.time_unix_nano = end - 500
        put(event.attributes, of_event)


def an_event(of_span: Mapping[str, Value], rng: random.Random) -> tuple[str, Mapping[str, Value]]:
    """Name and attributes of an event of a span: an edit tells of its file change."""
    if of_span.get("hangar.file.op") == "edit":
        return "file.change", {"hangar.file.repo_path": of_span["hangar.file.repo_path"]}
    return rng.choice(EVENTS)


def tool_call(session: Session, rng: random.Random) -> dict[str, Value]:
    """The attributes of a tool call; five of them are unique to it."""
    (tool,) = rng.choices(TOOLS, TOOL_WEIGHTS)
    unique = f"{rng.getrandbits(64):016x}"
    path = f"src/package_{rng.randrange(40):02d}/module_{unique[:10]}.py"
    command = f"{tool.command} {path} --task {unique} --attempt {rng.randrange(3)}"
    arguments = {
        "path": path,
        "command": command,
        "timeout_s": rng.choice([30, 60, 120]),
        "budget": rng.choice(["1,000", "2,500", "10,000"]),
        "dry_run": False,
        "lines": {"from": rng.randrange(400), "to": 400 + rng.randrange(400)},
    }
    return {
        "hangar.session.id": session.id,
        "hangar.job.id": f"job-{session.number // 5:03d}",
        "hangar.seq": session.seq,
        "hangar.turn": session.turn,
        "hangar.tool.kind": tool.kind,
        "hangar.shell.ops": list(rng.choice(tool.ops)),
        "hangar.tool.input": command,
        "hangar.tool.output": f"ran {unique} over {path}: " + "ok 12 checks, 0 failures; " * 6,
        "hangar.tool.status": "ok",
        "hangar.file.repo_path": path,
        "hangar.file.op": tool.file_op,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.call.id": f"call_{unique}{rng.getrandbits(32):08x}",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
    }


def put(target: RepeatedCompositeFieldContainer[KeyValue], attributes: Mapping[str, Value]) -> None:
    """Append attributes to a message's list."""
    target.extend(KeyValue(key=key, value=any_value(value)) for key, value in attributes.items())


def any_value(value: Value) -> AnyValue:
    """A value as OTLP carries it."""
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case str():
            return AnyValue(string_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=[any_value(one) for one in value]))
