"""YAML text is read by the core schema of YAML 1.2, and every node knows its place."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanward.errors import Problems, render_all
from spanward.node import Mapping, Node, Scalar, Sequence, looks_boolean, value_of
from spanward.specs.loader import load_text
from spanward.specs.source import Source
from spanward.specs.yaml import read


def _read(text: str) -> tuple[tuple[Node, ...], list[str]]:
    problems = Problems()
    documents = read(Source("f.yaml", text), problems)
    return documents, [problem.message for problem in problems.found]


def _value(text: str) -> Any:
    documents, messages = _read(f"a: {text}\n")
    assert messages == []
    return value_of(documents[0])["a"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("nULL", "nULL"),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("False", False),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("-7", -7),
        ("9" * 400, int("9" * 400)),
        ("0xfF", 255),
        ("0x" + "f" * 400, 16**400 - 1),
        ("0X1", "0X1"),
        ("-0x1", "-0x1"),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5e3", -1500.0),
        ("1e3", 1000.0),
        ("01.5", 1.5),
        ("1e-400", 0.0),
        (".inf", math.inf),
        ("+.INF", math.inf),
        ("-.Inf", -math.inf),
        (".iNF", ".iNF"),
        ("inf", "inf"),
        ("nan", "nan"),
        (".", "."),
        ("1e", "1e"),
        ("e1", "e1"),
        ("017", "017"),
        ("0o17", "0o17"),
        ("00", "00"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("OFF", "OFF"),
        ("=", "="),
        ("\u0661\u0662", "\u0661\u0662"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("''", ""),
        ("!!str 12", "12"),
        ("!!str", ""),
        ('!!int "12"', 12),
        ("!!float 12", 12.0),
        ("!!float 1.5", 1.5),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("|\n  true\n", "true\n"),
        (">-\n  1\n", "1"),
    ],
)
def test_a_scalar_has_the_value_of_the_core_schema(text: str, value: object) -> None:
    """What YAML 1.1 took for booleans, times, dates and octals is text."""
    found = _value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number_is_a_float(text: str) -> None:
    """The three spellings of the core schema, and no other."""
    assert math.isnan(_value(text))


@pytest.mark.parametrize(
    "text", ["1" + "0" * 400, "-" + "1" * 401, "0x" + "1" * 401, "!!float 1" + "0" * 399]
)
def test_a_number_too_large_is_told(text: str) -> None:
    """More than 400 digits, or a float that would be infinite, is a mistake."""
    documents, messages = _read(f"a: {text}\n")
    assert len(messages) == 1
    assert "too l" in messages[0]
    assert value_of(documents[0]) == {"a": 1}


@pytest.mark.parametrize("text", ["yes", "No", "ON", "off", "y", "N"])
def test_an_unquoted_word_that_was_a_boolean_looks_like_one(text: str) -> None:
    """Quoted or tagged as text it does not."""
    for written, looks in ((text, True), (f"'{text}'", False), (f"!!str {text}", False)):
        (document,), _ = _read(f"a: {written}")
        assert isinstance(document, Mapping)
        node = document.get("a")
        assert isinstance(node, Scalar)
        assert looks_boolean(node) is looks


@pytest.mark.parametrize("text", ["true", "yesterday", "1", "~"])
def test_other_scalars_do_not_look_like_a_boolean(text: str) -> None:
    """Neither real booleans nor other words and values."""
    (node,), _ = _read(text)
    assert isinstance(node, Scalar)
    assert not looks_boolean(node)


def test_nodes_know_their_places() -> None:
    """Lines and columns count from 1, in code points; scalars know their width."""
    text = "\ufeff# 名\r\na: 'b c'\r\n名: [1,\r\n  22]\r"
    (document,), messages = _read(text)
    assert messages == []
    assert isinstance(document, Mapping)
    places = [document.place, *(entry.place for entry in document.entries)]
    values = [entry.value for entry in document.entries]
    assert isinstance(values[1], Sequence)
    places += [value.place for value in (*values, *values[1].items)]
    assert [(p.line, p.column, p.width, p.text) for p in places] == [
        (2, 1, 1, "a: 'b c'"),
        (2, 1, 1, "a: 'b c'"),
        (3, 1, 1, "名: [1,"),
        (2, 4, 5, "a: 'b c'"),
        (3, 4, 1, "名: [1,"),
        (3, 5, 1, "名: [1,"),
        (4, 3, 2, "  22]"),
    ]


def test_a_missing_key_has_neither_entry_nor_value() -> None:
    """A mapping is asked for keys that may not be there."""
    (document,), _ = _read("a: 1")
    assert isinstance(document, Mapping)
    assert document.get("b") is None
    assert document.entry("b") is None
    assert document.entry("a") is document.entries[0]


def test_the_nodes_of_a_file_are_limited() -> None:
    """10,000 keys and values are read, one more is not, and ends the reading."""
    assert _read("---\na: b\n---\n[" + "1," * 9_996 + "]")[1] == []
    documents, messages = _read("---\na: b\n---\n[" + "1," * 9_997 + "]\n---\na: &x *y")
    assert messages == ["the file holds more than 10,000 keys and values"]
    assert [value_of(document) for document in documents] == [{"a": "b"}]


def test_the_depth_of_a_file_is_limited() -> None:
    """50 lists and mappings in each other are read, 51 are not."""
    assert _read("[" * 50 + "1" + "]" * 50)[1] == []
    assert _read("[" * 51 + "1" + "]" * 51)[1] == ["lists and mappings nest more than 50 deep"]
    assert _read("a: {b: " * 25 + "1" + "}" * 25)[1] != []


def test_aliases_count_as_what_they_stand_for() -> None:
    """No tower of aliases, wide or deep, is ever unfolded."""
    wide = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 20)
    )
    assert _read(wide)[1][-1] == "the file holds more than 10,000 keys and values"
    deep = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{x: *a{i - 1}}}\n" for i in range(1, 99))
    assert _read(deep)[1][-1] == "lists and mappings nest more than 50 deep"


def test_an_alias_beside_other_mistakes_hides_none() -> None:
    """The value that the alias stands for takes its place, with the alias's place."""
    (document,), messages = _read("a: &a {x: [1]}\nb: *a\nb: 2\n")
    assert messages == [
        "aliases are not supported: *a",
        "duplicate key 'b' (it stands on line 2 already)",
    ]
    assert value_of(document) == {"a": {"x": [1]}, "b": {"x": [1]}}
    assert isinstance(document, Mapping)
    assert document.entries[1].value.place.line == 2


