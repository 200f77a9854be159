"""Random specs, all of which load: every operator, unit and kind of matcher (sections 3 to 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from random import Random
from typing import Any

from .records import EVENTS, KINDS, OPS, PATHS, PRINCIPALS, TOOLS

GLOBS = ("src/*", "*.py", "docs/**", "src/[ab].py", "*/x.??", "[!s]*")
REGEXES = ("push", "^git", "-q$", "p.t", "(?i)LS")
EXPECTED_ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    "a": (
        206588,
        {"fuzzy": "206588"},
        {"fuzzy": "YES"},
        {"regex": "^206.*$"},
        {"literal": 1},
        True,
        None,
        [1, 2],
    ),
    "b": ({"fuzzy": "14.14%"}, {"fuzzy": "yes"}, {"mode": "fast"}, {"regex": "2009.*"}, "x"),
}
BROAD: tuple[dict[str, Any], ...] = (
    {"tool": {}},
    {"tool": None},
    {"approval": {}},
    {"event": "file.change"},
    {"event": "steer"},
    {"event": "verify"},
    {"tool": {"name": "e"}},
    {"tool": {"ops": "test"}},
    {"tool": {"ops": ["git.push", "git.commit"]}},
    {"where": {"x.n": {"not": None}}},
    {"path": "*"},
)
EARLY: tuple[dict[str, Any], ...] = (
    {"where": {"seq": {"lte": 3}}},
    {"tool": {}, "where": {"seq": {"lt": 5}}},
)
LATE: tuple[dict[str, Any], ...] = (
    {"where": {"seq": {"gt": 6}}},
    {"event": "file.change", "where": {"seq": {"gte": 4}}},
)
WHERE: tuple[tuple[str, Any], ...] = (
    ("x.n", 1),
    ("x.n", {"gt": 1}),
    ("x.n", {"gte": 1, "lt": 2.5}),
    ("x.n", {"not": {"in": [1, 2.5]}}),
    ("x.n", None),
    ("x.n", {"not": None}),
    ("x.n", {"in": [None, 2]}),
    ("x.n", True),
    ("x.t", {"regex": "^al"}),
    ("x.t", {"glob": "alpha*"}),
    ("x.t", {"contains": "bet"}),
    ("x.t", {"gt": "alpha"}),
    ("x.t", {"lte": "alphabet", "not": "beta"}),
    ("x.list", [1, 2]),
    ("x.list", {"contains": 1}),
    ("x.list", {"not": {"contains": "alpha"}}),
    ("hangar.steer.class", "correction"),
    ("name", {"in": ["bash", "verify"]}),
    ("tool_kind", {"not": "shell"}),
    ("status", None),
    ("status", {"not": "ok"}),
    ("path", {"not": None}),
    ("principal", "p1"),
    ("principal", {"not": "p2"}),
    ("path", {"glob": "src/*"}),
    ("op", {"in": ["write", "edit"]}),
    ("input", {"contains": "git"}),
    ("seq", {"lte": 4}),
    ("seq", None),
    ("turn", 2),
    ("turn", {"gt": 1}),
    ("trusted", True),
    ("total", {"gte": 3}),
    ("complete", {"not": True}),
    ("mcp_server", "m1"),
    ("call_id", {"in": ["c1", "c2"]}),
    ("output", {"regex": "src$"}),
)


def spec(rng: Random, name: str) -> dict[str, Any]:
    """One spec of a random operator and unit."""
    unit = rng.choice(("session", "session", "session", "turn", "turn", "job"))
    operator = rng.choice(tuple(_ASSERTIONS))
    made: dict[str, Any] = {"name": name, "assert": _ASSERTIONS[operator](rng, unit)}
    if unit != "session" or operator == "expected_tools" or rng.random() < 0.3:
        made["unit"] = unit
    if unit == "turn" and rng.random() < 0.3:
        made["turns"] = rng.sample((1, 2, 3, 4), rng.choice((1, 2)))
    if rng.random() < 0.3:
        made["severity"] = rng.choice(("critical", "warning", "info"))
    return made


def matcher(rng: Random) -> dict[str, Any]:
    """A matcher of one kind of item, or of any; half of them match much."""
    if rng.random() < 0.5:
        return deepcopy(rng.choice(BROAD))
    made = rng.choice(_BASES)(rng)
    if not made or rng.random() < 0.25:
        made |= rng.choice(_EXTRAS)(rng)
    return made


def ordered(rng: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two matchers; a third of the pairs are likely to match in this order."""
    if rng.random() < 0.35:
        return deepcopy(rng.choice((*EARLY, *BROAD))), deepcopy(rng.choice(LATE))
    return matcher(rng), matcher(rng)


