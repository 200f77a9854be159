"""What a store keeps of the engine: plain values, written when they change, read back when asked.

Facts are kept apart, packed as their table has them. Times are seconds of the service's clock,
which goes on where it stopped. Operator states are not here: they are made anew from the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from spanward.item import Item
from spanward.verdict import Announcement, Result, Witness

Turn = int | str
"""A number that the runtime sent, or a key that the dialect found."""


class SavedMonitor(msgspec.Struct, frozen=True, array_like=True):
    """What one spec, known by its ``sha256``, settled and announced of a unit."""

    sha256: str
    standing: Result | None
    by: Witness | None
    by_ns: int | None
    announced: Result | None
    revision: int


class SavedUnit(msgspec.Struct, frozen=True, array_like=True):
    """A unit; ``turn`` is None but for a turn. ``due``: its end was set, and must be again."""

    turn: Turn | None
    ended: bool
    named: bool
    due: bool
    monitors: tuple[SavedMonitor, ...]


class SavedTurn(msgspec.Struct, frozen=True, array_like=True):
    """One turn of a session, or the session itself (``turn`` None): its unit, if it has one.

    ``items`` and ``steps`` count those that named the session; ``start`` is the least start of the
    reports that name the turn, None where it is known by number.
    """

    turn: Turn | None
    items: int
    steps: int
    start: int | None
    unit: SavedUnit | None


class SavedPresence(msgspec.Struct, frozen=True, array_like=True):
    """Which items there are: ``turns`` are (turn, items, steps), ``starts`` by turn key."""

    steps: int
    numbered: int
    turns: tuple[tuple[Turn, int, int], ...]
    starts: dict[str, int]


class SavedSession(msgspec.Struct, frozen=True, array_like=True):
    """A session without its facts and turns. ``epoch`` is that of its beginning.

    (See ``Numbering``.) ``pending``: something of it is to be done soon, so that it must be looked
    at when the service starts. ``steps`` and ``numbered`` count items that named it, as
    ``Presence`` has them; ``open_units`` the units whose results are not final. ``owner`` is the
    sender that opened it, empty when that is not known.
    """

    name: str
    epoch: int
    gap: bool
    ended: bool
    said_end: bool
    pending: bool
    seen: float
    latest: Turn | None
    steps: int
    numbered: int
    open_units: int
    owner: str


class Stored(msgspec.Struct, frozen=True):
    """All that is kept of a session, as it is read back.

    ``traces`` are (trace id, whether homeless items follow it). Not ``whole``: some of it could
    not be read.
    """

    session: SavedSession
    facts: list[bytes]
    turns: list[SavedTurn]
    traces: list[tuple[bytes, bool]]
    whole: bool = True


class SavedTrace(msgspec.Struct, frozen=True, array_like=True):
    """A trace: its session, the (start, span id, session) of who said so, its homeless items."""

    session: str | None
    bound_by: tuple[int, bytes, str] | None
    homeless: SavedPresence | None

    def home(self, trace_id: bytes) -> str:
        """The session that it belongs to: its own, else one that is named after it."""
        return self.session or trace_id.hex()


class SavedJob(msgspec.Struct, frozen=True, array_like=True):
    """A job; ``members`` are the names of the sessions that hold its facts."""

    name: str
    epoch: int
    gap: bool
    begun: bool
    seen: float
    steps: int
    members: tuple[str, ...]
    unit: SavedUnit


class SavedExecution(msgspec.Struct, frozen=True, array_like=True):
    """The reports of one item, in which session it is and under which key (None: in none)."""

    number: int
    reports: tuple[Item, ...]
    session: str | None
    key: bytes


class SavedReports(msgspec.Struct, frozen=True, array_like=True):
    """All reports of one id that may still be amended; ``next`` numbers the next execution."""

    several: bool
    next: int
    executions: tuple[SavedExecution, ...]


class Changes(msgspec.Struct, frozen=True):
    """What changed since it was last saved. None stands for what is no longer there.

    ``dropped`` are sessions that go first, with all their facts: one of the name may come anew.
    ``turns`` are (session, turn, what is kept of it), ``facts`` (session, key, packed fact). A
    session has rows of its own for these, so that what changes of a long one is not all of it.
    ``gone`` are (kind of unit, name) of what was dropped after it was known, and begins in a gap if
    it returns.
    """

    dropped: list[str]
    sessions: list[SavedSession]
    turns: list[tuple[str, Turn | None, SavedTurn | None]]
    facts: list[tuple[str, bytes, bytes | None]]
    traces: dict[bytes, SavedTrace | None]
    jobs: dict[str, SavedJob | None]
    reports: dict[bytes, SavedReports | None]
    gone: list[tuple[str, str]]


NO_CHANGES = Changes([], [], [], [], {}, {}, {}, [])


class Known(msgspec.Struct, frozen=True, array_like=True):
    """A matcher that was ever loaded: its number, and from which epoch to which without a break."""

    number: int
    since: int
    last: int


class Numbering(msgspec.Struct, frozen=True, array_like=True):
    """The numbers of matchers, which facts carry: the same for the same matcher, for ever.

    An ``epoch`` is the time in which one set of matchers is loaded. A matcher knows nothing of
    what came before the epoch since which it has been loaded.
    """

    epoch: int
    known: dict[str, Known]

    def loaded(self, sources: Iterable[str]) -> Numbering:
        """The numbering once these matchers are loaded, by their sources."""
        wanted = dict.fromkeys(sources)
        before = {source for source, one in self.known.items() if one.last == self.epoch}
        if self.epoch and before == wanted.keys():
            return self
        epoch, known = self.epoch + 1, dict(self.known)
        for source in wanted:
            one = known.get(source)
            if one is None:
                known[source] = Known(len(known), epoch, epoch)
            else:
                since = one.since if one.last == self.epoch else epoch
                known[source] = Known(one.number, since, epoch)
        return Numbering(epoch, known)


FIRST = Numbering(0, {})
"""Before any matcher was loaded."""


class SavedCounts(msgspec.Struct, frozen=True, array_like=True):
    """The counters of one spec, by its name: they go on where they stopped.

    ``verdicts`` is by result, ``revisions`` by (from, to); ``last_violation`` is Unix seconds.
    """

    matches: int
    violations: int
    verdicts: dict[str, int]
    revisions: tuple[tuple[str, str, int], ...]
    last_violation: float | None


class Sending(msgspec.Struct, frozen=True):
    """An announcement on its way to one emitter; ``number`` is its own, in the order of making.

    ``at_ns`` is the wall time at which it was made.
    """

    number: int
    emitter: str
    at_ns: int
    announcement: Announcement


class Saving(msgspec.Struct, frozen=True):
    """Everything that is saved at once: all of it, or nothing.

    ``clock`` is the service's clock now. ``counts`` are those that changed, by spec. ``sendings``
    are new; ``sent`` are the numbers of those that went out, or were given up.
    """

    clock: float
    numbering: Numbering
    changes: Changes
    counts: dict[str, SavedCounts]
    sendings: Sequence[Sending]
    sent: Sequence[int]
