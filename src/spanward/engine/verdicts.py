"""From a result to a verdict: the reading that explains it, the words, the witnesses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanward.engine.monitor import Monitor
from spanward.fact import in_listing_order, witness
from spanward.operators.operator import Explanation, Member
from spanward.verdict import Cause, Result, Verdict

if TYPE_CHECKING:
    from spanward.engine.unit import Concerned, Unit
    from spanward.specs.spec import Spec

MOST_WITNESSES: Final = 10

INCOMPLETE: Final = Explanation("the beginning of the unit is not known to be complete")
EVICTED: Final = Explanation("the unit had to be dropped before this could be known")
MERGED: Final = Explanation("the items of this unit belong to another one")


def explain(
    spec: Spec, matchers: tuple[int, ...], monitor: Monitor, result: Result, concerned: Concerned
) -> Explanation:
    """Why a monitor's result is what it is.

    A pass is explained by the fearful reading and a fail by the hopeful one, so that only what
    is certain is shown; a result on which the readings do not agree, by what is unknown.
    ``matchers`` are the indexes of those in the operator's roles.
    """
    operator = spec.operator
    if result is Result.UNKNOWN and monitor.readings_part(operator):
        return _explain_unknown(spec, matchers, monitor, concerned)
    if operator.traits.feared or result is Result.PASS:
        return operator.explain(
            monitor.fearful, result, _members(concerned, matchers, hopeful=False)
        )
    return operator.explain(monitor.hopeful, result, _members(concerned, matchers, hopeful=True))


def _explain_unknown(
    spec: Spec, matchers: tuple[int, ...], monitor: Monitor, concerned: Concerned
) -> Explanation:
    candidates = sum(1 << candidate for candidate, _ in spec.operator.traits.notes)
    hidden = in_listing_order(
        fact for concern, fact in concerned if (concern.hopeful ^ concern.fearful) & ~candidates
    )
    index = next(index for index in hidden[0].unknown if index in matchers)
    words = hidden[0].note(index)
    details = None
    if spec.operator.traits.feared:
        members = _members(concerned, matchers, hopeful=False)
        details = spec.operator.explain(monitor.fearful, Result.FAIL, members).details
    return Explanation(f"cannot tell: {words}", hidden, details)


def _members(concerned: Concerned, matchers: tuple[int, ...], *, hopeful: bool) -> list[Member]:
    members = [
        Member(fact, concern.hopeful if hopeful else concern.fearful, matchers)
        for concern, fact in concerned
    ]
    return [member for member in members if member.roles]


def verdict(
    spec: Spec,
    unit: Unit,
    turn: int | None,
    monitor: Monitor,
    result: Result,
    cause: Cause,
    explanation: Explanation,
) -> Verdict:
    """The verdict of a unit; early exactly when its cause is an item."""
    early = cause is Cause.ITEM
    return Verdict(
        spec=spec.name,
        operator=spec.operator_name,
        severity=spec.severity,
        unit=unit.kind,
        session=unit.session,
        turn=turn,
        job=unit.job,
        result=result,
        reason=explanation.reason,
        early=early,
        cause=cause,
        revision=monitor.revision,
        decided_by=monitor.by if early else None,
        witnesses=tuple(witness(fact) for fact in explanation.witnesses[:MOST_WITNESSES]),
        details=explanation.details,
    )
