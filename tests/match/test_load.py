"""What matchers refuse to load, and what they warn of: semantics, sections 3, 4 and 9."""

from __future__ import annotations

import pytest

from spanward.errors import Problems
from spanward.specs.loader import load_text


def told(matcher: str) -> list[str]:
    """What is told about a matcher: severity and message, and the hint if there is one."""
    problems = Problems()
    load_text(f"name: a\nassert:\n  never: {matcher}\n", "a.yaml", problems)
    return [f"{one.severity}: {one.message} | {one.hint}" for one in problems.found]


@pytest.mark.parametrize(
    ("matcher", "message"),
    [
        ("{}", "a matcher must be a mapping, not an empty mapping"),
        ("[]", "a matcher must be a mapping, not an empty list"),
        ("[1]", "a matcher must be a mapping, not a list"),
        ("3", "a matcher must be a mapping, not the number 3"),
        ("true", "a matcher must be a mapping, not the boolean true"),
        ('""', "a matcher must be a mapping, not an empty text"),
        ("{tol: {}}", "unknown key 'tol' in a matcher | did you mean 'tool'?"),
        ("{qqqqqq: 1}", "unknown key 'qqqqqq' in a matcher | a matcher takes: tool,"),
        ("{tool: 3}", "tool must be a mapping, not the number 3"),
        ("{tool: {knd: a}}", "unknown key 'knd' in tool | did you mean 'kind'?"),
        ("{tool: {kind: []}}", "tool.kind must be a text or a list of texts, not an empty list"),
        (
            "{tool: {kind: [a, 3]}}",
            "an element of tool.kind must be a text, not the number 3 | quo",
        ),
        ("{tool: {ops: }}", "tool.ops must be a text, not nothing"),
        ("{tool: {name: }}", "tool.name must be a text, not nothing"),
        ("{tool: {mcp: {}}}", "tool.mcp must be a mapping, not an empty mapping"),
        ("{tool: {mcp: {port: a}}}", "unknown key 'port' in tool.mcp"),
        ("{tool: {mcp: {server: {a: b}}}}", "tool.mcp.server must be a text, not a mapping"),
        ("{tool: {skill: 3}}", 'tool.skill must be a text, not the number 3 | quote it: "3"'),
        ("{tool: {args: {}}}", "args must be a mapping, not an empty mapping"),
        ("{tool: {args: {a: {fuzzy: x, b: 1}}}}", "'fuzzy' must stand alone, not beside 'b'"),
        ("{tool: {args: {a: {b: 1, regex: x}}}}", "'regex' must stand alone, not beside 'b'"),
        ("{tool: {args: {a: {fuzzy: 206588}}}}", "fuzzy takes a text, not the number 206588 | quo"),
        ("{tool: {args: {a: {regex: [x]}}}}", "regex takes a text, not a list"),
        ("{tool: {args: {a: {regex: '('}}}}", "bad regex: missing ): ("),
        ("{approval: }", "approval must be a mapping, not nothing"),
        ("{approval: {state: x}}", "unknown key 'state' in approval"),
        ("{approval: {ops: 5}}", "approval.ops must be a text, not the number 5"),
        ("{event: 3}", "event must be a text, not the number 3"),
        ("{path: }", "path must be a text, not nothing"),
        ("{span: []}", "span must be a text, not an empty list"),
        ("{input: '['}", "bad regex: missing ]: ["),
        ("{output: {}}", "output must be a text, not an empty mapping"),
        ("{where: {}}", "where must be a mapping, not an empty mapping"),
        ("{where: {kind: x}}", "where cannot ask for 'kind' | use tool:, approval:"),
        ("{where: {session: x}}", "where cannot ask for 'session' | choose the unit"),
        ("{where: {job: x}}", "where cannot ask for 'job' | choose the unit"),
        ("{where: {ops: x}}", "where cannot ask for 'ops' | use tool: {ops: ...}"),
        ("{where: {args: x}}", "where cannot ask for 'args' | use tool: {args: {...}}"),
        ("{where: {a.b: {}}}", "where.a.b must be a mapping, not an empty mapping"),
        ("{where: {a.b: {nt: 1}}}", "unknown key 'nt' in where.a.b | did you mean"),
        ("{where: {a.b: {in: 3}}}", "where.a.b.in must be a list, not the number 3"),
        ("{where: {a.b: {in: []}}}", "where.a.b.in must be a list, not an empty list"),
        ("{where: {a.b: {not: {}}}}", "where.a.b.not must be a mapping, not an empty mapping"),
        ("{where: {a.b: {regex: 3}}}", "where.a.b.regex must be a text, not the number 3"),
        ("{where: {a.b: {regex: '*'}}}", "bad regex: no argument for repetition operator: *"),
        ("{where: {a.b: {glob: }}}", "where.a.b.glob must be a text, not nothing"),
        ("{where: {a.b: {gt: true}}}", "where.a.b.gt must be a number or a text, not the boolean"),
        ('{where: {a.b: {contains: ""}}}', "where.a.b.contains must be a value, not an empty text"),
        ("{where: {a.b: {contains: }}}", "where.a.b.contains must be a value, not nothing"),
    ],
)
def test_mistakes(matcher: str, message: str) -> None:
    """Each is an error, in these words, with its likely fix."""
    found = told(matcher)
    assert any(message in one and one.startswith("error: ") for one in found), found


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        ("(?=a)", "lookaround"),
        ("(?!a)", "lookaround"),
        ("(?<=a)", "lookaround"),
        (r"(a)\1", "a backreference"),
        ("(?P<n>a)(?P=n)", "a backreference"),
        ("(?>a)", "an atomic group"),
        ("(a)?(?(1)b|c)", "a conditional group"),
        ("(?#note)a", "a comment group"),
        ("(?<n>a)", "a named group without P"),
        ("(?x)a", "a flag that RE2 does not have"),
        ("(?U)a", "the ungreedy flag"),
        ("a++", "a possessive quantifier"),
        ("a{,3}", "a repetition without a minimum"),
        ("a{,}", "a repetition without a minimum"),
        (r"\pL", "a Unicode class"),
        (r"[\pL]", "a Unicode class"),
        (r"\Qa\E", r"\Q...\E quoting"),
        (r"a\Z", r"\Z or \z"),
        (r"a\z", r"\Z or \z"),
        (r"\u00e9", "a Unicode escape"),
        (r"\x{41}", r"\x{...}"),
        (r"\C", r"\C"),
        ("[[:alpha:]]", "a POSIX class"),
        (r"[\b]", r"\b in a character class"),
        ("[^]][[:^digit:]]", "a POSIX class"),
    ],
)
def test_what_re2_and_python_do_not_share_is_named(pattern: str, construct: str) -> None:
    """A pattern means the same wherever a spec is read, or it is not loaded."""
    (found,) = told(f"{{input: '{pattern}'}}")
    assert f"error: the regex uses {construct}" in found
    assert "which RE2 and Python do not share" in found


