"""``args``: literal, fuzzy and regex matchers of arguments, and the reasons."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanward.item import CUT
from spanward.match.equality import equal
from spanward.match.fuzzy import Fuzzy, normalize, number

from .compiled import call, matcher, warned


def _answers(argument: str, *values: Any) -> list[bool | None]:
    compiled = warned(f"{{tool: {{args: {{a: {argument}}}}}}}")
    return [compiled.answer(call(args={"a": value})) for value in values]


@pytest.mark.parametrize(
    ("literal", "same", "others"),
    [
        ("206588", [206588, 206588.0], [206000, "206588", True, None, [206588]]),
        ("206588.0", [206588], ["206588.0"]),
        ("9007199254740993", [2**53 + 1], [2**53, float(2**53)]),
        ("9007199254740992", [2**53, float(2**53)], [2**53 + 1]),
        ("1" + "0" * 399, [10**399], [10**399 + 1, float("inf"), 1e308]),
        ("true", [True], [1, 1.0, "true", False]),
        ("1", [1, 1.0], [True]),
        ("0", [0, -0.0], [False, None, ""]),
        ("null", [None], [0, False, "", "null", "None"]),
        (".nan", [], [float("nan"), None, "nan"]),
        ("yes", ["yes"], ["Yes", " yes", True]),
        ("[1, 2]", [[1, 2], [1.0, 2.0]], [[2, 1], [1], [1, 2, 3], (1, 2), {"1": 2}]),
        ("[true]", [[True]], [[1]]),
        ("[[0, [true]]]", [[[0.0, [True]]]], [[[False, [True]]], [[0, [1]]]]),
        ("{m: {n: 1}}", [{"m": {"n": 1.0}}], [{"m": {"n": True}}, {"m": {}}, {"m": 1}, [1]]),
        ("{}", [{}], [[], None, {"a": 1}]),
        ("{literal: {fuzzy: x}}", [{"fuzzy": "x"}], ["x", {"literal": {"fuzzy": "x"}}]),
        ("{literal: 1}", [1.0], ["1"]),
        ("{fuzy: x}", [{"fuzy": "x"}], ["x"]),
    ],
)
def test_a_literal_is_compared_exactly(literal: str, same: list[Any], others: list[Any]) -> None:
    """Numbers by value, booleans only with booleans, at every depth."""
    assert _answers(literal, *same) == [True] * len(same)
    assert _answers(literal, *others) == [False] * len(others)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(_VALUES, _VALUES)
def test_equality_is_symmetric_and_every_value_equals_itself(one: Any, other: Any) -> None:
    """And it tells true from 1 where Python does not."""
    assert equal(one, one)
    assert equal(one, other) == equal(other, one)
    assert not equal(one, other) or one == other


@pytest.mark.parametrize(
    ("pattern", "same", "others"),
    [
        (
            "206588",
            [
                206588,
                206588.0,
                "206,588",
                "206 588",
                "206_588",
                " 206588 ",
                "206\u202f588",
                "206\xa0588",
                "206\u2009588",
                "2.06588e5",
                "+206588",
                "206588.",
                "20658800%",
            ],
            [206000, "206588x", "2 06588", "20 65 88", "206 588 0", "-206588", "٢٠٦٥٨٨"],
        ),
        ("14.14%", [0.1414, "0.1414", "14.14 %", "14.14%", ".1414"], [14.14, "14.14", "14.14 % %"]),
        (".5", [0.5, "0.5", "5e-1", "50%", "+.5"], ["5", ".", "0.5.0"]),
        ("555 0100", ["555 0100", "555  0100"], ["5550100", 5550100]),
        ("20 65 88", [" 20 65\t88"], ["206588", 206588]),
        ("1 234 567.25", [1234567.25, "1,234,567.25", "1234567.25"], ["1 234 567 .25"]),
        ("YES", ["yes", " yes ", "Y,e_S"], [True, "no"]),
        ("none", [None], ["", 0]),
        ("True", [True, "TRUE"], [1, "1"]),
        ("[1, 2]", [[1, 2], "[1 2]"], [[1.0, 2.0]]),
        ("inf", [float("inf"), "INF"], ["1e999", "infinity"]),
        ("nan", [float("nan"), "NaN"], [0]),
        ("9007199254740993", [2**53 + 1, "9,007,199,254,740,993"], [2**53, float(2**53)]),
        ("0.1", [0.1, 0.1 + 1e-9, "0.100000001"], [0.1 + 2e-9, "0.1000000011"]),
        ("1e-7", [1e-7, "0.0000001"], [1e-8, 3e-9 + 1e-7]),
        ("1e400", ["1e400", "10e399"], ["1e401", "1e1000000"]),
        ("1e10000000", ["1E10000000"], ["1e10000001", float("inf"), 10**300]),
        ("-1e-401", ["-1E-401"], [0, "-1e-402", "0"]),
        ("1" * 400, ["1" * 400, "+" + "1" * 400], ["1" * 399 + "2"]),
        ("1" * 401, ["1" * 401], ["1" * 400 + "1.", "01" * 200 + "1"]),
        ("1e2e3", ["1E2E3"], [100, "100"]),
    ],
)
def test_a_fuzzy_text_matches_the_same_number_or_the_same_text(
    pattern: str, same: list[Any], others: list[Any]
) -> None:
    """Separators, white space, case and percent aside; too large a number is text."""
    fuzzy = Fuzzy.of(pattern)
    assert [value for value in same if not fuzzy(value)] == []
    assert [value for value in others if fuzzy(value)] == []


@given(st.integers(-(10**18), 10**18), st.integers(-5, 5))
def test_large_integers_do_not_blur(value: int, away: int) -> None:
    """Only the number itself matches, however it is separated."""
    fuzzy = Fuzzy.of(str(value))
    assert fuzzy(value + away) == (away == 0)
    assert fuzzy(f"{value + away:,}") == (away == 0)
    assert fuzzy(f"{value + away:,}".replace(",", " ")) == (away == 0)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30))
def test_a_number_and_its_text_are_the_same(value: float) -> None:
    """What is read as a number at once is what its text would be read as."""
    assert Fuzzy.of(str(value))(value)
    assert Fuzzy.of(str(value))(str(value))
    assert Fuzzy.of("0.25")(value) == Fuzzy.of("0.25")(str(value))


@given(st.text())
def test_any_text_is_a_pattern_that_matches_itself(text: str) -> None:
    """Nothing that is sent can make the arithmetic fail."""
    assert Fuzzy.of(text)(text)
    assert Fuzzy.of(text.upper())(text.upper())


def test_what_is_a_number_and_what_is_not() -> None:
    """ASCII, with a grammar of its own."""
    yes = ["1", "-1", "+.5", "5.", "1e5", "1e+05", "1 000", "1 000 000.5e-3%", "7 %"]
    assert [text for text in yes if number(text) is None] == []
    no = ["", "-", ".", "e5", "1e", "1e5.5", "1 00", "1 0000", "0x10", "1/2", "½", "%", "7  %"]
    assert [text for text in no if number(text) is not None] == []
    assert normalize("\u00a0A,_\u202f b\u2009\t C ") == "a b c"


@pytest.mark.parametrize(
    ("regex", "same", "others"),
    [
        ("'^2009.*$'", ["2009 cash flow"], ["report 2009", "2009\nflow"]),
        ("'[0-9]+'", ["12", 12, 2**70], ["12 ", 1.5, "", None]),
        ("None", [None, "None"], ["null", ""]),
        ("True|1", [True, 1, "1"], [1.0, "true"]),
        ("'.*'", ["", "x"], []),
        (r"'\[1, ''a''\]'", [[1, "a"]], [[1]]),
    ],
)
def test_a_regex_matches_the_whole_text_of_a_value(
    regex: str, same: list[Any], others: list[Any]
) -> None:
    """As Python writes it: ``None`` for null, ``True`` for true."""
    assert _answers(f"{{regex: {regex}}}", *same) == [True] * len(same)
    assert _answers(f"{{regex: {regex}}}", *others) == [False] * len(others)


BOTH = "{tool: {args: {k: 1, m: {fuzzy: '206588'}, n: {regex: 'a+'}}}}"


@pytest.mark.parametrize(
    ("args", "answer", "reason"),
    [
        ({"k": 1, "m": "206,588", "n": "aa", "other": 2}, True, None),
        ({"m": 1, "n": 1}, False, "arg 'k' missing"),
        ({"k": 2, "n": "a"}, False, "arg 'k' mismatch: expected 1, got 2"),
        ({"k": 1.0, "n": "a"}, False, "arg 'm' missing"),
        (
            {"k": 1, "m": "x" * 90, "n": "b"},
            False,
            "arg 'm' mismatch: expected fuzzy('206588'), got '" + "x" * 79,
        ),
        (
            {"k": 1, "m": 206588, "n": None},
            False,
            "arg 'n' mismatch: expected regex('a+'), got None",
        ),
        ({"k": CUT, "m": 206588, "n": "a"}, None, "arg 'k' not captured"),
        ({"k": 1, "m": CUT, "n": CUT}, None, "arg 'm' not captured"),
        ({"k": CUT, "m": 0, "n": "a"}, False, "arg 'k' not captured"),
        (None, False, "arg 'k' missing"),
    ],
)
def test_every_argument_must_be_there_and_match(
    args: dict[str, Any] | None, answer: bool | None, reason: str | None
) -> None:
    """The reason is that of the first key, in the order of the spec, that does not hold."""
    compiled = matcher(BOTH)
    asked = call(args=args)
    assert compiled.answer(asked) is answer
    assert compiled.why(asked) == (None if reason is None else ("tool.args", reason))


def test_arguments_that_were_withheld_are_unknown() -> None:
    """Of a tool call; of anything else the answer is still no."""
    compiled = matcher(BOTH)
    asked = call(withheld=["args"])
    assert compiled.answer(asked) is None
    assert compiled.why(asked) == ("tool.args", "arg 'k' not captured")
    assert compiled.asks_args
    assert not matcher("{tool: {}}").asks_args


def test_words_for_arguments_that_match() -> None:
    """Who asks what was found although nothing failed is told so."""
    compiled = matcher("{tool: {args: {k: 1}}}")
    (test,) = compiled.dear
    assert test.found(call(args={"k": 1})) == "all arguments match"
