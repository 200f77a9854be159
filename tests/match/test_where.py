"""``where``: every test of a field, on values of every kind."""

from __future__ import annotations

from typing import Any

import pytest

from spanward.item import CUT

from .compiled import call, event, item, matcher, span, warned

NAN = float("nan")
FIELD = "app.x"

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    2,
    2.5,
    NAN,
    2**53,
    2**53 + 1,
    "",
    "a",
    "1",
    "abc",
    [],
    [1],
    [1.0, "a"],
    [True],
    [None],
    {"k": 1},
]
"""Values of an attribute; None is a missing one."""


def _holding(test: str) -> list[Any]:
    compiled = matcher(f"{{where: {{{FIELD}: {test}}}}}")
    answers = [
        compiled.answer(call(attributes={} if value is None else {FIELD: value}))
        for value in VALUES
    ]
    assert all(answer is not None for answer in answers)
    return [value for value, answer in zip(VALUES, answers, strict=True) if answer]


PRESENT = VALUES[1:]
MORE_THAN_ONE = [2, 2.5, 2**53, 2**53 + 1]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("1", [1, 1.0]),
        ("1.0", [1, 1.0]),
        ("true", [True]),
        ("'1'", ["1"]),
        ("9007199254740993", [2**53 + 1]),
        ("9007199254740992.0", [2**53]),
        (".nan", []),
        ("null", [None]),
        ("[]", [[]]),
        ("[1, a]", [[1.0, "a"]]),
        ("[true]", [[True]]),
        ("{not: null}", PRESENT),
        ("{not: a}", [value for value in PRESENT if value != "a"]),
        ("{not: {not: a}}", ["a"]),
        ("{not: {not: null}}", []),
        ("{not: {in: [null, a]}}", [value for value in PRESENT if value != "a"]),
        ("{not: {gt: 1}}", [value for value in PRESENT if value not in MORE_THAN_ONE]),
        ("{in: [1, abc]}", [1, 1.0, "abc"]),
        ("{in: [null, false]}", [None, False]),
        ("{in: [[1], {k: 1}]}", [[1], {"k": 1}]),
        ("{gt: 1}", MORE_THAN_ONE),
        ("{gte: 2.5}", [2.5, 2**53, 2**53 + 1]),
        ("{gt: 9007199254740992.0}", [2**53 + 1]),
        ("{lt: 1}", [0]),
        ("{lte: 1}", [0, 1, 1.0]),
        ("{gt: .nan}", []),
        ("{lt: '1'}", [""]),
        ("{gt: a}", ["abc"]),
        ("{gte: a, lt: abc}", ["a"]),
        ("{gt: 1, lt: x}", []),
        ("{regex: '^a'}", ["a", "abc"]),
        ("{regex: c}", ["abc"]),
        ("{glob: 'a*'}", ["a", "abc"]),
        ("{glob: b}", []),
        ("{contains: b}", ["abc"]),
        ("{contains: a}", ["a", "abc", [1.0, "a"]]),
        ("{contains: 1}", [[1], [1.0, "a"]]),
        ("{contains: true}", [[True]]),
        ("{contains: []}", []),
        ("{not: {contains: a}, regex: '.'}", ["1"]),
    ],
)
def test_a_test_holds_for_these_values_and_no_others(test: str, expected: list[Any]) -> None:
    """Equality by value and type, comparisons within a type, a missing value only for null."""
    assert list(map(repr, _holding(test))) == list(map(repr, expected))


def test_numbers_beyond_every_float_are_compared_exactly() -> None:
    """Without overflow."""
    compiled = matcher(f"{{where: {{{FIELD}: 1{'0' * 399}}}}}")
    answers = [
        compiled.answer(call(attributes={FIELD: value}))
        for value in (10**399, 10**399 + 1, float("inf"), "1")
    ]
    assert answers == [True, False, False, False]


def test_what_was_cut_is_unknown_for_every_test() -> None:
    """Something was there, and it is not known what."""
    for test in ("1", "{not: 1}", "{contains: a}", "{in: [1]}"):
        compiled = matcher(f"{{where: {{{FIELD}: {test}}}}}")
        assert compiled.answer(call(attributes={FIELD: CUT})) is None


def test_a_missing_column_is_unknown_where_it_is_withheld() -> None:
    """And only there; what is known to be there is not withheld."""
    compiled = matcher("{where: {path: {not: a}}}")
    assert compiled.answer(call(withheld=["path"])) is None
    assert compiled.answer(call(withheld=["output"])) is False
    assert compiled.answer(call(path="b", withheld=["path"])) is True
    assert matcher("{where: {path: null}}").answer(call(withheld=["path"])) is None


def test_a_turn_known_by_key_has_no_number_to_ask_for() -> None:
    """It is withheld; where there is no turn at all, it is missing."""
    compiled = matcher("{where: {turn: {gte: 2}}}")
    assert compiled.answer(call(turn_key="k")) is None
    assert compiled.answer(call(turn_key="k", turn=2)) is True
    assert compiled.answer(call()) is False


def test_an_attribute_is_the_items_own_else_the_nearest_outer_one() -> None:
    """And what one of several fields says can be overruled by none."""
    compiled = matcher("{where: {app.x: 1, app.y: 2}}")
    outer: tuple[dict[str, Any], ...] = ({"app.y": 2}, {"app.x": 1, "app.y": 3})
    assert compiled.answer(event("e", outer=outer)) is True
    assert compiled.answer(event("e", attributes={"app.x": 5}, outer=outer)) is False
    assert compiled.answer(event("e")) is False


def test_every_column_can_be_asked_for() -> None:
    """By its short name, on items of every kind."""
    fields: dict[str, Any] = {
        "name": "x",
        "tool_kind": "k",
        "path": "p",
        "op": "o",
        "input": "i",
        "output": "u",
        "status": "s",
        "mcp_server": "v",
        "mcp_tool": "t",
        "skill": "l",
        "trusted": True,
        "total": 3,
        "complete": False,
        "call_id": "c",
        "seq": 7,
        "turn": 0,
    }
    for column, value in fields.items():
        written = value if isinstance(value, str) else str(value).lower()
        compiled = matcher(f"{{where: {{{column}: {written}}}}}")
        assert compiled.answer(span(**{column: value})) is True, column
        assert compiled.answer(span()) is False, column


def test_a_dotless_name_that_is_no_column_is_an_attribute() -> None:
    """It is warned of, and read as it stands."""
    compiled = warned("{where: {attempts: 2}}")
    assert compiled.attributes == {"attempts"}
    assert compiled.answer(call(attributes={"attempts": 2})) is True


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (item("event", attributes={FIELD: "x" * 90}), "'" + "x" * 79),
        (item("event"), "nothing"),
        (item("event", attributes={FIELD: CUT}), "not reported by this runtime"),
    ],
)
def test_why_a_field_does_not_hold(asked: Any, expected: str) -> None:
    """The field, and what the item has there."""
    assert matcher(f"{{where: {{{FIELD}: 1}}}}").why(asked) == (f"where.{FIELD}", expected)
