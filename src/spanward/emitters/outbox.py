"""The outbox: every announcement, once for each emitter, until it went out.

The store keeps what is in it. A process that crashed sends again what it does not know to have
gone out; the ids of verdict spans are derived, so the same span comes twice, never two.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import count, groupby

from spanward.emitters.outlet import Outlet
from spanward.saved import Sending
from spanward.verdict import Announcement

log = logging.getLogger(__name__)


class Outbox:
    """Numbers announcements and hands them to the outlets. ``known`` are those of the store.

    Call order: ``make``, then save, then ``send``. Belongs to one thread.
    """

    def __init__(self, outlets: Sequence[Outlet], known: Sequence[Sending]) -> None:
        self._outlets = {outlet.name: outlet for outlet in outlets}
        self._numbers = count(max((one.number for one in known), default=0) + 1)
        orphans = [one.number for one in known if one.emitter not in self._outlets]
        if orphans:
            log.warning("%d announcements are for emitters that are gone: given up", len(orphans))
        self._given_up = orphans
        self.send([one for one in known if one.emitter in self._outlets])

    def make(self, announcements: Sequence[Announcement], at_ns: int) -> list[Sending]:
        """The sendings of announcements that were made at a wall time."""
        return [
            Sending(next(self._numbers), name, at_ns, announcement)
            for name in self._outlets
            for announcement in announcements
        ]

    def send(self, sendings: Sequence[Sending]) -> None:
        """Have sendings go out soon; never waits."""
        for (name, _), batch in groupby(sendings, key=lambda one: (one.emitter, one.at_ns)):
            self._outlets[name].put(list(batch))

    def done(self) -> list[int]:
        """The numbers that need not be kept any more, since this was last asked."""
        given_up, self._given_up = self._given_up, []
        return given_up + [number for each in self._outlets.values() for number in each.done()]
