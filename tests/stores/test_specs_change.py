"""Specs change while sessions are open: what is known of them is kept, the rest is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.item import TOOL_CALL, Item, Report
from spanward.stores import StoreError
from spanward.stores.sqlite import SqliteStore
from tests.engine.judged import compiled
from tests.stores.test_restart import Process

RM: dict[str, Any] = {"tool": {"name": "rm"}}
LS: dict[str, Any] = {"tool": {"name": "ls"}}
NEVER_RM = {"name": "never-rm", "assert": {"never": RM}}
FEW_RM = {"name": "few-rm", "assert": {"count": {"match": RM, "max": 1}}}
NEVER_LS = {"name": "never-ls", "assert": {"never": LS}}
SOME_LS = {"name": "some-ls", "assert": {"eventually": LS}}
LS_FIRST = {"name": "ls-first", "assert": {"before": {"first": LS, "then": RM}}}
LIMITS = Limits(settle=0.0, idle_timeout=1e6)


def calls(session: str, *names: str, first: int = 1) -> list[Report]:
    """Calls of some tools, one after the other."""
    made = [
        Item(
            kind=TOOL_CALL,
            trace_id=session.encode().ljust(16, b"-"),
            span_id=number.to_bytes(8, "big"),
            start_ns=number * 10,
            end_ns=number * 10 + 5,
            session=session,
            name=name,
        )
        for number, name in enumerate(names, first)
    ]
    return [Report(one.trace_id, one.span_id, one.start_ns, session, True, (one,)) for one in made]


class Services:
    """One service after the other over the same store, each with specs of its own."""

    def __init__(self, path: Path, *specs: dict[str, Any]) -> None:
        self.process = Process(path, compiled(specs), LIMITS)

    def take(self, reports: list[Report]) -> None:
        """Take and save."""
        self.process.take(reports)
        self.process.save()

    def restart(self, *specs: dict[str, Any]) -> None:
        """Go on with other specs."""
        self.process.specs = compiled(specs)
        self.process.crash()

    def end(self) -> set[tuple[str, str | None, str, str]]:
        """What is told at the end: spec, session, result, cause."""
        before = len(self.process.told)
        self.process.finish()
        told = [one.verdict for one in self.process.told[before:]]
        return {(one.spec, one.session, str(one.result), str(one.cause)) for one in told}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "s.db"


def test_facts_of_an_unchanged_matcher_are_kept(path: Path) -> None:
    """Another spec that asks the same question knows the answers of before."""
    services = Services(path, NEVER_RM)
    services.take(calls("old", "rm", "rm"))
    services.restart(FEW_RM)
    assert services.end() == {("few-rm", "old", "fail", "shutdown")}


def test_a_new_matcher_begins_in_a_gap(path: Path) -> None:
    """For what was open: what only more can settle stands, the rest is not known to be complete."""
    services = Services(path, NEVER_RM)
    services.take(calls("quiet", "cat"))
    services.take(calls("busy", "cat"))
    services.restart(NEVER_RM, NEVER_LS, SOME_LS, LS_FIRST)
    services.take(calls("busy", "ls", "rm", first=5))
    services.take(calls("new", "cat"))
    told = {(one.verdict.spec, one.verdict.session) for one in services.process.told}
    assert told == {("never-ls", "busy"), ("some-ls", "busy"), ("never-rm", "busy")}
    assert services.end() == {
        ("never-rm", "quiet", "pass", "shutdown"),
        ("never-ls", "quiet", "unknown", "incomplete"),
        ("some-ls", "quiet", "unknown", "incomplete"),
        ("ls-first", "quiet", "unknown", "incomplete"),
        ("ls-first", "busy", "unknown", "incomplete"),
        ("never-rm", "new", "pass", "shutdown"),
        ("never-ls", "new", "pass", "shutdown"),
        ("some-ls", "new", "fail", "shutdown"),
        ("ls-first", "new", "not_applicable", "shutdown"),
    }


def test_a_matcher_that_was_away_does_not_know_what_it_missed(path: Path) -> None:
    """It returns with its facts, in a gap for every session that was open meanwhile."""
    services = Services(path, NEVER_RM, NEVER_LS)
    services.take(calls("violated", "ls"))
    services.take(calls("clean", "cat"))
    services.restart(NEVER_RM)
    services.take(calls("clean", "ls", first=5))
    services.restart(NEVER_RM, NEVER_LS)
    assert services.end() == {
        ("never-rm", "violated", "pass", "shutdown"),
        ("never-rm", "clean", "pass", "shutdown"),
        ("never-ls", "clean", "unknown", "incomplete"),
    }


def test_the_same_specs_in_another_order_change_nothing(path: Path) -> None:
    """What was announced is not announced again."""
    services = Services(path, NEVER_RM, NEVER_LS)
    services.take(calls("s", "rm"))
    services.restart(NEVER_LS, NEVER_RM)
    assert services.end() == {("never-ls", "s", "pass", "shutdown")}


def test_a_lost_store_puts_what_is_first_seen_in_a_gap(path: Path) -> None:
    """For one idle timeout: then a new session must have begun since."""
    limits = Limits(settle=0.0, idle_timeout=100.0)
    process = Process(path, compiled([NEVER_RM]), limits)
    process.store.close()
    path.write_bytes(b"not a database" * 100)
    process.start(lost=True)
    process.take(calls("early", "cat"))
    process.save()
    process.wait(100.0)
    process.take(calls("late", "cat"))
    process.save()
    process.wait(200.0)
    told = [(one.verdict.session, str(one.verdict.result)) for one in process.told]
    assert told == [("early", "unknown"), ("late", "pass")]


def test_quiet_sessions_are_left_to_the_store(path: Path) -> None:
    """They come back when something comes, when they are idle, and when they are forgotten."""
    limits = Limits(settle=1.0, idle_timeout=1000.0, retain=5000.0, amend_window=10.0)
    process = Process(path, compiled([NEVER_RM]), limits)
    for number in range(20):
        process.take(calls(f"s{number}", "cat"))
    process.save()
    for _ in range(8):
        process.wait(20.0)
    assert process.in_memory() == 0
    assert process.store.counts() == (20, 20, 20)
    process.take(calls("s3", "rm", first=7))
    process.save()
    assert process.in_memory() == 1
    assert [one.verdict.session for one in process.told] == ["s3"]
    for _ in range(60):
        process.wait(20.0)
    assert process.store.counts() == (20, 0, 0)
    assert {str(one.verdict.cause) for one in process.told[1:]} == {"idle"}
    assert len(process.told) == 20
    for _ in range(60):
        process.wait(100.0)
    assert process.store.counts() == (0, 0, 0)
    assert process.in_memory() == 0
    process.take(calls("s3", "cat", first=9))
    process.finish()
    assert str(process.told[-1].verdict.cause) == "incomplete"


def test_a_session_that_only_lives_on_is_left_when_that_is_saved(path: Path) -> None:
    """A span that gives no item still says that the session is alive: idleness counts from it."""
    limits = Limits(settle=1.0, idle_timeout=300.0, amend_window=10.0)
    process = Process(path, compiled([NEVER_RM]), limits)
    process.take(calls("s", "cat"))
    process.save()
    process.wait(100.0)
    alive = Report(b"s".ljust(16, b"-"), b"s" * 8, 999, "s", True, ())
    process.take([alive])
    for _ in range(10):
        process.wait(25.0)
    assert process.in_memory() == 0
    assert process.told == []
    for _ in range(10):
        process.wait(25.0)
    assert [str(one.verdict.cause) for one in process.told] == ["idle"]


def test_reports_of_a_session_that_went_are_kept_for_nothing(path: Path) -> None:
    """What amends them after a restart is of a session that begins in a gap."""
    limits = Limits(settle=1.0, idle_timeout=1e6, max_open=1)
    process = Process(path, compiled([NEVER_RM]), limits)
    (first,) = calls("s1", "cat")
    (item,) = first.items
    known = structs.replace(first, items=(structs.replace(item, call_id="c"),))
    process.take([known])
    process.take(calls("s2", "cat"))
    process.save()
    process.crash()
    process.take([structs.replace(first, items=(structs.replace(item, call_id="c", name="rm"),))])
    process.save()
    process.finish()
    told = {(one.verdict.session, str(one.verdict.result)) for one in process.told}
    assert told == {("s1", "unknown"), ("s2", "unknown"), ("s1", "fail")}


def test_a_vault_that_cannot_be_read_is_no_fault_of_a_record(path: Path) -> None:
    """Neither while reports are taken nor as time goes by: whoever drives the engine must know."""

    class Blind(SqliteStore):
        def session(self, name: str) -> None:
            raise StoreError("input/output error")

        def quiet(self, idle: float, said: float, ended: float, most: int) -> list[str]:
            raise StoreError("input/output error")

    blind = Blind(path, "aside")
    engine = Engine(compiled([NEVER_RM]), LIMITS, blind, 0.0)
    with pytest.raises(OSError, match="input/output"):
        engine.take(calls("s", "cat"), 1.0)
    with pytest.raises(OSError, match="input/output"):
        engine.advance(2.0)
    assert engine.faults == []
    blind.close()


def test_too_many_sessions_push_out_the_quietest(path: Path) -> None:
    """Also when it is in the store alone: it is announced, and begins in a gap if it returns."""
    limits = Limits(settle=1.0, idle_timeout=1e6, amend_window=1.0, max_open=3)
    process = Process(path, compiled([NEVER_RM]), limits)
    for number in range(3):
        process.take(calls(f"s{number}", "cat"))
        process.wait(100.0)
    process.wait(100.0)
    process.wait(100.0)
    assert process.in_memory() == 0
    process.take(calls("s0", "cat", first=5))
    process.take(calls("s3", "cat"))
    process.take(calls("s4", "cat"))
    process.save()
    told = [(one.verdict.session, str(one.verdict.cause)) for one in process.told]
    assert told == [("s1", "evicted"), ("s2", "evicted")]
    assert process.store.counts()[0] == 3
