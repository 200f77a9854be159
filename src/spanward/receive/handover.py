"""The handover: a message that was read is given to the worker, and its answer waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from spanward.request import Answer, Request

if TYPE_CHECKING:
    from spanward.receive.admission import Place
    from spanward.request import Encoding, Signal, Tally, Transport


class Taker(Protocol):
    """What the doors hand requests to: the worker."""

    tally: Tally

    def offer(self, request: Request) -> None: ...


async def handed_over(
    taker: Taker,
    place: Place,
    data: bytes,
    signal: Signal,
    transport: Transport,
    *,
    encoding: Encoding = "protobuf",
    sender: str | None = None,
) -> Answer:
    """The answer to a message, which is in its place until then."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Answer] = loop.create_future()

    def settle(answer: Answer) -> None:
        place.leave()  # only now: the worker held the bytes, even of a caller who has gone
        if not answered.done():
            answered.set_result(answer)

    def answer_from_worker(answer: Answer) -> None:
        loop.call_soon_threadsafe(settle, answer)

    taker.offer(Request(signal, data, answer_from_worker, transport, encoding, sender))
    return await answered
