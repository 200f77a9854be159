"""Problems are collected, sorted and shown so that a person finds the place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanward.errors import (
    Place,
    Problem,
    Problems,
    did_you_mean,
    distance,
    render,
    render_all,
    visible,
)


def _shown(text: str, column: int, width: int = 1) -> list[str]:
    return render(Problem(Place("f", 1, column, text, width), "m")).split("\n")[1:]


def test_problems_are_told_once_and_in_the_order_of_the_file() -> None:
    """Whatever the order of finding, problems come by place; the same one twice is one."""
    problems = Problems()
    problems.error(Place("b", 1, 1), "third")
    problems.warning(Place("a", 2, 9), "second", "h")
    problems.error(Place("a", 2, 3), "first")
    problems.error(Place("a", 2, 3), "first")
    assert render_all(problems.found) == (
        "a:2:3: error: first\na:2:9: warning: second\n    hint: h\nb:1:1: error: third"
    )
    assert [problem.message for problem in problems.errors] == ["first", "third"]
    assert [problem.message for problem in problems.warnings] == ["second"]
    assert problems.mistakes == 3


def test_nothing_is_shown_of_no_problems() -> None:
    """Without problems the text is empty."""
    assert render_all(Problems().found) == ""


def test_the_caret_marks_the_width_of_the_place() -> None:
    """A caret under the first character, a tilde under each further one."""
    assert _shown("key: value", 6, 5) == ["    key: value", "         ^~~~~"]


def test_a_place_past_the_end_of_the_line_is_shown_there() -> None:
    """A missing value stands after the last character."""
    assert _shown("key:", 5) == ["    key:", "        ^"]
    assert _shown("key:", 7) == ["    key:", "          ^"]


def test_tabs_stay_in_both_lines() -> None:
    """Whatever the terminal's tab stops, the caret lines up."""
    assert _shown("\ta:\tb", 5) == ["    \ta:\tb", "    \t  \t^"]


def test_wide_and_combining_characters_move_the_caret_by_what_they_take() -> None:
    """A wide character takes two columns, a combining one none."""
    assert _shown("名é: x", 5) == ["    名é: x", "         ^"]
    assert _shown("e\u0301: x", 5) == ["    e\u0301: x", "       ^"]
    assert _shown("名前", 1, 2) == ["    名前", "    ^~~~"]


def test_control_characters_are_shown_as_escapes() -> None:
    """Nothing in a file, a name or a message can move the cursor or turn text around."""
    problem = Problem(Place("a\x1b", 1, 3, "\x1b[\u202eb"), "m\n\x00", "\ud800")
    assert render(problem).split("\n") == [
        "a\\x1b:1:3: error: m\\n\\x00",
        "    \\x1b[\\u202eb",
        "         ^~~~~~",
        "    hint: \\ud800",
    ]


@pytest.mark.parametrize(
    ("column", "start", "end"),
    [(1, 0, 96), (49, 0, 96), (50, 1, 97), (150, 101, 197), (200, 104, 200), (201, 104, 200)],
)
def test_a_long_line_is_clipped_around_the_caret(column: int, start: int, end: int) -> None:
    """At most 96 characters are shown; an ellipsis stands where something was left out."""
    text = "".join(chr(0x100 + i) for i in range(200))
    line, caret = _shown(text, column)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    assert line == "    " + before + text[start:end] + after
    at = caret.index("^")
    assert at == 4 + len(before) + column - 1 - start


def test_the_mark_ends_where_the_shown_line_ends() -> None:
    """A wide mark does not run past what is shown of a long line."""
    line, caret = _shown("x" * 500, 100, 300)
    assert len(line) - 1 == len(caret)


def test_a_long_message_is_clipped() -> None:
    """A message that quotes a whole file does not fill the screen."""
    assert len(render(Problem(Place("f", 1, 1), "x" * 10_000, "y" * 10_000))) < 1_000


@given(st.text(), st.integers(1, 50), st.integers(1, 50), st.text(), st.text())
def test_any_problem_can_be_shown(
    text: str, column: int, width: int, message: str, hint: str
) -> None:
    """Whatever stands in a file, the report is printable and has one line for each part."""
    problem = Problem(Place("f", 1, column, text, width), message, hint)
    shown = render(problem)
    assert shown.count("\n") == (2 if text else 0) + (1 if hint else 0)
    unbroken = shown.replace("\n", "").replace("\t", "")
    assert visible(unbroken) == unbroken
    shown.encode()


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("nevr", "never"),
        ("neevr", "never"),
        ("nerev", "never"),
        ("xnevery", "never"),
        ("evntually", "eventually"),
        ("never", "never"),
        ("ot", "not"),
    ],
)
def test_a_word_within_two_edits_is_suggested(word: str, meant: str) -> None:
    """Left out, put in, changed and swapped letters count one edit each."""
    assert did_you_mean(word, ["not", "eventually", "never"]) == f"did you mean {meant!r}?"


@pytest.mark.parametrize("word", ["nr", "NEVER", "", "ab", "sometimes", "neveralways"])
def test_a_word_that_is_like_none_has_no_suggestion(word: str) -> None:
    """More than two edits, or as many edits as letters, suggest nothing."""
    assert did_you_mean(word, ["eventually", "not", "nevermore", "op"]) == ""


def test_the_nearest_of_several_is_suggested_and_the_first_of_equals() -> None:
    """Fewer edits win; otherwise the order of the choices does."""
    assert did_you_mean("mins", ["max", "minus", "min"]) == "did you mean 'minus'?"
    assert did_you_mean("minn", ["max", "minus", "min"]) == "did you mean 'min'?"


WORDS = st.text("abc", max_size=6)


@given(WORDS, WORDS)
def test_distance_is_the_number_of_edits(word: str, other: str) -> None:
    """It is symmetric, zero only for equal words, and what a plain recursion gives."""
    edits = distance(word, other)
    assert edits == distance(other, word)
    assert (edits == 0) == (word == other)
    if abs(len(word) - len(other)) <= 2:
        assert edits == _recursive(word, other)


def _recursive(word: str, other: str) -> int:
    if not word or not other:
        return len(word) + len(other)
    choices = [
        _recursive(word[1:], other) + 1,
        _recursive(word, other[1:]) + 1,
        _recursive(word[1:], other[1:]) + (word[0] != other[0]),
    ]
    if word[:2] == other[1::-1] and len(word) > 1 and len(other) > 1:
        choices.append(_recursive(word[2:], other[2:]) + 1)
    return min(choices)
