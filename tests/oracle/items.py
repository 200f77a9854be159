"""Items from reports: the session of each report, what makes one item, and merging (section 1)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Report = Mapping[str, Any]
Reference = tuple[str, str, "int | str | None"]
_APART = frozenset(
    {
        *("start", "end", "kind", "trace", "span", "event", "digest", "withheld", "attributes"),
        "principal",
    }
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """One report with what does not depend on its neighbours. `place` is its arrival, from 0."""

    place: int
    report: Report
    session: str
    start: int
    end: int
    text: str

    @property
    def record(self) -> tuple[Any, ...]:
        """What names the record: trace, span, event, digest of a log."""
        r = self.report
        return (r["trace"], r["span"], r.get("event"), r.get("digest"))

    @property
    def rank(self) -> tuple[int, int, str]:
        """The greater one stands where two reports differ."""
        return (self.end, self.start, self.text)


@dataclass(frozen=True, slots=True)
class Item:
    """What the reports of one item say together. A column that is None is absent."""

    kind: str
    session: str
    start: int
    end: int
    trace: str
    span: str
    event: int | str | None
    digest: str
    columns: Mapping[str, Any]
    attributes: Mapping[str, Any]
    withheld: frozenset[str]
    places: frozenset[int]
    key_starts: tuple[tuple[str, str, int], ...]

    @property
    def seq(self) -> int | None:
        """The position in the session's log, or None."""
        return self.columns.get("seq")

    @property
    def turn(self) -> int | None:
        """The turn number that was sent, or None."""
        return self.columns.get("turn")

    @property
    def reference(self) -> Reference:
        """How a verdict names the item."""
        return (self.trace, self.span, self.event)


def prepare(reports: Sequence[Report], asked: frozenset[str]) -> list[Prepared]:
    """Give every report its session (all of them are known) and its canonical text.

    `asked` holds the attribute names that some `where` of the specs asks for.
    """
    homes = _homes(reports)
    prepared = []
    for place, report in enumerate(reports):
        trace: str = report["trace"]
        start: int = report["start"]
        session: str = report.get("session") or homes.get(trace) or trace
        end = max(start, report.get("end", start))
        text = _canonical({**report, "session": session}, asked)
        prepared.append(Prepared(place, report, session, start, end, text))
    return prepared


def items_of(prepared: Sequence[Prepared]) -> list[Item]:
    """The items that a set of reports makes."""
    return [_merged(group) for group in _groups(prepared)]


def before_in_time(a: Any, b: Any) -> bool:
    """The time rule of section 2, for anything with a start and an end."""
    return bool(a.end <= b.start) and not a.start == a.end == b.start == b.end


def _homes(reports: Sequence[Report]) -> dict[str, str]:
    """A trace's session: that of its earliest-started span that carries one, ties by span id."""
    best: dict[str, tuple[int, str, str]] = {}
    for report in reports:
        if report.get("event") is not None or not report.get("session"):
            continue
        bid = (report["start"], report["span"], report["session"])
        trace = report["trace"]
        best[trace] = min(bid, best.get(trace, bid))
    return {trace: session for trace, (_, _, session) in best.items()}


def _canonical(report: Report, asked: frozenset[str]) -> str:
    apart = ("start", "end", "attributes")
    said = {k: v for k, v in report.items() if v is not None and k not in apart}
    attributes = {k: v for k, v in (report.get("attributes") or {}).items() if k in asked}
    if attributes:
        said["attributes"] = attributes
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _groups(prepared: Iterable[Prepared]) -> list[list[Prepared]]:
    by_call: dict[tuple[str, str], list[Prepared]] = {}
    by_record: dict[tuple[Any, ...], list[Prepared]] = {}
    for one in prepared:
        call_id = one.report.get("call_id")
        if one.report["kind"] == "tool.call" and call_id is not None:
            by_call.setdefault((one.session, call_id), []).append(one)
        else:
            by_record.setdefault(one.record, []).append(one)
    groups = list(by_record.values())
    for calls in by_call.values():
        groups.extend(_executions(calls))
    return groups


def _executions(calls: Sequence[Prepared]) -> list[list[Prepared]]:
    """The reports under one call id, apart where they do not overlap in time."""
    left, found = list(calls), []
    while left:
        group = [left.pop(0)]
        for member in group:
            joined = [other for other in left if _same_execution(member, other)]
            group.extend(joined)
            left = [other for other in left if other not in joined]
        found.append(group)
    return found


def _same_execution(a: Prepared, b: Prepared) -> bool:
    return a.record == b.record or not (before_in_time(a, b) or before_in_time(b, a))


def _merged(group: Sequence[Prepared]) -> Item:
    ordered = sorted(group, key=lambda one: one.rank)
    columns: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    withheld: set[str] = set()
    for one in ordered:
        columns.update({k: v for k, v in one.report.items() if v is not None and k not in _APART})
        said = one.report.get("attributes") or {}
        attributes.update({k: v for k, v in said.items() if v is not None})
        withheld.update(one.report.get("withheld") or ())
    senders = {one.report.get("principal") for one in group}
    if len(senders) == 1:  # else it is nobody's word
        columns["principal"] = senders.pop()
    last = ordered[-1]
    return Item(
        kind=last.report["kind"],
        session=last.session,
        start=last.start,
        end=last.end,
        trace=last.report["trace"],
        span=last.report["span"],
        event=last.report.get("event"),
        digest=last.report.get("digest") or "",
        columns=columns,
        attributes=attributes,
        withheld=frozenset(withheld - columns.keys() - attributes.keys()),
        places=frozenset(one.place for one in group),
        key_starts=tuple(
            (one.session, one.report["turn_key"], one.start)
            for one in group
            if one.report.get("turn_key") is not None
        ),
    )
