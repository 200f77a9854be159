"""The ledger: what was judged and is not saved yet, what was announced and did not go out yet.

Everything that changed since the last commit that succeeded is saved in the next one, so that an
answer after it covers all that its request touched, whatever happened before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from spanward.emitters.outbox import Outbox
from spanward.emitters.outlet import Outlet
from spanward.emitters.tally import VerdictTally
from spanward.engine.engine import Engine
from spanward.saved import NO_CHANGES, SavedCounts, Saving, Sending
from spanward.stores import Store
from spanward.verdict import Announcement

log = logging.getLogger(__name__)

_CLOCK_EVERY: Final = 30.0
"""Seconds after which the clock is saved at the latest: so much of it may be lost in a crash."""


class Ledger:
    """Saves to a store, and puts announcements into the outbox and into figures.

    ``specs`` are the names of the specs, in the engine's order. ``watch`` gives seconds, to measure
    commits by. ``failures`` counts those that the store could not do. Belongs to the worker's
    thread, and to whoever closes it after that thread ended. Raises ``OSError`` when the store
    cannot be read.
    """

    def __init__(
        self,
        specs: Sequence[str],
        store: Store,
        outlets: Sequence[Outlet],
        watch: Callable[[], float],
    ) -> None:
        self.verdicts = VerdictTally(specs)
        self.failures = 0
        self._specs = tuple(specs)
        self._store = store
        self._watch = watch
        self._outbox = Outbox(outlets, store.sendings())
        self._saved_counts = store.counts_by_spec()
        self._saved_clock = store.clock
        self._unsaved: list[Sending] = []
        self._sent: list[int] = []
        self._told: set[str] = set()

    def restore(self, engine: Engine) -> None:
        """Have the figures of the specs go on where they were saved; forget what was not saved."""
        self._unsaved.clear()
        self._told.clear()
        nothing = SavedCounts(0, 0, {}, (), None)
        for number, name in enumerate(self._specs):
            saved = self._saved_counts.get(name, nothing)
            engine.counters.matches[number] = saved.matches
            engine.counters.violations[number] = saved.violations
            self.verdicts.load(name, saved)

    def hand_over(self, engine: Engine, now: float) -> bool:
        """Save all that an engine needs that is to take the place of this one; whether it is."""
        engine.note_all()
        counts = {
            name: self.verdicts.save(name, matches, violations)
            for name, matches, violations in self._figures(engine)
        }
        if not self._commit(self._saving(engine, counts, now)):
            return False
        self._note_saved(engine, counts, now)
        return True

    def turn_to(self, engine: Engine, specs: Sequence[str]) -> None:
        """Go on with an engine that took the place of another, and judges other specs.

        Figures are of specs by name: those of a name that stays go on.
        """
        self.verdicts = VerdictTally(specs, self.verdicts)
        self._specs = tuple(specs)
        self.restore(engine)

    def settle(
        self,
        engine: Engine,
        announced: Sequence[Announcement],
        violated: Sequence[str],
        now: float,
        at_ns: int,
    ) -> bool:
        """Save what changed and tell what there is to tell; whether all of it is saved.

        It is told even when it was not: an alarm that comes twice is better than none.
        """
        self.verdicts.take(announced, violated, at_ns)
        self._told.update(violated, (one.verdict.spec for one in announced))
        made = self._outbox.make(announced, at_ns)
        self._unsaved += made
        try:
            return self.save(engine, now)
        finally:
            self._outbox.send(made)

    def save(self, engine: Engine, now: float) -> bool:
        """Save everything that was not saved yet; whether it is. It stays to be saved if not."""
        self._sent += self._outbox.done()
        if not self._store.vault.keeps:
            engine.saved(now)
            self._forget_unsaved()
            return True
        counts = self._changed_counts(engine)
        # What was loaded when is known from the numbering: it is saved though nothing came yet.
        renumbered = engine.numbering is not self._store.vault.numbering
        some = engine.has_changes or self._unsaved or self._sent or counts or renumbered
        if not some and now - self._saved_clock < _CLOCK_EVERY:
            return True
        if not self._commit(self._saving(engine, counts, now)):
            return False
        self._note_saved(engine, counts, now)
        return True

    def close(self, engine: Engine | None, now: float) -> None:
        """Save the rest, and close the store. Without an engine, only what went out is saved."""
        try:
            if engine is not None:
                self.save(engine, now)
            elif self._store.vault.keeps:
                sent = self._sent + self._outbox.done()
                self._commit(Saving(now, self._store.vault.numbering, NO_CHANGES, {}, [], sent))
        finally:
            self._store.close()

    def _saving(self, engine: Engine, counts: dict[str, SavedCounts], now: float) -> Saving:
        sent = frozenset(self._sent)
        return Saving(
            clock=now,
            numbering=engine.numbering,
            changes=engine.changes(),
            counts=counts,
            sendings=[one for one in self._unsaved if one.number not in sent],
            sent=list(self._sent),
        )

    def _commit(self, saving: Saving) -> bool:
        started = self._watch()
        try:
            self._store.commit(saving)
        except OSError as error:
            self.failures += 1
            log.error("%s: senders are asked to try again", error)  # noqa: TRY400  no defect of ours
            return False
        self.verdicts.commits.observe(self._watch() - started)
        return True

    def _changed_counts(self, engine: Engine) -> dict[str, SavedCounts]:
        """The figures of the specs that an item concerned, or of which something was told."""
        known = self._saved_counts
        return {
            name: self.verdicts.save(name, matches, violations)
            for name, matches, violations in self._figures(engine)
            if name in self._told or name not in known or known[name].matches != matches
        }

    def _figures(self, engine: Engine) -> Iterable[tuple[str, int, int]]:
        """The matches and violations of each spec."""
        counters = engine.counters
        return zip(self._specs, counters.matches, counters.violations, strict=True)

    def _note_saved(self, engine: Engine, counts: dict[str, SavedCounts], now: float) -> None:
        engine.saved(now)
        self._saved_counts |= counts
        self._saved_clock = now
        self._forget_unsaved()

    def _forget_unsaved(self) -> None:
        self._unsaved.clear()
        self._sent.clear()
        self._told.clear()
