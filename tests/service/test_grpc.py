"""The gRPC door and its manners towards senders (OTLP specification, *OTLP/gRPC*)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import grpc
import msgspec
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from spanward.config import Endpoint, Receiver
from spanward.receive.admission import Admission
from spanward.receive.entrance import Entrance
from spanward.receive.grpc import LOGS_SERVICE, TRACE_SERVICE, GrpcDoor
from spanward.receive.status import RESPONSES
from spanward.request import Answer, Request, Tally
from tests.service.world import (
    HERE,
    NEVER_RM,
    apart,
    at,
    call,
    export,
    exporting,
    figures,
    request,
    service,
    trailers_of,
)


class Sink:
    """Takes requests in the worker's place: answers them, or lets them wait."""

    def __init__(self, *, answer: Answer | None = None) -> None:
        self.tally = Tally()
        self.answer = answer
        self.taken: list[Request] = []
        self.came = threading.Event()

    def offer(self, request: Request) -> None:
        self.taken.append(request)
        self.came.set()
        if self.answer is not None:
            request.answer(self.answer)


MIB = 1024 * 1024


def door_to(sink: Sink, most_requests: int = 10, reading: float = 10) -> GrpcDoor:
    """A door on a free port for messages of at most 1 MiB."""
    admission = Admission(most_requests, 4 * MIB, MIB, reading=reading)
    return GrpcDoor(Entrance("127.0.0.1", 0, 1), admission, sink)


def at_the_door(sink: Sink, work: Any, most_requests: int = 10) -> Any:
    """Do blocking work with a door that hands to a sink; what the work gives."""

    async def story() -> Any:
        return await at(door_to(sink, most_requests), work)

    return asyncio.run(story())


def test_overload_invites_to_try_again() -> None:
    """UNAVAILABLE before the message is read, with the delay in both trailers."""

    def work(port: int) -> None:
        with pytest.raises(grpc.RpcError) as error:
            export(port, b"never looked at")
        assert error.value.code() is grpc.StatusCode.UNAVAILABLE
        trailers = trailers_of(error.value)
        info = RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"])
        assert 1 <= info.retry_delay.seconds <= 3
        status = Status.FromString(trailers["grpc-status-details-bin"])
        assert status.code == grpc.StatusCode.UNAVAILABLE.value[0]
        assert RetryInfo.FromString(status.details[0].value) == info

    sink = Sink()
    at_the_door(sink, work, most_requests=0)
    assert sink.tally.refused["overloaded"] == 1
    assert not sink.taken


def test_each_answer_has_its_status() -> None:
    """Taken, partly taken, malformed, failed."""

    def code(answer: Answer) -> grpc.StatusCode:
        def work(port: int) -> grpc.StatusCode:
            try:
                export(port, b"", "logs")
            except grpc.RpcError as error:
                found: grpc.StatusCode = error.code()
                return found
            return grpc.StatusCode.OK

        found: grpc.StatusCode = at_the_door(Sink(answer=answer), work)
        return found

    assert code(Answer()) is grpc.StatusCode.OK
    assert code(Answer(rejected=2, reason="bad")) is grpc.StatusCode.OK
    assert code(Answer(malformed="no")) is grpc.StatusCode.INVALID_ARGUMENT
    assert code(Answer(failed="oh")) is grpc.StatusCode.INTERNAL


def test_partial_success_of_logs() -> None:
    """As of spans, under its own name."""
    answer = ExportLogsServiceResponse.FromString(RESPONSES["logs"](3, "why").SerializeToString())
    assert answer.partial_success.rejected_log_records == 3
    assert answer.partial_success.error_message == "why"


def test_the_stream_must_hold_one_message() -> None:
    """None, or two, are no export call."""

    def work(port: int) -> list[grpc.StatusCode]:
        codes = []
        with grpc.insecure_channel(f"127.0.0.1:{port}") as way:
            method = way.stream_unary(
                f"/{TRACE_SERVICE}/Export", request_serializer=bytes, response_deserializer=bytes
            )
            for messages in ([], [b"", b""]):
                with pytest.raises(grpc.RpcError) as error:
                    method(iter(messages), timeout=5)
                codes.append(error.value.code())
        return codes

    assert at_the_door(Sink(answer=Answer()), work) == [grpc.StatusCode.INVALID_ARGUMENT] * 2


