"""The HTTP door and its manners towards senders (OTLP specification, *OTLP/HTTP*)."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from spanward.receive.admission import Admission
from spanward.receive.connections import Connections
from spanward.receive.entrance import Entrance
from spanward.receive.http import HttpDoor
from spanward.request import Answer
from tests.otlp.roads import as_json, logs
from tests.service.test_grpc import MIB, Sink
from tests.service.world import NEVER_RM, apart, at, call, figures, request, service

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json; charset=utf-8"}
TRACES = "/v1/traces"
OK = Answer()


class Reply:
    """What came back."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def words(self) -> str:
        """The message of an error's body."""
        if self.headers["Content-Type"].startswith("application/json"):
            text: str = json.loads(self.body)["message"]
            return text
        return str(Status.FromString(self.body).message)


def post(
    port: int,
    body: Any,
    headers: dict[str, str] = PROTOBUF,
    path: str = TRACES,
    method: str = "POST",
) -> Reply:
    """Send one request; an iterable as a body is sent in chunks, without a length."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, headers)
        return Reply(connection.getresponse())
    finally:
        connection.close()


def at_the_door(sink: Sink, work: Any, **room: Any) -> Any:
    """Do blocking work with a door, for messages of at most 1 MiB, that hands to a sink."""

    async def story() -> Any:
        admission = Admission(room.pop("most_requests", 10), 4 * MIB, MIB, **room)
        return await at(HttpDoor(Entrance("127.0.0.1", 0, 1), admission, sink), work)

    return asyncio.run(story())


def with_service(work: Any) -> Any:
    """Do blocking work with a whole service, given its HTTP and admin ports."""

    async def story() -> Any:
        async with service(NEVER_RM) as running:
            return await apart(work, running.http_port, running.admin_port)

    return asyncio.run(story())


def in_json(*spans: Any) -> bytes:
    """A request of some spans as OTLP/JSON."""
    return as_json(ExportTraceServiceRequest.FromString(request(*spans))).encode()


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_traces_are_judged_whatever_they_come_in(
    encoding: str, *, chunked: bool, zipped: bool
) -> None:
    """Protobuf and JSON, plain and gzip, with a length and in chunks; answered in kind."""

    def work(port: int, admin: int) -> None:
        body: Any = request(call("rm")) if encoding == "protobuf" else in_json(call("rm"))
        headers = dict(PROTOBUF if encoding == "protobuf" else JSON)
        if zipped:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        if chunked:
            body = iter([body[:9], body[9:]])
        reply = post(port, body, headers)
        assert reply.status == 200
        assert reply.headers["Content-Type"].split(";")[0] == headers["Content-Type"].split(";")[0]
        if encoding == "protobuf":
            assert ExportTraceServiceResponse.FromString(reply.body) == ExportTraceServiceResponse()
        else:
            assert json.loads(reply.body) == {}
        counted = figures(admin)
        assert counted['spanward_spans_received_total{transport="http"}'] == 1
        violated = 'operator="never",severity="critical",spec="never-rm"'
        assert counted[f"spanward_violations_total{{{violated}}}"] == 1

    with_service(work)


def test_logs_are_taken_on_their_own_path() -> None:
    """In both encodings."""

    def work(port: int, admin: int) -> None:
        records = logs(LogRecord(event_name="x", time_unix_nano=5))
        assert post(port, records.SerializeToString(), path="/v1/logs").status == 200
        assert post(port, as_json(records), JSON, path="/v1/logs").status == 200
        assert figures(admin)['spanward_log_records_received_total{transport="http"}'] == 2

    with_service(work)


@pytest.mark.parametrize("headers", [PROTOBUF, JSON])
def test_an_empty_request_is_a_success(headers: dict[str, str]) -> None:
    """An empty message is a valid one; so is an object without fields."""

    def work(port: int, _: int) -> None:
        assert post(port, b"" if headers is PROTOBUF else b"{}", headers).status == 200

    with_service(work)


def test_bad_ids_are_a_partial_success() -> None:
    """In JSON the count of 64 bits is a text, as ProtoJSON has it."""

    def work(port: int, _: int) -> None:
        bad = call("rm")
        bad.trace_id = b"short"
        reply = post(port, request(bad, call("ls", 2)))
        partial = ExportTraceServiceResponse.FromString(reply.body).partial_success
        assert (reply.status, partial.rejected_spans) == (200, 1)
        assert "trace_id" in partial.error_message
        told = json.loads(post(port, in_json(bad), JSON).body)
        assert told == {
            "partialSuccess": {"rejectedSpans": "1", "errorMessage": partial.error_message}
        }

    with_service(work)


@pytest.mark.parametrize(
    ("body", "headers", "path", "method", "status", "words"),
    [
        (b"", PROTOBUF, "/v1/metrics", "POST", 404, "there are /v1/traces and /v1/logs"),
        (b"", PROTOBUF, "/", "GET", 404, "there are"),
        (None, {}, TRACES, "GET", 405, "telemetry is sent by POST"),
        (b"x", {"Content-Type": "text/plain"}, TRACES, "POST", 415, "application/x-protobuf"),
        (b"x", {}, TRACES, "POST", 415, "application/json"),
        (b"x", {**PROTOBUF, "Content-Encoding": "br"}, TRACES, "POST", 415, "gzip"),
        (b"xxxx", {**PROTOBUF, "Content-Encoding": "gzip"}, TRACES, "POST", 400, "not gzip"),
        (
            gzip.compress(bytes(99))[:-1],
            {**JSON, "Content-Encoding": "gzip"},
            TRACES,
            "POST",
            400,
            "the gzip ends too early",
        ),
        (b"\xff\xff", PROTOBUF, TRACES, "POST", 400, "not an OTLP traces request"),
        (b"{", JSON, TRACES, "POST", 400, "not JSON"),
        (b'{"resourceLogs": []}', JSON, TRACES, "POST", 400, "no resourceSpans in a request"),
    ],
)
def test_mistakes_get_their_status_and_words(
    body: Any, headers: dict[str, str], path: str, method: str, status: int, words: str
) -> None:
    """The body is a ``google.rpc.Status`` in the encoding of the request."""

    def work(port: int, _: int) -> None:
        reply = post(port, body, headers, path, method)
        assert reply.status == status
        assert words in reply.words
        if status == 405:
            assert reply.headers["Allow"] == "POST"

    with_service(work)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
def test_too_large_is_refused_for_good(*, chunked: bool, zipped: bool) -> None:
    """The limit is that of what is unpacked, and holds without a length too."""

    def work(port: int) -> None:
        body: Any = bytes(MIB + 1)
        headers = dict(PROTOBUF)
        if zipped:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        if chunked:
            body = iter([body[:100], body[100:]])
        reply = post(port, body, headers)
        assert (reply.status, reply.words) == (413, "at most 1 MiB, unpacked")
        assert "Retry-After" not in reply.headers
        assert post(port, bytes(MIB)).status == 200

    sink = Sink(answer=OK)
    at_the_door(sink, work)
    assert sink.tally.refused == {"too_large": 1}
    assert [len(each.data) for each in sink.taken] == [MIB]


def test_several_members_of_gzip_are_one_body() -> None:
    """As RFC 1952 says, and as appending gzip files makes them."""

    def work(port: int) -> None:
        zipped = b"".join(gzip.compress(part) for part in (b"ab", b"", b"cd"))
        assert post(port, zipped, {**PROTOBUF, "Content-Encoding": "gzip"}).status == 200

    sink = Sink(answer=OK)
    at_the_door(sink, work)
    assert [each.data for each in sink.taken] == [b"abcd"]


def test_empty_members_of_gzip_have_an_end() -> None:
    """They give nothing, so that no limit on what is unpacked would stop them."""

    def work(port: int) -> None:
        reply = post(port, gzip.compress(b"") * 101, {**PROTOBUF, "Content-Encoding": "gzip"})
        assert (reply.status, reply.words) == (400, "too many members in one gzip")

    sink = Sink(answer=OK)
    at_the_door(sink, work)
    assert sink.tally.refused == {"gzip": 1}


def test_a_body_of_broken_chunks_gives_its_room_back() -> None:
    """Malformed when it comes with the head; later the parser only stops, as if nothing came."""

    def work(port: int) -> None:
        head = f"POST {TRACES} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        head += "Content-Type: application/x-protobuf\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port)) as at_once:
            at_once.sendall(f"{head}zz\r\n".encode())
            assert at_once.recv(100)[9:12] in (b"400", b"408")
        with socket.create_connection(("127.0.0.1", port)) as later:
            later.sendall(f"{head}1\r\na\r\n".encode())
            later.sendall(b"zz\r\n")
            assert later.recv(100)[9:12] in (b"400", b"408")
        assert post(port, b"").status == 200

    at_the_door(Sink(answer=OK), work, most_requests=1, reading=0.2)


def test_who_asks_whether_to_go_on_is_told_so() -> None:
    """Curl does, for bodies of a megabyte."""

    def work(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as asking:
            head = f"POST {TRACES} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
            head += "Expect: 100-continue\r\nContent-Type: application/x-protobuf\r\n\r\n"
            asking.sendall(head.encode())
            assert asking.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            asking.sendall(b"ab")
            assert asking.recv(100).startswith(b"HTTP/1.1 200")

    at_the_door(Sink(answer=OK), work)


def test_what_is_no_http_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A sender of gRPC at this port, above all."""

    def work(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as lost:
            lost.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            assert b" 400 " in lost.recv(100)

    at_the_door(Sink(answer=OK), work)
    (told,) = [record for record in caplog.records if "no HTTP request" in record.getMessage()]
    assert (told.levelname, told.exc_info) == ("WARNING", None)
    assert "gRPC has a port of its own" in told.getMessage()


@pytest.mark.parametrize(
    ("answer", "status", "retry"),
    [
        (Answer(malformed="why"), 400, None),
        (Answer(too_large="why"), 413, None),
        (Answer(failed="why"), 500, None),
        (Answer(unsaved="why"), 503, "2"),
    ],
)
def test_what_became_of_a_request_decides_whether_it_comes_again(
    answer: Answer, status: int, retry: str | None
) -> None:
    """503 is what exporters try again on; on 500 they give up."""

    def work(port: int) -> None:
        reply = post(port, b"")
        assert (reply.status, reply.words) == (status, "why")
        assert reply.headers["Retry-After"] == retry

    at_the_door(Sink(answer=answer), work)


def test_overload_invites_to_try_again() -> None:
    """Before the body is read."""

    def work(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as first:
            head = f"POST {TRACES} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
            first.sendall(f"{head}Content-Type: application/x-protobuf\r\n\r\n12345".encode())
            assert sink.came.wait(10)
            reply = post(port, b"")
            assert (reply.status, reply.headers["Retry-After"]) == (503, "2")
            assert reply.words == "overloaded, try again"
            sink.taken[0].answer(OK)
            assert first.recv(100).startswith(b"HTTP/1.1 200")

    sink = Sink()
    at_the_door(sink, work, most_requests=1)
    assert sink.tally.refused == {"overloaded": 1}


def test_a_body_that_does_not_arrive_gives_its_room_back() -> None:
    """408, and the connection is closed."""

    def work(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as slow:
            head = f"POST {TRACES} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
            slow.sendall(f"{head}Content-Type: application/x-protobuf\r\n\r\n1".encode())
            assert slow.recv(100).startswith(b"HTTP/1.1 408")
        assert post(port, b"").status == 200

    sink = Sink(answer=OK)
    at_the_door(sink, work, most_requests=1, reading=0.05)
    assert sink.tally.refused == {"slow": 1}


def test_connections_that_say_nothing_are_ended_and_are_not_too_many() -> None:
    """A head that does not come to its end is no request either."""

    async def story() -> None:
        async def handle(request: Any) -> Any:
            raise AssertionError("there is no request")

        connections = Connections(handle, max_age=None, accepting=None, most=2, patience=0.05)
        server = await connections.serve("127.0.0.1", 0, None)
        port = server.sockets[0].getsockname()[1]
        silent = await asyncio.open_connection("127.0.0.1", port)
        talker = await asyncio.open_connection("127.0.0.1", port)
        talker[1].write(b"POST /v1/traces HTTP/1.1\r\nHost:")
        third = await asyncio.open_connection("127.0.0.1", port)
        assert await third[0].read() == b""  # at once: there are two already
        for reader, writer in (silent, talker):
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()
        third[1].close()
        server.close()
        await connections.close(0)

    asyncio.run(story())


def test_an_old_connection_is_ended_in_good_order() -> None:
    """After a request, with the word of it in the answer."""

    async def story() -> str:
        sink = Sink(answer=OK)
        admission = Admission(10, 4 * MIB, MIB)
        door = HttpDoor(Entrance("127.0.0.1", 0, 1, max_connection_age=0.0), admission, sink)
        port = await door.start()
        try:
            reply = await apart(post, port, b"")
            return str(reply.headers["Connection"])
        finally:
            await door.stop(0)

    assert asyncio.run(story()) == "close"


def test_the_answer_in_json_is_that_of_protobuf() -> None:
    """Of logs as of traces."""

    def work(port: int) -> None:
        for path, field in ((TRACES, "rejectedSpans"), ("/v1/logs", "rejectedLogRecords")):
            told = json.loads(post(port, b"{}", JSON, path=path).body)
            assert told["partialSuccess"] == {field: "3", "errorMessage": "why"}
        message = ExportLogsServiceResponse.FromString(post(port, b"", path="/v1/logs").body)
        assert message.partial_success.rejected_log_records == 3

    at_the_door(Sink(answer=Answer(rejected=3, reason="why")), work)
