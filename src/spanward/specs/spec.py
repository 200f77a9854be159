"""A compiled spec: what is judged, over which units, and how it is announced."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from spanward import node
from spanward.errors import Place
from spanward.operators.operator import Operator

Severity = Literal["critical", "warning", "info"]
Unit = Literal["session", "turn", "job"]

SEVERITIES: Final = ("critical", "warning", "info")
UNITS: Final = ("session", "turn", "job")
DEFAULT_SEVERITY: Final = "warning"
DEFAULT_UNIT: Final = "session"


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """One spec, compiled and immutable.

    ``description`` and ``runbook_url`` are empty when not given. ``turns`` are the only turn
    numbers that are judged (with unit ``turn``), rising; None for all units. ``sha256`` is the hex
    digest of the document's value without its test cases: it stays when only comments, layout,
    the order of keys or tests change. ``place`` is where the name stands. (Semantics, sections 5,
    6 and 9.)
    """

    name: str
    description: str
    severity: Severity
    unit: Unit
    turns: tuple[int, ...] | None
    runbook_url: str
    labels: dict[str, str]
    sha256: str
    operator_name: str
    operator: Operator
    place: Place


def bundle_digest(specs: Iterable[Spec]) -> str:
    """The hex digest of a set of specs, whatever files they stand in and in which order."""
    each = "\n".join(sorted(spec.sha256 for spec in specs))
    return hashlib.sha256(each.encode()).hexdigest()


def digest(document: node.Mapping) -> str:
    """The ``sha256`` of a document: that of its canonical JSON (sorted keys, ASCII, no blanks)."""
    value = node.value_of(document)
    value.pop("tests", None)
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
