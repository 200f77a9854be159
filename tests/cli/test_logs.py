"""What the service logs: repeats are held back and counted, and no line can be forged."""

from __future__ import annotations

import io
import logging
import sys

from spanward.cli.logs import Lines, Repeats


def record(message: str, created: float, *args: object) -> logging.LogRecord:
    """A record of a warning, made at a time in seconds."""
    made = logging.LogRecord("spanward.x", logging.WARNING, "x.py", 1, message, args, None)
    made.created = created
    return made


def test_repeats_are_held_back_and_counted() -> None:
    """Five a period of one message, whatever its arguments; then how many were not said."""
    repeats = Repeats()
    passed = [repeats.filter(record("%d bad", 100.0 + n / 100, n)) for n in range(20)]
    assert passed == [True] * 5 + [False] * 15
    assert repeats.filter(record("another", 100.5))
    later = record("%d bad", 111.0, 7)
    assert repeats.filter(later)
    assert Lines("%(message)s").format(later) == "7 bad (15 more like the last ones were not shown)"


def test_the_account_is_bounded() -> None:
    """Ever new messages, as other packages may write them, fill no memory."""
    repeats = Repeats()
    for number in range(5000):
        assert repeats.filter(record(f"message {number}", 1.0))
    assert len(repeats._seen) <= 1000


def test_what_a_sender_wrote_is_one_line() -> None:
    """Line breaks and escape sequences are shown as what they are, in tracebacks too."""
    lines = Lines("%(levelname)s %(message)s")
    assert lines.format(record("got %s", 1.0, "a\nERROR b\x1b[2J")) == (
        "WARNING got a\\nERROR b\\x1b[2J"
    )
    failed = record("failed", 1.0)
    try:
        int("a\x1b[2J", 36)
    except ValueError:
        failed.exc_info = sys.exc_info()
    told = lines.format(failed).splitlines()
    assert told[0] == "WARNING failed"
    assert all(line.startswith("  ") for line in told[1:])
    assert "\x1b" not in told[-1]


def test_what_is_shown_beside_a_message_stands_below_it() -> None:
    """As mistakes with their carets; indented, so that no line of it looks like a message."""
    mistaken = record("not reloaded", 1.0)
    mistaken.shown = "s.yaml:1:2: error: no\n    x: y\n     ^"
    told = Lines("%(levelname)s %(message)s").format(mistaken)
    assert told == "WARNING not reloaded\n  s.yaml:1:2: error: no\n      x: y\n       ^"


def test_a_handler_puts_both_together() -> None:
    """As ``begin`` does."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(Repeats())
    handler.setFormatter(Lines("%(message)s"))
    for number in range(9):
        handler.handle(record("%d", 1.0, number))
    assert out.getvalue().split() == ["0", "1", "2", "3", "4"]
