"""Entrance: what a door is told of where it stands and whom it lets in."""

from __future__ import annotations

import msgspec

from spanward.receive.senders import Gate
from spanward.receive.tls import Certificates


class Entrance(msgspec.Struct, frozen=True):
    """An address (port 0: any), the largest message, and who may come.

    Without ``certificates`` there is no TLS. ``max_connection_age`` is in seconds, None: no limit.
    """

    host: str
    port: int
    max_message_mib: int = 64
    gate: Gate = Gate(None)
    certificates: Certificates | None = None
    max_connection_age: float | None = None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
