"""Arguments as JSON text: exact where they can be, bounded where they must be."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanward.otlp.values import clean, json_arguments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"n": 206588}', {"n": 206588}),
        ('{"n": ' + "9" * 400 + "}", {"n": 10**400 - 1}),
        ('{"n": ' + "9" * 5000 + "}", {"n": "9" * 5000}),
        ('{"n": 1e999}', {"n": math.inf}),
        ('{"n": Infinity}', {"n": math.inf}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"s": "\\ud800x"}', {"s": "\ufffdx"}),
        ('{"\\udfff": ["\\udfff"]}', {"\ufffd": ["\ufffd"]}),
        ('{"s": "\ud800x"}', {"s": "\ufffdx"}),
        ('{"s": "line\nbreak"}', {"s": "line\nbreak"}),
        ("[1, [2]]", [1, [2]]),
        ("null", None),
    ],
)
def test_arguments(text: str, expected: Any) -> None:
    """Big integers stay exact; what is too long to be a number stays text."""
    assert json_arguments(text) == expected


def test_nan_is_a_number_that_equals_nothing() -> None:
    """Python runtimes write it."""
    assert math.isnan(json_arguments('{"n": NaN}')["n"])


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "[" * 65 + "]" * 65, "[" * 100_000])
def test_what_is_no_json_or_too_deep_is_refused(text: str) -> None:
    """A ValueError and nothing else."""
    with pytest.raises(ValueError, match=r"."):
        json_arguments(text)


def test_the_deepest_that_is_read() -> None:
    """Sixty-four levels."""
    assert json_arguments("[" * 64 + "]" * 64)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_both_ways_of_reading_agree(value: Any) -> None:
    """The quick decoder gives what the standard one would, with lone surrogates replaced."""
    text = json.dumps(value, ensure_ascii=False)
    padded = text + " " * 5000
    assert json_arguments(text) == json_arguments(padded)


def test_clean_leaves_good_text_alone() -> None:
    """Only lone surrogates change."""
    assert clean("plain") == "plain"
    assert clean("é😀") == "é😀"
    assert clean("a\udc80b") == "a\ufffdb"
