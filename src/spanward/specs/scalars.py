"""Scalars by YAML 1.2's core schema, without octal.

Unlike YAML 1.1, ``yes``, ``on``, ``12:30``, ``2024-01-01``, ``017``, ``0o17`` and ``1_000`` are
text (YAML 1.2.2, section 10.3.2; semantics, section 9).
"""

from __future__ import annotations

import math
import re
from typing import Final

from spanward.node import Plain

DIGITS: Final = 400
"""Digits that an integer may have: no spec needs more, and arithmetic on them is not free."""

_NULLS: Final = ("", "~", "null", "Null", "NULL")
_BOOLEANS: Final = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(
    ("false", "False", "FALSE"), False
)
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_INFINITY: Final = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NANS: Final = (".nan", ".NaN", ".NAN")

_PREFIX: Final = "tag:yaml.org,2002:"
SCALAR_TAGS: Final = tuple(f"{_PREFIX}{name}" for name in ("str", "int", "float", "bool", "null"))
SEQUENCE_TAG: Final = f"{_PREFIX}seq"
MAPPING_TAG: Final = f"{_PREFIX}map"


class NumberTooLargeError(ValueError):
    """A number that cannot be held; the message says so in a person's words."""


def shown(tag: str) -> str:
    """A tag as it is written: ``!!str``, not its whole name."""
    return tag.replace(_PREFIX, "!!", 1) if tag.startswith(_PREFIX) else tag


def resolve(text: str) -> Plain:
    """The value of a plain scalar. Raises NumberTooLargeError."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    number = _number(text)
    return text if number is None else number


def convert(text: str, tag: str) -> Plain:
    """The value of a scalar with one of SCALAR_TAGS.

    Raises ValueError when the text is not of that type, NumberTooLargeError as ``resolve``.
    """
    if tag == f"{_PREFIX}str":
        return text
    value = resolve(text)
    if tag == f"{_PREFIX}float" and type(value) is int:
        return _float(text)
    types = {"int": int, "float": float, "bool": bool, "null": type(None)}
    if type(value) is not types[tag.removeprefix(_PREFIX)]:
        raise ValueError(text)
    return value


def _number(text: str) -> int | float | None:
    if _DECIMAL.fullmatch(text):
        return int(_short_enough(text, text.lstrip("-+")))
    if _HEXADECIMAL.fullmatch(text):
        return int(_short_enough(text, text[2:]), 16)
    if _FLOAT.fullmatch(text):
        return _float(text)
    infinity = _INFINITY.fullmatch(text)
    if infinity is not None:
        return -math.inf if infinity[1] == "-" else math.inf
    return math.nan if text in _NANS else None


def _short_enough(text: str, digits: str) -> str:
    if len(digits) > DIGITS:
        raise NumberTooLargeError(
            f"an integer of {len(digits)} digits is too long: at most {DIGITS} are read"
        )
    return text


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NumberTooLargeError("the number is too large for a float (about 1.8e308 at most)")
    return value
