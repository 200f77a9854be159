"""Foreign values become ours: the bounds that every value passes on its way in.

A value is None, bool, int, float, str, list or dict, nested at most ``DEEPEST`` levels; bytes
become base64 text, and text holds no lone surrogates. What is there but cannot be taken whole is
``CUT``.
"""

from __future__ import annotations

import contextlib
import json
import re
from base64 import b64encode
from typing import Any, Final

import msgspec

DEEPEST: Final = 32
"""Levels of lists and mappings in an attribute: what protobuf's own limit of 100 nested messages
leaves of them, three messages a level."""
DEEPEST_ARGUMENTS: Final = 64
"""Levels of lists and mappings in arguments that are sent as JSON text."""
MOST_IN_ARGUMENTS: Final = 100_000
"""Commas and opening brackets in such text: no more values than that are made of it, and kept."""
MOST_DIGITS: Final = 4300
"""Python's own limit on the text of an integer; a longer one stays text."""
INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)


class UnfitError(ValueError):
    """A value that cannot be taken whole."""


class TooDeepError(UnfitError):
    """A value that is nested too deep to be read."""


def clean(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, so that it can be written anywhere."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def as_text(value: bytes) -> str:
    """Bytes as base64 text, as OTLP/JSON writes them."""
    return b64encode(value).decode("ascii")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


_DECIMAL: Final = re.compile(r"-?[0-9]{1,19}")
"""As many digits as 64 bits need; a longer text is never handed to ``int``."""
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_decode_plain_json: Final = msgspec.json.Decoder().decode
_decode_json: Final = json.JSONDecoder(parse_int=_integer, strict=False).decode


def parse_json(text: str) -> Any:
    """The value of JSON text.

    Tolerant: control characters in strings, NaN and infinities, repeated keys (the last wins).
    Raises ``ValueError`` for what is no JSON or is nested too deep.
    """
    try:
        return _decode_json(text)
    except RecursionError:
        raise TooDeepError("nested too deep") from None


def json_arguments(text: str) -> Any:
    """The value of a tool call's arguments, written as JSON text.

    Most are small and plain: these msgspec reads, three times as fast and to the same values. What
    it refuses (lone surrogates, NaN) or what might pass a bound goes the long way.

    Raises ``ValueError`` for what is no JSON, and ``UnfitError`` for what may be but is not read:
    nested deeper than ``DEEPEST_ARGUMENTS``, or of too many values.
    """
    if len(text) <= MOST_DIGITS and text.count("[") + text.count("{") <= DEEPEST_ARGUMENTS:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeEncodeError):
            return _decode_plain_json(text)
    if sum(map(text.count, (",", "{", "["))) > MOST_IN_ARGUMENTS:
        raise UnfitError("too many values")
    return bounded(parse_json(text), DEEPEST_ARGUMENTS)


def bounded(value: Any, levels: int) -> Any:
    """A JSON value with clean texts. Raises ``TooDeepError`` below the given levels."""
    if isinstance(value, str):
        return clean(value)
    if not isinstance(value, list | dict):
        return value
    if levels == 0:
        raise TooDeepError("nested too deep")
    if isinstance(value, list):
        return [bounded(each, levels - 1) for each in value]
    return {clean(key): bounded(each, levels - 1) for key, each in value.items()}


def integer_of(value: Any) -> int:
    """A 64-bit integer from a number or decimal text. Raises ``UnfitError`` for anything else."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnfitError("not an integer")
    if not INT64_MIN <= value <= INT64_MAX:
        raise UnfitError("not an integer of 64 bits")
    return value
