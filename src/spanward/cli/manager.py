"""What a service manager is told, where it asks: systemd's notification protocol (sd_notify)."""

from __future__ import annotations

import logging
import os
import socket
from typing import Final

log = logging.getLogger(__name__)

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"


def tell(state: str) -> None:
    """Send a state to the socket that ``NOTIFY_SOCKET`` names; nothing when it names none."""
    name = os.environ.get("NOTIFY_SOCKET")
    if not name:
        return
    address = f"\0{name[1:]}" if name.startswith("@") else name  # @: in the abstract namespace
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.sendto(state.encode(), address)
    except OSError as error:
        log.warning("the service manager could not be told %s: %s", state, error)
