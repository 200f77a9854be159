"""What every dialect shares: how sessions, turns and columns are read from attributes.

The names are those of the native dialect (semantics, section 1, *Native names*); other dialects
read their own names first and these where a runtime sends them too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from spanward.item import CLIP, CUT, NOTHING

if TYPE_CHECKING:
    from spanward.item import Attributes

SESSIONS: Final = ("hangar.session.id", "gen_ai.conversation.id", "session.id")
JOB: Final = "hangar.job.id"
SEQ: Final = "hangar.seq"
TURN: Final = "hangar.turn"
OPS: Final = "hangar.shell.ops"
DIFF_FILES: Final = "hangar.diff.files"
TOOL_NAME: Final = "gen_ai.tool.name"
CALL_ID: Final = "gen_ai.tool.call.id"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"

_TEXTS: Final = {
    "tool_kind": "hangar.tool.kind",
    "path": "hangar.file.repo_path",
    "op": "hangar.file.op",
    "mcp_server": "hangar.mcp.server",
    "mcp_tool": "hangar.mcp.tool",
    "skill": "gen_ai.skill.name",
    "call_id": CALL_ID,
}
_CLIPPED: Final = {"input": "hangar.tool.input", "output": "hangar.tool.output"}
_TYPED: Final = {
    "trusted": "hangar.test.trusted",
    "total": "hangar.test.total",
    "complete": "hangar.test.complete",
}

ATTRIBUTES: Final = frozenset(
    (
        *SESSIONS, JOB, SEQ, TURN, OPS, DIFF_FILES, TOOL_NAME, ARGUMENTS,
        *_TEXTS.values(), *_CLIPPED.values(), *_TYPED.values(),
    )
)  # fmt: skip
"""Everything that is read here."""

MOST_BYTES: Final = 256
"""The longest id of a session or job that is accepted, in UTF-8."""


class TooLongError(ValueError):
    """An id that no honest sender uses; ``reason`` is the label of the counter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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
    """An integer as such; a whole float too; None for anything else."""
    if value.__class__ is int:
        return value
    if value.__class__ is float and value.is_integer():
        return int(value)
    return None


def text(value: Any) -> str | None:
    """A text as such; None for anything else."""
    return value if isinstance(value, str) else None


def clipped(value: Any) -> str | None:
    """What specs see of an input or output: as text, without one last newline, 500 characters.

    Structured values are written as JSON. None for None.
    """
    if value is None:
        return None
    written = value if isinstance(value, str) else as_json(value)
    return written.removesuffix("\n")[:CLIP]


def as_json(value: Any) -> str:
    """A structured value as compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)


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


def columns(attributes: Attributes) -> dict[str, Any]:
    """The columns that attributes give, by field of ``Item``; ``withheld`` holds what was cut."""
    found: dict[str, Any] = {}
    for column, name in _TEXTS.items():
        if name in attributes:
            found[column] = text(attributes[name])
    for column, name in _CLIPPED.items():
        if name in attributes and attributes[name] is not CUT:
            found[column] = clipped(attributes[name])
    for column, name in _TYPED.items():
        if name in attributes and attributes[name] is not CUT:
            found[column] = attributes[name]
    if OPS in attributes:
        found["ops"] = texts(attributes[OPS])
    if DIFF_FILES in attributes:
        found["diff_files"] = paths(attributes[DIFF_FILES])
    found["seq"] = whole(attributes.get(SEQ))
    found["withheld"] = _cut(attributes)
    return found


def _cut(attributes: Attributes) -> frozenset[str]:
    if CUT not in attributes.values():
        return NOTHING
    names = {**_TEXTS, **_CLIPPED, **_TYPED, "ops": OPS, "args": ARGUMENTS, "name": TOOL_NAME}
    return frozenset(column for column, name in names.items() if attributes.get(name) is CUT)
