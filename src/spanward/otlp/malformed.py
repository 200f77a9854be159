"""What is raised for input that cannot be read at all."""

from __future__ import annotations


class Malformed(ValueError):
    """Bytes that are not the message they should be."""


class Unreadable(ValueError):
    """A line that is not one of OTLP JSON; its words say why."""
