"""The ids of verdict spans: derived, so that a verdict sent twice is one span, and known again."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final

from spanward.item import Attributes
from spanward.verdict import Announcement

SPAN_NAME: Final = "spanward.verdict"
SCOPE: Final = "spanward"

SPEC: Final = "gen_ai.evaluation.name"
RESULT: Final = "gen_ai.evaluation.score.label"
SESSION: Final = "gen_ai.conversation.id"
SHA256: Final = "spanward.spec.sha256"
UNIT: Final = "spanward.unit"
TURN: Final = "spanward.turn"
TURN_KEY: Final = "spanward.turn_key"
JOB: Final = "spanward.job"
REVISION: Final = "spanward.revision"

_IDENTIFYING: Final = (SHA256, UNIT, SESSION, TURN, TURN_KEY, JOB, REVISION, RESULT)
"""What makes two verdicts the same one. A turn known by key is so, whatever its number is now."""


def identifying(announcement: Announcement) -> Attributes:
    """The attributes of a verdict span that its ids are derived from; absent ones are left out."""
    verdict = announcement.verdict
    found = {
        SHA256: announcement.sha256,
        UNIT: verdict.unit,
        SESSION: verdict.session,
        TURN: verdict.turn,
        TURN_KEY: announcement.turn_key,
        JOB: verdict.job,
        REVISION: verdict.revision,
        RESULT: str(verdict.result),
    }
    return {name: value for name, value in found.items() if value is not None}


def span_id(attributes: Attributes) -> bytes:
    """The span id, 8 bytes, of the verdict span that has these attributes."""
    return _derived(attributes, 8)


def trace_id(attributes: Attributes) -> bytes:
    """The trace id, 16 bytes, of a verdict span that has no witness to stand beside."""
    return _derived(attributes, 16)


def is_own_verdict(name: str, scope: str, found_id: bytes, attributes: Attributes) -> bool:
    """Whether a span that came in is a verdict of ours that came back.

    Name and scope are not enough, for anybody may use them: the id must be the derived one.
    """
    if name != SPAN_NAME or scope != SCOPE:
        return False
    return span_id(attributes) == found_id


def _derived(attributes: Attributes, size: int) -> bytes:
    what: list[Any] = [attributes.get(name) for name in _IDENTIFYING]
    if attributes.get(TURN_KEY) is not None:
        what[_IDENTIFYING.index(TURN)] = None
    canonical = json.dumps(what, separators=(",", ":"), default=repr)
    return blake2b(canonical.encode(), digest_size=size).digest()
