"""Live: from an agent's export call to the metric and to the verdict span in its own trace."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import grpc
import msgspec

from spanward.config import SpanEmitter
from spanward.receive.grpc import TRACE_SERVICE
from tests.service.world import (
    HERE,
    NEVER_RM,
    TESTS_FIRST,
    Agent,
    apart,
    call,
    export,
    figures,
    otlp_endpoint,
    request,
    service,
    settling,
)

FAIL = 'spanward_verdicts_total{operator="never",result="fail",severity="critical",spec="never-rm"}'
LAST = (
    "spanward_last_violation_timestamp_seconds"
    '{operator="never",severity="critical",spec="never-rm"}'
)


def test_a_violation_is_seen_within_a_second() -> None:
    """The verdict span arrives in the agent's own trace, and the metric tells, at once."""

    async def story() -> None:
        with otlp_endpoint() as world:
            config = msgspec.structs.replace(
                HERE, spans=SpanEmitter(f"http://127.0.0.1:{world.port}")
            )
            async with service(NEVER_RM, config) as running:
                agent = Agent(running.grpc_port)
                await apart(agent.calls, "ls")
                assert figures_now(await apart(figures, running.admin_port)) == (0.0, 0.0)
                since = time.perf_counter()
                await apart(agent.calls, "rm")
                assert await apart(world.arrived.wait, 5)
                span_seconds = time.perf_counter() - since
                fails, last = figures_now(await apart(figures, running.admin_port))
                metric_seconds = time.perf_counter() - since
                assert fails == 1.0
                assert abs(last - time.time()) < 5
                agent.close()
            ((scope, verdict),) = world.spans
            print(
                f"\nviolation to verdict span: {span_seconds * 1000:.1f} ms, "
                f"to a scrape that shows it: {metric_seconds * 1000:.1f} ms"
            )
            assert span_seconds < 1
            assert metric_seconds < 1
            assert scope == "spanward"
            assert verdict.name == "spanward.verdict"
            attributes = {one.key: one.value for one in verdict.attributes}
            assert attributes["gen_ai.evaluation.name"].string_value == "never-rm"
            assert attributes["gen_ai.evaluation.score.label"].string_value == "fail"
            assert attributes["gen_ai.evaluation.score.value"].double_value == 0.0
            assert attributes["gen_ai.conversation.id"].string_value == "s1"
            assert attributes["spanward.label.team"].string_value == "payments"
            assert attributes["spanward.early"].bool_value
            (link,) = verdict.links
            assert (verdict.trace_id, verdict.parent_span_id) == (link.trace_id, link.span_id)
            assert verdict.status.code == 2
            assert verdict.status.message == "a forbidden item occurred"

    asyncio.run(story())


def figures_now(found: dict[str, float]) -> tuple[float, float]:
    """How often the spec failed, and when it was last violated."""
    return found[FAIL], found[LAST]


def test_a_further_violation_moves_the_time_of_the_last_one() -> None:
    """The live alert stays up: a failed session that violates again is told by the gauge."""

    async def story() -> None:
        async with service(NEVER_RM) as running:
            await apart(export, running.grpc_port, request(call("rm", 1)))
            first = await apart(figures, running.admin_port)
            await apart(export, running.grpc_port, request(call("rm", 2)))
            second = await apart(figures, running.admin_port)
            assert second[FAIL] == first[FAIL] == 1.0
            assert second[LAST] > first[LAST]

    asyncio.run(story())


def test_order_is_told_when_it_has_settled(tmp_path: Path) -> None:
    """An order-bound result waits for the settle time, then goes out as an early one."""

    async def story() -> None:
        out = tmp_path / "verdicts.jsonl"
        config = msgspec.structs.replace(settling(0.3), jsonl=str(out))
        async with service(TESTS_FIRST, config) as running:
            since = time.perf_counter()
            await apart(export, running.grpc_port, request(call("push", 9)))
            assert out.read_text() == ""
            while not out.read_text():
                assert time.perf_counter() - since < 10
                await asyncio.sleep(0.01)
            assert time.perf_counter() - since >= 0.3
        (line,) = out.read_text().splitlines()
        verdict = json.loads(line)
        assert (verdict["result"], verdict["early"], verdict["cause"]) == ("fail", True, "item")
        assert verdict["time"].endswith("Z")

    asyncio.run(story())


def test_a_late_item_within_the_settle_time_prevents_a_false_alarm(tmp_path: Path) -> None:
    """The test run arrives after the push that it preceded: nothing wrong is ever told."""

    async def story() -> None:
        out = tmp_path / "verdicts.jsonl"
        config = msgspec.structs.replace(settling(0.2), jsonl=str(out))
        async with service(TESTS_FIRST, config, drain=True) as running:
            await apart(export, running.grpc_port, request(call("push", 9)))
            await apart(export, running.grpc_port, request(call("pytest", 3)))
        results = [json.loads(line)["result"] for line in out.read_text().splitlines()]
        assert results == ["pass"]

    asyncio.run(story())


def test_draining_makes_open_verdicts_final(tmp_path: Path) -> None:
    """With drain, stopping tells what is still open, with the cause shutdown; without, nothing."""

    async def story(*, drain: bool) -> list[dict[str, object]]:
        out = tmp_path / f"{drain}.jsonl"
        config = msgspec.structs.replace(HERE, jsonl=str(out))
        async with service(NEVER_RM, config, drain=drain) as running:
            await apart(export, running.grpc_port, request(call("ls", 1)))
        return [json.loads(line) for line in out.read_text().splitlines()]

    (verdict,) = asyncio.run(story(drain=True))
    assert (verdict["result"], verdict["cause"], verdict["early"]) == ("pass", "shutdown", False)
    assert asyncio.run(story(drain=False)) == []


def test_a_stop_has_an_end(tmp_path: Path) -> None:
    """A sender that opened a call and says nothing costs half the drain time, and no verdict."""

    async def story() -> float:
        config = msgspec.structs.replace(HERE, jsonl=str(out), drain_timeout=1.0)
        async with service(NEVER_RM, config, drain=True) as running:
            await apart(export, running.grpc_port, request(call("ls", 1)))
            way = grpc.aio.insecure_channel(f"127.0.0.1:{running.grpc_port}")
            method: Any = way.stream_unary
            silent = method(f"/{TRACE_SERVICE}/Export")()
            await silent.wait_for_connection()
            since = time.perf_counter()
        took = time.perf_counter() - since
        await way.close(None)
        return took

    out = tmp_path / "verdicts.jsonl"
    assert asyncio.run(story()) < 5
    (line,) = out.read_text().splitlines()
    assert json.loads(line)["cause"] == "shutdown"


def test_our_own_verdicts_are_dropped_and_nothing_else_is() -> None:
    """A verdict span that comes back is dropped and counted; a look-alike is judged."""

    async def story() -> None:
        with otlp_endpoint() as world:
            config = msgspec.structs.replace(
                HERE, spans=SpanEmitter(f"http://127.0.0.1:{world.port}")
            )
            async with service(NEVER_RM, config) as running:
                await apart(export, running.grpc_port, request(call("rm", 1)))
                assert await apart(world.arrived.wait, 5)
                ((_, verdict),) = world.spans
                await apart(export, running.grpc_port, request(verdict, scope="spanward"))
                found = await apart(figures, running.admin_port)
                assert found["spanward_own_verdicts_total"] == 1.0
                verdict.span_id = b"notsame!"
                await apart(export, running.grpc_port, request(verdict, scope="spanward"))
                found = await apart(figures, running.admin_port)
                assert found["spanward_own_verdicts_total"] == 1.0

    asyncio.run(story())
