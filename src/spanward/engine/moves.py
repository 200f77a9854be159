"""Moves: sessions found late. A trace's homeless items go to the session that it turns out to be.

What was judged under the trace's own name is withdrawn, unless items of it stay (semantics,
section 6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from spanward.engine.identity import is_call_key, renumbered
from spanward.engine.reports import Placed, overlap, same_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanward.engine.counters import Counters
    from spanward.engine.folding import Folding
    from spanward.engine.keep import Keep
    from spanward.engine.lifecycle import Lifecycle
    from spanward.engine.registry import Registry
    from spanward.engine.session import Session
    from spanward.fact import Fact
    from spanward.item import Item


class Moves:
    """Moves items between sessions. ``admit`` takes a report that was kept whole anew."""

    def __init__(
        self,
        registry: Registry,
        folding: Folding,
        life: Lifecycle,
        counters: Counters,
        keep: Keep,
        admit: Callable[[Item, float], object],
    ) -> None:
        self._registry = registry
        self._folding = folding
        self._life = life
        self._counters = counters
        self._keep = keep
        self._admit = admit

    def move(self, trace_id: bytes, left: str, session: Session, now: float) -> None:
        """Move a trace's homeless items from the session they were judged in to another one."""
        old = self._life.session(left, now, session.owner)
        executions = self._keep.take_homeless(trace_id)
        for placed in [each.placed for each in executions if each.placed is not None]:
            self._take_back(placed)
        with self._folding.uncounted():
            for fact in [f for f in old.table if f.homeless and f.trace_id == trace_id]:
                self._folding.change(old, fact, None, None)
                self._rehome(fact, session)
            self._registry.recount(old)
            self._registry.recount(session)
            for report in [report for execution in executions for report in execution.reports]:
                self._admit(report, now)
        self._hand_over(old, session, now)
        self._life.reconcile(old, None, now)
        self._life.reconcile(session, None, now)
        self._life.reconcile_jobs({execution.item.job for execution in executions})
        self._life.drop_if_empty(old)

    def _take_back(self, placed: Placed) -> None:
        session = placed.session
        if self._registry.has(session):
            self._registry.see(session, placed.item, times=-1)
            self._folding.change(session, session.table.get(placed.key), None, None)

    def _hand_over(self, old: Session, session: Session, now: float) -> None:
        """Let a session have what else is known of the one whose items it takes over."""
        if old.gap:
            self._folding.lose_beginning(session)
        if old.said_end:
            self._life.say_end(session, now)

    def _rehome(self, fact: Fact, session: Session) -> None:
        """Put a fact whose reports are no longer kept into another session's table."""
        number = 0
        while (known := session.table.get(fact.key)) is not None:
            if not is_call_key(fact.key) or same_record(fact, known) or overlap(fact, known):
                self._counters.absorbed += 1
                return
            number += 1
            fact = structs.replace(fact, key=renumbered(fact.key, number))
        self._folding.change(session, None, structs.replace(fact, session=session.name), None)
