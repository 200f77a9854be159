"""Admission: how many requests, and how many bytes of them, may be inside at once.

Room is taken before a message is read, so that senders who come together cannot fill the memory
before anybody could refuse them. How large a message is shows only once it was read; until then it
counts as the largest that is allowed. So only a few are read at a time; the others wait their turn
unread, in order and for a moment only, since a burst of small requests is no overload. A sender
that is known by name has half of the room at most: the others are served whatever it does.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

_PATIENCE: Final = 1.0
"""Seconds that a request may wait unread. Senders' own deadlines begin at 5 s (Collector)."""
_READING: Final = 30.0
"""Seconds that a message may take to arrive: it holds room that others wait for."""

_Turn = asyncio.Future["Place"]


def _never() -> bool:
    return False


class Admission:
    """Room for ``most_requests`` and ``most_bytes``; ``largest`` bounds one message, in bytes.

    A message larger than all the room is admitted alone. ``patience`` bounds the wait for a place,
    ``reading`` the time to read a message into it, in seconds. ``full`` says that there is no room
    for another reason. Belongs to one asyncio loop.
    """

    def __init__(
        self,
        most_requests: int,
        most_bytes: int,
        largest: int,
        *,
        patience: float = _PATIENCE,
        reading: float = _READING,
        full: Callable[[], bool] = _never,
    ) -> None:
        self.reading = reading
        self._patience = patience
        self._most_requests = most_requests
        self._most_bytes = most_bytes
        self._largest = largest
        self._full = full
        self._inside = 0
        self._bytes = 0
        self._turns: dict[_Turn, str | None] = {}
        self._requests_of: Counter[str] = Counter()
        self._bytes_of: Counter[str] = Counter()

    async def enter(self, sender: str | None = None) -> Place | None:
        """A place to read one message into, after a wait if need be; None when there is no room.

        Whoever gets a place must ``leave`` it.
        """
        if self._full() or self._inside + len(self._turns) >= self._most_requests:
            return None
        if sender is not None:
            waiting = sum(each == sender for each in self._turns.values())
            if 2 * (self._requests_of[sender] + waiting) >= self._most_requests:
                return None
        if not self._turns and self._has_room(sender):
            return self._place(sender)
        turn: _Turn = asyncio.get_running_loop().create_future()
        self._turns[turn] = sender
        self._give_turns()  # those before it may wait for what this one does not need
        try:
            await asyncio.wait([turn], timeout=self._patience)
        except asyncio.CancelledError:  # the sender has gone
            if turn.done():
                turn.result().leave()
            raise
        finally:
            self._turns.pop(turn, None)
        return turn.result() if turn.done() else None

    def _has_room(self, sender: str | None) -> bool:
        if not self._inside:
            return True
        if self._bytes + self._largest > self._most_bytes:
            return False
        held = 0 if sender is None else self._bytes_of[sender]
        return not held or 2 * (held + self._largest) <= self._most_bytes

    def _place(self, sender: str | None) -> Place:
        self.take(sender, self._largest, 1)
        return Place(self, sender, self._largest)

    def take(self, sender: str | None, size: int, requests: int) -> None:
        """Some room is taken, or with negative figures free again: for ``Place`` to say."""
        self._inside += requests
        self._bytes += size
        if sender is not None:
            self._requests_of[sender] += requests
            self._bytes_of[sender] += size
            if not self._requests_of[sender]:
                del self._requests_of[sender], self._bytes_of[sender]
        if size < 0 or requests < 0:
            self._give_turns()

    def _give_turns(self) -> None:
        for turn, sender in list(self._turns.items()):
            if self._has_room(sender):
                del self._turns[turn]
                turn.set_result(self._place(sender))


class Place:
    """The room of one request, from before it is read until it is answered."""

    def __init__(self, of: Admission, sender: str | None, size: int) -> None:
        self._of = of
        self._sender = sender
        self._size = size
        self._left = False

    def holds(self, size: int) -> None:
        """The message was read: it is so many bytes, and others may have the rest."""
        change, self._size = size - self._size, size
        self._of.take(self._sender, change, 0)

    def leave(self) -> None:
        """The request is answered, or gone; called again it does nothing."""
        if not self._left:
            self._left = True
            self._of.take(self._sender, -self._size, -1)
