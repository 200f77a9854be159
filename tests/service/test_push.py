"""The push to Alertmanager: what is posted, and what happens when it cannot be.

The receiver is a small HTTP server; with the real Alertmanager, see ``tests/alarm``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from msgspec import structs

from spanward.emitters.alertmanager import AlertmanagerPush
from spanward.emitters.outlet import NeverTaken
from spanward.verdict import Announcement, Result, Verdict
from tests.service.test_emitters import BARE_LOG, announced

AT = 1_700_000_000_000_000_000


class Receiver(HTTPServer):
    """Keeps what is posted to it, and answers with a status."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.posts: list[tuple[str, Any]] = []
        self.status = 200

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class Taking(BaseHTTPRequestHandler):
    """One request."""

    server: Receiver

    def do_POST(self) -> None:
        """Keep it."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"because")

    def log_message(self, *what: object) -> None:
        """Say nothing."""


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A server that runs for a while."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def posted(*announcements: Announcement, wall: float = 1_700_000_060.5) -> list[Any]:
    """The alerts that announcements make."""
    with receiver() as server:
        push = AlertmanagerPush(f"{server.url}/am/", 3600.0, lambda: wall)
        assert push.emit(announcements, AT)
        push.close()
    assert {path for path, _ in server.posts} <= {"/am/api/v2/alerts"}
    return [alert for _, alerts in server.posts for alert in alerts]


def revised(result: Result, previous: Result | None, **more: Any) -> Announcement:
    """An announcement after another one."""
    return structs.replace(announced(result=result, **more), previous=previous)


def test_a_failure_is_an_alert_of_its_session() -> None:
    """Known by spec and unit; it ends an hour after it was sent, whenever it was made."""
    (alert,) = posted(announced())
    assert alert == {
        "labels": {
            "alertname": "SpanwardViolation",
            "spec": "never-rm",
            "operator": "never",
            "severity": "critical",
            "unit": "session",
            "session": "s1",
            "label_team": "x",
        },
        "annotations": {
            "summary": "never-rm: a forbidden item occurred",
            "cause": "item",
            "step": "tool.call rm",
            "trace_id": "0" * 31 + "1",
            "span_id": "0" * 15 + "2",
        },
        "startsAt": "2023-11-14T22:13:20.000000Z",
        "endsAt": "2023-11-14T23:14:20.500000Z",
    }


def test_no_alert_ends_before_it_began() -> None:
    """Alertmanager would refuse it, and all that wait behind it, when a clock was set back."""
    (alert,) = posted(announced(), wall=1.0)
    assert (alert["startsAt"], alert["endsAt"]) == (
        "2023-11-14T22:13:20.000000Z",
        "2023-11-14T23:13:20.000000Z",
    )


def test_a_revision_ends_the_same_alert() -> None:
    """Whatever it is now; its labels are those it began with."""
    (begins,) = posted(announced())
    for result in (Result.PASS, Result.UNKNOWN, Result.NOT_APPLICABLE):
        (ends,) = posted(revised(result, Result.FAIL, reason="other", witnesses=(), revision=1))
        assert ends["labels"] == begins["labels"]
        assert ends["endsAt"] == "2023-11-14T22:13:20.000000Z"
        assert "startsAt" not in ends


def test_nothing_else_is_posted() -> None:
    """Not even an empty list."""
    passed = announced(result=Result.PASS)
    assert posted(passed, revised(Result.PASS, Result.UNKNOWN)) == []


def test_a_turn_is_known_by_its_key_and_a_job_by_its_name() -> None:
    """A number that is a rank may change when something comes late."""
    labels = [
        alert["labels"]
        for alert in posted(
            announced(turn=1, turn_key="k"), announced(turn=2), announced(session=None, job="j")
        )
    ]
    assert [each.get("turn") for each in labels] == ["k", "2", None]
    assert [(each.get("session"), each.get("agent_job")) for each in labels[1:]] == [
        ("s1", None),
        (None, "j"),
    ]


def test_what_is_not_known_is_left_out() -> None:
    """Of a log record the ids, of a failure for want of a step the step; labels get legal names."""
    bare = announced(decided_by=None, witnesses=(BARE_LOG,))
    nothing = announced(decided_by=None, witnesses=())
    odd = structs.replace(announced(), labels={"my team/x": "é", "spec": "forged"})
    alerts = posted(bare, nothing, odd)
    assert set(alerts[0]["annotations"]) == {"summary", "cause", "step"}
    assert set(alerts[1]["annotations"]) == {"summary", "cause"}
    assert alerts[2]["labels"]["label_my_team_x"] == "é"
    assert alerts[2]["labels"]["spec"] == "never-rm"


def test_what_is_not_taken_is_told_with_what_was_answered() -> None:
    """The outlet tries again, but not what is refused for good; nothing counts as sent."""
    with receiver() as server:
        push = AlertmanagerPush(server.url, 1.0, lambda: 0.0)
        for status, kind in ((503, ConnectionError), (400, NeverTaken)):
            server.status = status
            with pytest.raises(kind, match=f"answers {status}: because"):
                push.emit([announced()], AT)
    with pytest.raises(OSError, match="refused"):
        push.emit([announced()], AT)


def test_every_field_that_tells_verdicts_apart_tells_alerts_apart() -> None:
    """Else one would end another one."""
    whole = {"unit": "turn", "session": "s2", "turn": 4, "job": "j", "spec": "x"}
    assert set(whole) <= set(Verdict.__struct_fields__)
    alerts = posted(announced(), *(announced(**{key: value}) for key, value in whole.items()))
    assert len({json.dumps(alert["labels"], sort_keys=True) for alert in alerts}) == 6
