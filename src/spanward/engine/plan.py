"""The plan of a set of specs: each distinct matcher once, and which specs an answer concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanward.match.args import without_value
from spanward.match.dispatch import Answers, Dispatch
from spanward.saved import FIRST, Numbering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanward.fact import Fact
    from spanward.item import Item
    from spanward.match.matcher import Matcher
    from spanward.operators.operator import Operator
    from spanward.specs.spec import Spec

SESSION: Final = "session"
TURN: Final = "turn"
JOB: Final = "job"

_MAX_REMEMBERED: Final = 4096
"""Combinations of answers remembered. Which occur is the senders' choice, so there is an end."""


_Answers = tuple[tuple[int, ...], tuple[int, ...]]
"""The matchers that are true of a fact, and those that are unknown."""


class Use(msgspec.Struct, frozen=True):
    """A matcher used by a spec: ``bit`` is that of the role."""

    spec: int
    bit: int
    helps: bool


class Concern(msgspec.Struct, frozen=True):
    """A spec that a fact concerns, and the roles in which it counts on either reading.

    The rest is what the spec is, at hand where every fact passes: its operator, whether it is
    ``order_bound`` and ``restricted`` to some turns, and whether the fact is a ``violation``.
    """

    spec: int
    hopeful: int
    fearful: int
    operator: Operator
    order_bound: bool
    restricted: bool
    violation: bool


