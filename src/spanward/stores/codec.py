"""Saved values as bytes and back: MessagePack, and what it does not know in extensions.

Only types that are named come back: nothing that is read can run anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec.msgpack import Ext

from spanward.item import CUT, Cut

_CUT: Final = 1
_INTEGER: Final = 2
"""Codes of the extensions: a value that was cut, and an integer of more than 64 bits, in hex."""

_T = TypeVar("_T")


def _extend(value: Any) -> Ext:
    if isinstance(value, Cut):
        return Ext(_CUT, b"")
    raise NotImplementedError(f"cannot save a {type(value).__name__}")


def _extended(code: int, data: memoryview) -> Any:
    if code == _CUT:
        return CUT
    if code == _INTEGER:
        return int(bytes(data), 16)
    raise ValueError(f"unknown extension {code}")


_encode: Final = msgspec.msgpack.Encoder(enc_hook=_extend).encode


def encode(value: Any) -> bytes:
    """A saved value as bytes."""
    try:
        return _encode(value)
    except OverflowError:  # an integer of more than 64 bits, somewhere in arguments
        return _encode(_without_large(value))


def decoder(kind: type[_T]) -> Callable[[bytes], _T]:
    """What reads values of a type. It raises ``ValueError`` for anything else."""
    decode = msgspec.msgpack.Decoder(kind, ext_hook=_extended).decode

    def read(data: bytes) -> _T:
        try:
            return decode(data)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from error

    return read


def _without_large(value: Any) -> Any:
    """A value with its large integers as extensions."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return Ext(_INTEGER, format(value, "x").encode())
    if isinstance(value, list | tuple):
        return [_without_large(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_large(each) for key, each in value.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: _without_large(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value
