"""What is raised for input that is not taken at all; its words say why."""

from __future__ import annotations


class Malformed(ValueError):
    """Bytes that are not the message they should be."""


class Unreadable(Malformed):
    """A text that is not OTLP JSON."""


class TooMuch(ValueError):
    """A message that holds more than one request may."""
