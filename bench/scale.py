"""Does an item cost the same however large things grow? ``python bench/scale.py [--quick]``.

Four series, through the engine alone, in microseconds of CPU an item: the number of specs that do
not concern the items, the window of an ``each``, the length of a session, the number of open
sessions. Flat rows are the point; the figures themselves are in ``run.py``.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from memory import call
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.errors import Problems, render_all
from spanward.specs.loader import load_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanward.item import Report
    from spanward.specs.spec import Spec

BATCH: Final = 100
RUNS: Final = 3
"""The least is shown: a machine with other work on it only ever adds."""
SECONDS_A_BATCH: Final = 0.01
RELEVANT: Final = """
name: shell-is-rare
assert: {count: {match: {tool: {kind: shell}}, max: 1000000}}
---
name: nothing-fails
assert: {never: {tool: {}, where: {status: error}}}
---
name: reads-first
assert: {before: {first: {tool: {kind: read}}, then: {tool: {ops: git.push}}}}
"""
WINDOW: Final = """
name: recent-read
assert:
  each: {{tool: {{kind: shell}}}}
  requires_prior: {{tool: {{kind: read}}}}
  within: {{seq: {window}}}
"""
IRRELEVANT: Final = (
    "tool: {{kind: kind-{n}}}",
    "tool: {{name: tool-{n}}}",
    "event: event-{n}",
    "tool: {{mcp: {{server: server-{n}}}}}",
    "approval: {{status: status-{n}}}",
)


def irrelevant(count: int) -> list[str]:
    """Specs that concern no item of the benchmark."""
    matchers = [IRRELEVANT[n % len(IRRELEVANT)].format(n=n) for n in range(count)]
    return [
        f"name: irrelevant-{n}\nassert: {{never: {{{matcher}}}}}\n"
        for n, matcher in enumerate(matchers)
    ]


def compiled(texts: Sequence[str]) -> list[Spec]:
    """The specs of some texts. Raises ``ValueError`` when one is wrong."""
    problems = Problems()
    specs = [spec for text in texts for spec in load_text(text, "scale", problems)]
    if problems.errors:
        raise ValueError(render_all(problems.errors))
    return specs


def batches(sessions: int, length: int, first: int = 0) -> Iterator[list[Report]]:
    """The items ``first`` up to ``length`` of some sessions, the sessions taking turns."""
    batch = []
    for number in range(first, length):
        for session in range(sessions):
            batch.append(call(session, number))
            if len(batch) == BATCH:
                yield batch
                batch = []
    if batch:
        yield batch


def cost(texts: Sequence[str], sessions: int, length: int, measured: int) -> float:
    """Microseconds an item, over the last ``measured`` items of each session; the least of runs."""
    return min(_cost(texts, sessions, length, measured) for _ in range(RUNS))


def _cost(texts: Sequence[str], sessions: int, length: int, measured: int) -> float:
    engine = Engine(compiled(texts), Limits(max_open=sessions))
    now = 0.0
    for batch in batches(sessions, length - measured):
        engine.take(batch, now)
        now += SECONDS_A_BATCH
    prepared = list(batches(sessions, length, length - measured))
    since = time.process_time()
    for batch in prepared:
        engine.take(batch, now)
        engine.advance(now)
        now += SECONDS_A_BATCH
    return (time.process_time() - since) / (sessions * measured) * 1e6


def show(title: str, measured: Sequence[tuple[int, float]]) -> None:
    """One series as a line."""
    print(f"{title + ':':38}", *(f"{size:>8,}: {us:5.1f} µs" for size, us in measured))


def main() -> None:
    """See the module's docstring."""
    quick = "--quick" in sys.argv[1:]
    sizes = [100, 1_000] if quick else [100, 1_000, 10_000, 100_000]
    specs = [10, 100] if quick else [10, 100, 1_000]
    rows = [(n, cost([RELEVANT, *irrelevant(n)], 50, 200, 100)) for n in specs]
    show("specs that do not concern the items", rows)
    windows = [10, 100] if quick else [10, 100, 1_000, 10_000]
    rows = [(n, cost([WINDOW.format(window=n)], 1, max(windows) + 2_000, 2_000)) for n in windows]
    show("window of an each, within seq", rows)
    rows = [(n, cost([RELEVANT], 1, n, min(n, 2_000) - 10)) for n in sizes]
    show("length of a session", rows)
    rows = [(n, cost([RELEVANT], n, 8, 4)) for n in sizes]
    show("open sessions", rows)


if __name__ == "__main__":
    main()
