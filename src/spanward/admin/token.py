"""The token of those who may see the status and reload specs: a file that is read when asked."""

from __future__ import annotations

import hmac
import logging
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_SCHEME: Final = "bearer"


class Token:
    """The token in a file, without blanks around it. The file may be replaced at any time.

    Raises ``OSError`` when it cannot be read or holds none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read()

    def admits(self, authorization: str) -> bool:
        """Whether an ``Authorization`` header bears the token, as RFC 6750 (2.1) writes it."""
        scheme, _, given = authorization.partition(" ")
        try:
            token = self._read()
        except OSError as error:
            log.error("nobody is let in: %s", error)  # noqa: TRY400  no defect of ours
            return False
        same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token)
        return same and scheme.lower() == _SCHEME

    def _read(self) -> bytes:
        token = self._path.read_bytes().strip()
        if not token:
            raise OSError(f"there is no token in {self._path}")
        return token
