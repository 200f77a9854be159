"""What is told of matchers that are wrong or probably not meant (semantics, 3, 4 and 9)."""

from __future__ import annotations

import pytest

from spanward.errors import Problems, render_all
from spanward.specs.loader import load_text

from .compiled import told

HINTS = {
    "COLUMNS": (
        "the columns are name, tool_kind, path, op, input, output, status, "
        "mcp_server, mcp_tool, skill, trusted, total, complete, call_id, seq, turn, principal"
    ),
    "KEYS": "a matcher takes: tool, approval, event, span, path, input, output, principal, where",
    "YES": "write true or false, or quote the text",
    "ALONE": "an argument that is itself such a mapping is written {literal: {...}}",
    "SUBSET": "regexes are the common subset of RE2 and Python re",
    "NESTED": "matchers stand directly under an argument's name",
    "APART": "write two specs, or two matchers",
    "KIND": "use tool:, approval:, event: or span: to ask for a kind of item",
}
"""The long hints, by the word that stands for them in the table."""

TABLE = r"""
{}
  - 1 error: a matcher must be a mapping, not an empty mapping
[]
  - 1 error: a matcher must be a mapping, not an empty list
''
  - 1 error: a matcher must be a mapping, not an empty text
null
  - 1 error: a matcher must be a mapping, not nothing
1
  - 1 error: a matcher must be a mapping, not the number 1
{tols: {}}
  - 2 error: unknown key 'tols' in a matcher (did you mean 'tool'?)
{tool: {}, tol: 1, xyz: 2}
  - 12 error: unknown key 'tol' in a matcher (did you mean 'tool'?)
  - 20 error: unknown key 'xyz' in a matcher (KEYS)
{tool: x}
  - 8 error: tool must be a mapping, not the text 'x'
{tool: []}
  - 8 error: tool must be a mapping, not an empty list
{tool: {kynd: shell}}
  - 9 error: unknown key 'kynd' in tool (did you mean 'kind'?)
{tool: {kind: []}}
  - 15 error: tool.kind must be a text or a list of texts, not an empty list
{tool: {kind: null}}
  - 15 error: tool.kind must be a text, not nothing
{tool: {kind: ''}}
  - 15 error: tool.kind must be a text, not an empty text
{tool: {kind: [a, 1]}}
  - 19 error: an element of tool.kind must be a text, not the number 1 (quote it: "1")
{tool: {kind: {}}}
  - 15 error: tool.kind must be a text, not an empty mapping
{tool: {ops: true}}
  - 14 error: tool.ops must be a text, not the boolean true (quote it: "true")
{tool: {ops: [[]]}}
  - 15 error: an element of tool.ops must be a text, not an empty list
{tool: {skill: 1.50}}
  - 16 error: tool.skill must be a text, not the number 1.50 (quote it: "1.50")
{tool: {name: [a]}}
  - 15 error: tool.name must be a text, not a list
{tool: {mcp: {}}}
  - 14 error: tool.mcp must be a mapping, not an empty mapping
{tool: {mcp: {sever: a}}}
  - 15 error: unknown key 'sever' in tool.mcp (did you mean 'server'?)
{tool: {mcp: {server: null, tool: 1}}}
  - 23 error: tool.mcp.server must be a text, not nothing
  - 35 error: tool.mcp.tool must be a text, not the number 1 (quote it: "1")
{approval: null}
  - 12 error: approval must be a mapping, not nothing
{approval: [a]}
  - 12 error: approval must be a mapping, not a list
{approval: {stats: denied}}
  - 13 error: unknown key 'stats' in approval (did you mean 'status'?)
{approval: {ops: {}, status: []}}
  - 18 error: approval.ops must be a text, not an empty mapping
  - 30 error: approval.status must be a text or a list of texts, not an empty list
{event: {}}
  - 9 error: event must be a text, not an empty mapping
{event: [a]}
  - 9 error: event must be a text, not a list
{span: null}
  - 8 error: span must be a text, not nothing
{span: [a]}
  - 8 error: span must be a text, not a list
{path: null}
  - 8 error: path must be a text, not nothing
{path: ''}
  - 8 error: path must be a text, not an empty text
{path: [a]}
  - 8 error: path must be a text, not a list
{input: null}
  - 9 error: input must be a text, not nothing
{output: 1}
  - 10 error: output must be a text, not the number 1 (quote it: "1")
{input: '('}
  - 9 error: bad regex: missing ): (
{output: 'a(?=b)'}
  - 10 error: the regex uses lookaround, which RE2 and Python do not share (SUBSET)
{where: {}}
  - 9 error: where must be a mapping, not an empty mapping
{where: null}
  - 9 error: where must be a mapping, not nothing
{where: {kind: tool.call}}
  - 10 error: where cannot ask for 'kind' (KIND)
{where: {session: a, job: b}}
  - 10 error: where cannot ask for 'session' (choose the unit instead: unit: session)
  - 22 error: where cannot ask for 'job' (choose the unit instead: unit: job)
{where: {ops: [test]}}
  - 10 error: where cannot ask for 'ops' (use tool: {ops: ...} or approval: {ops: ...})
{where: {args: {a: 1}}}
  - 10 error: where cannot ask for 'args' (use tool: {args: {...}})
{where: {nam: x}}
  - 10 warning: 'nam' is no column; read as an attribute name (did you mean 'name'?)
{where: {attempts: 2}}
  - 10 warning: 'attempts' is no column; read as an attribute name (COLUMNS)
{where: {gen_ai.system: yes}}
  - 25 warning: yes is a text here, not a boolean (YES)
{where: {a.b: [on, 1, Off]}}
  - 16 warning: on is a text here, not a boolean (YES)
  - 23 warning: Off is a text here, not a boolean (YES)
{where: {a.b: {}}}
  - 15 error: where.a.b must be a mapping, not an empty mapping
{where: {a.b: {gr: 1, lt: 2}}}
  - 16 error: unknown key 'gr' in where.a.b (did you mean 'gt'?)
{where: {a.b: {in: x}}}
  - 20 error: where.a.b.in must be a list, not the text 'x'
{where: {a.b: {in: []}}}
  - 20 error: where.a.b.in must be a list, not an empty list
{where: {a.b: {in: [y, 'n']}}}
  - 21 warning: y is a text here, not a boolean (YES)
{where: {a.b: {in: {}}}}
  - 20 error: where.a.b.in must be a list, not an empty mapping
{where: {a.b: {not: {}}}}
  - 21 error: where.a.b.not must be a mapping, not an empty mapping
{where: {a.b: {not: yes}}}
  - 21 warning: yes is a text here, not a boolean (YES)
{where: {a.b: {not: {in: 1}}}}
  - 26 error: where.a.b.not.in must be a list, not the number 1
{where: {a.b: {regex: null}}}
  - 23 error: where.a.b.regex must be a text, not nothing
{where: {a.b: {regex: 3}}}
  - 23 error: where.a.b.regex must be a text, not the number 3 (quote it: "3")
{where: {a.b: {regex: '\pL'}}}
  - 23 error: the regex uses a Unicode class, which RE2 and Python do not share (SUBSET)
{where: {a.b: {glob: ''}}}
  - 22 error: where.a.b.glob must be a text, not an empty text
{where: {a.b: {gt: true}}}
  - 20 error: where.a.b.gt must be a number or a text, not the boolean true
{where: {a.b: {lte: null}}}
  - 21 error: where.a.b.lte must be a number or a text, not nothing
{where: {a.b: {gte: [1]}}}
  - 21 error: where.a.b.gte must be a number or a text, not a list
{where: {a.b: {lt: {}}}}
  - 20 error: where.a.b.lt must be a number or a text, not an empty mapping
{where: {a.b: {contains: null}}}
  - 26 error: where.a.b.contains must be a value, not nothing
{where: {a.b: {contains: ''}}}
  - 26 error: where.a.b.contains must be a value, not an empty text
{where: {a.b: {contains: {}}}}
  - 26 error: where.a.b.contains must be a value, not an empty mapping
{where: {a.b: {contains: no}}}
  - 26 warning: no is a text here, not a boolean (YES)
{where: {a.b: {gt: 1, lt: x, regx: a}}}
  - 30 error: unknown key 'regx' in where.a.b (did you mean 'regex'?)
{tool: {args: {}}}
  - 15 error: args must be a mapping, not an empty mapping
{tool: {args: null}}
  - 15 error: args must be a mapping, not nothing
{tool: {args: [a]}}
  - 15 error: args must be a mapping, not a list
{tool: {args: {a: {fuzzy: 1}}}}
  - 27 error: fuzzy takes a text, not the number 1 (quote it: fuzzy: "1")
{tool: {args: {a: {regex: null}}}}
  - 27 error: regex takes a text, not nothing (quote it: regex: "null")
{tool: {args: {a: {regex: [x]}}}}
  - 27 error: regex takes a text, not a list
{tool: {args: {a: {regex: '['}}}}
  - 27 error: bad regex: missing ]: [
{tool: {args: {a: {fuzzy: x, b: 1}}}}
  - 30 error: 'fuzzy' must stand alone, not beside 'b' (ALONE)
{tool: {args: {a: {b: 1, fuzzy: x}}}}
  - 20 error: 'fuzzy' must stand alone, not beside 'b' (ALONE)
{tool: {args: {a: {fuzzy: x, regex: y}}}}
  - 30 error: 'fuzzy' must stand alone, not beside 'regex' (ALONE)
{tool: {args: {a: {fuzy: x}}}}
  - 20 warning: the mapping with 'fuzy' is compared literally (did you mean 'fuzzy'?)
{tool: {args: {a: {literl: x}}}}
  - 20 warning: the mapping with 'literl' is compared literally (did you mean 'literal'?)
{tool: {args: {a: yes}}}
  - 19 warning: yes is a text here, not a boolean (YES)
{tool: {args: {a: [{regex: x}, off]}}}
  - 21 warning: 'regex' inside a literal is compared literally (NESTED)
  - 32 warning: off is a text here, not a boolean (YES)
{tool: {args: {a: {b: {fuzzy: x}}}}}
  - 24 warning: 'fuzzy' inside a literal is compared literally (NESTED)
{tool: {args: {a: {literal: [[{literal: 1}]]}}}}
  - 32 warning: 'literal' inside a literal is compared literally (NESTED)
{tool: {}, approval: {}}
  - 12 warning: no item is both: 'tool' and 'approval' never match together (APART)
{tool: {}, event: x}
  - 12 warning: no item is both: 'tool' and 'event' never match together (APART)
{approval: {}, event: x, tool: {}}
  - 16 warning: no item is both: 'approval' and 'event' never match together (APART)
{tool: {}, event: 1}
  - 12 warning: no item is both: 'tool' and 'event' never match together (APART)
  - 19 error: event must be a text, not the number 1 (quote it: "1")
"""
"""A matcher, and below it all that is told of it: column, severity, words, (hint)."""


