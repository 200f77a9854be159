"""The executed examples of the documentation: what each block is shown with, and what comes of it.

A page is read from top to bottom. ``yaml spec`` and ``yaml items`` blocks (the items as in
``tests/cases/README.md``) stand until the next one; a ``text verdict`` block shows what is said of
them in the end, a ``text announcements`` block what a service says and when, and each line of a
``yaml matchers`` block, in its comment, which items match. ``yaml wrong`` is followed by ``text
problems``: what the loader says of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from spanward.cli.formats import step_words
from spanward.engine.engine import Engine
from spanward.engine.limits import Limits
from spanward.errors import Problems, render_all
from spanward.item import Item
from spanward.specs.loader import load_text
from spanward.specs.spec import Spec
from spanward.verdict import Verdict
from tests.cases import case, judged
from tests.docs.pages import Block, blocks

SPEC: Final = "yaml spec"
ITEMS: Final = "yaml items"
AFTER_A_GAP: Final = "yaml items after a gap"
MATCHERS: Final = "yaml matchers"
WRONG: Final = "yaml wrong"
VERDICT: Final = "text verdict"
ANNOUNCEMENTS: Final = "text announcements"
PROBLEMS: Final = "text problems"

FILE: Final = "specs.yaml"
"""What the file of a spec that is shown is called."""
LAST_SECOND: Final = 40
"""When a service that announcements are shown of is left alone; its items come from second 1 on."""

_CASE_PREFIX: Final = "001-"
"""What a case file puts before the names of sessions and jobs."""


class Example(msgspec.Struct, frozen=True):
    """A block that shows an outcome, and the spec and items that it is the outcome of."""

    shown: Block
    spec: str
    items: Block | None


def examples(page: Path) -> Iterator[Example]:
    """The blocks of a page that show an outcome, in order."""
    spec, items = "", None
    for block in blocks(page):
        match block.info:
            case "yaml spec" | "yaml wrong":
                spec = block.text
            case "yaml items" | "yaml items after a gap":
                items = block
            case "text verdict" | "text announcements" | "text problems" | "yaml matchers":
                yield Example(block, spec, items)


def problems(text: str) -> str:
    """What the loader says of a text, as a person is shown it."""
    found = Problems()
    load_text(text, FILE, found)
    return render_all(found.found)


def compiled(text: str) -> tuple[Spec, ...]:
    """The specs of a text without any mistake or warning."""
    found = Problems()
    specs = load_text(text, FILE, found)
    assert not found.found, render_all(found.found)
    return specs


def verdicts(example: Example, folder: Path) -> str:
    """What is said of the units of an example in the end, a line each."""
    specs = compiled(example.spec)
    told = judged.reports(specs, _case(example, folder).reports)
    final = judged.offline(specs, told, gap=_after_a_gap(example))
    units = {(one.session, one.turn, one.job) for one in final}
    lines = []
    for one in final:
        where = _where(one, several_specs=len(specs) > 1, several_units=len(units) > 1)
        lines += [f"{where}{one.result}: {_why(one)}", *_details(one)]
    return "\n".join(lines) + "\n"


def announcements(example: Example, folder: Path) -> str:
    """What a service says of an example whose items come one a second, a line an announcement."""
    specs = compiled(example.spec)
    told = judged.reports(specs, _case(example, folder).reports)
    engine = Engine(specs, Limits())
    lines = []
    for second in range(1, LAST_SECOND + 1):
        announced = engine.take(told[second - 1 : second], float(second))
        for one in [*announced, *engine.advance(float(second))]:
            verdict = one.verdict
            revision = f", revision {verdict.revision}" if verdict.revision else ""
            lines.append(
                f"second {second}: {verdict.result} (cause: {verdict.cause}{revision}): "
                f"{_why(verdict)}"
            )
    assert not engine.faults, engine.faults
    return "\n".join(lines) + "\n"


def matcher_lines(block: Block) -> list[tuple[str, str]]:
    """The matchers of a block, each with the comment that says what it matches."""
    lines = [line.partition("  # ") for line in block.text.splitlines() if line]
    return [(matcher.strip(), comment.strip()) for matcher, _, comment in lines]


def matching(matcher: str, example: Example, folder: Path) -> str:
    """Which items of an example a matcher matches, by id, as a comment says it."""
    specs = compiled(f"name: a\nassert: {{never: {matcher}}}\n")
    told = judged.reports(specs, _case(example, folder).reports)
    ids = [item["id"] for item in _items(example)]
    compiled_matcher = specs[0].operator.roles[0].matcher
    items: list[Item] = [report.items[0] for report in told]
    answers = {one: compiled_matcher.answer(item) for one, item in zip(ids, items, strict=True)}
    true = " ".join(one for one, answer in answers.items() if answer)
    unknown = " ".join(one for one, answer in answers.items() if answer is None)
    said = [true] if true else []
    said += [f"unknown: {unknown}"] if unknown else []
    return "; ".join(said) or "none"


def _case(example: Example, folder: Path) -> case.Case:
    file = folder / "case.yaml"
    raw: dict[str, Any] = {"name": "shown", "spec": {}, "items": _items(example), "expect": []}
    file.write_text(json.dumps([raw]), "utf-8")
    return case.cases([file])[0]


def _items(example: Example) -> list[dict[str, Any]]:
    assert example.items is not None, f"{example.shown.title}: there are no items above"
    items: list[dict[str, Any]] = yaml.safe_load(example.items.text)
    return items


def _after_a_gap(example: Example) -> bool:
    return example.items is not None and example.items.info == AFTER_A_GAP


def _where(verdict: Verdict, *, several_specs: bool, several_units: bool) -> str:
    parts = [verdict.spec] if several_specs else []
    if several_units:
        named = {"session": verdict.session, "turn": verdict.turn, "job": verdict.job}
        parts += [f"{kind} {_plain(name)}" for kind, name in named.items() if name is not None]
    return ", ".join(parts) + ": " if parts else ""


def _plain(name: str | int) -> str:
    return str(name).removeprefix(_CASE_PREFIX)


def _why(verdict: Verdict) -> str:
    steps = ", ".join(map(step_words, verdict.witnesses))
    return f"{verdict.reason}: {steps}" if steps else verdict.reason


def _details(verdict: Verdict) -> list[str]:
    return [
        f"  {one['expected_tool']}: {one['unmatched_reason'] or _call(one)}"
        for one in verdict.details or ()
    ]


def _call(detail: dict[str, Any]) -> str:
    return f"matched_call_index {detail['matched_call_index']}"


def key_paths(value: Any, path: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """All keys of a value by the keys above them; a value that is no mapping by its type.

    Texts in lists count as keys, for some lists name things.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, str(key))
            yield from key_paths(inner, (*path, str(key)))
        return
    yield (*path, f"<{type(value).__name__}>")
    if isinstance(value, list):
        for inner in value:
            yield from key_paths(inner, path)
            if isinstance(inner, str):
                yield (*path, inner)
