"""Random telemetry records, and the reports that each record gives: itself, then its events.

Alphabets are small and times are close, so that matches, ties and overlaps are frequent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Fields = dict[str, Any]

EPOCH = 1_700_000_000_000_000_000
TRACES = tuple(digit * 32 for digit in "1a2b")
SESSIONS = ("s1", "s2")
TOOLS = ("bash", "read_file", "edit_file")
KINDS = ("shell", "read", "edit", "mcp")
OPS = ("test", "git.commit", "git.push")
STATUSES = ("ok", "error", "denied")
PATHS = ("src/a.py", "src/sub/b.py", "docs/x.md")
INPUTS = ("git push --force", "pytest -q", "ls src")
EVENTS = ("file.change", "file.change", "verify", "steer")
SPAN_NAMES = ("chat gpt", "invoke_agent", "step")
PRINCIPALS = ("p1", "p2")
TURN_KEYS = ("ka", "kb")
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "a": (206588, 206588.0, "206,588", "206 588", 206000, True, 1, None, "yes", [1, 2], [1.0, 2]),
    "b": ("x", " YES ", "14.14%", 0.1414, {"mode": "fast"}, "2009 cash flow", False),
}
ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "x.n": (1, 1.0, 2, 2.5, True, "1"),
    "x.t": ("alpha", "beta", "alphabet"),
    "x.list": ([1, 2], ["alpha"], [1.0, 2.0]),
    "hangar.steer.class": ("correction", "redirect", "unclassified"),
}
WITHHELD = (
    *("args", "ops", "input", "output", "path", "status", "tool_kind"),
    *("mcp_server", "mcp_tool", "skill", "name"),
)


@dataclass(frozen=True, slots=True)
class World:
    """What all records of one case have in common.

    `bound` says for each trace how its records carry a session: always, late (few do), never.
    `turns` is one of numbers, keys, mixed, none; `seqs` the share of items that carry a seq.
    """

    rng: Random
    wire: bool
    bound: dict[str, str]
    sessions: tuple[str, ...]
    turns: str
    seqs: float

    def some(self, chance: float) -> bool:
        """True with this chance."""
        return self.rng.random() < chance

    def pick(self, choices: Sequence[Any]) -> Any:
        """One of the choices."""
        return self.rng.choice(choices)


def world(rng: Random, *, wire: bool) -> World:
    """A world drawn from `rng`."""
    styles = ("always", "always", "always", "always", "late", "late", "never")
    bound = {trace: rng.choice(styles) for trace in TRACES}
    turns = ("numbers", "none") if wire else ("numbers", "keys", "mixed", "none")
    seqs = rng.choice((0.0, 0.5, 0.8, 1.0, 1.0))
    sessions = rng.choice((SESSIONS, SESSIONS[:1]))
    return World(rng, wire, bound, sessions, rng.choice(turns), seqs)


def record(w: World, number: int) -> Fields:
    """One span with its events, or one log record; `number` makes its span id."""
    return log(w) if w.some(0.2) else span(w, number)


def span(w: World, number: int) -> Fields:
    """A span: its own report under `self`, those of its events under `events`."""
    trace = w.pick(TRACES)
    kind = w.pick(("tool.call",) * 5 + ("approval", "approval", "event", "span"))
    name = {"event": "test.run", "span": w.pick(SPAN_NAMES)}.get(kind, kind)
    own = {"kind": kind, "trace": trace, "span": f"{number:016x}", "span_name": name}
    own |= _belonging(w, trace) | times(w, instant=0.3) | columns(w, kind, name)
    events = [_event(w, own) for _ in range(w.pick((0, 0, 0, 1, 1, 2)))]
    return {"self": own, "events": events}


def log(w: World) -> Fields:
    """A log record; its digest follows from what it says."""
    trace = w.pick(TRACES)
    kind = "event" if w.wire else w.pick(("event", "event", "tool.call", "approval"))
    own = {"kind": kind, "trace": trace, "span": f"{w.pick((1, 2, 3)):016x}", "event": "log"}
    own |= _belonging(w, trace) | times(w, instant=1.0) | columns(w, kind, w.pick(EVENTS))
    return {"self": own, "events": []}


def reports_of(one: Fields) -> list[Fields]:
    """What a record gives, in the order of its items; an event takes what its span lends."""
    own = one["self"]
    if own.get("event") == "log":
        text = json.dumps(own, sort_keys=True)
        return [own | {"digest": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}]
    lent = {k: own[k] for k in ("session", "job", "turn", "turn_key") if k in own}
    given = [own]
    for index, event in enumerate(one["events"]):
        attributes = own.get("attributes", {}) | event.get("attributes", {})
        report = lent | event | {"trace": own["trace"], "span": own["span"], "event": index}
        given.append(report | ({"attributes": attributes} if attributes else {}))
    return given


def times(w: World, *, instant: float) -> Fields:
    """A start and an end within a dozen nanoseconds; an instant with the given chance."""
    start = EPOCH + w.rng.randint(0, 10)
    return {"start": start, "end": start if w.some(instant) else start + w.rng.randint(1, 4)}


def position(w: World) -> Fields:
    """A seq, a turn number, a turn key, or less."""
    given: Fields = {}
    if w.some(w.seqs):
        given["seq"] = w.rng.randint(1, 9)
    if w.turns in ("numbers", "mixed") and w.some(0.8):
        given["turn"] = w.rng.randint(1, 3)
    if w.turns in ("keys", "mixed") and w.some(0.6):
        given["turn_key"] = w.pick(TURN_KEYS)
    return given


def columns(w: World, kind: str, name: str) -> Fields:
    """The columns, attributes and withheld columns that an item of this kind may have."""
    given = _of_kind(w, kind, name)
    attributes = {k: w.pick(values) for k, values in ATTRIBUTES.items() if w.some(0.3)}
    if attributes:
        given["attributes"] = attributes
    if w.some(0.1):
        given["diff_files"] = w.rng.sample(PATHS, w.pick((1, 2)))
    withheld = [] if w.wire else _withheld(w, kind, given)
    return given | ({"withheld": withheld} if withheld else {})


def _belonging(w: World, trace: str) -> Fields:
    given = position(w)
    if w.some({"always": 1.0, "late": 0.35, "never": 0.0}[w.bound[trace]]):
        given["session"] = w.pick(w.sessions)
    if w.some(0.4):
        given["job"] = w.pick(("j1", "j1", "j2"))
    return given


def _event(w: World, own: Fields) -> Fields:
    kind = "event" if w.wire or w.some(0.8) else w.pick(("tool.call", "approval"))
    start = own["start"] + w.rng.randint(0, max(1, own["end"] - own["start"]))
    event = {"kind": kind, "start": start, "end": start} | columns(w, kind, w.pick(EVENTS))
    event |= {k: v for k, v in position(w).items() if k == "seq" or w.some(0.3)}
    if "session" in own and w.some(0.05):
        event["session"] = w.pick(w.sessions)
    return event


def _of_kind(w: World, kind: str, name: str) -> Fields:
    if kind == "tool.call":
        return _call(w)
    if kind == "approval":
        return _approval(w)
    given: Fields = {"name": name}
    if kind == "span" or (name == "file.change" and w.some(0.8)):
        given |= _maybe(w, path=PATHS)
    if name == "file.change":
        given |= _maybe(w, op=("write", "delete"))
    if name == "test.run":
        given |= _maybe(w, trusted=(True, False), total=(0, 3, 7), complete=(True, False))
    return given


def _call(w: World) -> Fields:
    given: Fields = {"name": w.pick(TOOLS)}
    given |= _maybe(w, tool_kind=KINDS, path=PATHS, op=("read", "edit"), input=INPUTS)
    given |= _maybe(w, output=INPUTS, mcp_server=("m1", "m2"), mcp_tool=TOOLS, skill=("k1", "k2"))
    if w.wire or w.some(0.7):
        given["status"] = w.pick(STATUSES)
    if w.some(0.5):
        given["ops"] = w.rng.sample(OPS, w.pick((1, 2)))
    if w.some(0.7):
        given["args"] = {k: w.pick(values) for k, values in ARGUMENTS.items() if w.some(0.7)}
    if w.some(0.5):
        given["call_id"] = w.pick(("c1", "c2", "c3"))
    return given


def _approval(w: World) -> Fields:
    given: Fields = {"name": "approval" if w.wire else w.pick(TOOLS)}
    given |= _maybe(w, status=("allowed", "denied", "requested"), input=INPUTS)
    given |= _maybe(w, call_id=("c1", "c2"))
    if w.some(0.6):
        given["ops"] = w.rng.sample(OPS, 1)
    return given


def _maybe(w: World, **choices: Sequence[Any]) -> Fields:
    return {column: w.pick(values) for column, values in choices.items() if w.some(0.5)}


def _withheld(w: World, kind: str, given: Fields) -> list[str]:
    if kind in ("tool.call", "approval"):
        kept = [c for c in WITHHELD if c != "name" or w.some(0.2)]
        hidden = [c for c in kept if w.some(0.12)]
    else:
        hidden = ["path"] if given["name"] == "file.change" and w.some(0.25) else []
    for column in hidden:
        given.pop(column, None)
    return sorted(hidden)
