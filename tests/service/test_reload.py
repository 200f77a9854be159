"""Reloading: other specs, the same service; senders notice nothing, and no figure is lost."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from spanward.config import Config, Endpoint
from spanward.dialects import DIALECTS
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.exchange import Exchange
from spanward.reload import Outcome, Reloader, Watch, read
from spanward.stores import Store
from spanward.stores.memory import MemoryStore
from spanward.stores.sqlite import SqliteStore
from spanward.worker import Worker
from tests.service.test_worker import FullDisk, Working, answer_to
from tests.service.world import (
    HERE,
    NEVER_RM,
    TESTS_FIRST,
    answer,
    apart,
    call,
    export,
    figures,
    request,
    service,
    specs_of,
)

pytestmark = pytest.mark.usefixtures("quiet")
NEVER_LS = "name: never-ls\nassert: {never: {tool: {name: ls}}}\n"
WRONG = "name: never-rm\nassert: {nevr: {tool: {name: rm}}}\n"
BEARER = {"Authorization": "Bearer s3cret"}


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What is logged is kept apart from what the tests say."""
    caplog.set_level("CRITICAL", "spanward")


class Folder:
    """A folder of specs, and a token beside it."""

    def __init__(self, path: Path, **more: Any) -> None:
        self.specs = path / "specs"
        self.specs.mkdir()
        (path / "token").write_text("s3cret\n", "utf-8")
        self.config: Config = msgspec.structs.replace(
            HERE, specs=(self.specs,), token_file=path / "token", **more
        )

    def write(self, **files: str) -> None:
        """Have these files in it, and no others."""
        for old in self.specs.iterdir():
            old.unlink()
        for name, text in files.items():
            (self.specs / f"{name}.yaml").write_text(text, "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """With one spec in it."""
    made = Folder(tmp_path)
    made.write(one=NEVER_RM)
    return made


def reload(port: int, **headers: str) -> tuple[int, str]:
    """Ask for a reload."""
    return answer(port, "/-/reload", headers or BEARER, post=True)


def story_of(folder: Folder, work: Callable[[int, int], None], **more: Any) -> None:
    """Do blocking work with a service's two ports: gRPC and admin."""

    async def story() -> None:
        async with service(NEVER_RM, folder.config, **more) as running:
            await apart(work, running.grpc_port, running.admin_port)

    asyncio.run(story())


def of_spec(found: dict[str, float], name: str) -> dict[str, float]:
    """The series that have a spec's name."""
    return {series: value for series, value in found.items() if f'spec="{name}"' in series}


def test_counters_of_specs_that_stay_go_on_and_the_others_go(folder: Folder) -> None:
    """A removed spec leaves no series; a new one is there at 0 with every result."""

    def work(grpc: int, admin: int) -> None:
        export(grpc, request(call("rm", 1)))
        before = figures(admin)
        folder.write(one=NEVER_RM, two=NEVER_LS)
        assert reload(admin) == (200, "specs reloaded: 2 specs\n")
        both = figures(admin)
        assert of_spec(both, "never-rm") == of_spec(before, "never-rm")
        assert set(of_spec(both, "never-ls").values()) == {0.0}
        assert len(of_spec(both, "never-ls")) == len(of_spec(before, "never-rm")) == 7
        export(grpc, request(call("ls", 2, "s2"), call("rm", 3, "s2")))
        folder.write(two=NEVER_LS)
        assert reload(admin)[0] == 200
        after = figures(admin)
        assert of_spec(after, "never-rm") == {}
        assert sum(of_spec(after, "never-ls").values()) > 1.7e9
        folder.write(one=NEVER_RM)
        assert reload(admin)[0] == 200
        again = figures(admin)
        name = 'spanward_violations_total{operator="never",severity="critical",spec="never-rm"}'
        assert again[name] == 2.0
        assert again['spanward_specs_reloads_total{result="success"}'] == 3.0

    story_of(folder, work)


def test_a_bad_reload_changes_nothing_but_is_told(folder: Folder) -> None:
    """All files or none: one mistake in one of them, and the specs of before are judged."""

    def work(grpc: int, admin: int) -> None:
        before = figures(admin)
        folder.write(one=NEVER_RM, two=NEVER_LS, three=WRONG)
        code, said = reload(admin)
        assert code == 422
        assert f"{folder.specs / 'three.yaml'}:2:" in said
        assert "^" in said
        after = figures(admin)
        assert after["spanward_specs_last_reload_successful"] == 0.0
        assert after['spanward_specs_reloads_total{result="failure"}'] == 1.0
        assert of_spec(after, "never-ls") == {}
        export(grpc, request(call("rm", 1)))
        name = 'spanward_violations_total{operator="never",severity="critical",spec="never-rm"}'
        assert figures(admin)[name] == 1.0
        good_at = "spanward_specs_last_reload_success_timestamp_seconds"
        assert after[good_at] == before[good_at] > 0
        folder.write(one=NEVER_RM)
        assert reload(admin) == (200, "specs reloaded: 1 spec, nothing changed\n")
        found = figures(admin)
        assert found["spanward_specs_last_reload_successful"] == 1.0
        assert found[good_at] > before[good_at]

    story_of(folder, work)


def test_a_folder_that_is_gone_is_a_mistake(folder: Folder) -> None:
    """An unmounted directory must not mean that nothing is judged any more."""

    def work(_: int, admin: int) -> None:
        folder.write()
        code, said = reload(admin)
        assert (code, "no spec file in this directory" in said) == (422, True)
        folder.specs.rmdir()
        code, said = reload(admin)
        assert (code, "cannot read it" in said) == (422, True)
        assert of_spec(figures(admin), "never-rm")

    story_of(folder, work)


def test_only_who_has_the_token_may(folder: Folder, tmp_path: Path) -> None:
    """Reload and status; what a scraper and a probe need is there for all. A token may change."""

    def work(_: int, admin: int) -> None:
        assert reload(admin, Authorization="Bearer wrong")[0] == 401
        assert reload(admin, Authorization="Basic s3cret")[0] == 401
        assert reload(admin, Accept="*/*")[0] == 401
        assert answer(admin, "/-/reload", BEARER)[0] == 405
        assert answer(admin, "/status")[0] == 401
        assert answer(admin, "/status", BEARER)[0] == 200
        assert [answer(admin, each)[0] for each in ("/metrics", "/healthz", "/readyz")] == [200] * 3
        evil = {**BEARER, "Host": "evil.example"}
        assert answer(admin, "/-/reload", evil, post=True)[0] == 403
        (tmp_path / "token").write_text("another", "utf-8")
        assert reload(admin)[0] == 401
        assert reload(admin, Authorization="bearer another")[0] == 200
        (tmp_path / "token").unlink()
        assert reload(admin, Authorization="Bearer another")[0] == 401
        assert reload(admin, Authorization="Bearer ")[0] == 401

    story_of(folder, work)


def test_without_a_token_nobody_may_reload(folder: Folder) -> None:
    """And the status is for this machine alone."""
    closed = msgspec.structs.replace(folder.config, token_file=None)
    exposed = msgspec.structs.replace(closed, admin=Endpoint("0.0.0.0", 0))  # noqa: S104

    async def story(config: Config, code: int) -> None:
        async with service(NEVER_RM, config) as running:
            assert (await apart(reload, running.admin_port))[0] == 403
            assert (await apart(answer, running.admin_port, "/status"))[0] == code

    asyncio.run(story(closed, 200))
    asyncio.run(story(exposed, 403))


def test_a_token_that_is_not_there_ends_the_start(folder: Folder, tmp_path: Path) -> None:
    """Neither a missing file nor an empty one is an open door."""
    (tmp_path / "token").write_text(" \n", "utf-8")
    with pytest.raises(OSError, match="there is no token in"):
        story_of(folder, lambda grpc, admin: None)
    (tmp_path / "token").unlink()
    with pytest.raises(OSError, match="token"):
        story_of(folder, lambda grpc, admin: None)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_senders_notice_nothing(folder: Folder, tmp_path: Path, kind: str) -> None:
    """While specs are reloaded again and again, every export is taken, and judged once."""
    other = f"{NEVER_RM}---{TESTS_FIRST}"

    def work(grpc: int, admin: int) -> None:
        done = threading.Event()

        def reloading() -> None:
            number = 0
            while not done.is_set():
                folder.write(one=other if number % 2 else NEVER_RM)
                assert reload(admin)[0] == 200
                number += 1

        beside = threading.Thread(target=reloading)
        beside.start()
        try:
            for number in range(1, 301):
                export(grpc, request(call("rm", number, f"s{number % 7}")))
        finally:
            done.set()
            beside.join(30)
        found = figures(admin)
        name = 'spanward_violations_total{operator="never",severity="critical",spec="never-rm"}'
        assert found[name] == 300.0
        fail = (
            'spanward_verdicts_total{operator="never",result="fail",severity="critical",'
            'spec="never-rm"}'
        )
        assert found[fail] == 7.0
        assert found["spanward_evaluation_errors_total"] == 0.0
        assert found['spanward_specs_reloads_total{result="success"}'] > 3

    store: Store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "s.db", "aside")
    story_of(folder, work, store=store)


