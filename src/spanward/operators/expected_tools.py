"""``expected_tools: [NAME or {name, args, count}]``: each entry has enough matching calls.

The call selection is that of the seed "tool argument matchers", section 1.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from spanward import expect
from spanward.fact import Fact, in_listing_order
from spanward.item import TOOL_CALL
from spanward.match.args import Args, compile_args
from spanward.match.columns import KindIs, TextHolds, contains
from spanward.match.matcher import Matcher
from spanward.node import Mapping, Scalar, Sequence, value_of
from spanward.operators.operator import Explanation, Member, Role, Traits, having
from spanward.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence as Several

    from spanward.errors import Place, Problems
    from spanward.match.truth import Test
    from spanward.node import Node

_ANY_CALL: Final = 0


class Entry(msgspec.Struct, frozen=True):
    """One expected tool; ``asserted`` is ``args`` as written, None without."""

    name: str
    count: int
    asserted: dict[str, Any] | None
    named: Matcher
    satisfied: Matcher


class ExpectedTools:
    """Each entry has at least its count of calls that match its name and arguments.

    Role 0 is any tool call, for the index of a call; entry *i* has the roles 2i+1, a call of that
    name, and 2i+2, a call that satisfies it. The state counts the latter.
    """

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        any_call = Matcher("any tool call", (KindIs("tool", TOOL_CALL),))
        matchers = [any_call]
        for entry in entries:
            matchers += [entry.named, entry.satisfied]
        self.roles = tuple(Role(matcher, helps=True) for matcher in matchers)
        self._entries = entries
        self._numbers = range(len(entries))
        pairs = tuple((_named(i), _satisfied(i)) for i in self._numbers)
        self.traits = Traits(name="expected_tools", notes=pairs, feared=True)

    def start(self) -> list[int]:
        return [0] * len(self._entries)

    def fold(self, state: list[int], roles: int, fact: Fact) -> list[int]:
        for i in self._numbers:
            state[i] += roles >> _satisfied(i) & 1
        return state

    def outcome(self, state: list[int], complete: bool) -> Result | None:
        met = all(count >= entry.count for count, entry in zip(state, self._entries, strict=True))
        if met:
            return Result.PASS
        return Result.FAIL if complete else None

    def explain(self, state: list[int], result: Result, members: Several[Member]) -> Explanation:
        members_of = {member.fact: member for member in members}
        calls = [members_of[fact] for fact in in_listing_order(having(members, _ANY_CALL))]
        satisfying = [_having(calls, _satisfied(i)) for i in self._numbers]
        firsts = {numbers[0] for numbers in satisfying if numbers}
        details = [self._detail(i, calls, satisfying[i]) for i in self._numbers]
        unmet = [detail["unmatched_reason"] for detail in details if detail["unmatched_reason"]]
        reason = unmet[0] if unmet else "every expected call was made"
        witnesses = in_listing_order(calls[number].fact for number in firsts)
        return Explanation(reason, witnesses, details)

    def _detail(self, i: int, calls: list[Member], satisfying: list[int]) -> dict[str, Any]:
        entry = self._entries[i]
        met = len(satisfying) >= entry.count
        return {
            "expected_tool": entry.name,
            "args_asserted": entry.asserted,
            "count": entry.count,
            "matched_call_index": satisfying[0] if met else -1,
            "unmatched_reason": None if met else self._why(i, calls, satisfying),
        }

    def _why(self, i: int, calls: list[Member], satisfying: list[int]) -> str:
        entry = self._entries[i]
        if satisfying:
            return f"expected {entry.count} matching call(s), got {len(satisfying)}"
        candidates = _having(calls, _named(i))
        if not candidates:
            return f"no call to {entry.name!r} found"
        return calls[candidates[-1]].note(_satisfied(i))


def _having(calls: list[Member], role: int) -> list[int]:
    """The numbers of the calls that count in a role."""
    return [number for number, call in enumerate(calls) if call.roles >> role & 1]


def _named(entry: int) -> int:
    return 2 * entry + 1


def _satisfied(entry: int) -> int:
    return 2 * entry + 2


def compile_expected_tools(
    place: Place, node: Node, siblings: Mapping, problems: Problems
) -> ExpectedTools | None:
    """The operator, or None with the mistakes noted."""
    if not isinstance(node, Sequence) or not node.items:
        found = expect.kind_of(node)
        problems.error(node.place, f"expected_tools must be a list of tools, not {found}")
        return None
    entries = [_compile_entry(item, problems) for item in node.items]
    compiled = tuple(entry for entry in entries if entry is not None)
    return ExpectedTools(compiled) if len(compiled) == len(entries) else None


def _compile_entry(node: Node, problems: Problems) -> Entry | None:
    if isinstance(node, Scalar):
        name = expect.text(node, "an expected tool", problems)
        return None if name is None else _entry(name, 1, None, None)
    found = expect.mapping(node, "an expected tool", problems)
    if found is None:
        return None
    before = len(problems.errors)
    expect.known_keys(found, ("name", "args", "count"), "an expected tool", problems)
    asked = expect.required(found, "name", "an expected tool", found.place, problems)
    name = None if asked is None else expect.text(asked, "name", problems)
    args_node, count_node = found.get("args"), found.get("count")
    args = None if args_node is None else compile_args(args_node, problems)
    count = 1 if count_node is None else expect.integer(count_node, "count", 1, problems)
    if name is None or count is None or len(problems.errors) > before:
        return None
    asserted = None if args_node is None else value_of(args_node)
    return _entry(name, count, asserted, args)


def _entry(name: str, count: int, asserted: dict[str, Any] | None, args: Args | None) -> Entry:
    of_name: tuple[Test, ...] = (
        KindIs("tool", TOOL_CALL),
        TextHolds("name", "name", contains(name)),
    )
    source = json.dumps({"name": name, "args": asserted})
    named = Matcher(f"call of {name}", of_name)
    satisfied = Matcher(f"expected {source}", (*of_name, args) if args else of_name)
    return Entry(name, count, asserted, named, satisfied)
