"""Hostile input: the right status or a counted rejection, and the worker lives and serves."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.service.world import (
    apart,
    call,
    export,
    exporting,
    figures,
    request,
    service,
    trailers_of,
)

ALL_SORTS = """
name: never-rm
assert: {never: {tool: {name: rm}}}
---
name: args
assert:
  never:
    tool:
      args: {n: {fuzzy: "206588"}, o: {regex: "(a+)+b"}, p: {literal: {x: [1, {y: 2}]}}}
---
name: fuzzy
assert: {never: {tool: {args: {n: {fuzzy: "1e400"}}}}}
---
name: text
assert: {never: {input: "(a|aa)+$", output: "x{1,50}y", where: {x.y: {regex: "(a*)*b"}}}}
---
name: order
assert: {order: [{tool: {name: a}}, {event: b}, {where: {seq: {gt: 3}}}]}
---
name: window
assert: {each: {tool: {name: push}}, requires_prior: {tool: {name: test}}, within: {seq: 20}}
---
name: turns
unit: turn
assert: {count: {match: {tool: {}}, max: 100000}}
"""


def attack(work: Callable[[int], None]) -> None:
    """Do something hostile to a service, then see that it judges an honest agent in time."""

    async def story() -> None:
        async with service(ALL_SORTS) as running:
            await apart(work, running.grpc_port)
            since = time.perf_counter()
            await apart(export, running.grpc_port, request(call("rm", 77, "honest")))
            assert time.perf_counter() - since < 5
            found = await apart(figures, running.admin_port)
            failed = (
                "spanward_verdicts_total"
                '{operator="never",result="fail",severity="warning",spec="never-rm"}'
            )
            assert found[failed] >= 1.0
            assert found["spanward_evaluation_errors_total"] == 0.0

    asyncio.run(story())


def taken(port: int, *spans: Span) -> ExportTraceServiceResponse:
    """Send spans that must be taken, at least as a partial success."""
    return ExportTraceServiceResponse.FromString(export(port, request(*spans)))


def refused(port: int, data: bytes, signal: str = "trace") -> None:
    """Send bytes that must be refused as what they are."""
    with pytest.raises(grpc.RpcError) as error:
        export(port, data, signal)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


FINE = (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)


def status_of(work: Callable[..., Any], *args: Any, **more: Any) -> grpc.StatusCode:
    """The status that a call ends with."""
    try:
        work(*args, **more)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


def test_random_bytes_are_an_invalid_argument() -> None:
    """Bytes that are no protobuf are refused, on both services."""

    def work(port: int) -> None:
        refused(port, b"\xff" * 100)
        refused(port, b"\xff" * 100, "logs")

    attack(work)


def test_truncated_protobuf_is_an_invalid_argument() -> None:
    """A request cut anywhere inside a span is refused or empty; nothing of it is judged twice."""

    def work(port: int) -> None:
        whole = request(call("ls", 1))
        for length in range(1, len(whole)):
            assert status_of(export, port, whole[:length]) in FINE

    attack(work)


def test_spans_with_bad_ids_are_rejected_one_by_one() -> None:
    """No id, short ids and zero ids are a partial success that says how many; the rest is taken."""

    def work(port: int) -> None:
        bad = [call("rm", 1) for _ in range(4)]
        bad[0].trace_id = b""
        bad[1].trace_id = bytes(16)
        bad[2].span_id = b"short"
        bad[3].span_id = bytes(8)
        answer = taken(port, call("ls", 2), *bad)
        assert answer.partial_success.rejected_spans == 4
        assert "trace id" in answer.partial_success.error_message.replace("_", " ")

    attack(work)


def test_an_empty_request_succeeds() -> None:
    """No spans are no mistake, and ``partial_success`` stays unset."""

    def work(port: int) -> None:
        assert export(port, b"") == b""
        assert export(port, b"", "logs") == b""

    attack(work)


def _attribute(made: Span, key: str) -> Any:
    return made.attributes.add(key=key).value


def _nest(value: Any, depth: int) -> None:
    for _ in range(depth):
        value = value.array_value.values.add()
    value.string_value = "deep"


def _with_text(key: str, text: str) -> Callable[[Span], None]:
    def change(made: Span) -> None:
        _attribute(made, key).string_value = text

    return change


def _with_arguments(text: str) -> Callable[[Span], None]:
    return _with_text("gen_ai.tool.call.arguments", text)


def _empty_values(made: Span) -> None:
    _attribute(made, "gen_ai.tool.call.arguments").SetInParent()
    made.attributes.add()


def _many_attributes(made: Span) -> None:
    for number in range(100_000):
        _attribute(made, f"x.{number}").int_value = number


def _no_numbers(made: Span) -> None:
    _attribute(made, "hangar.seq").double_value = float("nan")
    _attribute(made, "hangar.turn").double_value = float("inf")
    _attribute(made, "x.y").double_value = float("-inf")
    _with_arguments('{"n": NaN, "o": Infinity, "p": 1e999}')(made)


def _end_before_start(made: Span) -> None:
    made.end_time_unix_nano = 1


def _beyond_64_bits(made: Span) -> None:
    made.start_time_unix_nano = made.end_time_unix_nano = 2**64 - 1


def _many_events(made: Span) -> None:
    for number in range(10_000):
        made.events.add(name="b", time_unix_nano=number)


def _enormous_name(made: Span) -> None:
    made.name = "n" * 10**6


WEIRD: dict[str, Callable[[Span], None]] = {
    "empty values": _empty_values,
    "ten megabytes of arguments": _with_arguments('{"n": "' + "a" * 10**7 + '"}'),
    "ten megabytes of input": _with_text("hangar.tool.input", "a" * 10**7),
    "a hundred thousand attributes": _many_attributes,
    "NaN and infinity": _no_numbers,
    "lone surrogates": _with_arguments('{"o": "\\ud800", "n": "\\udfff"}'),
    "five thousand digits": _with_arguments('{"n": ' + "9" * 5000 + "}"),
    "a deep value": lambda made: _nest(_attribute(made, "x.y"), 40),
    "deep arguments": _with_arguments('{"p": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    "seq as text": _with_text("hangar.seq", "7"),
    "an enormous exponent": _with_arguments('{"n": "1e10000000"}'),
    "the end before the start": _end_before_start,
    "times beyond 64 bits": _beyond_64_bits,
    "ten thousand events": _many_events,
    "an enormous name": _enormous_name,
    "a regex bomb": _with_arguments('{"n": 1, "o": "' + "a" * 5000 + '"}'),
}


@pytest.mark.parametrize("what", WEIRD)
def test_weird_spans_are_taken_and_stall_nobody(what: str) -> None:
    """Whatever a span holds, it is taken, and the next sender does not wait."""

    def work(port: int) -> None:
        made = call("ls", 5, "weird")
        WEIRD[what](made)
        assert not taken(port, made).HasField("partial_success")

    attack(work)


def test_a_session_id_that_is_too_long_is_rejected_and_counted() -> None:
    """More than 256 bytes of session id are no honest sender's."""

    async def story() -> None:
        async with service(ALL_SORTS) as running:
            answer = await apart(taken, running.grpc_port, call("rm", 1, "é" * 129))
            assert answer.partial_success.rejected_spans == 1
            found = await apart(figures, running.admin_port)
            assert found['spanward_items_rejected_total{reason="session_id"}'] == 1.0

    asyncio.run(story())


