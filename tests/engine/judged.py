"""Judges the oracle's reports with the product's own engine, and gives verdicts in its shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.errors import Problems, render_all
from spanward.item import ON_LOG, ON_SPAN, Item, Report
from spanward.specs.asking import asked_by
from spanward.specs.loader import load_text
from spanward.specs.spec import Spec
from spanward.verdict import Cause, Verdict, Witness

OFFLINE = Limits(settle=0.0, amend_window=None)
"""The clocks of ``check``: every item is kept, a result stands at once."""

Fields = dict[str, Any]


class _WithoutAliases(yaml.SafeDumper):
    """Writes a value as often as it stands: spec files know no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def compiled(specs: Sequence[Fields]) -> tuple[Spec, ...]:
    """Specs from plain values, by way of the YAML that a user would write."""
    problems = Problems()
    text = yaml.dump_all(specs, Dumper=_WithoutAliases, sort_keys=False, allow_unicode=True)
    loaded = load_text(text, "specs.yaml", problems)
    assert not problems.errors, render_all(problems.errors)
    return loaded


def item(report: Fields, asked: frozenset[str]) -> Item:
    """The item that a dialect would have made of a report: with the attributes asked for."""
    fields = dict(report)
    attributes = fields.pop("attributes", {})
    event = fields.pop("event", None)
    for key in fields.keys() & {"ops", "diff_files"}:
        fields[key] = tuple(fields[key])
    return Item(
        trace_id=bytes.fromhex(fields.pop("trace")),
        span_id=bytes.fromhex(fields.pop("span")),
        event=ON_LOG if event == "log" else ON_SPAN if event is None else event,
        digest=bytes.fromhex(fields.pop("digest", "")),
        start_ns=fields.pop("start"),
        end_ns=fields.pop("end"),
        attributes={name: attributes[name] for name in attributes.keys() & asked},
        withheld=frozenset(fields.pop("withheld", ())),
        **fields,
    )


def as_reports(specs: Sequence[Spec], reports: Iterable[Fields]) -> list[Report]:
    """One report for each item, in order."""
    asked = asked_by(specs).attributes
    made = [(report, item(report, asked)) for report in reports]
    return [
        Report(it.trace_id, it.span_id, it.start_ns, it.session, "event" not in report, (it,))
        for report, it in made
    ]


def offline(specs: Sequence[Spec], reports: Sequence[Report]) -> list[Fields]:
    """The final verdicts of ``check``, in the oracle's shape."""
    engine = Engine(specs, OFFLINE)
    engine.foresee(reports, 0.0)
    engine.take(reports, 0.0)
    engine.finish(Cause.END_OF_INPUT, 0.0)
    assert not engine.faults, engine.faults
    return [shape(verdict) for verdict in engine.report()]


def shape(verdict: Verdict) -> Fields:
    """A verdict as the oracle writes it: without words, severity and what follows from the rest."""
    decider = verdict.decided_by
    return {
        "spec": verdict.spec,
        "operator": verdict.operator,
        "unit": verdict.unit,
        "session": verdict.session,
        "turn": verdict.turn,
        "job": verdict.job,
        "result": str(verdict.result),
        "early": verdict.early,
        "cause": str(verdict.cause),
        "decided_by": None if decider is None else reference(decider),
        "witnesses": [reference(witness) for witness in verdict.witnesses],
        "details": verdict.details,
        "revision": verdict.revision,
    }


def reference(witness: Witness) -> tuple[str, str, int | str | None]:
    """A witness as the oracle refers to it."""
    return (witness.trace_id, witness.span_id, witness.event)