def test_a_message_that_does_not_arrive_gives_its_room_back() -> None:
    """A sender that opens a call and says nothing is told DEADLINE_EXCEEDED, and retries."""

    async def story() -> None:
        sink = Sink(answer=Answer())
        door = door_to(sink, most_requests=1, reading=0.05)
        port = await door.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as way:
            method: Any = way.stream_unary
            silent = method(f"/{TRACE_SERVICE}/Export")()
            assert await silent.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert sink.tally.refused["slow"] == 1
        assert await apart(export, port, b"x") == b""
        await door.stop(0)

    asyncio.run(story())


def test_what_was_admitted_is_answered_when_the_door_closes() -> None:
    """A request that waits is finished within the grace time; a caller that left harms nobody."""

    async def story() -> None:
        sink = Sink()
        door = door_to(sink)
        port = await door.start()
        sent = asyncio.create_task(apart(export, port, b"x"))
        await apart(sink.came.wait, 5)
        closing = asyncio.create_task(door.stop(5))
        sink.taken[0].answer(Answer())
        assert await sent == b""
        await closing
        sink.taken[0].answer(Answer())

    asyncio.run(story())


def test_health_is_told_by_service() -> None:
    """SERVING while the door is open, for the server and each of its services."""

    def work(port: int) -> list[int]:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as way:
            stub = health_pb2_grpc.HealthStub(way)
            return [
                stub.Check(health_pb2.HealthCheckRequest(service=name)).status
                for name in ("", TRACE_SERVICE, LOGS_SERVICE)
            ]

    assert at_the_door(Sink(), work) == [health_pb2.HealthCheckResponse.SERVING] * 3


def test_who_watches_health_learns_first_that_the_door_closes() -> None:
    """NOT_SERVING comes while what was admitted is still being finished."""

    async def story() -> None:
        sink = Sink()
        door = door_to(sink)
        port = await door.start()
        sent = asyncio.create_task(apart(export, port, b"x"))
        await apart(sink.came.wait, 5)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as way:
            stub = health_pb2_grpc.HealthStub(way)
            watch = aiter(stub.Watch(health_pb2.HealthCheckRequest(service=TRACE_SERVICE)))
            first = await anext(watch)
            assert first.status == health_pb2.HealthCheckResponse.SERVING
            closing = asyncio.create_task(door.stop(1))
            second = await anext(watch)
            assert second.status == health_pb2.HealthCheckResponse.NOT_SERVING
            assert not sent.done()
            sink.taken[0].answer(Answer())
            assert await sent == b""
        await closing

    asyncio.run(story())


def test_metrics_are_not_offered() -> None:
    """A sender of metrics is told so: UNIMPLEMENTED."""

    def work(port: int) -> grpc.StatusCode:
        name = "opentelemetry.proto.collector.metrics.v1.MetricsService"
        with grpc.insecure_channel(f"127.0.0.1:{port}") as way:
            with pytest.raises(grpc.RpcError) as error:
                exporting(way, f"/{name}/Export")(b"", timeout=5)
            code: grpc.StatusCode = error.value.code()
            return code

    assert at_the_door(Sink(), work) is grpc.StatusCode.UNIMPLEMENTED


def test_a_port_in_use_is_told() -> None:
    """Two services do not share a port and split the sessions."""

    async def story() -> None:
        async with service(NEVER_RM) as running:
            config = msgspec.structs.replace(
                HERE, grpc=Receiver(Endpoint("127.0.0.1", running.grpc_port))
            )
            with pytest.raises(OSError, match="in use"):
                async with service(NEVER_RM, config):
                    raise AssertionError("it must not start")

    asyncio.run(story())


def test_compressed_requests_and_logs_are_taken() -> None:
    """gzip, and a session that ends by a log record."""

    async def story() -> None:
        async with service(NEVER_RM) as running:
            data = request(call("rm"))
            await apart(export, running.grpc_port, data, compression=grpc.Compression.Gzip)
            logs = ExportLogsServiceRequest()
            record = logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1)
            record.body.string_value = "session.end"
            record.attributes.add(key="session.id").value.string_value = "s1"
            await apart(export, running.grpc_port, logs.SerializeToString(), "logs")
            found = await apart(figures, running.admin_port)
            assert found['spanward_spans_received_total{transport="grpc"}'] == 1.0
            assert found['spanward_log_records_received_total{transport="grpc"}'] == 1.0
            assert found['spanward_items_total{kind="event"}'] == 1.0

    asyncio.run(story())
