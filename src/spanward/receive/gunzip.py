"""Gzip, piece by piece, and never more of it than is allowed: a few bytes can become gigabytes."""

from __future__ import annotations

import zlib
from typing import Final

_GZIP: Final = 16 + zlib.MAX_WBITS
_MOST_MEMBERS: Final = 100
"""Members of one body. Empty ones give nothing, and each takes a copy of all that follows it."""


class NotGzipError(ValueError):
    """Bytes that are no gzip, or the beginning of one only."""


class Gunzip:
    """Takes the pieces of a gzip file, of one member or several (RFC 1952, 2.2)."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._begun = False
        self._members = 1

    def feed(self, piece: bytes, most: int) -> bytes:
        """What a piece gives, ``most`` bytes and one more at most: then there is too much.

        Raises ``NotGzipError``.
        """
        given = bytearray()
        while piece and len(given) <= most:
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP)
                self._members += 1
                if self._members > _MOST_MEMBERS:
                    raise NotGzipError("too many members in one gzip")
            self._begun = True
            try:
                given += self._member.decompress(piece, most + 1 - len(given))
            except zlib.error:
                raise NotGzipError("not gzip") from None
            piece = self._member.unused_data or self._member.unconsumed_tail
        return bytes(given)

    def end(self) -> None:
        """There are no more pieces. Raises ``NotGzipError`` when there should have been."""
        if self._begun and not self._member.eof:
            raise NotGzipError("the gzip ends too early")
