"""The fuzzy matcher: tolerant of case, white space, separators and number formats.

Source: the seed "tool argument matchers", section 3, as decided in semantics, section 4: numbers
are compared in decimal, so that integers beyond 2**53 do not blur, and numbers too large to be
meant as such stay text, so that no input can make the arithmetic slow.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from math import isfinite
from typing import Any, Final

import msgspec

_DROPPED: Final = re.compile("[,_\u202f]")
_SPACES: Final = re.compile(r"\s+")
_NUMBER: Final = re.compile(
    r"(?P<sign>[+-]?)"
    r"(?P<digits>\d{1,3}(?: \d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)"
    r"(?:e(?P<exponent>[+-]?\d+))?"
    r" ?(?P<percent>%?)",
    re.ASCII,
)
_BEGIN: Final = tuple("0123456789+-.")
_MAX_DIGITS: Final = 400
_MAX_EXPONENT: Final = 400
_MAX_EXPONENT_LENGTH: Final = len("+400")
_NUMBERS: Final = (int, float)
_SHORT: Final = 24
"""Characters of a number that is within the bounds, whatever it is."""
_TOLERANCE: Final = Decimal("1e-9")
_EXACT: Final = Context(prec=2 * (_MAX_DIGITS + _MAX_EXPONENT))
"""Enough digits for the difference of any two admitted numbers to be exact."""


def normalize(text: str) -> str:
    """The text as fuzzy comparison sees it (seed, section 3)."""
    dropped = _DROPPED.sub("", text.strip().lower())
    return dropped if dropped.isalnum() else _SPACES.sub(" ", dropped)


def number(text: str) -> Decimal | None:
    """The number that a normalized text is, or None when it is not one or too large for one."""
    if text.isdigit() and text.isascii() and len(text) <= _MAX_DIGITS:  # most are this plain
        return Decimal(text)
    found = _NUMBER.fullmatch(text) if text[:1] in _BEGIN else None
    if found is None:
        return None
    digits = found["digits"].replace(" ", "")
    exponent = found["exponent"] or "0"
    if len(digits.replace(".", "")) > _MAX_DIGITS or len(exponent) > _MAX_EXPONENT_LENGTH:
        return None
    if abs(int(exponent)) > _MAX_EXPONENT:
        return None
    scale = int(exponent) - (2 if found["percent"] else 0)
    return _EXACT.scaleb(Decimal(found["sign"] + digits), scale)


def _is_plain_number(value: Any, written: str) -> bool:
    """Whether a value is a number that decimal arithmetic reads as it is written."""
    return value.__class__ in _NUMBERS and len(written) <= _SHORT and isfinite(value)


class Fuzzy(msgspec.Struct, frozen=True):
    """A pattern, normalized and, if it is one, read as a number, once."""

    pattern: str
    normal: str
    number: Decimal | None

    @classmethod
    def of(cls, pattern: str) -> Fuzzy:
        """Compile a pattern; any text is one."""
        normal = normalize(pattern)
        return cls(pattern, normal, number(normal))

    def __call__(self, actual: Any) -> bool:
        """Whether ``str(actual)`` is the same number within 1e-9, else the same text."""
        written = str(actual)
        if self.number is not None and _is_plain_number(actual, written):
            return abs(_EXACT.subtract(self.number, Decimal(written))) <= _TOLERANCE
        normal = normalize(written)
        if normal == self.normal:
            return True
        value = None if self.number is None else number(normal)
        if self.number is None or value is None:
            return False
        return abs(_EXACT.subtract(self.number, value)) <= _TOLERANCE

    def __repr__(self) -> str:
        return f"fuzzy({self.pattern!r})"
