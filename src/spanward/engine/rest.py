"""Rest: what a session gives up while nothing comes for it, and how it comes back.

First the operator states go, which are made anew from the facts. With a vault the whole session
goes then; it returns when something comes for it, when it is idle, or when it is forgotten.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from spanward.engine.judge import Settling
from spanward.engine.unsaved import is_pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanward.engine.deadlines import Deadlines
    from spanward.engine.limits import Limits
    from spanward.engine.plan import Plan
    from spanward.engine.registry import Registry
    from spanward.engine.session import Session
    from spanward.engine.turns import Turns
    from spanward.engine.unit import Unit

_COOL: Final = 30.0
"""Seconds after which a quiet session's operator states are given back; its facts stay."""
_REST: Final = 60.0
"""Seconds after which a quiet session is kept by the store alone, at the least."""
_LOOK: Final = 1.0
"""Seconds between looks at those."""
MOST_QUIET: Final = 200
"""Sessions that are brought back from the store at once, to be ended or forgotten."""
_MOST_COOLED: Final = 64
"""Facts of a session that is cooled. States do not grow with the facts: beside many they are
little, and to make them anew from many would let the cost of an item grow with the session."""


class Rest:
    """Cools sessions, leaves them to the vault, and brings them back.

    ``wake`` is told of a session that came back, so that its next deadline is set; ``look`` looks
    at one that something may be due of.
    """

    def __init__(
        self,
        plan: Plan,
        registry: Registry,
        deadlines: Deadlines[Any],
        turns: Turns,
        limits: Limits,
        wake: Callable[[Session, float], None],
        look: Callable[[Session, float], None],
    ) -> None:
        self._plan = plan
        self._registry = registry
        self._vault = registry.vault
        self._deadlines = deadlines
        self._turns = turns
        self._limits = limits
        self._wake = wake
        self._look = look
        self._cooling: deque[tuple[float, Session]] = deque()
        self._resting: deque[tuple[float, Session]] = deque()
        self._now = 0.0
        self._started = 0.0
        self._next_look = 0.0
        registry.loaded = self._loaded

    def warm(self, session: Session, now: float) -> None:
        """Something came for a session."""
        if not session.warm:
            session.warm = True
            self._cooling.append((now, session))

    def start(self, now: float) -> None:
        """Bring back what waits for something. To be called once, first."""
        self._now = self._started = now
        for name in self._vault.urgent():
            self._registry.find(name)

    def advance(self, now: float) -> None:
        """Cool what is quiet, and look at what is in the vault alone, as time goes by."""
        self._now = now
        if self._vault.keeps and now >= self._next_look:
            self._look_at_quiet(now)
        self._cool(now)

    def leave(self, now: float) -> None:
        """Leave sessions that are quiet for long to the vault. Everything was just saved."""
        if not self._vault.keeps:
            return
        pause = max(_REST, self._limits.settle, self._limits.amend_window or 0.0)
        while self._resting and self._resting[0][0] + pause <= now:
            _, session = self._resting.popleft()
            if session.warm or not self._registry.has(session):
                continue
            seen = max(session.seen, self._started)  # what may be amended is kept anew at a start
            if seen + pause > now:
                self._resting.append((seen, session))
            elif (
                session.seen != session.saved_seen
                or session.changed
                or is_pending(session, self._plan)
            ):
                self._registry.unsaved.sessions[session.name] = session
                self._resting.append((now, session))
            else:
                self._registry.unload(session)

    def _look_at_quiet(self, now: float) -> None:
        """Look at sessions that are in the vault alone, and that something may be due of."""
        limits = self._limits
        names = self._vault.quiet(
            now - limits.idle_timeout, now - limits.settle, now - limits.retain, MOST_QUIET
        )
        for name in names:
            session = self._registry.find(name)
            if session is not None:
                self._registry.unsaved.sessions[name] = session  # so that it is not found again
                self._look(session, now)
        self._next_look = now if len(names) == MOST_QUIET else now + _LOOK

    def _loaded(self, session: Session) -> None:
        """A session came back from the vault: what was due of it is due again, from now on."""
        now = self._now
        self._wake(session, now)
        self.warm(session, now)
        for unit in list(session.open.values()):
            self.resume(unit, now)

    def resume(self, unit: Unit, now: float) -> None:
        """Set the deadlines of a unit that came back from the vault anew."""
        if unit.ended:
            return
        if unit.due:
            self._turns.set_end(unit, now)
        for spec, monitor in unit.monitors.items():
            monitor.since = now
            if monitor.waits and self._plan.order_bound[spec]:
                self._deadlines.set(now + self._limits.settle, Settling(unit, spec, now))

    def _cool(self, now: float) -> None:
        while self._cooling and self._cooling[0][0] + _COOL <= now:
            _, session = self._cooling.popleft()
            if session.seen + _COOL > now:
                self._cooling.append((session.seen, session))
                continue
            session.warm = False
            session.table.cool()
            if len(session.table) <= _MOST_COOLED:
                for unit in session.units.values():
                    unit.cool()
            if self._vault.keeps:
                self._resting.append((session.seen, session))