def test_a_message_that_is_too_large_is_refused_for_good() -> None:
    """Over the limit the answer is RESOURCE_EXHAUSTED without an invitation to try again."""

    def work(port: int) -> None:
        made = call("ls", 1)
        _attribute(made, "x").bytes_value = bytes(65 * 1024 * 1024)
        with pytest.raises(grpc.RpcError) as error:
            export(port, request(made))
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "google.rpc.retryinfo-bin" not in trailers_of(error.value)

    attack(work)


def test_a_gzip_bomb_is_refused() -> None:
    """The limit holds after decompression."""

    def work(port: int) -> None:
        made = call("ls", 1)
        _attribute(made, "x").bytes_value = bytes(100 * 1024 * 1024)
        with pytest.raises(grpc.RpcError) as error:
            export(port, request(made), compression=grpc.Compression.Gzip)
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

    attack(work)


def _mutated(whole: bytes, rng: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(rng.randint(1, 12)):
        position = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[position] = rng.randrange(256)
            case 1:
                del data[position : position + rng.randrange(1, 9)]
            case 2:
                data[position:position] = rng.randbytes(rng.randrange(1, 9))
            case _:
                other = rng.randrange(len(data))
                data[position : position + 8] = data[other : other + 8]
        if not data:
            break
    return bytes(data)


def _seeds() -> list[tuple[str, bytes]]:
    rich = call("push", 3, "fuzz")
    rich.events.add(name="b", time_unix_nano=5).attributes.add(key="hangar.seq").value.int_value = 4
    for key, value in (("hangar.tool.input", "aaa"), ("gen_ai.tool.call.arguments", '{"n": 1}')):
        _attribute(rich, key).string_value = value
    _attribute(rich, "hangar.seq").int_value = 12
    _attribute(rich, "gen_ai.tool.call.id").string_value = "c1"
    _nest(_attribute(rich, "x.y"), 3)
    logs = ExportLogsServiceRequest()
    record = logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=9)
    record.body.string_value = "session.end"
    record.attributes.add(key="session.id").value.string_value = "fuzz"
    genai = Span()
    genai.CopyFrom(rich)
    genai.name = "execute_tool push"
    _attribute(genai, "gen_ai.operation.name").string_value = "execute_tool"
    both = ExportTraceServiceRequest.FromString(request(rich, genai))
    return [("trace", both.SerializeToString()), ("logs", logs.SerializeToString())]


def test_fuzzed_requests_get_an_answer_and_the_worker_lives() -> None:
    """Thousands of mutated requests: taken or INVALID_ARGUMENT, no fault, and no stall."""

    def work(port: int) -> None:
        rng = random.Random(20260_12)
        seeds = _seeds()
        names = {"trace": "trace.v1.TraceService", "logs": "logs.v1.LogsService"}
        with grpc.insecure_channel(f"127.0.0.1:{port}") as way:
            methods = {
                signal: exporting(way, f"/opentelemetry.proto.collector.{name}/Export")
                for signal, name in names.items()
            }
            for _ in range(4000):
                signal, whole = rng.choice(seeds)
                data = _mutated(whole, rng)
                assert status_of(methods[signal], data, timeout=20) in FINE

    attack(work)
