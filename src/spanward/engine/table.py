"""The facts of one session, packed: about a hundred bytes each, no Python object per field.

Facts lie one after the other in a byte array. A small table is searched among the bytes of its
hashes; a large one has an index. (Measured: see ``docs/decisions``.)
"""

from __future__ import annotations

from array import array
from sys import byteorder
from typing import TYPE_CHECKING, Any, Final

import msgspec

from spanward.fact import Fact
from spanward.item import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SMALL: Final = 64
"""Up to so many facts, searching the hashes is as fast as a dict and costs no memory."""
_HASH_BYTES: Final = 8
_GONE: Final = 0
"""In place of the hash of a fact that was removed."""


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    """A fact as it is kept: without what its table or another field already says."""

    key: bytes
    kind: int
    name: str | None
    trace_id: bytes
    span_id: bytes
    event: int
    digest: bytes
    start_ns: int
    lasted_ns: int
    seq: int | None
    turn: int | None
    turn_key: str | None
    job: str | None
    homeless: bool
    true: tuple[int, ...]
    unknown: tuple[int, ...]
    notes: tuple[tuple[int, str], ...]


_KIND_NUMBERS: Final = {kind: number for number, kind in enumerate(KINDS)}
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Packed).decode


_Turns = dict[int | str, "array[int]"]
"""Where the facts of each turn lie, by its number and by its key."""


