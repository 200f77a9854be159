"""Admission: what is inside is bounded, counted before it is read, and given back once."""

from __future__ import annotations

import asyncio

from spanward.receive.admission import Admission


def test_an_unread_message_counts_as_the_largest() -> None:
    """Two of the largest fill the room; a small one, once read, makes way for the next."""

    async def story() -> None:
        admission = Admission(10, 200, 100)
        first, second = await admission.enter(), await admission.enter()
        assert first is not None
        assert second is not None
        third = asyncio.create_task(admission.enter())
        await asyncio.sleep(0)
        assert not third.done()
        first.holds(1)
        assert not third.done()
        second.holds(1)
        assert await third is not None

    asyncio.run(story())


def test_waiting_is_in_order() -> None:
    """Whoever came first is read first, and nobody overtakes."""

    async def story() -> None:
        admission = Admission(10, 100, 100)
        inside = await admission.enter()
        assert inside is not None
        waiting = [asyncio.create_task(admission.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        for task in waiting:
            inside.leave()
            inside = await task
            assert inside is not None

    asyncio.run(story())


def test_without_room_for_a_request_it_is_refused_at_once() -> None:
    """Those who wait are requests too."""

    async def story() -> None:
        admission = Admission(2, 100, 100)
        inside = await admission.enter()
        waiting = asyncio.create_task(admission.enter())
        await asyncio.sleep(0)
        assert await admission.enter() is None
        assert inside is not None
        inside.leave()
        assert await waiting is not None

    asyncio.run(story())


def test_patience_ends() -> None:
    """Room that does not come in time is refused, and the turn is given up."""

    async def story() -> None:
        admission = Admission(10, 100, 100, patience=0.01)
        inside = await admission.enter()
        assert inside is not None
        assert await admission.enter() is None
        inside.leave()
        assert await admission.enter() is not None

    asyncio.run(story())


def test_a_sender_who_goes_leaves_no_hole() -> None:
    """Gone while it waits, or in the moment in which its turn came: the room is there again."""

    async def story() -> None:
        admission = Admission(10, 100, 100, patience=0.01)
        inside = await admission.enter()
        assert inside is not None
        early, late = (asyncio.create_task(admission.enter()) for _ in range(2))
        await asyncio.sleep(0)
        early.cancel()
        await asyncio.wait([early])
        inside.leave()
        late.cancel()
        await asyncio.wait([late])
        assert early.cancelled()
        assert late.cancelled()
        assert await asyncio.wait_for(admission.enter(), 0.1) is not None

    asyncio.run(story())


def test_a_place_is_left_once() -> None:
    """Leaving again gives no room twice."""

    async def story() -> None:
        admission = Admission(1, 100, 100)
        inside = await admission.enter()
        assert inside is not None
        inside.leave()
        inside.leave()
        assert await admission.enter() is not None
        assert await admission.enter() is None

    asyncio.run(story())


def test_what_exceeds_all_the_room_is_admitted_alone() -> None:
    """A limit on messages above that of the queue shuts nobody out."""

    async def story() -> None:
        admission = Admission(10, 50, 100, patience=0.01)
        inside = await admission.enter()
        assert inside is not None
        assert await admission.enter() is None
        inside.leave()
        assert await admission.enter() is not None

    asyncio.run(story())


def test_a_sender_that_is_known_has_half_of_the_room() -> None:
    """Those of its requests that wait unread count too: the others are served at once."""

    async def story() -> None:
        admission = Admission(8, 400, 100, patience=0.01)
        inside = [await admission.enter("evil") for _ in range(2)]
        assert all(inside)
        waiting = [asyncio.create_task(admission.enter("evil")) for _ in range(5)]
        await asyncio.sleep(0)
        assert await admission.enter("evil") is None
        good = [await admission.enter("good") for _ in range(2)]
        assert all(good)
        assert await admission.enter() is None  # nobody's: there is no room for one more message
        assert [await each for each in waiting] == [None] * 5
        for place in (*inside, *good):
            assert place is not None
            place.leave()
        assert all([await admission.enter("evil") for _ in range(2)])

    asyncio.run(story())


def test_an_empty_message_that_is_answered_lets_the_next_one_in() -> None:
    """It gives back no bytes, but the place of a request."""

    async def story() -> None:
        admission = Admission(10, 50, 100, patience=5.0)
        inside = await admission.enter()
        assert inside is not None
        next_one = asyncio.create_task(admission.enter())
        await asyncio.sleep(0)
        inside.holds(0)
        inside.leave()
        assert await asyncio.wait_for(next_one, 1.0) is not None

    asyncio.run(story())
