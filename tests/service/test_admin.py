"""The admin pages: an exposition that parses, probes that tell the truth, and a guarded door."""

from __future__ import annotations

import asyncio
import json
import urllib.error
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from spanward.admin.server import AdminServer
from spanward.verdict import Result
from tests.service.world import (
    NEVER_RM,
    TESTS_FIRST,
    apart,
    call,
    export,
    figures,
    page,
    request,
    service,
)

SPECS = f"{NEVER_RM}---{TESTS_FIRST}"


def with_pages(work: Callable[[int, int], None], specs: str = SPECS) -> None:
    """Do blocking work with a service's two ports: gRPC and admin."""

    async def story() -> None:
        async with service(specs) as running:
            await apart(work, running.grpc_port, running.admin_port)

    asyncio.run(story())


def test_the_exposition_parses_and_is_whole_from_the_start() -> None:
    """Every spec has every result at 0 before anything came; counters end in _total."""

    def work(_: int, admin: int) -> None:
        families = list(text_string_to_metric_families(page(admin, "/metrics")))
        by_name = {family.name: family for family in families}
        assert all(family.documentation for family in families)
        verdicts = {
            (sample.labels["spec"], sample.labels["result"]): sample.value
            for sample in by_name["spanward_verdicts"].samples
        }
        specs = ("never-rm", "tests-first")
        assert verdicts == {(spec, str(result)): 0.0 for spec in specs for result in Result}
        assert by_name["spanward_build_info"].samples[0].value == 1.0
        assert by_name["spanward_detection_latency_seconds"].type == "histogram"

    with_pages(work)


def test_a_prometheus_may_ask_for_openmetrics() -> None:
    """The format is negotiated."""

    def work(_: int, admin: int) -> None:
        text = page(admin, "/metrics", {"Accept": "application/openmetrics-text; version=1.0.0"})
        assert text.endswith("# EOF\n")

    with_pages(work)


def test_a_failure_points_at_the_step() -> None:
    """As an exemplar, for those who ask for OpenMetrics; short enough to be legal."""

    def work(grpc: int, admin: int) -> None:
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
        assert "trace_id=" not in page(admin, "/metrics", accept)
        export(grpc, request(call("rm", 7)))
        lines = page(admin, "/metrics", accept).splitlines()
        (line,) = [each for each in lines if "trace_id=" in each]
        assert line.startswith("spanward_verdicts_total{")
        assert 'result="fail"' in line
        _, _, exemplar = line.partition(" # ")
        assert exemplar.startswith(f'{{span_id="{7:016x}",trace_id="{1:032x}"}} 1.0 1')
        assert "trace_id=" not in page(admin, "/metrics")

    with_pages(work)


def test_the_digest_of_the_specs_is_theirs_alone() -> None:
    """Not their order's, nor their comments'."""

    def digest(specs: str) -> str:
        found: list[str] = []

        def work(_: int, admin: int) -> None:
            found.extend(each for each in figures(admin) if "_specs_info" in each)

        with_pages(work, specs)
        (one,) = found
        return one

    swapped = f"{TESTS_FIRST}--- # a comment{NEVER_RM}"
    assert digest(SPECS) == digest(swapped) != digest(NEVER_RM)


def test_hostile_senders_add_no_series() -> None:
    """Ten thousand sessions, tools and arguments, each its own: not one series more."""

    def work(grpc: int, admin: int) -> None:
        export(grpc, request(call("rm", 1)))
        before = set(figures(admin))
        for first in range(2, 10_002, 1000):
            numbers = range(first, first + 1000)
            spans = [call(f"tool {one}", one, f"session {one}") for one in numbers]
            for one, each in zip(numbers, spans, strict=True):
                arguments = each.attributes.add(key="gen_ai.tool.call.arguments").value
                arguments.string_value = f'{{"path": "{one}", "key {one}": {one}}}'
            export(grpc, request(*spans))
        assert set(figures(admin)) == before

    with_pages(work)


def test_detection_is_measured() -> None:
    """From the end of the deciding item to its announcement."""

    def work(grpc: int, admin: int) -> None:
        export(grpc, request(call("rm", 1)))
        found = figures(admin)
        assert found["spanward_detection_latency_seconds_count"] == 1.0
        assert found["spanward_evaluation_seconds_count"] == 1.0

    with_pages(work)


def test_probes_and_status() -> None:
    """Alive, ready, and what is loaded; the rest is not found."""

    def work(_: int, admin: int) -> None:
        assert page(admin, "/healthz") == "ok\n"
        assert page(admin, "/readyz") == "ready\n"
        status = json.loads(page(admin, "/status"))
        assert [spec["name"] for spec in status["specs"]] == ["never-rm", "tests-first"]
        assert status["endpoints"]["admin"] == f"127.0.0.1:{admin}"
        assert status["counters"]["evaluation_errors"] == 0
        with pytest.raises(urllib.error.HTTPError) as error:
            page(admin, "/secrets")
        assert error.value.code == 404
        assert error.value.headers["Content-Security-Policy"] == "default-src 'none'"
        error.value.close()

    with_pages(work)


def test_only_known_hosts_are_served() -> None:
    """A page in somebody's browser cannot read it under a name of its own."""

    def work(_: int, admin: int) -> None:
        with pytest.raises(urllib.error.HTTPError) as error:
            page(admin, "/metrics", {"Host": "evil.example"})
        assert error.value.code == 403
        error.value.close()
        with pytest.raises(urllib.error.HTTPError) as error:
            page(admin, "/metrics", {"Host": "127.0.0.1:99999999"})
        assert error.value.code == 403
        error.value.close()
        for name in ("localhost", "LocalHost"):
            assert page(admin, "/healthz", {"Host": f"{name}:{admin}"}) == "ok\n"

    with_pages(work)


def test_a_service_that_is_not_ready_says_so() -> None:
    """Until the doors are open, and when it is about to go."""

    class Nothing:
        def collect(self) -> list[object]:
            return []

    async def story() -> None:
        pages: Any = None
        admin = AdminServer("127.0.0.1", 0, (), Nothing(), pages)  # type: ignore[arg-type]
        port = await admin.start()
        with pytest.raises(urllib.error.HTTPError) as error:
            await apart(page, port, "/readyz")
        assert error.value.code == 503
        error.value.close()
        await admin.stop()

    asyncio.run(story())
