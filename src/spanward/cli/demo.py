"""``spanward demo``: a recorded agent session, sent to a real service and judged as it comes."""

from __future__ import annotations

import asyncio
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.text import Text

import spanward
from spanward.app import running
from spanward.cli.formats import step_words
from spanward.config import Config, Endpoint, Receiver
from spanward.emitters.replay import Replay, recorded_spans
from spanward.engine.limits import Limits
from spanward.errors import Problems, render_all, visible
from spanward.specs.loader import load
from spanward.verdict import Announcement, Result, Verdict

_PACE: Final = 0.35
"""Seconds between steps, for a person to follow; none when nobody watches."""
_SETTLE: Final = 0.5
"""What the service waits before it tells of order; 10 s by default, too long for a demo."""
_LEAD_UP: Final = 3
_MOST_SHOWN: Final = 72

_MARKS: Final = {
    Result.PASS: ("PASS", "green"),
    Result.FAIL: ("FAIL", "bold red"),
    Result.UNKNOWN: ("UNKNOWN", "yellow"),
    Result.NOT_APPLICABLE: ("N/A", "dim"),
}


def examples() -> Path:
    """The folder of the examples: beside the sources, or inside the installed package."""
    package = Path(spanward.__file__).parent
    beside = package.parents[1] / "examples"
    return beside if beside.is_dir() else package / "examples"


@click.command("demo")
@click.option("--fast", is_flag=True, help="Do not wait between steps.")
def command(fast: bool) -> None:
    """Start the service, send it a recorded agent session, and show verdicts as they fall."""
    problems = Problems()
    specs = load([examples() / "demo.yaml"], problems)
    if problems.errors:
        sys.stderr.write(render_all(problems.errors))
        sys.exit(2)
    pace = 0.0 if fast or not sys.stdout.isatty() else _PACE
    asyncio.run(_Demo(Console(highlight=False, markup=False, emoji=False), pace).run(specs))


class _Demo:
    """Runs and tells the story. It is an emitter too: verdicts are shown when they come."""

    name = "demo"

    def __init__(self, console: Console, pace: float) -> None:
        self._console = console
        self._pace = pace
        self._steps: list[tuple[str, str]] = []

    async def run(self, specs: Sequence[Any]) -> None:
        config = Config(
            grpc=Receiver(Endpoint("127.0.0.1", 0)),
            http=Receiver(Endpoint("127.0.0.1", 0)),
            admin=Endpoint("127.0.0.1", 0),
            limits=Limits(settle=_SETTLE),
            store=None,
        )
        self._title("A service with these specs")
        for spec in specs:
            self._console.print(Text(f"  {spec.name}", style="bold"), "-", spec.description)
        async with running(config, specs, drain=True, more_emitters=[self]) as service:
            self._title("An agent's spans arrive; verdicts fall")
            await asyncio.to_thread(self._replay, service.grpc_port)
            await asyncio.sleep(_SETTLE * 2)
            self._title("What an alert would see on /metrics")
            await asyncio.to_thread(self._metrics, service.admin_port)
            self._title("The session ends; what was open becomes final")
        self._console.print(
            "\nYour own: spanward serve --specs DIR, and point OTEL_EXPORTER_OTLP_ENDPOINT at it.",
        )

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        for announcement in announcements:
            self._tell(announcement.verdict)
        return True

    def close(self) -> None:
        """Nothing to close."""

    def _replay(self, port: int) -> None:
        replay = Replay(f"http://127.0.0.1:{port}")
        lines = (examples() / "session.jsonl").read_text(encoding="utf-8").splitlines()
        for span in recorded_spans(iter(lines)):
            attributes = span.attributes or {}
            words = str(attributes.get("gen_ai.tool.call.arguments", ""))
            self._steps.append((format(span.context.span_id, "016x"), f"{span.name} {words}"))
            self._console.print(Text(_cut(f"  span  {span.name} {words}"), style="dim"))
            replay.send(span)
            time.sleep(self._pace)
        replay.close()

    def _tell(self, verdict: Verdict) -> None:
        mark, style = _MARKS[verdict.result]
        line = Text(f"  {mark:<8}", style=style)
        line.append(f"{verdict.spec}: ", style="bold")
        line.append(visible(verdict.reason), style="default")
        self._console.print(line)
        if verdict.result is Result.FAIL and verdict.witnesses:
            self._show_lead_up(verdict)

    def _show_lead_up(self, verdict: Verdict) -> None:
        """The violating step, and what came just before it."""
        witness = verdict.witnesses[0]
        ids = [span_id for span_id, _ in self._steps]
        at = ids.index(witness.span_id) if witness.span_id in ids else -1
        calls = [words for _, words in self._steps[:at] if words.startswith("execute_tool")]
        for words in calls[-_LEAD_UP:]:
            self._console.print(Text(_cut(f"            before: {words}"), style="dim"))
        self._console.print(Text(f"            here:   {step_words(witness)}", style="red"))

    def _metrics(self, port: int) -> None:
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        for line in page.splitlines():
            failed = line.startswith("spanward_verdicts_total") and 'result="fail"' in line
            last = line.startswith("spanward_last_violation_timestamp_seconds")
            if (failed or last) and not line.endswith(" 0.0"):
                self._console.print(f"  {line}", soft_wrap=True)

    def _title(self, text: str) -> None:
        self._console.print(Text(f"\n{text}", style="bold cyan"))


def _cut(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 1] + "…"
