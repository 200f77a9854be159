"""Answers, the reasons behind them, and the memory of what is known of a signature."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanward.errors import Place, Problems, render_all
from spanward.item import CUT, EVENT, KINDS, SPAN, TOOL_CALL, Item
from spanward.match.dispatch import Dispatch
from spanward.match.fuzzy import Fuzzy, normalize, number
from spanward.match.matcher import Matcher, compile_matcher
from spanward.node import Mapping
from spanward.operators.all import compile_all
from spanward.specs.source import Source
from spanward.specs.yaml import read

PLACE = Place("a.yaml", 1, 1)


def matcher(text: str) -> Matcher:
    """A matcher from YAML; a mistake fails the test."""
    problems = Problems()
    (node,) = read(Source("a.yaml", text), problems)
    made = compile_matcher(node, problems)
    assert made is not None, render_all(problems.found)
    return made


def item(kind: str = TOOL_CALL, **fields: Any) -> Item:
    """An item with some columns."""
    return Item(kind=kind, trace_id=b"t", span_id=b"s", start_ns=1, end_ns=2, **fields)


@pytest.mark.parametrize(
    ("text", "given", "why"),
    [
        ("{tool: {name: ls}}", item(name="rm"), ("tool.name", "'rm'")),
        ("{tool: {name: rm}}", item(name="rm"), None),
        ("{tool: {}}", item(EVENT), ("tool", "a event item")),
        ("{input: a}", item(SPAN, input="a"), ("input", "a plain span")),
        ("{tool: {ops: test}}", item(), ("tool.ops", "nothing")),
        (
            "{tool: {ops: test}}",
            item(withheld=frozenset({"ops"})),
            ("tool.ops", "not reported by this runtime"),
        ),
        (
            "{output: x}",
            item(withheld=frozenset({"output"}), setting="set it"),
            ("output", "not captured (set it)"),
        ),
        ("{output: x}", item(withheld=frozenset({"output"})), ("output", "not captured")),
        ("{where: {seq: 3}}", item(seq=4), ("where.seq", "4")),
        ("{where: {a.b: 3}}", item(attributes={"a.b": CUT}), ("where.a.b", "not reported by")),
        ("{where: {turn: 3}}", item(turn_key="k"), ("where.turn", "not reported by this runtime")),
        ("{where: {a.b: 3}}", item(), ("where.a.b", "nothing")),
        ("{tool: {args: {a: 1}}}", item(args={"a": 1}), None),
        ("{tool: {args: {a: 1}}}", item(args={"a": CUT}), ("tool.args", "arg 'a' not captured")),
        ("{tool: {args: {a: 1}}}", item(), ("tool.args", "arg 'a' missing")),
        (
            "{tool: {args: {b: 2, a: {regex: x}}}}",
            item(args={"b": 2, "a": "y" * 200}),
            ("tool.args", "arg 'a' mismatch: expected regex('x'), got '" + "y" * 79),
        ),
    ],
)
def test_why(text: str, given: Item, why: tuple[str, str] | None) -> None:
    """The first key that does not hold, and what was there instead; None for a match."""
    made = matcher(text)
    found = made.why(given)
    assert (found is None) == (why is None) == (made.answer(given) is True)
    if why is not None and found is not None:
        assert found[0] == why[0]
        assert found[1].startswith(why[1])


def test_arguments_that_all_match_say_so() -> None:
    """For whoever asks all the same."""
    made = matcher("{tool: {args: {a: 1}}}")
    assert made.dear[0].found(item(args={"a": 1})) == "all arguments match"


def test_a_cut_argument_is_unknown_unless_another_is_wrong() -> None:
    """Kleene's *and* over the keys."""
    made = matcher("{tool: {args: {a: 1, b: 2}}}")
    assert made.answer(item(args={"a": CUT, "b": 2})) is None
    assert made.answer(item(args={"a": CUT, "b": 3})) is False


@pytest.mark.parametrize(
    ("test", "value", "holds"),
    [
        ("1", 1.0, True),
        ("1", True, False),
        ("true", 1, False),
        (str(2**53), 2**53 + 1, False),
        ("1" + "0" * 399, 10**399, True),
        (".nan", math.nan, False),
        ("[1, [true]]", [1.0, [True]], True),
        ("{not: 1}", 2, True),
        ("{not: {in: [1, null]}}", 2, True),
        ("{gt: 1, lt: 3}", 2, True),
        ("{gt: 1}", True, False),
        ("{gte: b}", "b", True),
        ("{lte: b}", 3, False),
        ("{contains: a}", ["b", "a"], True),
        ("{contains: a}", "bab", True),
        ("{contains: 1}", "1", False),
        ("{contains: 1}", 1, False),
        ("{regex: b, glob: 'a*'}", "ab", True),
        ("{regex: b}", 5, False),
        ("{glob: a}", ["a"], False),
    ],
)
def test_where(test: str, value: Any, holds: bool) -> None:
    """Comparisons keep to their kind; equality is the literal matcher's."""
    made = matcher(f"{{where: {{a.b: {test}}}}}")
    assert made.answer(item(attributes={"a.b": value})) is holds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("206 588", "206588"),
        ("20 65 88", None),
        ("555 0100", None),
        ("14.14%", "0.1414"),
        ("14.14 %", "0.1414"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-1e3", "-1000"),
        ("1e400", "1e400"),
        ("1e401", None),
        ("1e10000000", None),
        ("inf", None),
        ("nan", None),
        ("", None),
        ("9" * 400, "9" * 400),
        ("9" * 401, None),
        ("٣", None),
    ],
)
def test_fuzzy_numbers(text: str, expected: str | None) -> None:
    """The grammar of numbers, and the bounds beyond which they stay text."""
    found = number(normalize(text))
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert Fuzzy.of(expected)(text)


