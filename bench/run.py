"""The benchmark: spans a second and core, costs by stage, memory of a session.

``python bench/run.py`` prints tables and writes ``bench/results/latest.json``; ``--quick`` is a
taste that shows only that everything runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.table import Table

import replay
from service import SPECS, Service, running
from stages import costs, specs_of
from workload import SPANS_A_REQUEST, TOOL_SHARE, requests

HERE: Final = Path(__file__).parent
STORES: Final = ("memory", "sqlite")
PACED_CLIENTS: Final = 16
"""So many that a request need not wait for a client when it is due."""
RESULTS: Final = HERE / "results" / "latest.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured. ``warm_up`` requests go first and do not count.

    ``paced`` requests go last, at half the speed that was reached.
    """

    requests: int
    warm_up: int
    paced: int
    runs: int
    clients: int
    stage_requests: int
    sessions: tuple[int, ...]
    facts: int


FULL: Final = Plan(1000, 100, 500, 5, 4, 400, (1_000, 10_000, 100_000), 32)
QUICK: Final = Plan(60, 10, 20, 1, 4, 30, (500,), 32)


@dataclass(frozen=True, slots=True)
class Throughput:
    """What one run of the real service cost."""

    spans_a_cpu_second: float
    spans_a_second: float
    cpu_seconds: float
    resident_mib: float
    verdicts: int
    p50_ms: float
    p99_ms: float


def throughput(prepared: Path, plan: Plan, store: str) -> Throughput:
    """One run: a fresh service, the warm-up, the measured requests, and those at half the speed.

    Raises ``RuntimeError`` when the service did not receive every span.
    """
    measured = plan.warm_up + plan.requests
    total = measured + plan.paced
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), store) as service:
        send_apart(prepared, service, plan.clients, (0, plan.warm_up))
        before = service.cpu_seconds()
        seconds = send_apart(prepared, service, plan.clients, (plan.warm_up, measured))["seconds"]
        cpu = service.cpu_seconds() - before
        half = plan.requests / seconds / 2
        paced = send_apart(prepared, service, PACED_CLIENTS, (measured, total), half)
        received = service.metric("spanward_spans_received_total")
        if received != total * SPANS_A_REQUEST:
            raise RuntimeError(f"{received:.0f} of {total * SPANS_A_REQUEST} spans were received")
        spans = plan.requests * SPANS_A_REQUEST
        return Throughput(
            spans / cpu,
            spans / seconds,
            cpu,
            service.resident_mib(),
            int(service.metric("spanward_verdicts_total")),
            paced["p50_ms"],
            paced["p99_ms"],
        )


def send_apart(
    prepared: Path, service: Service, clients: int, which: tuple[int, int], rate: float = 0.0
) -> dict[str, float]:
    """Send from a process of its own, so that its work is not the service's; its figures."""
    command = [sys.executable, replay.__file__, prepared, service.grpc_port, clients, *which, rate]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def memory(sessions: int, facts: int) -> dict[str, float]:
    """The memory of open sessions, measured in a process of its own."""
    command = [sys.executable, str(HERE / "memory.py"), str(sessions), str(facts)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def machine() -> dict[str, str]:
    """What the figures depend on."""
    packages = ("spanward", "grpcio", "protobuf", "msgspec", "google-re2")
    cores = f"{platform.machine()}, {os.cpu_count()} cores"
    versions = {name: version(name) for name in packages}
    return {"python": platform.python_version(), "machine": cores, **versions}


def bench(plan: Plan, console: Console) -> dict[str, Any]:
    """Measure all, with a table after each part; the figures."""
    specs = specs_of(SPECS)
    figures: dict[str, Any] = {"machine": machine(), "plan": asdict(plan), "specs": len(specs)}
    prepared: dict[str, list[bytes]] = {}
    total = max(plan.warm_up + plan.requests + plan.paced, plan.stage_requests)
    for name in TOOL_SHARE:
        console.print(f"preparing {total * SPANS_A_REQUEST:,} spans of {name}")
        prepared[name] = list(requests(name, total))
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[tuple[str, str], list[Throughput]] = {}
        for name, made in prepared.items():
            path = Path(folder) / name
            replay.write(path, made)
            for store in STORES:
                # The stores take turns, so that what else the machine does meets both.
                runs[name, store] = []
            for _ in range(plan.runs):
                for store in STORES:
                    runs[name, store].append(throughput(path, plan, store))
    show_throughput(runs, console)
    figures["throughput"] = {
        f"{name}, {store}": list(map(asdict, of_one)) for (name, store), of_one in runs.items()
    }

    figures["stages_us_a_span"] = {
        name: costs(made[: plan.stage_requests], SPANS_A_REQUEST, specs, plan.runs)
        for name, made in prepared.items()
    }
    show_stages(figures["stages_us_a_span"], console)
    prepared.clear()

    figures["memory"] = [memory(sessions, plan.facts) for sessions in plan.sessions]
    show_memory(figures["memory"], console)
    return figures


def show_throughput(runs: dict[tuple[str, str], list[Throughput]], console: Console) -> None:
    """The first table: the service as a whole, medians over the runs."""
    columns = (
        "workload",
        "store",
        "spans / CPU s",
        "spread",
        "spans / s",
        "p50 ms",
        "p99 ms",
        "MiB",
    )
    title = (
        "The service: gRPC in, verdicts out; p50 and p99 of an answer at half its spans a second"
    )
    table = table_of(title, columns)
    for (name, store), of_one in runs.items():
        each = [run.spans_a_cpu_second for run in of_one]
        table.add_row(
            name,
            store,
            f"{median(each):,.0f}",
            f"{min(each):,.0f} … {max(each):,.0f}",
            f"{median(run.spans_a_second for run in of_one):,.0f}",
            f"{median(run.p50_ms for run in of_one):,.1f}",
            f"{median(run.p99_ms for run in of_one):,.1f}",
            f"{median(run.resident_mib for run in of_one):,.0f}",
        )
    console.print(table)


def show_stages(stages: dict[str, dict[str, float]], console: Console) -> None:
    """The second table: where the time goes."""
    names = list(next(iter(stages.values())))
    table = table_of("Stages in one process, µs a span (matchers: part of engine)", ["", *names])
    for workload, cost in stages.items():
        table.add_row(workload, *(f"{cost[name]:.2f}" for name in names))
    console.print(table)


def show_memory(measured: list[dict[str, float]], console: Console) -> None:
    """The third table: what an open session weighs."""
    columns = (
        "open sessions",
        "facts each",
        "MiB",
        "bytes / session",
        "bytes / fact",
        "full GC ms",
        "µs an item",
    )
    table = table_of("Memory of open sessions", columns)
    for one in measured:
        table.add_row(*(f"{figure:,.0f}" for figure in one.values()))
    console.print(table)


def table_of(title: str, columns: list[str] | tuple[str, ...]) -> Table:
    """An empty table with figures to the right."""
    table = Table(title=title, title_justify="left", min_width=len(title) + 2)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a taste, for a smoke test")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the JSON goes")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 100)
    figures = bench(QUICK if options.quick else FULL, console)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(figures, indent=1) + "\n")
    console.print(f"written to {options.output}")


if __name__ == "__main__":
    main()
