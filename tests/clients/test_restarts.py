"""Real clients through a restart of the service: every span is judged once.

All clients send at once to one service. It is ended in the middle of a burst, by SIGTERM or by
SIGKILL, stays away until each client has noticed, and is started again on its ports and its file.
The clients finish on their own retries:

* The Python exporters try again after about 1, 2, 4 … seconds, until the next attempt would be
  later than their timeout. After about 7 s of the default of 10 they drop the batch.
* The exporters for JavaScript over HTTP try again five times, after 1 to 5 s.
* That over gRPC gives a batch up with the first ``UNAVAILABLE``. It is here three times: as it is,
  with an agent that exports again what failed, and with rotel between.
* rotel tries again for 300 s, from memory, when nobody answers or the answer says so. A batch
  whose connection breaks before the answer it drops, over HTTP as over gRPC: so nothing of it is
  on its way when the service ends.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.processes import Served, soon, until
from tests.clients.senders import GZIP, Client, Installed, Sender

CLIENTS = [
    Client("grpc"),
    Client("http", more=GZIP),
    Client("node-grpc", gives_up=True),
    Client("node-grpc-again", more=GZIP),
    Client("node-json"),
    Client("node-protobuf", more=GZIP),
    Client("grpc", hop="grpc"),
    Client("node-grpc", hop="http"),
]
SESSIONS = 4
BEFORE, INTO_THE_END, MEANWHILE, AFTER = 80, 40, 40, 80
STEPS = BEFORE + INTO_THE_END + MEANWHILE + AFTER
AWAY = set(range(BEFORE + INTO_THE_END, STEPS - AFTER))
"""The steps that are made while nobody answers."""


@dataclass(frozen=True)
class Told:
    """What was to be seen when all had ended."""

    by: int
    ended_with: tuple[int, int]
    before: dict[str, float]
    after: dict[str, float]
    lines_before: int
    matches: float
    sessions: dict[str, list[str]]
    steps: list[tuple[str, int]]
    exits: dict[str, int]
    noticed: dict[str, bool]
    said: dict[str, str]

    def steps_of(self, client: str) -> set[int]:
        """The numbers of a client's steps that have a verdict."""
        return {number for session, number in self.steps if name_of(session) == client}


def name_of(session: str) -> str:
    """The client whose session it is."""
    return session.rpartition("-")[0]


def story(served: Served, senders: list[Sender], by: int) -> Told:
    """See the module's docstring."""

    def everybody(number: int, among: Iterable[Sender] = senders) -> None:
        for sender in among:
            sender.agent.calls(number)

    def judged() -> float:
        return served.fates().get("judged", 0)

    def whole() -> bool:
        done = Counter(name_of(line["session"]) for line in served.lines("each-step"))
        return all(done[each.name] >= STEPS for each in senders if not each.client.gives_up)

    first = BEFORE * len(senders)
    everybody(BEFORE)
    until(lambda: judged() == first, lambda: f"{served.fates()}, not {first}")
    everybody(INTO_THE_END, [sender for sender in senders if sender.rotel is None])
    until(lambda: judged() > first, lambda: str(served.fates()))
    before = served.fates()
    code = served.process.end(by)
    lines_before = len(served.lines("each-step"))
    everybody(INTO_THE_END, [sender for sender in senders if sender.rotel is not None])
    everybody(MEANWHILE)
    # Not for longer than all others try again.
    soon(lambda: all(sender.found_nobody for sender in senders), seconds=8)
    noticed = {sender.name: sender.found_nobody for sender in senders}
    served.restart()
    everybody(AFTER)
    exits = {sender.name: sender.agent.finish() for sender in senders}
    soon(whole)  # rotel may have some of it still
    for sender in senders:
        if sender.rotel is not None:
            exits[f"{sender.name}: rotel"] = sender.rotel.end()
    after, matches = served.fates(), served.matches()
    codes = code, served.process.end()
    sessions: dict[str, list[str]] = {}
    for line in served.lines("all-steps"):
        sessions.setdefault(line["session"], []).append(line["result"])
    return Told(
        by,
        codes,
        before,
        after,
        lines_before,
        matches,
        sessions,
        [(line["session"], line["turn"]) for line in served.lines("each-step")],
        exits,
        noticed,
        {sender.name: sender.said[-3000:] for sender in senders},
    )


@pytest.fixture(scope="module", params=[signal.SIGTERM, signal.SIGKILL], ids=lambda by: by.name)
def told(
    request: pytest.FixtureRequest, installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Told]:
    """The story of all clients that can be started."""
    folder: Path = tmp_path_factory.mktemp("served")
    with ExitStack() as running:
        served = Served(folder, STEPS // SESSIONS)
        running.callback(served.close)
        senders = []
        for client in filter(installed.has, CLIENTS):
            senders.append(Sender(client, installed, served))
            running.callback(senders[-1].close)
        yield story(served, senders, request.param)


@pytest.mark.parametrize("client", CLIENTS, ids=str)
def test_every_span_is_judged_once(
    told: Told, client: Client, must_have: Callable[[Client], None]
) -> None:
    """Each session has exactly its steps; of what a client gave up, nothing else is missing."""
    must_have(client)
    name = str(client)
    assert told.noticed[name], told.said[name]
    assert told.exits[name] == 0, told.said[name]
    results = {told.sessions.get(f"{name}-{number}", [None])[0] for number in range(SESSIONS)}
    missing = set(range(STEPS)) - told.steps_of(name)
    if client.gives_up:
        # Also after the restart: gRPC waits before it knocks at the same door again.
        assert missing & AWAY, "it does not give up any more"
        assert not missing & set(range(BEFORE)), told.said[name]
        assert results == {"fail"}
    else:
        assert not missing, told.said[name]
        assert results == {"pass"}


def test_the_books_of_both_lives_add_up(told: Told) -> None:
    """Judged in one life or the other, and in none twice; a repeat is a duplicate."""
    steps = len(set(told.steps))
    assert told.matches == steps, "the count that both lives share"
    assert all(len(results) == 1 for results in told.sessions.values())
    assert {*told.before, *told.after} <= {"judged", "duplicate"}
    assert told.ended_with == (0 if told.by == signal.SIGTERM else -told.by, 0)
    assert set(told.exits.values()) == {0}
    if told.by == signal.SIGTERM:
        # What was judged was announced: the first life's lines are what it judged.
        assert told.before["judged"] <= told.lines_before == steps - told.after["judged"]
        assert len(told.steps) == steps
    else:
        # What was announced was saved. What was not saved is judged again, and may have been
        # counted by the first life; a verdict may be told again that was told just before.
        assert told.lines_before <= steps - told.after["judged"]
