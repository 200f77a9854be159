"""Turns: which units of a session are turns, which of them is the latest, and when they end.

Every turn but the latest ends one settle time after a later one began. Specs may name turns, which
are judged be they empty (semantics, section 6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from spanward.engine.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanward.engine.deadlines import Deadlines
    from spanward.engine.folding import Folding
    from spanward.engine.plan import Plan
    from spanward.engine.session import Session
    from spanward.item import Item
    from spanward.saved import Turn


class TurnEnd(msgspec.Struct, frozen=True):
    """A turn that ends because a later one has begun."""

    unit: Unit


class Turns:
    """Begins and ends the turns of sessions. ``settle`` is in seconds."""

    def __init__(
        self, plan: Plan, folding: Folding, deadlines: Deadlines[Any], settle: float
    ) -> None:
        self._named = plan.named_turns
        self._folding = folding
        self._deadlines = deadlines
        self._settle = settle

    @property
    def are_named(self) -> bool:
        """Whether specs name any."""
        return bool(self._named)

    def name(self, session: Session, turns: Iterable[Turn | None], by: Item | None) -> None:
        """Make units of turns that specs name, or may name by their rank, although no step is."""
        for turn in turns:
            if turn is None or turn in session.units or not session.presence.known_by(turn):
                continue
            if isinstance(turn, str) or turn in self._named:
                unit = session.make_unit(turn)
                unit.named = True
                self._folding.stale_all(unit, by)

    def take_named(self, session: Session) -> list[Unit]:
        """Take away empty turns, judged at an end, whose numbers turns known by key have by now."""
        if session.presence.numbered:
            return []
        ranked = len(session.presence.ranked())
        numbers = [number for number in self._named & session.units.keys() if number <= ranked]
        return [session.drop_unit(number) for number in numbers]

    def make_named(self, session: Session) -> None:
        """Units for the turns that specs name, be they empty (semantics, section 6)."""
        if not session.presence.has(None):
            return
        keyed = 0 if session.presence.numbered else len(session.presence.ranked())
        for turn in sorted(self._named):
            if turn not in session.units and not 1 <= turn <= keyed:
                session.make_unit(turn).named = True

    def follow(self, session: Session, turn: Turn, now: float) -> None:
        """See to it that every turn but the latest ends one settle time from now."""
        latest = session.latest
        if latest is None or not session.presence.has(latest):
            others = [
                turn for turn in session.units if session.presence.has(turn) and turn is not None
            ]
            latest = turn
            for other in others:
                latest = other if session.presence.later(other, latest) else latest
            session.latest = latest
            for other in others:
                self._end_soon(session, other, now)
            return
        if session.presence.later(turn, latest):
            session.latest, turn = turn, latest
        self._end_soon(session, turn, now)

    def _end_soon(self, session: Session, turn: Turn, now: float) -> None:
        unit = session.units[turn]
        if turn != session.latest and not unit.due and not unit.ended:
            unit.due = True
            self.set_end(unit, now)

    def set_end(self, unit: Unit, now: float) -> None:
        """Set the end of a turn that is due."""
        self._deadlines.set(now + self._settle, TurnEnd(unit))
