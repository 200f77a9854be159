"""``tests``: the shape of the test cases that stand beside a spec. They are not run here.

A list of mappings: ``name`` (a text), ``items`` (required, a list of mappings, one an item) and
``expect`` (required): a result; or what is said of one unit, a mapping of ``result`` (required),
``session``, ``job`` (texts) and ``turn`` (an integer >= 0); or a list of such mappings.
"""

from __future__ import annotations

from typing import Final

from spanward import expect
from spanward.errors import Problems, did_you_mean
from spanward.node import Entry, Mapping, Node, Scalar, Sequence
from spanward.verdict import Result

_CASE: Final = ("name", "items", "expect")
_EXPECTED: Final = ("result", "session", "turn", "job")


def check_cases(document: Mapping, problems: Problems) -> None:
    """Note every mistake in a spec's ``tests``, if it has any."""
    node = document.get("tests")
    if node is None:
        return
    if not isinstance(node, Sequence):
        problems.error(node.place, f"tests must be a list of cases, not {expect.kind_of(node)}")
        return
    for item in node.items:
        _check_case(item, problems)


def _check_case(node: Node, problems: Problems) -> None:
    case = expect.mapping(node, "a test case", problems)
    if case is None:
        return
    expect.known_keys(case, _CASE, "a test case", problems)
    expect.required(case, "items", "a test case", case.place, problems)
    expect.required(case, "expect", "a test case", case.place, problems)
    for entry in case.entries:
        match entry.key:
            case "name":
                expect.text(entry.value, "name", problems)
            case "items":
                _check_items(entry, problems)
            case "expect":
                _check_expected(entry.value, problems)


def _check_items(entry: Entry, problems: Problems) -> None:
    if not isinstance(entry.value, Sequence):
        found = expect.kind_of(entry.value)
        problems.error(entry.value.place, f"items must be a list of mappings, not {found}")
        return
    for item in entry.value.items:
        expect.mapping(item, "an item", problems)


def _check_expected(node: Node, problems: Problems) -> None:
    if isinstance(node, Scalar):
        _check_result(node, "expect", problems)
        return
    if isinstance(node, Mapping):
        _check_unit(node, problems)
        return
    if not node.items:
        problems.error(node.place, "expect is an empty list", f"write {_results()}")
    for item in node.items:
        _check_unit(item, problems)


def _check_unit(node: Node, problems: Problems) -> None:
    expected = expect.mapping(node, "what is expected of a unit", problems)
    if expected is None:
        return
    expect.known_keys(expected, _EXPECTED, "expect", problems)
    expect.required(expected, "result", "expect", expected.place, problems)
    for entry in expected.entries:
        match entry.key:
            case "result":
                _check_result(entry.value, "result", problems)
            case "turn":
                expect.integer(entry.value, "turn", 0, problems)
            case "session" | "job":
                expect.text(entry.value, entry.key, problems)


def _check_result(node: Node, what: str, problems: Problems) -> None:
    word = expect.text(node, what, problems)
    if word is not None and word not in list(Result):
        hint = did_you_mean(word, Result) or f"write {_results()}"
        problems.error(node.place, f"{word!r} is no result", hint)


def _results() -> str:
    *others, last = Result
    return f"{', '.join(others)} or {last}"
