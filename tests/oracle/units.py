"""Units: which sessions, turns and jobs a spec judges, and their items (section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .items import Item


@dataclass(frozen=True, slots=True)
class Unit:
    """What a unit is known by. A turn is known by its number, or by its key where none was sent."""

    session: str | None = None
    job: str | None = None
    turn: int | None = None
    turn_key: str | None = None


def units_of(spec: Mapping[str, Any], items: Sequence[Item]) -> dict[Unit, int | None]:
    """The units that a spec judges over these items, each with the turn number to show."""
    kind = spec.get("unit", "session")
    if kind == "session":
        units: dict[Unit, int | None] = {Unit(session=i.session): None for i in items}
    elif kind == "job":
        jobs = {i.columns.get("job") for i in items} - {None}
        units = {Unit(job=job): None for job in jobs}
    else:
        units = {}
        for session in {i.session for i in items}:
            units.update(_turns(spec.get("turns"), session, items))
    return {unit: turn for unit, turn in units.items() if members(spec, unit, items) is not None}


def members(spec: Mapping[str, Any], unit: Unit, items: Sequence[Item]) -> list[Item] | None:
    """The items of a unit, or None when the unit does not exist over these items."""
    around = [i for i in items if unit.session is None or i.session == unit.session]
    found = _inside(unit, around)
    must_hold = around if spec.get("turns") is not None else found
    return found if any(i.kind != "span" for i in must_hold) else None


def ranks(items: Sequence[Item]) -> dict[str, int]:
    """The number of each turn key of one session: its rank, from 1.

    By the least start of the reports of the session that carry the key, whatever has become of
    their items; only keys that an item still has are ranked.
    """
    held = {item.columns["turn_key"] for item in items if item.columns.get("turn_key") is not None}
    starts = [start for item in items for start in item.key_starts]
    first = {key: min(s for home, k, s in starts if k == key) for key in held}
    ordered = sorted(first, key=lambda key: (first[key], key))
    return {key: place for place, key in enumerate(ordered, start=1)}


def _turns(
    named: Sequence[int] | None, session: str, items: Sequence[Item]
) -> dict[Unit, int | None]:
    around = [i for i in items if i.session == session]
    units: dict[Unit, int | None] = {}
    if _numbered(around):
        units = {Unit(session=session, turn=i.turn): i.turn for i in around if i.turn is not None}
    else:
        units = {Unit(session=session, turn_key=key): rank for key, rank in ranks(around).items()}
    if named is None:
        return units
    by_number = {turn: unit for unit, turn in units.items()}
    return {by_number.get(n, Unit(session=session, turn=n)): n for n in named}


def _inside(unit: Unit, around: Sequence[Item]) -> list[Item]:
    if unit.job is not None:
        return [i for i in around if i.columns.get("job") == unit.job]
    if unit.turn is not None:
        return [i for i in around if i.turn == unit.turn]
    if unit.turn_key is not None:
        keyed = not _numbered(around)
        return [i for i in around if keyed and i.columns.get("turn_key") == unit.turn_key]
    return list(around)


def _numbered(items: Sequence[Item]) -> bool:
    return any(i.turn is not None for i in items)