@pytest.mark.parametrize("pattern", ["[]a]", r"\[\{,3}", "(?i)a", "a{0,3}", "[a{,3}]", r"\.\\Q"])
def test_what_only_looks_like_it_is_fine(pattern: str) -> None:
    """Inside a class, or escaped, the same characters mean nothing special."""
    assert told(f"{{input: '{pattern}'}}") == []


def test_a_regex_that_only_python_refuses_is_refused() -> None:
    """Flags in the middle: RE2 takes them."""
    (found,) = told("{input: 'a(?i)b'}")
    assert "bad regex: global flags not at the start" in found


@pytest.mark.parametrize(
    ("matcher", "message"),
    [
        ("{tool: {}, event: x}", "no item is both: 'tool' and 'event' never match together"),
        ("{where: {stats: x}}", "'stats' is no column; read as an attribute name | did you mean"),
        ("{where: {zzzzzzzz: x}}", "'zzzzzzzz' is no column; read as an attribute name | the col"),
        ("{where: {a.b: yes}}", "yes is a text here, not a boolean"),
        ("{where: {a.b: [no]}}", "no is a text here, not a boolean"),
        ("{where: {a.b: {in: [on]}}}", "on is a text here, not a boolean"),
        ("{where: {a.b: {contains: off}}}", "off is a text here, not a boolean"),
        ("{tool: {args: {a: yes}}}", "yes is a text here, not a boolean"),
        ("{tool: {args: {a: {fuzy: x}}}}", "the mapping with 'fuzy' is compared literally | did"),
        ("{tool: {args: {a: [{regex: x}]}}}", "'regex' inside a literal is compared literally"),
        ("{tool: {args: {a: {b: {fuzzy: x}}}}}", "'fuzzy' inside a literal is compared literally"),
    ],
)
def test_warnings(matcher: str, message: str) -> None:
    """Legal, but probably not meant."""
    (found,) = told(matcher)
    assert found.startswith("warning: ")
    assert message in found


@pytest.mark.parametrize(
    "matcher",
    [
        "{tool: }",
        "{tool: {}}",
        "{approval: {}}",
        "{tool: {args: {a: {}}}}",
        "{tool: {args: {a: {x: 1, y: 2}}}}",
        "{tool: {args: {a: {unlike: 1}}}}",
        "{tool: {args: {a: {literal: {fuzzy: x}}}}}",
        "{where: {a.b: null}}",
    ],
)
def test_what_is_fine(matcher: str) -> None:
    """No problem and no warning, but for a matcher inside an explicit literal."""
    found = told(matcher)
    assert [one for one in found if "error" in one] == []