# --- watching


def watching(
    work: Callable[[Reloader, Working], Awaitable[None]], folder: Folder, store: Store | None = None
) -> None:
    """Do something with a reloader whose worker judges what is in the folder."""

    async def story() -> None:
        working = Working(store)
        reading = read([folder.specs]).digest
        await work(Reloader([folder.specs], working.worker, lambda: 7.0, reading), working)
        working.stop()

    asyncio.run(story())


def names(working: Working) -> list[str]:
    """The specs that are judged."""
    return [spec.name for spec in working.worker.published.specs]


async def until(working: Working, name: str) -> None:
    """Wait until one spec is judged, for ten seconds at most."""
    async with asyncio.timeout(10):
        while names(working) != [name]:  # noqa: ASYNC110  a thread changes it
            await asyncio.sleep(0.001)


def test_what_changes_is_loaded_when_it_stands_still(folder: Folder) -> None:
    """Not at the first look, for it may be half written; and once."""

    async def work(reloader: Reloader, working: Working) -> None:
        assert await reloader.look() is None
        folder.write(one=NEVER_RM, two=NEVER_LS)
        assert await reloader.look() is None
        folder.write(one=NEVER_RM, two=NEVER_LS, three=TESTS_FIRST)
        assert await reloader.look() is None
        assert names(working) == ["never-rm"]
        assert await reloader.look() == Outcome(good=True, words="specs reloaded: 3 specs")
        assert names(working) == ["never-rm", "tests-first", "never-ls"]
        assert await reloader.look() is None

    watching(work, folder)


