"""Attribute values on the wire become ours: KeyValue and AnyValue, raw or as the view has them.

Source: opentelemetry-proto, common, and the protobuf wire format.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.message import DecodeError

from spanward.item import CUT, Attributes
from spanward.otlp import view
from spanward.otlp.bounds import LARGEST_STRUCTURE, Allowance
from spanward.otlp.malformed import TooMuch
from spanward.otlp.values import DEEPEST, TooDeepError, as_text

_KEY: Final = 0x0A
"""The tag of a KeyValue's field 1, ``key``, as a length and bytes."""
_VALUE: Final = 0x12
"""The tag of its field 2, ``value``."""
_STRING: Final = 0x0A
"""The tag of an AnyValue's field 1, ``string_value``."""
_MORE: Final = 0x80
"""The bit of a length's byte that says that another byte follows."""
_LONGEST_LENGTH: Final = 5
"""Bytes of a length that fits 32 bits."""


def text(raw: bytes) -> str:
    """The text of some bytes; what is no UTF-8 is replaced, so that it loses nothing else."""
    return raw.decode("utf-8", "replace")


def parted(raw: bytes) -> tuple[bytes, bytes] | None:
    """The key of a KeyValue and the bytes of its AnyValue; None when that takes parsing.

    It does not when it is one short key and then one value, as every encoder writes it: no second
    key or value follows, which would be the one that counts.
    """
    size = len(raw)
    if size < 2 or raw[0] != _KEY or raw[1] >= _MORE:  # noqa: PLR2004 (a tag and a length)
        return None
    end = 2 + raw[1]
    start = _whole_field(raw, end, _VALUE)
    return None if start is None else (raw[2:end], raw[start:])


def whole_text(raw: bytes) -> str | None:
    """The text of an AnyValue that is one, and is surely nothing else; None for any other."""
    start = _whole_field(raw, 0, _STRING)
    return None if start is None else text(raw[start:])


def attribute(raw: bytes, allowance: Allowance) -> tuple[str, Any]:
    """Name and value of a KeyValue: None for an empty one, CUT for one that cannot be read.

    Where nothing of it can be parsed, the name is the key that it begins with, or empty.
    """
    if len(raw) > LARGEST_STRUCTURE:
        parts = parted(raw)
        value = None if parts is None else whole_text(parts[1])
        return text(_first_key(raw)), CUT if value is None else value
    try:
        read = view.parse_attribute(raw)
    except DecodeError:
        return text(_first_key(raw)), CUT
    value = read.value
    if value.WhichOneof("value") == "string_value":  # nearly all are
        return text(read.key), text(value.string_value)
    try:
        return text(read.key), _value(value, DEEPEST, allowance)
    except (TooDeepError, TooMuch):
        return text(read.key), CUT


def everything(raw_attributes: Iterable[bytes], allowance: Allowance) -> Attributes:
    """All attributes that have a value; a key that stands twice has its last one."""
    pairs = (attribute(raw, allowance) for raw in raw_attributes)
    return {name: value for name, value in pairs if value is not None}


def whole_value(raw: bytes, allowance: Allowance) -> Any:
    """The value of an AnyValue: None for an empty one, CUT for one that cannot be read."""
    if len(raw) > LARGEST_STRUCTURE:
        value = whole_text(raw)
        return CUT if value is None else value
    try:
        return _value(view.parse_value(raw), DEEPEST, allowance)
    except (DecodeError, TooDeepError, TooMuch):
        return CUT


def _first_key(raw: bytes) -> bytes:
    if raw[:1] != bytes([_KEY]):
        return b""
    length, start = _length(raw, 1)
    return raw[start : start + length] if start + length <= len(raw) else b""


def _whole_field(raw: bytes, at: int, tag: int) -> int | None:
    """Where the bytes of the field at a place begin, if it has that tag and is all that is left."""
    size = len(raw)
    if at + 2 > size or raw[at] != tag:
        return None
    low, rest = raw[at + 1], size - at - 2
    if low < _MORE:
        return at + 2 if low == rest else None
    if rest and raw[at + 2] < _MORE:  # most are this short, and _length takes twice the time
        return at + 3 if low - _MORE + raw[at + 2] * _MORE == rest - 1 else None
    length, start = _length(raw, at + 1)
    return start if start + length == size else None


def _length(raw: bytes, start: int) -> tuple[int, int]:
    """The length that stands at a place, and the place behind it."""
    length = shift = 0
    for byte in raw[start : start + _LONGEST_LENGTH]:
        start += 1
        length |= (byte & ~_MORE) << shift
        if byte < _MORE:
            return length, start
        shift += 7
    return length, len(raw) + 1


def _value(value: Any, levels: int, allowance: Allowance) -> Any:
    match value.WhichOneof("value"):
        case "string_value":
            return text(value.string_value)
        case "int_value":
            return value.int_value
        case "bool_value":
            return value.bool_value
        case "double_value":
            return value.double_value
        case "bytes_value":
            return as_text(value.bytes_value)
        case "array_value":
            values = value.array_value.values
            _go_deeper(levels, len(values), allowance)
            return [_value(each, levels - 1, allowance) for each in values]
        case "kvlist_value":
            pairs = value.kvlist_value.values
            _go_deeper(levels, len(pairs), allowance)
            return {text(pair.key): _value(pair.value, levels - 1, allowance) for pair in pairs}
        case _:
            return None


def _go_deeper(levels: int, values: int, allowance: Allowance) -> None:
    if levels == 0:
        raise TooDeepError("nested too deep")
    allowance.take(values)