class Plan:
    """Compiled specs, ready to be asked. Immutable but for two bounded memories.

    ``matchers`` are those that answers and facts name by number; ``used_by`` gives the number in
    each role of each spec; ``of_unit`` the specs of each kind of unit, and ``settled_at_start``
    those of them that the empty set settles. By spec: ``since``, the epoch from which all of its
    matchers are known, ``order_bound``, and the bit of the role whose items are violations
    (``violating``, 0 for none). ``by_sha256`` finds a spec. ``named_turns`` are the turn numbers
    that specs name: these are judged in every session. ``asks_principal``: some matcher asks who
    sent an item. ``redacts``: values of arguments are kept out of the words that are kept of an
    item.
    """

    def __init__(
        self, specs: Sequence[Spec], numbering: Numbering = FIRST, *, redacts: bool = False
    ) -> None:
        self._redacts = redacts
        self.specs = tuple(specs)
        self.numbering = numbering.loaded(sources_of(self.specs))
        known = self.numbering.known
        index = {source: known[source].number for source in sources_of(self.specs)}
        self.matchers: dict[int, Matcher] = {
            index[role.matcher.source]: role.matcher
            for spec in self.specs
            for role in spec.operator.roles
        }
        self.dispatch = Dispatch(self.matchers)
        self.since = tuple(
            max(known[role.matcher.source].since for role in spec.operator.roles)
            for spec in self.specs
        )
        self.by_sha256 = {spec.sha256: i for i, spec in enumerate(self.specs)}
        self.of_unit = {
            unit: tuple(i for i, spec in enumerate(self.specs) if spec.unit == unit)
            for unit in (SESSION, TURN, JOB)
        }
        self.settled_at_start = {
            unit: tuple(i for i in numbers if _settles_at_start(self.specs[i]))
            for unit, numbers in self.of_unit.items()
        }
        traits = [spec.operator.traits for spec in self.specs]
        self.order_bound = tuple(each.order_bound for each in traits)
        self.violating = tuple(
            0 if each.violating is None else 1 << each.violating for each in traits
        )
        self.named_turns = frozenset(turn for spec in self.specs for turn in spec.turns or ())
        self.asks_principal = any(each.asks_principal for each in self.matchers.values())
        self.has_turns = bool(self.of_unit[TURN])
        self.has_jobs = bool(self.of_unit[JOB])
        self._uses = _uses(self.specs, index)
        self.used_by = tuple(
            tuple(index[role.matcher.source] for role in spec.operator.roles) for spec in self.specs
        )
        self._noted = _noted(self.specs, index)
        self._concerns: dict[_Answers, dict[str, tuple[Concern, ...]]] = {}

    def judges(self, spec: int, turn: int | str | None) -> bool:
        """Whether a spec's ``turns`` admit a unit; the rank of a key is known only at its end."""
        turns = self.specs[spec].turns
        return turns is None or not isinstance(turn, int) or turn in turns

    def concerns(self, fact: Fact) -> dict[str, tuple[Concern, ...]]:
        """By kind of unit: the specs that a fact counts for, in either reading."""
        answers = (fact.true, fact.unknown)
        known = self._concerns.get(answers)
        if known is None:
            known = self._by_unit(self._combine(*answers))
            if len(self._concerns) >= _MAX_REMEMBERED:
                self._concerns.clear()
            self._concerns[answers] = known
        return known

    def notes(self, item: Item, answers: Answers) -> tuple[tuple[int, str], ...]:
        """The words to keep of an item: why candidates did not satisfy, and what is unknown."""
        if not answers.unknown and not self._noted:
            return ()
        notes = [(index, self._unknown_words(index, item)) for index in answers.unknown]
        for candidate, satisfied in self._noted:
            if candidate in answers.true and satisfied not in answers.true:
                why = self.matchers[satisfied].why(item)
                notes = [note for note in notes if note[0] != satisfied]
                notes += [(satisfied, why[1])] if why else []
        if self._redacts:
            notes = [(index, without_value(words)) for index, words in notes]
        return tuple(notes)

    def _unknown_words(self, index: int, item: Item) -> str:
        key, found = self.matchers[index].why(item) or ("", "")
        setting = f" ({item.setting})" if item.setting and key == "tool.args" else ""
        return f"{key}: {found}{setting}"

    def _by_unit(self, concerns: tuple[Concern, ...]) -> dict[str, tuple[Concern, ...]]:
        return {
            unit: tuple(concern for concern in concerns if concern.spec in specs)
            for unit, specs in self.of_unit.items()
        }

    def _combine(self, true: tuple[int, ...], unknown: tuple[int, ...]) -> tuple[Concern, ...]:
        hopeful: dict[int, int] = {}
        fearful: dict[int, int] = {}
        for index in true:
            for use in self._uses.get(index, ()):  # its spec may have gone since
                hopeful[use.spec] = hopeful.get(use.spec, 0) | use.bit
                fearful[use.spec] = fearful.get(use.spec, 0) | use.bit
        for index in unknown:
            for use in self._uses.get(index, ()):
                reading = hopeful if use.helps else fearful
                reading[use.spec] = reading.get(use.spec, 0) | use.bit
        return tuple(
            self._concern(spec, hopeful.get(spec, 0), fearful.get(spec, 0))
            for spec in sorted(hopeful.keys() | fearful.keys())
        )

    def _concern(self, number: int, hopeful: int, fearful: int) -> Concern:
        spec = self.specs[number]
        return Concern(
            spec=number,
            hopeful=hopeful,
            fearful=fearful,
            operator=spec.operator,
            order_bound=self.order_bound[number],
            restricted=spec.turns is not None,
            violation=bool(hopeful & self.violating[number]),
        )


def _settles_at_start(spec: Spec) -> bool:
    return spec.operator.outcome(spec.operator.start(), False) is not None


def sources_of(specs: Sequence[Spec]) -> tuple[str, ...]:
    """The sources of the distinct matchers of some specs, in their order."""
    roles = (role for spec in specs for role in spec.operator.roles)
    return tuple(dict.fromkeys(role.matcher.source for role in roles))


def _uses(specs: Sequence[Spec], index: dict[str, int]) -> dict[int, list[Use]]:
    uses: dict[int, list[Use]] = {}
    for number, spec in enumerate(specs):
        for role, part in enumerate(spec.operator.roles):
            of_one = uses.setdefault(index[part.matcher.source], [])
            of_one.append(Use(number, 1 << role, part.helps))
    return uses


def _noted(specs: Sequence[Spec], index: dict[str, int]) -> tuple[tuple[int, int], ...]:
    pairs = {
        (
            index[spec.operator.roles[candidate].matcher.source],
            index[spec.operator.roles[satisfied].matcher.source],
        )
        for spec in specs
        for candidate, satisfied in spec.operator.traits.notes
    }
    return tuple(sorted(pairs))
