"""Admission: how many requests, and how many bytes of them, may be inside at once.

Room is taken before a message is read, so that senders who come together cannot fill the memory
before anybody could refuse them. How large a message is shows only once it was read; until then it
counts as the largest that is allowed. So only a few are read at a time; the others wait their turn
unread, in order and for a moment only, since a burst of small requests is no overload.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

_PATIENCE: Final = 1.0
"""Seconds that a request may wait unread. Senders' own deadlines begin at 5 s (Collector)."""
_READING: Final = 30.0
"""Seconds that a message may take to arrive: it holds room that others wait for."""


class Admission:
    """Room for ``most_requests`` and ``most_bytes``; ``largest`` bounds one message, in bytes.

    A message larger than all the room is admitted alone. ``patience`` bounds the wait for a place,
    ``reading`` the time to read a message into it, in seconds. Belongs to one asyncio loop.
    """

    def __init__(
        self,
        most_requests: int,
        most_bytes: int,
        largest: int,
        *,
        patience: float = _PATIENCE,
        reading: float = _READING,
    ) -> None:
        self.reading = reading
        self._patience = patience
        self._most_requests = most_requests
        self._most_bytes = most_bytes
        self._largest = largest
        self._inside = 0
        self._bytes = 0
        self._turns: deque[asyncio.Future[Place]] = deque()

    async def enter(self) -> Place | None:
        """A place to read one message into, after a wait if need be; None when there is no room.

        Whoever gets a place must ``leave`` it.
        """
        if self._inside + len(self._turns) >= self._most_requests:
            return None
        if self._has_room and not self._turns:
            return self._place()
        turn: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            await asyncio.wait([turn], timeout=self._patience)
        except asyncio.CancelledError:  # the sender has gone
            if turn.done():
                turn.result().leave()
            raise
        finally:
            if not turn.done():
                self._turns.remove(turn)
        return turn.result() if turn.done() else None

    @property
    def _has_room(self) -> bool:
        return not self._inside or self._bytes + self._largest <= self._most_bytes

    def _place(self) -> Place:
        self._inside += 1
        self._bytes += self._largest
        return Place(self, self._largest)

    def give_back(self, size: int, requests: int) -> None:
        """Some room is free again: for ``Place`` to say."""
        self._bytes -= size
        self._inside -= requests
        while self._turns and self._has_room:
            self._turns.popleft().set_result(self._place())


class Place:
    """The room of one request, from before it is read until it is answered."""

    def __init__(self, of: Admission, size: int) -> None:
        self._of = of
        self._size = size
        self._left = False

    def holds(self, size: int) -> None:
        """The message was read: it is so many bytes, and others may have the rest."""
        spare, self._size = self._size - size, size
        self._of.give_back(spare, 0)

    def leave(self) -> None:
        """The request is answered, or gone; called again it does nothing."""
        if not self._left:
            self._left = True
            self._of.give_back(self._size, 1)
