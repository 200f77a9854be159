"""Globs and regexes: what a pattern means, and which patterns are refused."""

from __future__ import annotations

import re
import warnings

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from spanward.errors import Place, Problems
from spanward.match.text import fullmatch, glob, search

PLACE = Place("f", 1, 1)
FOREIGN = [
    ("a(?=b)", "lookaround"),
    ("a(?!b)", "lookaround"),
    ("(?<=a)b", "lookaround"),
    ("(?<!a)b", "lookaround"),
    (r"(a)\1", "a backreference"),
    (r"(a)\9", "a backreference"),
    ("(?P<n>a)(?P=n)", "a backreference"),
    ("(?>a)", "an atomic group"),
    ("(a)(?(1)b|c)", "a conditional group"),
    ("a(?#comment)", "a comment group"),
    ("(?<n>a)", "a named group without P (write (?P<name>...))"),
    ("(?a)a", "a flag that RE2 does not have"),
    ("(?L)a", "a flag that RE2 does not have"),
    ("(?u)a", "a flag that RE2 does not have"),
    ("(?ix)a", "a flag that RE2 does not have"),
    ("(?U)a+", "the ungreedy flag"),
    ("(?iU:a+)", "the ungreedy flag"),
    ("(?-U:a)", "the ungreedy flag"),
    ("a*+", "a possessive quantifier"),
    ("a++", "a possessive quantifier"),
    ("a?+", "a possessive quantifier"),
    ("a{2}+", "a possessive quantifier"),
    ("a{,3}", "a repetition without a minimum (write {0,n})"),
    ("a{,}", "a repetition without a minimum (write {0,n})"),
    (r"\pL", "a Unicode class"),
    (r"\p{Greek}", "a Unicode class"),
    (r"\PN", "a Unicode class"),
    (r"\Qa.b\E", r"\Q...\E quoting"),
    (r"a\E", r"\Q...\E quoting"),
    (r"a\Z", r"\Z or \z (write $ at the end)"),
    (r"a\z", r"\Z or \z (write $ at the end)"),
    (r"\N{BULLET}", "a Unicode escape (write the character itself)"),
    (r"\u0041", "a Unicode escape (write the character itself)"),
    (r"\U00000041", "a Unicode escape (write the character itself)"),
    (r"\x{41}", r"\x{...} (write the character itself)"),
    (r"\C", r"\C"),
    ("[[:alpha:]]", "a POSIX class (write the characters out, as in [A-Za-z])"),
    ("[^[:^digit:]_]", "a POSIX class (write the characters out, as in [A-Za-z])"),
    ("[][:alpha:]]", "a POSIX class (write the characters out, as in [A-Za-z])"),
    (r"[\pL]", "a Unicode class"),
    (r"[^\P{L}]", "a Unicode class"),
    (r"[\b]", r"\b in a character class"),
    (r"[\u0041]", "a Unicode escape (write the character itself)"),
    (r"[\x{41}]", r"\x{...} (write the character itself)"),
]
"""A pattern, and the construct in it that RE2 and Python do not share."""


@pytest.mark.parametrize(("pattern", "construct"), FOREIGN)
def test_what_only_one_engine_accepts_is_refused_by_name(pattern: str, construct: str) -> None:
    """So that a pattern means the same wherever a spec is read."""
    problems = Problems()
    assert search(pattern, PLACE, problems) is None
    (problem,) = problems.errors
    assert problem.message == f"the regex uses {construct}, which RE2 and Python do not share"
    assert problem.hint == "regexes are the common subset of RE2 and Python re"


