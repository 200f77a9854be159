"""The hearing: from the bytes of a request to what comes of it, and what its sender is told.

What one request does wrong is its own affair: it is answered and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from spanward.books import Books
from spanward.dialects import Dialect, Reader
from spanward.errors import visible
from spanward.otlp import Malformed, TooMuch, Unreadable
from spanward.otlp.jsonlines import read_request
from spanward.otlp.wire import WireReader
from spanward.request import Answer, Request, Tally
from spanward.specs.asking import asked_by
from spanward.specs.spec import Spec

if TYPE_CHECKING:
    from spanward.engine.engine import Engine
    from spanward.otlp.record import Batch
    from spanward.verdict import Announcement

log = logging.getLogger(__name__)

_FAILED: Final = Answer(failed="internal error")


class Hearing:
    """Hears requests for some specs: what these do not ask for is not decoded."""

    def __init__(self, dialects: Iterable[Dialect], specs: Sequence[Spec], tally: Tally) -> None:
        self._reader = Reader(dialects, asked_by(specs))
        self._wire = WireReader(self._reader.wanted)
        self._tally = tally

    def hear(
        self, request: Request, engine: Engine, now: float, announced: list[Announcement]
    ) -> Answer:
        """Have a request judged; what comes of it is added to ``announced``.

        Raises ``OSError`` when the engine's vault cannot be read.
        """
        books = Books(self._tally, engine.counters)
        try:
            batch = self._decoded(request)
            books.receive(batch, request)
            reports = self._reader.reports(batch, request.sender)
            books.read(batch, reports)
            announced += engine.take(reports, now)
        except TooMuch as mistake:
            self._tally.refused["too_much"] += 1
            log.warning("a %s request is too large: %s", request.signal, mistake)
            return Answer(too_large=str(mistake))
        except Malformed as mistake:
            self._tally.refused["malformed"] += 1
            log.warning("a %s request is malformed: %s", request.signal, visible(str(mistake)))
            words = f": {mistake}" if isinstance(mistake, Unreadable) else ""
            return Answer(malformed=f"not an OTLP {request.signal} request{words}")
        except OSError:
            raise
        except Exception:
            # A fault of ours, that the same bytes would meet again: INTERNAL, on which an OTLP
            # sender gives up, and not UNAVAILABLE, on which it would send them for ever.
            self._tally.failures += 1
            log.exception("a %s request could not be judged", request.signal)
            return _FAILED
        finally:
            books.close()
        self._tally.rejected.update(batch.rejected)
        return _answer_to(batch, request)

    def _decoded(self, request: Request) -> Batch:
        if request.encoding == "json":
            return read_request(request.data, request.signal, self._reader.wanted)
        decode = self._wire.traces if request.signal == "traces" else self._wire.logs
        return decode(request.data)


def _answer_to(batch: Batch, request: Request) -> Answer:
    """What the sender of records is told of those that were rejected."""
    if not batch.rejected:
        return Answer()
    reason = ", ".join(f"{n} with a bad {what}" for what, n in sorted(batch.rejected.items()))
    rejected = sum(batch.rejected.values())
    log.warning("%d records of a %s request rejected: %s", rejected, request.signal, reason)
    return Answer(rejected=rejected - batch.bad_events, reason=f"rejected: {reason}")