def test_a_mistake_is_told_once_and_mended_content_is_loaded(folder: Folder) -> None:
    """The same mistake again and again is no news."""

    async def work(reloader: Reloader, working: Working) -> None:
        folder.write(one=WRONG)
        looks = [await reloader.look() for _ in range(4)]
        (told,) = [one for one in looks if one]
        assert (told.good, "one.yaml:2:" in told.shown) == (False, True)
        assert not reloader.figures.good
        folder.write(one=NEVER_LS)
        looks = [await reloader.look() for _ in range(4)]
        assert [one.good for one in looks if one] == [True]
        assert (reloader.figures.good, reloader.figures.good_at) == (True, 7.0)
        assert names(working) == ["never-ls"]

    watching(work, folder)


def test_a_configmap_is_swapped_by_a_link(tmp_path: Path, folder: Folder) -> None:
    """Kubernetes lets the links of the files be, and has one link name another directory."""

    def version(number: int, text: str) -> None:
        (folder.specs / f"..{number}").mkdir()
        (folder.specs / f"..{number}" / "one.yaml").write_text(text, "utf-8")
        (folder.specs / "..data_tmp").symlink_to(f"..{number}")
        (folder.specs / "..data_tmp").replace(folder.specs / "..data")

    async def work(reloader: Reloader, working: Working) -> None:
        for number, text in enumerate((NEVER_LS, TESTS_FIRST, NEVER_RM), 2):
            version(number, text)
            looks = [await reloader.look() for _ in range(3)]
            assert [one.good for one in looks if one] == [True]
        assert reloader.figures.results == {"success": 3, "failure": 0}

    folder.write()
    version(1, NEVER_RM)
    (folder.specs / "one.yaml").symlink_to("..data/one.yaml")
    watching(work, folder)


