"""OTLP, on the wire and as JSON lines, turned into records; nothing else knows protobuf."""

from __future__ import annotations

from spanward.otlp.malformed import Malformed, TooMuch, Unreadable

__all__ = ["Malformed", "TooMuch", "Unreadable"]
