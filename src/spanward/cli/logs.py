"""How the service logs: text on stderr, repeats held back, nothing that moves a terminal.

A sender decides how often it sends what is worth a warning, so no message may be said for each time
that it happens; how often it did is said with the next one.
"""

from __future__ import annotations

import logging
import sys
from typing import Final, TextIO

from spanward.errors import visible

_PERIOD: Final = 10.0
"""Seconds in which one message is said a few times at most."""
_MOST_IN_PERIOD: Final = 5
_MOST_KNOWN: Final = 1000
"""Messages kept account of; they are templates, so there are not many."""

_Template = tuple[str, int, str]


def begin(out: TextIO = sys.stderr) -> None:
    """Log from level INFO on to a stream. Call once."""
    handler = logging.StreamHandler(out)
    handler.addFilter(Repeats())
    handler.setFormatter(Lines("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class Repeats(logging.Filter):
    """Lets the first few records of a message pass in each period, by the records' own times."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[_Template, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        message = (record.name, record.levelno, str(record.msg))
        since, count = self._seen.get(message, (record.created, 0))
        held = 0
        if record.created - since >= _PERIOD:
            held, since, count = max(0, count - _MOST_IN_PERIOD), record.created, 0
        if message not in self._seen and len(self._seen) >= _MOST_KNOWN:
            self._seen.clear()
        self._seen[message] = (since, count + 1)
        record.held = held
        return count < _MOST_IN_PERIOD


class Lines(logging.Formatter):
    """One line a record; only a traceback, and what is ``shown`` beside it, has more.

    What a sender wrote cannot forge any; what is shown must be such that it can be seen already.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  it is logging's name
        record.message = visible(record.message)
        held = getattr(record, "held", 0)
        line = super().formatMessage(record)
        line = f"{line} ({held} more like the last ones were not shown)" if held else line
        shown = getattr(record, "shown", "")
        return "\n".join([line, *(f"  {each}" for each in shown.splitlines())])

    def formatException(self, ei: object) -> str:  # noqa: N802  as above
        text = super().formatException(ei)  # type: ignore[arg-type]
        return "\n".join(f"  {visible(line)}" for line in text.split("\n"))
