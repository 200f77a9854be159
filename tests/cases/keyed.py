"""A dialect for tests: native records that also say what only other runtimes leave unsaid.

It reads turn keys and withheld columns from attributes of its own; all else is ``hangar``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from spanward.dialects.hangar import Hangar
from spanward.item import Attributes, Item
from spanward.otlp.record import LogRecord, SpanRecord

if TYPE_CHECKING:
    from spanward.asked import Asked
    from spanward.dialects.dialect import About

MARK: Final = "test.keyed"
TURN_KEY: Final = "test.turn_key"
WITHHELD: Final = "test.withheld"


class Keyed:
    """Claims what carries its mark; of a log record, what carries its attributes."""

    name = "keyed"
    attributes = Hangar.attributes | {MARK, TURN_KEY, WITHHELD}

    def __init__(self) -> None:
        self._native = Hangar()

    def claims(self, record: SpanRecord | LogRecord) -> bool:
        return not {MARK, TURN_KEY, WITHHELD}.isdisjoint(record.attributes)

    def passes_by(self, record: SpanRecord, asked: Asked) -> bool:
        return False

    def span(self, record: SpanRecord, about: About, asked: Asked) -> tuple[Item, ...]:
        return (_added(self._native.item(record, about, asked), record.attributes),)

    def event(self, record: SpanRecord, index: int, about: About, asked: Asked) -> tuple[Item, ...]:
        items = self._native.event(record, index, about, asked)
        lent = {TURN_KEY: record.attributes.get(TURN_KEY)}
        own = record.events[index].attributes
        return tuple(_added(item, lent | own) for item in items)

    def log(self, record: LogRecord, about: About, asked: Asked) -> tuple[Item, ...]:
        items = self._native.log(record, about, asked)
        return tuple(_added(item, record.attributes) for item in items)


def _added(item: Item, attributes: Attributes) -> Item:
    return structs.replace(
        item,
        turn_key=attributes.get(TURN_KEY),
        withheld=frozenset(attributes.get(WITHHELD, ())),
    )
