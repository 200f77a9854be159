"""What is fuzzed: each decoder, and the dialects behind it, from bytes of anybody's choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from spanward.dialects import DIALECTS, Reader
from spanward.errors import Problems
from spanward.otlp import Malformed, TooMuch
from spanward.otlp.jsonlines import read_line, read_request
from spanward.otlp.record import Batch
from spanward.otlp.wire import WireReader
from spanward.specs.asking import asked_by
from spanward.specs.loader import load_text

SPECS: Final = """
name: all-sorts
assert: {never: {tool: {name: rm, args: {path: {regex: "/etc/.*"}}}, output: secret}}
---
name: attributes
assert: {eventually: {where: {a.b: 1, total: {gt: 3}}}}
---
name: spans
assert: {never: {span: "x*"}}
"""

_READER: Final = Reader(DIALECTS.values(), asked_by(load_text(SPECS, "specs", Problems())))
_WIRE: Final = WireReader(_READER.wanted)


def wire(data: bytes) -> None:
    """The first byte chooses the signal, the rest is a message of protobuf."""
    decode = _WIRE.logs if data[:1] > b"\x7f" else _WIRE.traces
    _read(lambda: decode(data[1:]))


def text(data: bytes) -> None:
    """The first byte chooses the signal, or a line of a file; the rest is JSON."""
    kind, body = data[:1], data[1:]
    if kind < b"\x55":
        _read(lambda: read_line(body, _READER.wanted))
        return
    signal: Literal["traces", "logs"] = "traces" if kind < b"\xaa" else "logs"
    _read(lambda: read_request(body, signal, _READER.wanted))


def _read(decode: Callable[[], Batch]) -> None:
    try:
        batch = decode()
    except (Malformed, TooMuch):
        return
    size = len(batch.records) + batch.events
    items = sum(len(report.items) for report in _READER.reports(batch))
    if items > size:
        raise AssertionError(f"{items} items of {size} records")


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {"wire": wire, "text": text}
