"""From a violation to whoever must know, through the real Prometheus and Alertmanager."""

from __future__ import annotations

import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.alarm.programs import Chain, Spanward, chain, free_port, program, until
from tests.service.world import NEVER_RM, TESTS_FIRST, call, export, figures, request

pytestmark = pytest.mark.external
NEVER, PUSHED = "SpanwardNeverViolated", "SpanwardViolation"
GAUGE = "spanward_last_violation_timestamp_seconds"
SOON = {"[10m]) > 0": "[8s]) > 0", "< 600": "< 8", "keep_firing_for: 5m": "keep_firing_for: 2s"}
"""The memory of the alert on violations, in seconds instead of minutes."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With two specs; without the programs there is nothing to see."""
    program("prometheus")
    program("alertmanager")
    (tmp_path / "specs.yaml").write_text(f"{NEVER_RM}---{TESTS_FIRST}", "utf-8")
    return tmp_path


@pytest.fixture
def alerting(folder: Path) -> Iterator[Chain]:
    """Alertmanager and a receiver."""
    with chain(folder) as made:
        yield made


@pytest.fixture
def served(folder: Path) -> Iterator[Spanward]:
    """A service that has not begun."""
    spanward = Spanward(folder)
    yield spanward
    spanward.end()


def violate(spanward: Spanward, number: int = 1) -> float:
    """A violation, acknowledged; when it was sent."""
    sent = time.monotonic()
    export(spanward.grpc, request(call("rm", number)))
    return sent


def test_a_violation_is_told_and_ends(alerting: Chain, served: Spanward) -> None:
    """By scraping: the alert names the spec, and is resolved when nothing follows."""
    served.begin()
    prometheus = alerting.start_prometheus(served.admin, SOON)
    until(lambda: prometheus.query(f"{GAUGE} == 0"))
    sent = violate(served)
    (alert,) = until(lambda: alerting.told(NEVER, "firing"))
    fired = time.monotonic() - sent
    assert alert["labels"]["spec"] == "never-rm"
    assert alert["labels"]["severity"] == "critical"
    assert alert["annotations"]["runbook_url"] == "docs/runbook.md#spanwardneverviolated"
    until(lambda: alerting.told(NEVER, "resolved"))
    print(f"\nscrape path: violation to webhook {fired:.2f} s", end="")
    print(f", to resolved {time.monotonic() - sent:.1f} s (rule memory shortened to 8 s + 2 s)")
    assert fired < 15
    (exemplar,) = prometheus.api(
        "query_exemplars",
        query="spanward_verdicts_total",
        start=str(time.time() - 600),
        end=str(time.time()),
    )
    assert exemplar["exemplars"][0]["labels"] == {"trace_id": f"{1:032x}", "span_id": f"{1:016x}"}


def test_a_violation_before_the_first_scrape_is_told(alerting: Chain, served: Spanward) -> None:
    """The series is born with it: a counter's increase would show nothing."""
    served.begin()
    violate(served)
    started = time.monotonic()
    prometheus = alerting.start_prometheus(served.admin)
    until(lambda: alerting.told(NEVER, "firing"))
    print(f"\nbefore the first scrape: Prometheus's start to webhook {_since(started)}")
    assert prometheus.query("increase(spanward_violations_total[1h]) > 0") == []


def test_a_violation_is_told_though_the_service_is_killed(
    alerting: Chain, served: Spanward
) -> None:
    """SIGKILL right after the answer: nobody has scraped it, and the next process knows it."""
    served.begin()
    violate(served)
    served.end(signal.SIGKILL)
    prometheus = alerting.start_prometheus(served.admin)
    until(lambda: prometheus.query("up == 0"))
    assert alerting.told(NEVER, "firing") == []
    started = time.monotonic()
    served.begin()
    until(lambda: alerting.told(NEVER, "firing"))
    print(f"\nacross a SIGKILL: restart to webhook {_since(started)}")
    (last,) = [value for name, value in figures(served.admin).items() if name.startswith(GAUGE)][:1]
    assert abs(last - time.time()) < 120


