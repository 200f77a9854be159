"""What every dialect shares: how sessions, turns and columns are read from attributes.

The names are those of the native dialect (semantics, section 1, *Native names*); other dialects
read their own names first and these where a runtime sends them too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from spanward.item import CLIP, CUT
from spanward.otlp.values import INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    from spanward.item import Attributes

SESSIONS: Final = ("hangar.session.id", "gen_ai.conversation.id", "session.id")
JOB: Final = "hangar.job.id"
SEQ: Final = "hangar.seq"
TURN: Final = "hangar.turn"
DIFF_FILES: Final = "hangar.diff.files"
TOOL_NAME: Final = "gen_ai.tool.name"
CALL_ID: Final = "gen_ai.tool.call.id"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"

MOST_BYTES: Final = 256
"""The longest id of a session or job that is accepted, in UTF-8."""


class TooLongError(ValueError):
    """An id that no honest sender uses; ``reason`` is the label of the counter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Belongs(msgspec.Struct, frozen=True):
    """Whom a record belongs to; None where it does not say."""

    session: str | None
    job: str | None
    turn: int | None


def belongs(attributes: Attributes, resource: Attributes) -> Belongs:
    """Whom a span or log record belongs to. Raises ``TooLongError``."""
    return Belongs(
        own_session(attributes), own_job(attributes, resource), whole(attributes.get(TURN))
    )


def inherited(attributes: Attributes, span: Belongs) -> Belongs:
    """Whom a span event belongs to: its span's, where it does not say itself."""
    if not attributes:
        return span
    session, job, turn = own_session(attributes), own_job(attributes, {}), attributes.get(TURN)
    return Belongs(
        span.session if session is None else session,
        span.job if job is None else job,
        span.turn if whole(turn) is None else whole(turn),
    )


def own_session(attributes: Attributes) -> str | None:
    """The session that a record itself names, or None. Raises ``TooLongError``."""
    for name in SESSIONS:
        found = attributes.get(name)
        if found.__class__ is str and found:
            return _bounded(found, "session_id")
    return None


def own_job(attributes: Attributes, resource: Attributes) -> str | None:
    """The job that a record or its resource names, or None. Raises ``TooLongError``."""
    for source in (attributes, resource):
        found = source.get(JOB)
        if found.__class__ is str and found:
            return _bounded(found, "job_id")
    return None


def _bounded(identifier: str, reason: str) -> str:
    if len(identifier) > MOST_BYTES or len(identifier.encode()) > MOST_BYTES:
        raise TooLongError(reason)
    return identifier


def whole(value: Any) -> int | None:
    """An integer of 64 bits as such; a whole float too; None for anything else."""
    if value.__class__ is float and value.is_integer():
        value = int(value)
    if value.__class__ is int and INT64_MIN <= value <= INT64_MAX:
        return int(value)
    return None


def text(value: Any) -> str | None:
    """A text as such; None for anything else, and for an empty one: it says nothing."""
    return value if isinstance(value, str) and value else None


def clipped(value: Any) -> str:
    """What specs see of an input or output: as text, without one last newline, 500 characters.

    Structured values are written as JSON.
    """
    written = value if isinstance(value, str) else as_json(value)
    return written.removesuffix("\n")[:CLIP]


def as_json(value: Any) -> str:
    """A structured value as compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)


def _as_it_is(value: Any) -> Any:
    return value


def texts(value: Any) -> tuple[str, ...] | None:
    """A list of texts, or a text alone, as a tuple; what is no text in it is left out."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        return None
    return tuple(one for one in value if isinstance(one, str))


def paths(value: Any) -> tuple[str | None, ...] | None:
    """The paths of a diff: None for an element that is no text, and so matches nothing."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        return None
    return tuple(text(one) for one in value)


_COLUMNS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "hangar.tool.kind": ("tool_kind", text),
    "hangar.file.repo_path": ("path", text),
    "hangar.file.op": ("op", text),
    "hangar.mcp.server": ("mcp_server", text),
    "hangar.mcp.tool": ("mcp_tool", text),
    "gen_ai.skill.name": ("skill", text),
    CALL_ID: ("call_id", text),
    "hangar.tool.input": ("input", clipped),
    "hangar.tool.output": ("output", clipped),
    "hangar.test.trusted": ("trusted", _as_it_is),
    "hangar.test.total": ("total", _as_it_is),
    "hangar.test.complete": ("complete", _as_it_is),
    "hangar.shell.ops": ("ops", texts),
    DIFF_FILES: ("diff_files", paths),
    SEQ: ("seq", whole),
}
"""By attribute: the column that it gives, and how its value is read."""

ATTRIBUTES: Final = frozenset((*SESSIONS, JOB, TURN, TOOL_NAME, ARGUMENTS, *_COLUMNS))
"""Everything that is read here."""


def columns(attributes: Attributes) -> dict[str, Any]:
    """The columns that attributes give, by field of ``Item``; ``withheld`` holds what was cut."""
    found: dict[str, Any] = {}
    cut: list[str] = []
    for name, value in attributes.items():
        rule = _COLUMNS.get(name)
        if value is CUT:
            cut.append(_cut_column(name))
        elif rule is not None:
            found[rule[0]] = rule[1](value)
    if cut:
        found["withheld"] = frozenset(cut)
    return found


def _cut_column(name: str) -> str:
    """The column that an attribute would have given; its own name when it gives none."""
    if name in _COLUMNS:
        return _COLUMNS[name][0]
    return {ARGUMENTS: "args", TOOL_NAME: "name"}.get(name, name)
