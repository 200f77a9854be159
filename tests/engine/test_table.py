"""The packed table is a dict of facts: small, large, with removals, by turn."""

from __future__ import annotations

from random import Random

import pytest
from msgspec import structs

from spanward.engine import registry
from spanward.engine.merge import canonical, merge
from spanward.engine.plan import Plan
from spanward.engine.registry import Registry
from spanward.engine.table import FactTable
from spanward.fact import Fact
from spanward.item import CUT, TOOL_CALL, Item
from spanward.vault import NOTHING
from tests.engine.judged import compiled


def fact(number: int, version: int = 0) -> Fact:
    """A fact; some of turn 1, some of turn key k."""
    return Fact(
        key=b"key %d" % number, session="s", kind=TOOL_CALL, name=f"n{version}", trace_id=b"t" * 16,
        span_id=b"s" * 8, event=-1, digest=b"", start_ns=number, end_ns=number + version, seq=None,
        position=None, turn=1 if number % 3 == 0 else None,
        turn_key="k" if number % 3 == 1 else None, job=None, homeless=False, true=(0,),
        unknown=(1, 2), notes=((1, "why"),),
    )  # fmt: skip


@pytest.mark.parametrize("keys", [10, 300])
def test_it_behaves_as_a_dict(keys: int) -> None:
    """Thousands of random puts and removals, compared after every one."""
    rng = Random(keys)
    table, known = FactTable("s"), dict[bytes, Fact]()
    for step in range(3000):
        made = fact(rng.randrange(keys), step % 5)
        if rng.random() < 0.45:
            table.remove(made.key)
            known.pop(made.key, None)
        else:
            table.put(made)
            known.pop(made.key, None)
            known[made.key] = made
        if step % 97 == 0:
            table.cool()
        assert len(table) == len(known)
        assert table.get(made.key) == known.get(made.key)
        if step % 50 == 0:
            assert {one.key: one for one in table} == known
            for turn, field in ((1, "turn"), ("k", "turn_key"), (9, "turn")):
                expected = [one for one in known.values() if getattr(one, field) == turn]
                assert sorted(table.of_turn(turn), key=lambda one: one.key) == sorted(
                    expected, key=lambda one: one.key
                )


def test_what_is_remembered_of_answers_is_bounded() -> None:
    """Which combinations of answers occur is the senders' choice."""
    specs = [
        {"name": f"s{number}", "assert": {"never": {"tool": {"name": f"t{number}"}}}}
        for number in range(14)
    ]
    plan = Plan(compiled(specs))
    base = fact(1)
    for mask in range(5000):
        true = tuple(index for index in range(14) if mask >> index & 1)
        made = structs.replace(base, true=true, unknown=())
        concerns = plan.concerns(made)["session"]
        assert [concern.spec for concern in concerns] == list(true)
    assert len(plan._concerns) <= 4096


def test_names_of_dropped_sessions_are_forgotten_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The oldest first: there is an end to everything that is kept."""
    monkeypatch.setattr(registry, "MOST_GONE", 2)
    kept = Registry(Plan([]), NOTHING, 0.0, 0.0)
    for name in ("a", "b", "c"):
        kept.drop(kept.session(name, 0.0), remembered=True)
    assert [kept.session(name, 0.0).gap for name in ("a", "b", "c")] == [False, True, True]


def report(end: int, **fields: object) -> Item:
    """A report of one call."""
    known = {"kind": TOOL_CALL, "trace_id": b"t", "span_id": b"s", "start_ns": 1, "end_ns": end}
    return Item(**{**known, **fields})  # type: ignore[arg-type]


def test_a_whole_value_stands_against_a_cut_one() -> None:
    """What is present overrides what was cut, whichever report stands."""
    whole = report(5, attributes={"a.b": 1}, outer=({"x.y": 1},), name="n")
    cut = report(9, attributes={"a.b": CUT, "c.d": CUT}, outer=({"x.y": 2}, {"x.y": 1}))
    merged = merge([cut, whole])
    assert merged.attributes == {"a.b": 1, "c.d": CUT}
    assert merged.attribute("x.y") == 2
    assert merged.name == "n"
    assert '"outer"' in canonical(whole)