def test_a_file_of_ten_thousand_documents_is_read() -> None:
    """Documents are independent; empty ones are left out."""
    assert len(_read("--- 1\n---\n" * 5_000)[0]) == 5_000


TOKENS = st.sampled_from(
    [
        *"abz019.:-?,[]{}#&*!|>'\"%@`~=<\\/ \t\n\r_+",
        "\n---\n",
        "\n...\n",
        "!!int ",
        "!!str ",
        "!<x>",
        "&a ",
        "*a ",
        "<<: ",
        ": ",
        "- ",
        "name: a\n",
        "assert: ",
        "never: ",
        "tests:\n",
        '"\\u',
        '"\\U00110000"',
        "\\ud800",
        "%YAML 1.2\n",
        "%YAML 1." + "1" * 4_400,
        "%TAG ! x\n",
        "\ud800",
        "\x00",
        "\x85",
        "\u2028",
        "\ufeff",
        "0x",
        "1e999",
        "名",
    ]
)


@given(st.one_of(st.text(), st.lists(TOKENS, max_size=40).map("".join)))
def test_any_text_is_read_without_raising(text: str) -> None:
    """A text gives specs, or problems that can be shown, or both; never an exception."""
    problems = Problems()
    specs = load_text(text, "f.yaml", problems)
    assert not (specs and problems.errors)
    assert specs or problems.found
    render_all(problems.found).encode()
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for problem in problems.found:
        place = problem.place
        assert place.text == lines[place.line - 1]
        assert 1 <= place.column <= len(place.text) + 1