def test_a_push_is_there_at_once_and_ends_with_a_revision(alerting: Chain, folder: Path) -> None:
    """The alert names the session; what comes late and mends it, ends it."""
    url = f"http://127.0.0.1:{alerting.alertmanager}"
    critical = f"{NEVER_RM}---{TESTS_FIRST}severity: critical\n"
    (folder / "specs.yaml").write_text(critical, "utf-8")
    spanward = Spanward(folder, f"emitters: {{alertmanager: {{url: '{url}'}}}}\n")
    spanward.begin()
    try:
        sent = violate(spanward)
        (alert,) = until(lambda: alerting.told(PUSHED, "firing"))
        print(
            f"\npush path: violation to webhook {1000 * (time.monotonic() - sent):.0f} ms", end=""
        )
        assert alert["labels"]["session"] == "s1"
        assert alert["labels"]["spec"] == "never-rm"
        export(spanward.grpc, request(call("push", 9, "s2")))
        order = until(lambda: _of_spec(alerting, "tests-first", "firing"))
        assert order["labels"]["session"] == "s2"
        mended = time.monotonic()
        export(spanward.grpc, request(call("pytest", 3, "s2")))
        ended = until(lambda: _of_spec(alerting, "tests-first", "resolved"))
        print(f"; revision to resolved {time.monotonic() - mended:.1f} s")
        assert ended["labels"] == order["labels"]
        assert _of_spec(alerting, "never-rm", "resolved") is None
    finally:
        spanward.end()


def test_a_push_waits_for_alertmanager_and_outlives_a_kill(folder: Path) -> None:
    """Nobody listens, then the service is killed: the alert is in the store, and goes out."""
    port = free_port()
    spanward = Spanward(folder, f"emitters: {{alertmanager: {{url: 'http://127.0.0.1:{port}'}}}}\n")
    spanward.begin()
    try:
        violate(spanward)
        spanward.end(signal.SIGKILL)
        with chain(folder, port) as alerting:
            started = time.monotonic()
            spanward.begin()
            (alert,) = until(lambda: alerting.told(PUSHED, "firing"))
            print(f"\npush across a SIGKILL: restart to webhook {_since(started)}")
            assert alert["labels"]["session"] == "s1"
    finally:
        spanward.end()


def test_a_removed_spec_leaves_no_series(alerting: Chain, served: Spanward, folder: Path) -> None:
    """Prometheus forgets it with the next scrape; sessions and arguments never add one."""
    served.begin()
    prometheus = alerting.start_prometheus(served.admin)
    until(lambda: prometheus.query(f'{GAUGE}{{spec="tests-first"}}'))
    before = len(prometheus.query('{__name__=~"spanward_.+"}'))
    export(served.grpc, request(*(call(f"t{n}", n, f"s{n}") for n in range(1, 3000))))
    until(lambda: prometheus.query("spanward_sessions_active > 2000"))
    assert len(prometheus.query('{__name__=~"spanward_.+"}')) == before
    (folder / "specs.yaml").write_text(NEVER_RM, "utf-8")
    url = f"http://127.0.0.1:{served.admin}/-/reload"
    bearer = {"Authorization": "Bearer t"}
    with urllib.request.urlopen(urllib.request.Request(url, b"", bearer)) as answer:
        assert answer.read() == b"specs reloaded: 1 spec\n"
    until(lambda: not prometheus.query(f'{GAUGE}{{spec="tests-first"}}'))
    assert prometheus.query('{spec="tests-first"}') == []


def _of_spec(alerting: Chain, spec: str, status: str) -> dict[str, dict[str, str]] | None:
    told = [one for one in alerting.told(PUSHED, status) if one["labels"]["spec"] == spec]
    return told[0] if told else None


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.2f} s"
