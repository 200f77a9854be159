"""The limits on memory, by figures that are given."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from spanward.config import Memory
from spanward.memory import MemoryLimits, give_back, resident_bytes
from tests.service.world import HERE, NEVER_RM, apart, call, export, figures, request, service


class Resident:
    """How much memory there is said to be."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self) -> int:
        return self.bytes


def test_without_limits_nothing_is_looked_at() -> None:
    """Not even on a system that does not tell."""

    def unknown() -> int:
        raise OSError

    limits = MemoryLimits(resident=unknown)
    assert not limits.full()
    assert not limits.needs_relief(0.0)


def test_above_the_hard_limit_nothing_is_taken_and_room_is_made() -> None:
    """Also where no soft limit is given."""
    resident = Resident()
    limits = MemoryLimits(hard=100, resident=resident)
    resident.bytes = 100
    assert (limits.full(), limits.needs_relief(0.0)) == (False, False)
    resident.bytes = 101
    assert limits.full()
    assert [limits.needs_relief(at) for at in (1.0, 1.9, 2.0)] == [True, False, True]


def test_above_the_soft_limit_room_is_made_while_memory_grows() -> None:
    """What was given back inside the process is used again: level memory is left alone."""
    resident = Resident()
    limits = MemoryLimits(soft=50, hard=100, resident=resident)
    told = []
    for at, resident.bytes in enumerate([40, 60, 60, 70, 65, 70, 71, 50, 55]):
        told.append(limits.needs_relief(float(at)))
        assert not limits.full()
    assert told == [False, True, False, True, False, False, True, False, True]


def test_the_resident_memory_of_this_process() -> None:
    """In bytes: what a Python process has, and it has more with more in it."""
    before = resident_bytes()
    assert 2**23 < before < 2**36
    held = bytes(bytearray(range(256)) * 2**17)
    assert resident_bytes() > before + 2**24
    del held
    give_back()


def test_senders_are_asked_to_come_again_when_memory_is_full() -> None:
    """A service that must stay below one MiB takes nothing, and says so."""
    config = msgspec.structs.replace(HERE, memory=Memory(hard_mib=1))

    async def story() -> dict[str, float]:
        async with service(NEVER_RM, config) as running:
            with pytest.raises(Exception, match="overloaded, try again"):
                await apart(export, running.grpc_port, request(call("rm")))
            return await apart(figures, running.admin_port)

    counted = asyncio.run(story())
    assert counted['spanward_requests_refused_total{reason="overloaded"}'] == 1