@pytest.mark.parametrize(
    ("pattern", "message", "hint"),
    [
        ("a)", "bad regex: unexpected ): a)", ""),
        ("a**", "bad regex: bad repetition operator: **", ""),
        ("a{1001}", "bad regex: invalid repetition size: {1001}", ""),
        (r"\e", "bad regex: invalid escape sequence: \\e", ""),
        (
            "a(?i)b",
            "bad regex: global flags not at the start of the expression at position 1",
            "Python re must be able to read it too",
        ),
        (
            "(" * 990 + "a" + ")" * 990,
            "bad regex: maximum recursion depth exceeded",
            "Python re must be able to read it too",
        ),
    ],
)
def test_a_bad_regex_is_told_in_the_words_of_the_engine_that_refuses_it(
    pattern: str, message: str, hint: str
) -> None:
    """RE2 first, then Python."""
    problems = Problems()
    assert fullmatch(pattern, PLACE, problems) is None
    (problem,) = problems.errors
    assert problem.message.startswith(message)
    assert problem.hint == hint


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\\1", r"\1"),
        (r"\\pL", r"\pL"),
        ("[(?=]", "="),
        ("[*+?]+", "*+?"),
        ("[]a]+", "]a"),
        ("[^]a!]+", "b"),
        ("[[a]+", "[a"),
        (r"[\]a]+", "]a"),
        (r"\[:alpha:]", "[:alpha:]"),
        ("[:alp]+", "a:l"),
        ("(?i:A)(?-i:B)(?s-i:.)", "aB\n"),
        ("(?P<name>a|b){2,3}?", "ab"),
        (r"\Aa\b\s\Bb?$", "a "),
        (r"\x41\t\07", "A\t\x07"),
        ("a{0,2}b{2,}", "bb"),
        ("x{a}", "x{a}"),
        (r"(?m)^a$", "a"),
    ],
)
def test_the_common_subset_is_accepted(pattern: str, text: str) -> None:
    """What looks like a foreign construct, but is escaped or in a class, is none."""
    problems = Problems()
    holds = fullmatch(pattern, PLACE, problems)
    assert problems.found == ()
    assert holds is not None
    assert holds(text)
    assert not holds(f"{text}!")


def test_a_regex_searches_or_matches_the_whole() -> None:
    """``input``, ``output`` and ``where`` search; arguments match in full."""
    anywhere, whole = search("b+", PLACE, Problems()), fullmatch("b+", PLACE, Problems())
    assert anywhere is not None and whole is not None
    assert [anywhere("abba"), whole("abba"), anywhere("bb"), whole("bb")] == [
        True,
        False,
        True,
        True,
    ]
    assert not anywhere("a")


def test_re2_decides_where_the_engines_read_one_pattern_differently() -> None:
    """The end is the end, a vertical tab is no white space, digits and words are ASCII."""
    for pattern, text in [("a$", "a\n"), (r"\s", "\v"), (r"\d", "٣"), (r"\w", "é")]:
        holds = search(pattern, PLACE, Problems())
        assert holds is not None
        assert not holds(text)
        assert re.search(pattern, text)


_PIECES = [
    *"ab^$.|()[]{}*+?-,:=!<>P1",
    *(f"\\{letter}" for letter in "aAbBdDQEGpPsSwWzZ019-/"),
    *"[[:alpha:]] (?: (?i (?P<n> (?P=n) {,2} {,} {2} {2,3} [^ && -- || \\x41 (?i: (?-i:".split(),
]
_TEXTS = ["a", "b", "aab", "A", "a{,}", "a{,2}", "[:alpha:]", "al", "1", "-", "{}", ",", "&|"]


@given(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join))
def test_what_is_accepted_means_the_same_in_both_engines(pattern: str) -> None:
    """But for ``$`` before a line break and what is white space, which none of these texts has."""
    problems = Problems()
    ours = search(pattern, PLACE, problems)
    assert (ours is None) == bool(problems.errors)
    if ours is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        python = re.compile(pattern)
    for text in _TEXTS:
        assert ours(text) == bool(python.search(text)) == bool(re2.search(pattern, text))


def test_a_regex_takes_linear_time() -> None:
    """No input can stall the service, whatever the pattern."""
    holds = search("(a*)*b", PLACE, Problems())
    assert holds is not None
    assert not holds("a" * 100_000)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("src/*", ["src/", "src/a", "src/a/b.py"], ["src", "SRC/a", "lib/src/a"]),
        ("src/**", ["src/", "src/a", "src/a/b.py"], ["src", "SRC/a"]),
        ("*.py", ["a.py", ".py", "a/b.py", "a\n.py"], ["a.py\n", "a.pyc"]),
        ("a?c", ["abc", "a/c"], ["ac", "abbc"]),
        ("[abc]", ["a", "c"], ["d", "ab", ""]),
        ("[a-z]", ["a", "m"], ["A", "-"]),
        ("[!a]", ["b", "!"], ["a", ""]),
        ("[", ["["], ["a"]),
        ("a+(b)", ["a+(b)"], ["aab"]),
        ("*a*a*a*a*b", ["aaaab"], ["a" * 2000]),
    ],
)
def test_a_glob_matches_the_whole_text(pattern: str, yes: list[str], no: list[str]) -> None:
    """Case-sensitive fnmatch, whose star also matches a slash."""
    holds = glob(pattern)
    assert [text for text in yes if not holds(text)] == []
    assert [text for text in no if holds(text)] == []