def _tool(rng: Random) -> dict[str, Any]:
    choices: list[tuple[str, Callable[[], Any]]] = [
        ("kind", lambda: _one_or_more(rng, KINDS)),
        ("ops", lambda: _one_or_more(rng, OPS)),
        ("mcp", lambda: {rng.choice(("server", "tool")): _one_or_more(rng, ("m1", "bash", "m2"))}),
        ("skill", lambda: _one_or_more(rng, ("k1", "k2"))),
        ("name", lambda: rng.choice(("bash", "file", "ed"))),
        ("args", lambda: _arguments(rng)),
    ]
    picked = rng.sample(choices, rng.choice((0, 1, 1, 1, 2)))
    return {"tool": {key: draw() for key, draw in picked}}


def _approval(rng: Random) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if rng.random() < 0.4:
        body["ops"] = _one_or_more(rng, OPS)
    if rng.random() < 0.4:
        body["status"] = _one_or_more(rng, ("allowed", "denied", "requested"))
    return {"approval": body}


def _event(rng: Random) -> dict[str, Any]:
    return {"event": rng.choice((*EVENTS, "test.run"))}


def _where(rng: Random) -> dict[str, Any]:
    return {"where": dict(rng.sample(WHERE, rng.choice((1, 1, 2))))}


_BASES: tuple[Callable[[Random], dict[str, Any]], ...] = (
    _tool,
    _tool,
    _tool,
    _approval,
    _event,
    _event,
    lambda rng: {},
)
_EXTRAS: tuple[Callable[[Random], dict[str, Any]], ...] = (
    _where,
    _where,
    _where,
    lambda rng: {"path": rng.choice(GLOBS)},
    lambda rng: {rng.choice(("input", "output")): rng.choice(REGEXES)},
    lambda rng: {"principal": _one_or_more(rng, PRINCIPALS)},
    lambda rng: {"span": rng.choice(("tool.*", "chat*", "*", "test.run", "[!t]*"))},
)


def _one_or_more(rng: Random, choices: tuple[str, ...]) -> Any:
    return rng.choice(choices) if rng.random() < 0.6 else rng.sample(choices, 2)


def _arguments(rng: Random) -> dict[str, Any]:
    keys = rng.choice((("a",), ("a",), ("b",), ("b", "a")))
    return {key: rng.choice(EXPECTED_ARGUMENTS[key]) for key in keys}


def _count(rng: Random, unit: str) -> dict[str, Any]:
    ranges = ((0, None), (1, None), (2, None), (None, 0), (None, 2), (1, 2), (0, 1))
    least, most = rng.choice(ranges)
    bounds = {"min": least, "max": most}
    return {"count": {"match": matcher(rng)} | {k: v for k, v in bounds.items() if v is not None}}


def _each(rng: Random, unit: str) -> dict[str, Any]:
    first, then = ordered(rng)
    made: dict[str, Any] = {"each": then, "requires_prior": first}
    if unit != "job" and rng.random() < 0.7:
        seqs = {"seq": rng.choice((1, 2, 3, 4))}
        made["within"] = rng.choice((seqs, {"turns": rng.choice((0, 1, 2))}))
    return made


def _paths(rng: Random) -> dict[str, Any]:
    sources = rng.choice((["file.change"], ["diff.files"], ["file.change", "diff.files"]))
    globs: Any = rng.choice((*GLOBS, *PATHS)) if rng.random() < 0.6 else rng.sample(GLOBS, 2)
    return {"paths": {"from": sources}, "match": globs}


def _expected(rng: Random) -> Any:
    name = rng.choice(("bash", "file", "e", *TOOLS))
    if rng.random() < 0.3:
        return name
    entry: dict[str, Any] = {"name": name}
    if rng.random() < 0.7:
        entry["args"] = _arguments(rng)
    if rng.random() < 0.4:
        entry["count"] = rng.choice((1, 2))
    return entry


_ASSERTIONS: Mapping[str, Callable[[Random, str], dict[str, Any]]] = {
    "never": lambda rng, unit: {"never": matcher(rng)},
    "eventually": lambda rng, unit: {"eventually": matcher(rng)},
    "count": _count,
    "before": lambda rng, unit: {"before": dict(zip(("first", "then"), ordered(rng), strict=True))},
    "order": lambda rng, unit: {"order": [*ordered(rng), matcher(rng)][: rng.choice((2, 2, 3))]},
    "each": _each,
    "all": lambda rng, unit: {"all": _paths(rng)},
    "any": lambda rng, unit: {"any": _paths(rng)},
    "expected_tools": lambda rng, unit: {
        "expected_tools": [_expected(rng) for _ in range(rng.choice((1, 2)))]
    },
}
