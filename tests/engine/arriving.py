"""The oracle's sessions as a service meets them: in any order, told twice, judged at the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from spanward.specs.spec import Spec
from spanward.verdict import Announcement, Result
from tests.engine.judged import Fields, compiled
from tests.oracle import sessions

RARELY = 1e9
"""Seconds that do not pass."""
TRUE = ("spec", "unit", "session", "turn", "job", "result", "witnesses", "details")


def is_amended_without_a_call_id(reports: list[Fields]) -> bool:
    """The service does not keep such records, so it need not agree (semantics, section 1)."""
    told: dict[Any, set[str]] = {}
    named: dict[Any, bool] = {}
    for one in reports:
        record = (one["trace"], one["span"], one.get("event"), one.get("digest"))
        told.setdefault(record, set()).add(json.dumps(one, sort_keys=True))
        named[record] = named.get(record, True) and one.get("call_id") is not None
    return any(len(texts) > 1 and not named[record] for record, texts in told.items())


def true_of(verdicts: list[Fields]) -> list[Fields]:
    """What of verdicts does not depend on the order of arrival."""
    return [{key: verdict[key] for key in TRUE} for verdict in verdicts]


def last_told(announced: list[Announcement]) -> Counter[tuple[str, str]]:
    """How often each spec's last word on a unit was which result; what was withdrawn is not."""
    last: dict[Any, tuple[str, str, str]] = {}
    for one in announced:
        told = one.verdict
        turn = told.turn if one.turn_key is None else one.turn_key
        last[told.spec, told.session, turn, told.job] = (told.spec, told.result, told.cause)
    return Counter((name, result) for name, result, cause in last.values() if cause != "merged")


def known(counted: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Without the unknown: what was told so is not withdrawn when its unit is."""
    return {key: number for key, number in counted.items() if key[1] != Result.UNKNOWN}


def arriving(
    first: int, number: int
) -> Iterator[tuple[int, Random, list[Fields], tuple[Spec, ...], list[Fields], list[Fields]]]:
    """Sessions by seed: the seed, its chance, specs plain and compiled, reports and as they come.

    Without those of which the service, unlike the oracle, need not keep all.
    """
    for seed in range(first, first + number):
        specs, reports = sessions.case(seed)
        if is_amended_without_a_call_id(list(reports)) or any("turns" in one for one in specs):
            continue
        loaded, rng = compiled(specs), Random(seed)
        come = rng.sample(reports, len(reports)) + rng.choices(reports, k=3)
        yield seed, rng, list(specs), loaded, list(reports), come
