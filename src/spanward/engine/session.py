"""Sessions, traces and jobs: whose items there are, and which units that makes.

A record that names its session belongs to it. One that does not is *homeless*: it belongs to the
session of its trace, which may become known, or turn out to be another, later (semantics, 6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from spanward.engine.plan import JOB, SESSION, TURN
from spanward.engine.table import FactTable
from spanward.engine.unit import Unit
from spanward.item import SPAN
from spanward.saved import SavedPresence, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spanward.fact import Fact
    from spanward.item import Item


class _TurnSeen:
    """Of one turn: its items, and those of them that are no plain spans."""

    __slots__ = ("items", "steps")

    def __init__(self) -> None:
        self.items = 0
        self.steps = 0


class Presence:
    """What is known of items apart from facts: how many there are, and in which turns.

    ``steps`` counts the items that make a unit exist (all but plain spans), ``numbered`` those
    with a turn number that the runtime sent. Without ``by_turn`` turns are not looked at.
    ``changed``, if given, is told of turns of which something changed.
    """

    __slots__ = ("_by_turn", "_changed", "_ranked", "_starts", "numbered", "steps", "turns")

    def __init__(self, *, by_turn: bool, changed: dict[Turn | None, None] | None = None) -> None:
        self._by_turn = by_turn
        self._changed = changed
        self.steps = 0
        self.numbered = 0
        self.turns: dict[Turn, _TurnSeen] = {}
        self._starts: dict[str, int] = {}
        self._ranked: list[str] | None = None

    def see(self, item: Item, times: int = 1) -> None:
        """Take an item into account; -1 takes it back."""
        steps = times if item.kind != SPAN else 0
        self.steps += steps
        if not self._by_turn:
            return
        if item.turn is not None:
            self.numbered += times
        for turn in (item.turn, item.turn_key):
            if turn is not None:
                self._see_turn(turn, times, steps)

    def see_start(self, key: str, start: int) -> None:
        """Take the start of a report into account that names a turn by key."""
        if self._by_turn and start < self._starts.get(key, start + 1):
            self._starts[key] = start
            self._ranked = None
            if self._changed is not None:
                self._changed[key] = None

    def add(self, other: Presence) -> None:
        """Take what another presence knows into account."""
        self.steps += other.steps
        self.numbered += other.numbered
        for turn, seen in other.turns.items():
            self._see_turn(turn, seen.items, seen.steps)
        for key, start in other._starts.items():
            self.see_start(key, start)

    def save(self) -> SavedPresence:
        """What is kept of it."""
        turns = tuple((turn, seen.items, seen.steps) for turn, seen in self.turns.items())
        return SavedPresence(self.steps, self.numbered, turns, dict(self._starts))

    def load(self, saved: SavedPresence) -> None:
        """Know again what was saved."""
        self.steps, self.numbered = saved.steps, saved.numbered
        for turn, items, steps in saved.turns:
            self._see_turn(turn, items, steps)
        for key, start in saved.starts.items():
            self.see_start(key, start)

    def save_turn(self, turn: Turn | None) -> tuple[int, int, int | None]:
        """What is kept of one turn: its items, its steps, and its start if it is known by key."""
        seen = self.turns.get(turn) if turn is not None else None
        start = self._starts.get(turn) if isinstance(turn, str) else None
        return (0, 0, start) if seen is None else (seen.items, seen.steps, start)

    def load_turn(self, turn: Turn, items: int, steps: int, start: int | None) -> None:
        """Know one turn again."""
        if items:
            self._see_turn(turn, items, steps)
        if start is not None and isinstance(turn, str):
            self.see_start(turn, start)

    def has(self, turn: Turn | None) -> bool:
        """Whether the session (None) or a turn has an item that makes it a unit."""
        if turn is None:
            return self.steps > 0
        seen = self.turns.get(turn)
        return seen is not None and seen.steps > 0 and self.known_by(turn)

    def is_first(self, turn: Turn | None) -> bool:
        """Whether a turn has but one item so far, plain spans included."""
        seen = self.turns.get(turn) if turn is not None else None
        return seen is not None and seen.items == 1

    def known_by(self, turn: Turn) -> bool:
        """Whether turns are known here as this one is: by number once there is one, else by key."""
        return (self.numbered > 0) == isinstance(turn, int)

    def turn_of(self, item: Item | Fact) -> Turn | None:
        """The turn that an item belongs to here, or None."""
        return item.turn if self.numbered else item.turn_key

    def ranked(self) -> list[str]:
        """The keys of turns, by the least start of the reports that name them; ties by key."""
        if self._ranked is None:
            keys = [turn for turn in self.turns if isinstance(turn, str)]
            self._ranked = sorted(keys, key=lambda key: (self._starts[key], key))
        return self._ranked

    def number(self, turn: Turn) -> int | None:
        """The number that is shown for a turn: itself, or the rank of a key, from 1.

        None for a key that no item has any more.
        """
        if isinstance(turn, int):
            return turn
        return self.ranked().index(turn) + 1 if turn in self.turns else None

    def later(self, turn: Turn, other: Turn) -> bool:
        """Whether a turn is later than another one of its sort."""
        if isinstance(turn, str) and isinstance(other, str):
            return self._starts[turn] > self._starts[other]
        return isinstance(turn, int) and isinstance(other, int) and turn > other

    def _see_turn(self, turn: Turn, items: int, steps: int) -> None:
        if self._changed is not None:
            self._changed[turn] = None
        seen = self.turns.get(turn)
        if seen is None:
            seen = self.turns[turn] = _TurnSeen()
            self._ranked = None
        seen.items += items
        seen.steps += steps
        if not seen.items:
            del self.turns[turn]
            self._ranked = None


class Session:
    """The facts and units of one session.

    ``own`` is the presence of the items that named it, ``presence`` that of all. ``traces`` are
    the traces bound to it, and whether homeless items follow them. ``seen`` is when something last
    came (monotonic seconds), ``saved_seen`` what was saved of that, None when nothing was;
    ``said_end`` that the runtime called it ended. ``gap``: its beginning is not known to be
    complete. ``latest`` is the latest turn so far: the only one that need not end soon. ``epoch``
    is that of its beginning (see ``Numbering``). ``owner`` is the sender that opened it, empty when
    that is not known. ``open`` are the units whose results are not final. ``changed`` are the turns
    (None: the session's own unit) of which something changed since they were last saved.
    """

    __slots__ = (
        "changed", "ended", "epoch", "gap", "latest", "name", "open", "own", "owner", "presence",
        "said_end", "saved_seen", "seen", "table", "traces", "units", "warm",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        now: float,
        *,
        owner: str,
        gap: bool,
        by_turn: bool,
        epoch: int,
        tracked: bool,
    ) -> None:
        self.name = name
        self.owner = owner
        self.seen = now
        self.gap = gap
        self.epoch = epoch
        self.saved_seen: float | None = None
        self.ended = False
        self.said_end = False
        self.warm = False
        self.latest: Turn | None = None
        self.table = FactTable(name, tracked=tracked)
        self.changed: dict[Turn | None, None] = {}
        self.own = Presence(by_turn=by_turn, changed=self.changed)
        self.presence = self.own
        self.traces: dict[bytes, bool] = {}
        self.units: dict[Turn | None, Unit] = {}
        self.open: dict[Turn | None, Unit] = {}

    def facts(self, unit: Unit) -> Iterator[Fact]:
        """The facts of one of the session's units."""
        if unit.turn is None:
            return iter(self.table)
        return self.table.of_turn(unit.turn)

    def make_unit(self, turn: Turn | None) -> Unit:
        """The unit of the session itself (turn None) or of one turn."""
        kind = SESSION if turn is None else TURN
        unit = self.units[turn] = Unit(kind, self, session=self.name, turn=turn)
        unit.cold = len(self.table) > 0 and not self.presence.is_first(turn)
        self.unit_changed(unit)
        return unit

    def unit_changed(self, unit: Unit) -> None:
        """Note that something of one of the session's units changed, its end perhaps."""
        if self.units.get(unit.turn) is unit:
            self.changed[unit.turn] = None
            if unit.ended:
                self.open.pop(unit.turn, None)
            else:
                self.open[unit.turn] = unit

    def drop_unit(self, turn: Turn | None) -> Unit:
        """Let go of the unit of the session itself or of a turn. Raises ``KeyError``."""
        self.changed[turn] = None
        self.open.pop(turn, None)
        return self.units.pop(turn)

    def combine(self, whole: Presence, homeless: Iterable[Presence]) -> None:
        """Make the presence of the whole, given empty, from its own and those of its traces."""
        for one in (self.own, *homeless):
            whole.add(one)
        self.presence = whole


class Trace:
    """What is known of a trace: its session, and the homeless items that follow it.

    ``session`` is None until a span names one; ``bound_by`` is the (start, span id, session) of
    the earliest-started span that does. ``ids`` are the identities of kept homeless reports;
    None when there are none.
    """

    __slots__ = ("bound_by", "homeless", "ids", "session")

    def __init__(self) -> None:
        self.session: str | None = None
        self.bound_by: tuple[int, bytes, str] | None = None
        self.homeless: Presence | None = None
        self.ids: set[bytes] | None = None


class Job:
    """A group of sessions judged as one; ``members`` are the sessions that hold its facts.

    ``find`` gives these by name, None for one that is no more; ``steps`` counts the items that
    make it a unit. ``gap``: facts of it were given up. ``epoch`` is that of its beginning.
    """

    __slots__ = ("begun", "epoch", "find", "gap", "members", "name", "seen", "steps", "unit")

    def __init__(
        self,
        name: str,
        now: float,
        find: Callable[[str], Session | None],
        *,
        gap: bool,
        epoch: int,
    ) -> None:
        self.name = name
        self.seen = now
        self.begun = False
        self.gap = gap
        self.epoch = epoch
        self.steps = 0
        self.members: set[str] = set()
        self.find = find
        self.unit = Unit(JOB, self, job=name)

    def unit_changed(self, unit: Unit) -> None:
        """Do nothing: a job is saved whole."""

    def facts(self, unit: Unit) -> Iterator[Fact]:
        """The facts of the job, without positions: across sessions, order is by time."""
        for session in filter(None, map(self.find, sorted(self.members))):
            for fact in session.table:
                if fact.job == self.name:
                    yield unplaced(fact)


def unplaced(fact: Fact) -> Fact:
    """The fact as a job sees it: compared by time only."""
    return fact if fact.position is None else structs.replace(fact, position=None)
