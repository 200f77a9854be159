"""Failures as alerts, pushed to Alertmanager: there sooner than a scrape, one for each session.

A session may be a label here: alerts end, and Alertmanager forgets them. (In a metric it would be
a series for ever.) Alertmanager knows an alert by its labels, so a push that is repeated is the
same alert, and a result that is revised ends it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from spanward.emitters.jsonl import rfc3339
from spanward.emitters.outlet import NeverTaken
from spanward.verdict import Announcement, Result

NAME: Final = "SpanwardViolation"
"""The name of all alerts that are pushed."""
_PATH: Final = "/api/v2/alerts"
_TIMEOUT: Final = 10.0
_SECOND: Final = 1_000_000_000
"""In nanoseconds."""
_NO_LABEL: Final = re.compile(r"[^a-zA-Z0-9_]")


class AlertmanagerPush:
    """Posts to the Alertmanager at ``url``, through no proxy.

    An alert ends when its result is revised to another, or ``resolve_after`` seconds after it was
    sent (not: made), so that one that was held up is still told. ``wall`` gives Unix seconds; it
    may have been set back since: no alert ends before it began.
    (Alertmanager's API v2, ``POST /alerts``.)
    """

    name = "alertmanager"

    def __init__(self, url: str, resolve_after: float, wall: Callable[[], float]) -> None:
        self._url = url.rstrip("/") + _PATH
        self._resolve_after = resolve_after
        self._wall = wall
        self._opener = build_opener(ProxyHandler({}))

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        alerts = [self._alert(one, at_ns) for one in announcements if _concerns(one)]
        if not alerts:
            return True
        body = msgspec.json.encode(alerts)
        request = Request(self._url, body, {"Content-Type": "application/json"})  # noqa: S310
        try:
            with self._opener.open(request, timeout=_TIMEOUT):
                return True
        except HTTPError as refusal:
            with refusal:
                said = refusal.read(500).decode("utf-8", "replace")
            words = f"Alertmanager answers {refusal.code}: {said}"
            if refusal.code == HTTPStatus.BAD_REQUEST:
                # It took those of the alerts that it could: the rest would hold up all others.
                raise NeverTaken(words) from refusal
            raise ConnectionError(words) from refusal
        except HTTPException as broken:
            raise ConnectionError(f"this is no Alertmanager: {broken!r}") from broken

    def close(self) -> None:
        """Nothing is open between two pushes."""

    def _alert(self, announcement: Announcement, at_ns: int) -> dict[str, Any]:
        fails = announcement.verdict.result is Result.FAIL
        ends_ns = at_ns
        if fails:
            now_ns = max(int(self._wall() * _SECOND), at_ns)
            ends_ns = now_ns + int(self._resolve_after * _SECOND)
        alert = {
            "labels": _labels(announcement),
            "annotations": _annotations(announcement),
            "endsAt": rfc3339(ends_ns),
        }
        return {**alert, "startsAt": rfc3339(at_ns)} if fails else alert


def _concerns(announcement: Announcement) -> bool:
    """Whether an announcement begins an alert, or ends one."""
    return Result.FAIL in (announcement.verdict.result, announcement.previous)


def _labels(announcement: Announcement) -> dict[str, str]:
    """What the alert is known by: spec and unit, never how the result came about.

    ``turn`` is the key of a turn that is known by one, for its number may change. The job is not
    called ``job``: that is Prometheus's word for what it scrapes.
    """
    verdict = announcement.verdict
    turn = verdict.turn if announcement.turn_key is None else announcement.turn_key
    known = {
        "alertname": NAME,
        "spec": verdict.spec,
        "operator": verdict.operator,
        "severity": verdict.severity,
        "unit": verdict.unit,
        "session": verdict.session,
        "turn": turn,
        "agent_job": verdict.job,
    }
    own = {f"label_{_NO_LABEL.sub('_', key)}": each for key, each in announcement.labels.items()}
    return own | {name: str(value) for name, value in known.items() if value is not None}


def _annotations(announcement: Announcement) -> dict[str, str]:
    verdict = announcement.verdict
    step = verdict.decided_by or next(iter(verdict.witnesses), None)
    told = {
        "summary": f"{verdict.spec}: {verdict.reason}",
        "cause": str(verdict.cause),
        "step": step and f"{step.kind} {step.name or ''}".rstrip(),
        "trace_id": step and step.trace_id,
        "span_id": step and step.span_id,
    }
    return {name: value for name, value in told.items() if value}
