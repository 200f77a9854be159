"""What the specs ask of items, so that nobody reads more than that."""

from __future__ import annotations

import msgspec

from spanward.item import Attributes


class Asked(msgspec.Struct, frozen=True):
    """``attributes`` are the names that ``where`` tests.

    ``args`` and ``spans`` tell whether arguments, and items of kind ``span``, are looked at by
    anyone.
    """

    attributes: frozenset[str]
    args: bool
    spans: bool

    def of(self, attributes: Attributes) -> Attributes:
        """The attributes that are asked for."""
        return {name: attributes[name] for name in self.attributes if name in attributes}