class FactTable:
    """Facts by key. Putting a key again replaces its fact; the order is that of putting.

    With ``tracked``, ``unsaved`` holds the packed facts, by key, that were put since they were last
    saved, and None for those that were removed; whoever saves them clears it.
    """

    __slots__ = ("_data", "_hashes", "_index", "_live", "_offsets", "_turns", "session", "unsaved")

    def __init__(self, session: str, *, tracked: bool = False) -> None:
        self.session = session
        self.unsaved: dict[bytes, bytes | None] | None = {} if tracked else None
        self._hashes = array("q")
        self._offsets = array("I", (0,))
        self._data = bytearray()
        self._index: dict[int, int] | None = None
        self._live = 0
        self._turns: _Turns | None = None

    def __len__(self) -> int:
        return self._live

    def __iter__(self) -> Iterator[Fact]:
        for at, kept in enumerate(self._hashes):
            if kept != _GONE:
                yield self._unpack(at)

    def of_turn(self, turn: int | str) -> Iterator[Fact]:
        """The facts of one turn: a number, or a key.

        The first call indexes the table, so that a long session is not read once a turn.
        """
        if self._turns is None:
            self._turns = {}
            for at, kept in enumerate(self._hashes):
                if kept != _GONE:
                    _note_turn(self._turns, self._unpack(at), at)
        for at in self._turns.get(turn, ()):
            if self._hashes[at] != _GONE:
                yield self._unpack(at)

    def get(self, key: bytes) -> Fact | None:
        """The fact under a key, or None."""
        at = self._find(key)
        return None if at is None else self._unpack(at)

    def put(self, fact: Fact) -> None:
        """Keep a fact in place of what was under its key."""
        self.remove(fact.key)
        self.add(fact)

    def add(self, fact: Fact) -> None:
        """Keep a fact whose key is not here."""
        packed = _encode(_pack(fact))
        if self.unsaved is not None:
            self.unsaved[fact.key] = packed
        self._add(fact.key, packed)
        if self._turns is not None:
            _note_turn(self._turns, fact, len(self._hashes) - 1)

    def changes(self) -> Iterable[tuple[bytes, bytes | None]]:
        """What is to be saved, by key: what is ``unsaved``, or everything when not ``tracked``."""
        if self.unsaved is not None:
            return self.unsaved.items()
        kept = (self._packed(at) for at, kept in enumerate(self._hashes) if kept != _GONE)
        return ((_decode(packed).key, bytes(packed)) for packed in kept)

    def load(self, packed: Iterable[bytes]) -> bool:
        """Keep packed facts, as they were saved, in an empty table; whether all could be read."""
        all_read = True
        for one in packed:
            try:
                key = _decode(one).key
            except msgspec.DecodeError:
                all_read = False
            else:
                self._add(key, one)
        return all_read

    def _add(self, key: bytes, packed: bytes) -> None:
        self._data += packed
        kept_hash = _hash(key)
        self._hashes.append(kept_hash)
        self._offsets.append(len(self._data))
        self._live += 1
        if self._index is not None:
            self._index[kept_hash] = len(self._hashes) - 1
        elif len(self._hashes) > _SMALL:
            self._index = {kept: at for at, kept in enumerate(self._hashes) if kept != _GONE}

    def remove(self, key: bytes) -> None:
        """Forget the fact under a key, if there is one."""
        at = self._find(key)
        if at is None:
            return
        if self.unsaved is not None:
            self.unsaved[key] = None
        if self._index is not None:
            del self._index[self._hashes[at]]
        self._hashes[at] = _GONE
        self._live -= 1
        if len(self._hashes) > _SMALL and self._live * 2 < len(self._hashes):
            self._compact()

    def cool(self) -> None:
        """Give back what is not needed for keeping facts; it is made again when it is asked for."""
        self._turns = None
        self._data = bytearray(self._data)  # without room to grow

    def _find(self, key: bytes) -> int | None:
        wanted = _hash(key)
        if self._index is not None:
            return self._index.get(wanted)
        sought = wanted.to_bytes(_HASH_BYTES, byteorder, signed=True)
        # Most keys are new. Their bytes are not found, which is known three times sooner
        # (measured) than by comparing numbers one by one.
        if sought not in self._hashes.tobytes() or wanted not in self._hashes:
            return None
        return self._hashes.index(wanted)

    def _unpack(self, at: int) -> Fact:
        packed = _decode(self._packed(at))
        return Fact(
            key=packed.key,
            session=self.session,
            kind=KINDS[packed.kind],
            name=packed.name,
            trace_id=packed.trace_id,
            span_id=packed.span_id,
            event=packed.event,
            digest=packed.digest,
            start_ns=packed.start_ns,
            end_ns=packed.start_ns + packed.lasted_ns,
            seq=packed.seq,
            position=packed.seq,
            turn=packed.turn,
            turn_key=packed.turn_key,
            job=packed.job,
            homeless=packed.homeless,
            true=packed.true,
            unknown=packed.unknown,
            notes=packed.notes,
        )

    def _packed(self, at: int) -> bytearray:
        return self._data[self._offsets[at] : self._offsets[at + 1]]

    def _compact(self) -> None:
        kept = [bytes(self._packed(at)) for at, kept in enumerate(self._hashes) if kept != _GONE]
        self._hashes = array("q")
        self._offsets = array("I", (0,))
        self._data = bytearray()
        self._index = self._turns = None
        self._live = 0
        self.load(kept)


def _note_turn(turns: _Turns, fact: Fact, at: int) -> None:
    for turn in (fact.turn, fact.turn_key):
        if turn is not None:
            turns.setdefault(turn, array("l")).append(at)


def _hash(key: bytes) -> int:
    """The hash of a key, never that of a removed one.

    Python's hash of bytes is keyed anew in every process, 64 bits wide; that two keys of one
    session share it is not to be expected, nor to be brought about from outside.
    """
    return hash(key) or 1


def _pack(fact: Fact) -> tuple[Any, ...]:
    """The fields of ``_Packed``, as the encoder takes them."""
    return (
        fact.key,
        _KIND_NUMBERS[fact.kind],
        fact.name,
        fact.trace_id,
        fact.span_id,
        fact.event,
        fact.digest,
        fact.start_ns,
        fact.end_ns - fact.start_ns,
        fact.seq,
        fact.turn,
        fact.turn_key,
        fact.job,
        fact.homeless,
        fact.true,
        fact.unknown,
        fact.notes,
    )