def _rows() -> list[tuple[str, list[str]]]:
    rows: list[tuple[str, list[str]]] = []
    for line in TABLE.strip().splitlines():
        if line.startswith("  - "):
            rows[-1][1].append(line[4:])
        elif line.startswith("    "):
            rows[-1][1][-1] += line[3:]
        else:
            rows.append((line, []))
    return rows


@pytest.mark.parametrize(("matcher", "expected"), _rows())
def test_every_problem_is_told_with_its_place(matcher: str, expected: list[str]) -> None:
    """All of them at once: where it stands, what is wrong, and how to do better."""
    for word, hint in HINTS.items():
        expected = [line.replace(f"({word})", f"({hint})") for line in expected]
    assert told(matcher) == expected


@pytest.mark.parametrize(
    "matcher",
    [
        "{tool: {name: 12:30, kind: 017}}",
        '{where: {a.b: "yes"}}',
        "{where: {a.b: {contains: []}}}",
        "{tool: {args: {a: {mode: x}}}}",
        "{tool: {args: {a: {fuzy: x, b: 1}}}}",
        "{tool: {args: {a: {literal: {fuzzy: x}}}}}",
        "{tool: }",
        "{tool: {}}",
        "{tool: null}",
        "{approval: {}}",
        "{span: 'a*', event: x}",
        "{where: {a.b: null}}",
        "{where: {a.b: []}}",
        "{where: {a.b: {not: null}}}",
        "{where: {a.b: .nan}}",
        "{tool: {args: {a: {fuzzy: ''}, b: {regex: ''}, c: {}, d: []}}}",
    ],
)
def test_nothing_is_told_of_what_is_well_formed(matcher: str) -> None:
    """Any tool, texts that YAML 1.1 read otherwise, and literals of all kinds."""
    assert told(matcher) == []


def test_the_line_is_shown_with_a_caret() -> None:
    """File, line, column, the line itself, the place in it, and the likely fix."""
    problems = Problems()
    load_text("name: a\nassert:\n  never: {tool: {kynd: shell}}\n", "f.yaml", problems)
    assert render_all(problems.found) == (
        "f.yaml:3:18: error: unknown key 'kynd' in tool\n"
        "      never: {tool: {kynd: shell}}\n"
        "                     ^~~~\n"
        "    hint: did you mean 'kind'?"
    )