def test_a_store_that_fails_is_asked_again(folder: Folder, tmp_path: Path) -> None:
    """The content is good: it is loaded as soon as the store can save what is open."""
    store = FullDisk(tmp_path / "s.db", "aside")

    async def work(reloader: Reloader, working: Working) -> None:
        assert answer_to(working.worker, request(call("ls"))).reason == ""
        folder.write(one=NEVER_LS)
        store.failures = 10**9
        assert await reloader.look() is None
        told = await reloader.look()
        assert told is not None
        assert (told.good, reloader.figures.good) == (False, False)
        assert names(working) == ["never-rm"]
        store.failures = 0
        told = await reloader.look()
        assert told is not None
        assert told.good
        assert names(working) == ["never-ls"]
        assert working.worker.tally.failures == 0

    watching(work, folder, store)


def test_a_defect_is_told_as_a_failure(folder: Folder) -> None:
    """The worker could not go on with these specs: the metric says so, and nothing ends."""

    class Broken(Worker):
        def _make_engine(self, *what: Any, goes_on: bool = False, **more: Any) -> Engine:
            if goes_on:
                raise ValueError("a defect")
            return super()._make_engine(*what, **more)

    async def story() -> None:
        store = MemoryStore()
        worker = Broken(specs_of(NEVER_RM), Limits(), DIALECTS.values(), store)
        worker.start()
        reloader = Reloader([folder.specs], worker, lambda: 7.0, b"")
        assert answer_to(worker, request(call("cat"))).reason == ""
        folder.write(one=NEVER_LS)
        told = await reloader.reload()
        assert (told.good, told.words[:28]) == (False, "specs not reloaded: a defect")
        assert reloader.figures.results["failure"] == 1
        assert answer_to(worker, request(call("rm", 2))).reason == ""
        assert worker.tally.failures == 1
        assert worker.counters.violations == [1]
        assert store.session("s1") is None
        assert worker.stop(drain=False, timeout=10)
        worker.close()

    asyncio.run(story())


def test_a_watch_reloads_when_it_is_asked_and_when_the_time_comes(folder: Folder) -> None:
    """And goes on after a fault."""

    async def work(reloader: Reloader, working: Working) -> None:
        watch = Watch(reloader, 0.001)
        task = asyncio.create_task(watch.run())
        folder.write(one=NEVER_LS)
        await until(working, "never-ls")
        task.cancel()
        watch = Watch(reloader, None)
        task = asyncio.create_task(watch.run())
        folder.write(one=NEVER_RM)
        watch.ask()
        await until(working, "never-rm")
        task.cancel()

    watching(work, folder)


def test_who_asks_of_a_worker_that_ends_is_told(folder: Folder) -> None:
    """Nobody waits for ever."""
    working = Working()
    working.stop()
    with pytest.raises(OSError, match="stopping"):
        working.worker.reload(specs_of(NEVER_LS)).result(10)


def test_faults_of_a_reload_go_to_the_asker_and_are_counted() -> None:
    """A fault of our own ends neither the thread nor the wait of whoever asked."""
    exchange = Exchange()

    def broken(specs: object) -> None:
        raise ValueError("a fault")

    gone, asked = exchange.ask(()), exchange.ask(())
    assert gone.cancel()
    with pytest.raises(ValueError, match="a fault"):
        exchange.serve(broken)
    assert isinstance(asked.exception(0), ValueError)
    gone = exchange.ask(())
    assert gone.cancel()
    exchange.close()


def test_a_spec_that_was_away_for_a_moment_knows_that_it_was(tmp_path: Path) -> None:
    """Though nothing was saved meanwhile but that: what came then may have been anything."""
    config = msgspec.structs.replace(HERE, store=tmp_path / "s.db", jsonl=str(tmp_path / "out"))
    both = f"{NEVER_RM}---\n{NEVER_LS}"

    async def story() -> None:
        async with service(both, config) as running:
            await apart(export, running.grpc_port, request(call("cat")))
        async with service(NEVER_RM, config):
            pass
        async with service(both, config, drain=True):
            pass

    asyncio.run(story())
    lines = map(json.loads, (tmp_path / "out").read_text("utf-8").splitlines())
    told = {(one["spec"], one["result"]) for one in lines}
    assert told == {("never-rm", "pass"), ("never-ls", "unknown")}
