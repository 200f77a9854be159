"""Dispatch: the same answers as asking every matcher, in a memory that has an end."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from spanward.item import CUT, Item
from spanward.match.dispatch import Answers, Dispatch
from spanward.match.matcher import Matcher
from spanward.match.paths import Paths, has_bad, has_good, has_path

from .compiled import call, event, item, matcher, warned

_PATHS = Paths(("file.change", "diff.files"), ("a*",), lambda path: path.startswith("a"))
MATCHERS = [
    *map(
        matcher,
        [
            "{tool: {}}",
            "{approval: {}}",
            "{event: a}",
            "{event: file.change}",
            "{tool: {kind: [a, b]}}",
            "{tool: {ops: b}, input: a}",
            "{tool: {name: a, args: {k: 1}}}",
            "{tool: {mcp: {server: a}, skill: b}}",
            "{span: 'a*', where: {app.x: 1}}",
            "{path: 'a*', output: b}",
            "{input: a, where: {status: b, turn: {gte: 1}}}",
            "{where: {name: a, app.x: {not: 1}}}",
            "{where: {tool_kind: {in: [a, null]}}}",
            "{approval: {status: a, ops: [a, b]}}",
        ],
    ),
    has_path(_PATHS),
    has_good(_PATHS),
    has_bad(_PATHS),
]
_TEXT = st.sampled_from([None, "a", "b", "ab"])
_ITEMS = st.builds(
    item,
    kind=st.sampled_from(["tool.call", "approval", "event", "span"]),
    name=st.sampled_from([None, "a", "file.change"]),
    span_name=_TEXT,
    tool_kind=_TEXT,
    path=_TEXT,
    input=_TEXT,
    output=_TEXT,
    status=_TEXT,
    mcp_server=_TEXT,
    skill=_TEXT,
    turn=st.sampled_from([None, 0, 1]),
    turn_key=st.sampled_from([None, "k"]),
    ops=st.sampled_from([None, (), ("a",), ("b", "c")]),
    args=st.sampled_from([None, {}, {"k": 1}, {"k": CUT}, {"k": True}]),
    diff_files=st.sampled_from([None, (), ("a",), ("b", None)]),
    attributes=st.sampled_from([{}, {"app.x": 1}, {"app.x": True}, {"app.x": CUT}]),
    withheld=st.sets(
        st.sampled_from(["args", "input", "path", "tool_kind", "ops", "status", "diff_files"])
    ),
)


def _one_by_one(matchers: Sequence[Matcher], asked: Item) -> tuple[set[int], set[int]]:
    answers = [each.answer(asked) for each in matchers]
    true = {index for index, answer in enumerate(answers) if answer}
    return true, {index for index, answer in enumerate(answers) if answer is None}


@settings(max_examples=300)
@given(st.lists(_ITEMS, min_size=1, max_size=12))
def test_the_answers_are_those_of_asking_every_matcher(items: list[Item]) -> None:
    """Whatever was asked before, and whatever is remembered of it."""
    dispatch = Dispatch(dict(enumerate(MATCHERS)))
    for asked in [*items, *items]:
        answers = dispatch.answers(asked)
        assert len(set(answers.true + answers.unknown)) == len(answers.true + answers.unknown)
        assert (set(answers.true), set(answers.unknown)) == _one_by_one(MATCHERS, asked)


def test_an_item_that_concerns_nobody_has_no_answers() -> None:
    """Such an item can be left at once."""
    dispatch = Dispatch(dict(enumerate([matcher("{event: a}"), matcher("{tool: {}, input: a}")])))
    assert not dispatch.answers(event("b"))
    assert not dispatch.answers(call(input="b"))
    assert dispatch.answers(event("a")) == Answers((0,), ())
    assert dispatch.answers(call(withheld=["input"])) == Answers((), (1,))


def test_what_is_remembered_has_an_end() -> None:
    """Names and operations are the sender's to choose: neither many nor long ones fill memory."""
    dispatch = Dispatch(dict(enumerate([matcher("{tool: {}}")])))
    for number in range(10_000):
        assert dispatch.answers(call(name=f"tool {number}"))
    assert len(dispatch._known) <= 4096
    before = len(dispatch._known)
    for long in (
        call(name="x" * 2000),
        call(ops=tuple(f"op {number}" for number in range(500))),
        call(diff_files=("p" * 2000, None)),
        call(withheld=["w" * 2000]),
    ):
        assert dispatch.answers(long) == Answers((0,), ())
    assert len(dispatch._known) == before


def test_an_attribute_may_be_named_as_a_field_of_items() -> None:
    """What is remembered of that field says nothing of the attribute."""
    for name in ("span_name", "diff_files", "withheld"):
        dispatch = Dispatch(dict(enumerate([warned(f"{{where: {{{name}: x}}}}")])))
        assert not dispatch.answers(call(attributes={name: "y"}))
        assert dispatch.answers(call(attributes={name: "x"})), name
