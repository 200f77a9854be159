"""One document of a spec file: from its node to a compiled spec, every mistake noted."""

from __future__ import annotations

import re
from typing import Final, cast

from spanward import expect
from spanward.errors import Place, Problems
from spanward.node import Mapping, Node, Scalar
from spanward.operators import OPERATORS
from spanward.operators.operator import Operator
from spanward.specs import fields
from spanward.specs.assertion import compile_assertion
from spanward.specs.cases import check_cases
from spanward.specs.spec import (
    DEFAULT_SEVERITY,
    DEFAULT_UNIT,
    SEVERITIES,
    UNITS,
    Severity,
    Spec,
    Unit,
    digest,
)

KEYS: Final = (
    "name",
    "assert",
    "description",
    "severity",
    "unit",
    "turns",
    "runbook_url",
    "labels",
    "tests",
)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")


def name_of(document: Node) -> Scalar | None:
    """The text under ``name`` as it stands, well-formed or not; None without one."""
    node = document.get("name") if isinstance(document, Mapping) else None
    return node if isinstance(node, Scalar) and isinstance(node.value, str) else None


def compile_document(document: Node, problems: Problems) -> Spec | None:
    """The spec of a document; None when it holds a mistake."""
    if not isinstance(document, Mapping) or not document.entries:
        message = f"a spec must be a mapping, not {expect.kind_of(document)}"
        problems.error(document.place, message, "begin it with name: and assert:")
        return None
    before = problems.mistakes
    misplaced = _check_keys(document, problems)
    name, place = _name(document, problems)
    severity = fields.choice(document, "severity", SEVERITIES, DEFAULT_SEVERITY, problems)
    unit = fields.choice(document, "unit", UNITS, DEFAULT_UNIT, problems)
    description = fields.text(document, "description", problems)
    runbook_url = fields.url(document, "runbook_url", problems)
    turns = fields.turns(document, unit, problems)
    labels = fields.labels(document, problems)
    operator = None if misplaced else _operator(document, problems)
    check_cases(document, problems)
    if operator is None or problems.mistakes > before:
        return None
    return Spec(
        name=name,
        description=description,
        severity=cast("Severity", severity),
        unit=cast("Unit", unit),
        turns=turns,
        runbook_url=runbook_url,
        labels=labels,
        sha256=digest(document),
        operator_name=operator.traits.name,
        operator=operator,
        place=place,
    )


def _check_keys(document: Mapping, problems: Problems) -> bool:
    """Note each key that no spec has; whether an operator stands where ``assert`` should."""
    operators = [e for e in document.entries if e.key in OPERATORS]
    for entry in operators:
        hint = f"write assert: {{{entry.key}: ...}}"
        problems.error(entry.place, f"the operator {entry.key!r} stands under assert", hint)
    rest = tuple(e for e in document.entries if e.key not in OPERATORS)
    expect.known_keys(Mapping(rest, document.place), KEYS, "a spec", problems)
    return bool(operators) and document.get("assert") is None


def _name(document: Mapping, problems: Problems) -> tuple[str, Place]:
    node = expect.required(document, "name", "a spec", document.place, problems)
    name = None if node is None else expect.text(node, "name", problems)
    if node is None or name is None:
        return "", document.place
    if not _NAME.fullmatch(name):
        fitting = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
        message = f"the name {name!r} must match {_NAME.pattern}"
        problems.error(node.place, message, f"for example {fitting!r}" if fitting else "")
    return name, node.place


def _operator(document: Mapping, problems: Problems) -> Operator | None:
    entry = document.entry("assert")
    if entry is None:
        expect.required(document, "assert", "a spec", document.place, problems)
        return None
    return compile_assertion(entry, document.get("unit"), problems)
