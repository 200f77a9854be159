"""Verdicts as JSON lines, for files and pipes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import BinaryIO, Final

import msgspec

from spanward.verdict import Announcement, as_object

_NANOSECONDS: Final = 1_000_000_000


class JsonLines:
    """Writes one verdict object a line, with the time of its announcement added.

    Owns ``out`` and closes it, unless ``keep_open`` (standard output).
    """

    name = "jsonl"

    def __init__(self, out: BinaryIO, *, keep_open: bool) -> None:
        self._out = out
        self._keep_open = keep_open

    def emit(self, announcements: Sequence[Announcement], at_ns: int) -> bool:
        time = rfc3339(at_ns)
        for announcement in announcements:
            line = {**as_object(announcement.verdict), "time": time}
            self._out.write(msgspec.json.encode(line) + b"\n")
        self._out.flush()
        return True

    def close(self) -> None:
        if not self._keep_open:
            self._out.close()


def rfc3339(at_ns: int) -> str:
    """A Unix time in nanoseconds as RFC 3339 text in UTC, to the microsecond."""
    seconds, rest = divmod(at_ns, _NANOSECONDS)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
