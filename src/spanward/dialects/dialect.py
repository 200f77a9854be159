"""What a dialect is: the telemetry of one runtime, read as items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from spanward.dialects.fields import Belongs
from spanward.item import Attributes

if TYPE_CHECKING:
    from spanward.asked import Asked
    from spanward.item import Item
    from spanward.otlp.record import LogRecord, SpanRecord


class About(msgspec.Struct, frozen=True):
    """What is the same for a record and its events, worked out once by the reader.

    ``belongs`` is what the record says of itself, ``outer`` the attributes of its scope and
    resource that are asked for, ``principal`` the name of its sender (None: not known).
    """

    belongs: Belongs
    outer: tuple[Attributes, ...]
    principal: str | None


class Dialect(Protocol):
    """The reader of one runtime's records.

    ``attributes`` are the attribute names that it reads. ``claims`` says whether a record is of
    this runtime; of several dialects the first that claims a record reads it. ``passes_by`` says
    whether a span of its gives no item itself, as most do when nobody asks. The readers give
    the items of one record, none or several, in the order in which they happened; they raise
    ``TooLongError`` for a record that must be rejected.
    """

    @property
    def name(self) -> str: ...
    @property
    def attributes(self) -> frozenset[str]: ...

    def claims(self, record: SpanRecord | LogRecord) -> bool: ...
    def passes_by(self, record: SpanRecord, asked: Asked) -> bool: ...
    def span(self, record: SpanRecord, about: About, asked: Asked) -> tuple[Item, ...]: ...
    def event(
        self, record: SpanRecord, index: int, about: About, asked: Asked
    ) -> tuple[Item, ...]: ...
    def log(self, record: LogRecord, about: About, asked: Asked) -> tuple[Item, ...]: ...
