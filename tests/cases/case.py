"""Reads case files: reports in order of arrival, and the verdicts that must come of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from . import parts
from .parts import Fields

Reference = tuple[str, str, "int | str | None"]
"""A step as a verdict refers to it: trace id and span id in hex, event (README: `id`)."""

BASE: Final = 1_700_000_000_000_000_000
"""Unix nanoseconds from which the times of case files count."""

_ITEM: Final = frozenset(
    "id kind session job seq turn turn_key call_id name span_name tool_kind path op input output"
    " status mcp_server mcp_tool skill trusted total complete ops args diff_files attributes scope"
    " resource withheld principal trace span event log start end".split()
)
_EXPECT: Final = frozenset(
    "result decided_by witnesses revision session trace turn job details reason".split()
)
_CASE: Final = frozenset("name spec items expect gap offline withdrawn".split())


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case. ``number`` is its place in its file and part of every id and name it uses.

    ``reports`` are in order of arrival. ``gap``: the beginning of the unit is lost. ``offline``
    says why the live service need not agree; empty where it must. ``withdrawn`` are the sessions
    of units that are withdrawn when the items arrive live, in order.
    """

    path: Path
    number: int
    name: str
    spec: Fields
    reports: tuple[Fields, ...]
    expect: tuple[Fields, ...]
    gap: bool
    offline: str
    withdrawn: frozenset[str]

    @property
    def title(self) -> str:
        """The case as a test's id shows it."""
        return f"{self.path.parent.name}/{self.path.stem}: {self.name}"

    @property
    def homeless(self) -> bool:
        """Whether some report names no session."""
        return any("session" not in report for report in self.reports)


def files() -> list[Path]:
    """All case files."""
    return sorted(Path(__file__).parent.glob("*/*.yaml"))


def cases(paths: Sequence[Path] | None = None) -> list[Case]:
    """The cases of some files, of all files unless told."""
    found = []
    for path in files() if paths is None else paths:
        raw = yaml.safe_load(path.read_text("utf-8"))
        found += [_Reader(path, number, one).case() for number, one in enumerate(raw, 1)]
    return found


def by_listing(verdict: Mapping[str, Any]) -> tuple[Any, ...]:
    """The order in which the verdicts of one spec are listed: session, turn, job."""
    turn = verdict["turn"]
    return (verdict["session"] or "", -1 if turn is None else turn, verdict["job"] or "")


class _Reader:
    """Reads one case; labels become ids that rise in the order in which they first stand."""

    def __init__(self, path: Path, number: int, raw: Fields) -> None:
        _known(raw, _CASE, "case")
        self._path = path
        self._number = number
        self._raw = raw
        self._ids: dict[tuple[str, str], int] = {}
        self._references: dict[str, Reference] = {}

    def case(self) -> Case:
        raw = self._raw
        spec = {"name": f"case-{self._number}"} | raw["spec"]
        reports: list[Fields] = []
        for place, item in enumerate(raw["items"], 1):
            reports.append(self._report(place, dict(item), reports))
        expect = [self._verdict(dict(one), spec) for one in raw["expect"]]
        return Case(
            path=self._path,
            number=self._number,
            name=raw["name"],
            spec=spec,
            reports=tuple(reports),
            expect=tuple(sorted(expect, key=by_listing)),
            gap=raw.get("gap", False),
            offline=raw.get("offline", ""),
            withdrawn=frozenset(self._session(unit) for unit in raw.get("withdrawn", ())),
        )

    # --- items

    def _report(self, place: int, item: Fields, before: Sequence[Fields]) -> Fields:
        _known(item, _ITEM, "item")
        kind, label = item["kind"], item.pop("id", None)
        span = str(item.pop("span", f"#{place}"))
        trace = str(item.pop("trace", span))
        report: Fields = {"kind": kind, "trace": self._trace(trace), "span": self._span(span)}
        report |= parts.event(item)
        start = item.pop("start", 10 * place)
        report |= {"start": BASE + start, "end": BASE + item.pop("end", start)}
        owner = parts.owner(report, before)
        report |= self._belonging(item, owner) | parts.name(item, report) | parts.content(item)
        if kind == "tool.call":
            report.setdefault("status", "ok")
        if owner is not None and "attributes" in owner:
            report["span_attributes"] = owner["attributes"]
        if report.get("event") == "log":
            report["digest"] = parts.digest(report)
        if label is not None:
            self._references[label] = (report["trace"], report["span"], report.get("event"))
        return report

    def _belonging(self, item: Fields, owner: Fields | None) -> Fields:
        own = {key: item.pop(key) for key in parts.LENT if key in item}
        for key in ("session", "job"):
            if own.get(key) is not None:
                own[key] = self._own(own[key])
        first = {"session": self._own("s1")} if owner is None else parts.lent(owner)
        return {key: value for key, value in (first | own).items() if value is not None}

    def _own(self, name: str) -> str:
        return f"{self._number:03}-{name}"

    def _trace(self, label: str) -> str:
        return f"{self._number:016x}{self._count('trace', label):016x}"

    def _span(self, label: str) -> str:
        return f"{self._number:04x}{self._count('span', label):012x}"

    def _count(self, what: str, label: str) -> int:
        return self._ids.setdefault((what, label), len(self._ids) + 1)

    # --- expectations

    def _verdict(self, expected: Fields, spec: Fields) -> Fields:
        _known(expected, _EXPECT, "expectation")
        decider = expected.get("decided_by")
        job = expected.get("job")
        cause = "item" if decider is not None else "end_of_input"
        if self._raw.get("gap") and decider is None:
            cause = "incomplete"
        return {
            "result": expected["result"],
            "early": decider is not None,
            "cause": cause,
            "decided_by": None if decider is None else self._references[decider],
            "witnesses": [self._references[label] for label in expected.get("witnesses", ())],
            "revision": expected.get("revision", 0),
            "session": None if spec.get("unit") == "job" else self._session(expected),
            "turn": expected.get("turn"),
            "job": None if job is None else self._own(job),
            "details": _details(expected.get("details", ()), spec),
            "reason": expected.get("reason", ""),
        }

    def _session(self, unit: Fields) -> str:
        """The session that is named, or that a trace without one is."""
        return (
            self._trace(unit["trace"]) if "trace" in unit else self._own(unit.get("session", "s1"))
        )


def _known(raw: Fields, keys: frozenset[str], what: str) -> None:
    unknown = raw.keys() - keys
    if unknown:
        raise ValueError(f"unknown keys of a {what}: {sorted(unknown)} in {raw}")


def _details(told: Sequence[Fields] | None, spec: Fields) -> list[Fields] | None:
    """The details of `expected_tools`: what the spec says, with what is told of each entry."""
    entries = spec["assert"].get("expected_tools")
    if entries is None or told is None:
        return None
    assert len(told) == len(entries), spec
    return [_detail(entry, one) for entry, one in zip(entries, told, strict=True)]


def _detail(entry: Fields | str, told: Fields) -> Fields:
    known = {"name": entry} if isinstance(entry, str) else entry
    _known(told, frozenset({"matched_call_index", "unmatched_reason"}), "detail")
    return {
        "expected_tool": known["name"],
        "args_asserted": known.get("args"),
        "count": known.get("count", 1),
        "matched_call_index": told.get("matched_call_index", -1),
        "unmatched_reason": told.get("unmatched_reason"),
    }
