"""Attribute values in OTLP/JSON become ours.

64-bit integers are decimal text (numbers are accepted), doubles are numbers or text, bytes are
base64 of either alphabet. Source: OTLP specification, *JSON Protobuf Encoding*, and ProtoJSON.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from math import isinf
from typing import Any, Final

from spanward.item import CUT
from spanward.otlp.values import (
    DEEPEST,
    TooDeepError,
    UnfitError,
    as_text,
    clean,
    integer_of,
)

_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")


def text(found: Any) -> str:
    """A text field; empty for anything else."""
    return clean(found) if isinstance(found, str) else ""


def whole_value(value: Any) -> Any:
    """The value of an AnyValue: None for an empty one, CUT for one that cannot be taken whole."""
    try:
        return _value(value, DEEPEST)
    except UnfitError:
        return CUT


def _value(value: Any, levels: int) -> Any:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise UnfitError("not an AnyValue")
    for kind, read in _KINDS.items():
        if value.get(kind) is not None:
            return read(value[kind], levels)
    return None


def _string(value: Any, _: int) -> str:
    if not isinstance(value, str):
        raise UnfitError("not a text")
    return clean(value)


def _bool(value: Any, _: int) -> bool:
    if not isinstance(value, bool):
        raise UnfitError("not a boolean")
    return value


def _double(value: Any, _: int) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UnfitError("not a number")
    if value in _NOT_FINITE:
        return _NOT_FINITE[str(value)]
    if isinstance(value, str) and _NUMBER.fullmatch(value) is None:
        raise UnfitError("not a number")
    try:
        number = float(value)
    except OverflowError:
        raise UnfitError("no double is so great") from None
    if isinf(number):
        raise UnfitError("no double is so great")
    return number


def _bytes(value: Any, _: int) -> str:
    """Base64 text in the one form that the wire's bytes get too."""
    plain = _string(value, _).translate(_STANDARD_ALPHABET).rstrip("=")
    try:
        return as_text(b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except ValueError:
        raise UnfitError("not base64") from None


def _array(value: Any, levels: int) -> list[Any]:
    return [_value(each, levels - 1) for each in _elements(value, levels)]


def _mapping(value: Any, levels: int) -> dict[str, Any]:
    found = {}
    for pair in _elements(value, levels):
        if not isinstance(pair, dict):
            raise UnfitError("not a KeyValue")
        found[text(pair.get("key"))] = _value(pair.get("value"), levels - 1)
    return found


def _elements(value: Any, levels: int) -> list[Any]:
    if levels == 0:
        raise TooDeepError("nested too deep")
    if not isinstance(value, dict):
        raise UnfitError("not a list of values")
    values = value.get("values")
    if values is None:
        return []
    if not isinstance(values, list):
        raise UnfitError("not a list of values")
    return values


_KINDS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "stringValue": _string,
    "boolValue": _bool,
    "intValue": lambda value, _: integer_of(value),
    "doubleValue": _double,
    "arrayValue": _array,
    "kvlistValue": _mapping,
    "bytesValue": _bytes,
}
