"""The limits and clocks of an engine: how long it waits, and how much it keeps and tells."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds and counts; the defaults are those of the service (interface: ``sessions``).

    ``max_open_per_sender`` None: a sender may have all. ``amend_window`` None keeps every item
    whole for ever: what ``check`` does. ``redact_values`` keeps the values of arguments out of
    facts and reasons.
    """

    settle: float = 10.0
    idle_timeout: float = 1800.0
    retain: float = 7 * 86400.0
    amend_window: float | None = 60.0
    max_open: int = 100_000
    max_open_per_sender: int | None = None
    max_facts: int = 100_000
    redact_values: bool = False
