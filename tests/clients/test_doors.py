"""Real clients at the doors: their tokens, and what their requests look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.processes import Served, until
from tests.clients.relay import relay
from tests.clients.senders import GZIP, Client, Installed, Sender

TOKEN, WRONG = "a-token-of-agents-0123456789", "a-token-of-nobody-0123456789"
CLIENTS = [
    Client("grpc", more=GZIP),
    Client("http"),
    Client("node-grpc"),
    Client("node-json", more=GZIP),
    Client("node-protobuf"),
    Client("grpc", hop="grpc"),
    Client("grpc", hop="http"),
]
TOLD = re.compile("401|unauthenticated", re.IGNORECASE)
"""What each client says of a wrong token, in one way or another."""
REFUSED = 'spanward_requests_refused_total{reason="unauthenticated"}'


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that asks for a token at both doors."""
    folder: Path = tmp_path_factory.mktemp("guarded")
    (folder / "tokens").write_text(f"agents {TOKEN}\n", encoding="utf-8")
    served = Served(folder, 1, f', bearer_token_file: "{folder}/tokens"')
    yield served
    served.close()


@contextmanager
def sending(sender: Sender, calls: int = 4) -> Iterator[Sender]:
    """A client that has made its calls, and was told to finish, but may not have ended."""
    try:
        sender.agent.calls(calls)
        assert sender.agent.finish() == 0, sender.said
        yield sender
    finally:
        sender.close()


@pytest.mark.parametrize("client", CLIENTS, ids=str)
def test_a_token_is_sent_and_a_wrong_one_is_refused(
    guarded: Served, installed: Installed, client: Client, must_have: Callable[[Client], None]
) -> None:
    """With the right one the spans are judged; with a wrong one they are not, and it is counted."""
    must_have(client)
    before, refused = guarded.matches(), guarded.figures()[REFUSED]
    with sending(Sender(client, installed, guarded, WRONG)) as sender:
        until(lambda: guarded.figures()[REFUSED] > refused, lambda: sender.said)
        until(lambda: TOLD.search(sender.said), lambda: sender.said, 5)
    assert guarded.matches() == before
    refused = guarded.figures()[REFUSED]
    with sending(Sender(client, installed, guarded, TOKEN)) as sender:
        until(lambda: guarded.matches() == before + 4, lambda: sender.said)
    assert guarded.figures()[REFUSED] == refused


@pytest.mark.parametrize(
    ("client", "shows"),
    [
        (Client("http", more=GZIP), ["content-encoding: gzip", "content-length: "]),
        (Client("node-json"), ["application/json", "transfer-encoding: chunked"]),
        (
            Client("node-json", more=GZIP),
            ["application/json", "content-encoding: gzip", "transfer-encoding: chunked"],
        ),
        (
            Client("node-protobuf", more=GZIP),
            ["application/x-protobuf", "content-encoding: gzip", "transfer-encoding: chunked"],
        ),
    ],
    ids=["python-http-gzip", "node-json", "node-json-gzip", "node-protobuf-gzip"],
)
def test_what_clients_send_over_http_is_read(
    guarded: Served,
    installed: Installed,
    client: Client,
    shows: list[str],
    must_have: Callable[[Client], None],
) -> None:
    """Also in chunks, without a length: that is how the exporters for JavaScript send."""
    must_have(client)
    before = guarded.matches()
    with relay(guarded.http) as between:
        url = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{between.port}"}
        through = replace(client, more=client.more | url)
        with sending(Sender(through, installed, guarded, TOKEN)) as sender:
            until(lambda: guarded.matches() == before + 4, lambda: sender.said)
    assert between.heads
    for head in between.heads:
        assert head.startswith("post /v1/traces http/1.1")
        assert all(word in head for word in (*shows, f"authorization: bearer {TOKEN}")), head
        assert ("content-length" in head) != ("transfer-encoding: chunked" in head)


@pytest.mark.parametrize("exporter", ["node-grpc", "node-json", "node-protobuf"])
def test_log_records_are_judged_too(
    guarded: Served, installed: Installed, exporter: str, must_have: Callable[[Client], None]
) -> None:
    """Some runtimes tell of what they do in logs only."""
    client = Client(exporter, more=GZIP, logs=True)
    must_have(client)
    before = guarded.matches("all-records")
    with sending(Sender(client, installed, guarded, TOKEN)) as sender:
        until(lambda: guarded.matches("all-records") == before + 4, lambda: sender.said)