@pytest.mark.parametrize("value", [math.inf, math.nan, "inf", 10**500, True, None, [1]])
def test_fuzzy_is_no_arithmetic_on_what_is_no_number(value: Any) -> None:
    """It compares text then, and never raises."""
    assert not Fuzzy.of("206588")(value)


def test_fuzzy_is_exact_where_floats_blur() -> None:
    """Integers beyond 2**53 differ by one."""
    assert not Fuzzy.of(str(2**53))(2**53 + 1)
    assert Fuzzy.of("206588")(206588.0000000001)


MATCHERS = tuple(
    map(
        matcher,
        [
            "{tool: {}}",
            "{tool: {kind: [shell, edit]}}",
            "{tool: {ops: [test]}, where: {status: error}}",
            "{approval: {status: allowed}}",
            "{event: steer}",
            "{span: 'tool.*'}",
            "{path: 'src/*'}",
            "{input: 'a+b', output: c}",
            "{tool: {args: {a: {fuzzy: '1'}}}}",
            "{where: {name: {glob: 's*'}, a.b: 1}}",
        ],
    )
)

ITEMS = st.builds(
    item,
    st.sampled_from(KINDS),
    name=st.sampled_from([None, "steer", "bash", "x" * 2000]),
    span_name=st.sampled_from([None, "tool.call"]),
    tool_kind=st.sampled_from([None, "shell"]),
    status=st.sampled_from([None, "error", "allowed"]),
    ops=st.sampled_from([None, (), ("test",), ("y" * 2000,)]),
    path=st.sampled_from([None, "src/a"]),
    input=st.sampled_from([None, "aab"]),
    output=st.sampled_from([None, "c"]),
    args=st.sampled_from([None, {"a": "1.0"}, {"a": CUT}]),
    attributes=st.sampled_from([{}, {"a.b": 1}]),
    withheld=st.sampled_from([frozenset(), frozenset({"ops", "args", "path", "name"})]),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(ITEMS, min_size=1, max_size=6))
def test_dispatch_answers_as_the_matchers_do(items: list[Item]) -> None:
    """What is remembered of a signature changes no answer."""
    dispatch = Dispatch(dict(enumerate(MATCHERS)))
    for each in [*items, *items]:
        answers = dispatch.answers(each)
        expected = [made.answer(each) for made in MATCHERS]
        assert sorted(answers.true) == [i for i, truth in enumerate(expected) if truth is True]
        assert sorted(answers.unknown) == [i for i, truth in enumerate(expected) if truth is None]


def test_the_memory_of_signatures_is_bounded() -> None:
    """Names are the sender's to choose: there is an end to how many, and how long."""
    dispatch = Dispatch(dict(enumerate(MATCHERS)))
    for count in range(5000):
        dispatch.answers(item(name=f"tool {count}"))
    assert len(dispatch._known) <= 4096
    before = len(dispatch._known)
    dispatch.answers(item(name="x" * 5000))
    dispatch.answers(item(diff_files=("a" * 900, "b" * 900)))
    assert len(dispatch._known) == before


def test_paths_that_were_cut_are_unknown() -> None:
    """A diff that could not be read may hold anything."""
    problems = Problems()
    text = "all: {paths: {from: [diff.files]}, match: 'src/*'}"
    (node,) = read(Source("a.yaml", text), problems)
    assert isinstance(node, Mapping)
    made = compile_all(PLACE, node.entries[0].value, node, problems)
    assert made is not None
    cut = item(SPAN, withheld=frozenset({"diff_files"}))
    assert [role.matcher.answer(cut) for role in made.roles] == [None, None]
    assert [role.matcher.answer(item()) for role in made.roles] == [False, False]
    assert made.roles[0].matcher.why(item()) == ("paths", "a tool.call item without paths")
    bad = item(diff_files=("docs/a", None, "src/a"))
    assert made.roles[1].matcher.dear[0].found(bad) == "bad, bad, good paths"
