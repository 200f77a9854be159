"""Senders: who a request is from, by its bearer token or its client certificate.

A token file has a line for each sender: its name, then its token. It is read again when it changed,
so that a token can be given or taken back while the service runs; a file that cannot be read then
changes nothing, and is told.
"""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_NAME: Final = re.compile(r"[\w.@:/-]{1,128}")
_SHORTEST: Final = 16
"""Characters of a token. A shorter one could be guessed."""
_PREFIX: Final = "bearer "


class UnknownSender(Exception):
    """A request whose token is missing or is nobody's."""


class TokenFileError(OSError):
    """A token file that cannot be used; the words say where and why, and show no token."""


class Tokens:
    """The tokens of a file, by sender. Raises ``TokenFileError`` when it cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = self._look()
        self._names = read_tokens(path)

    def sender(self, authorization: str | None) -> str:
        """The name of the sender whose token a header carries. Raises ``UnknownSender``.

        All tokens are compared, each in constant time, by their digests.
        """
        self._refresh()
        scheme, token = (authorization or "")[: len(_PREFIX)], (authorization or "")[len(_PREFIX) :]
        offered = _digest(token.strip())
        found = [
            name for digest, name in self._names.items() if hmac.compare_digest(digest, offered)
        ]
        if scheme.lower() != _PREFIX or not found:
            raise UnknownSender
        return found[0]

    def _refresh(self) -> None:
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp  # a bad file is told once, and read again when it changes again
        try:
            self._names = read_tokens(self._path)
        except TokenFileError as error:
            log.error("%s: the tokens of before are still valid", error)  # noqa: TRY400
        else:
            log.info("%s was read again: %d tokens", self._path, len(self._names))

    def _look(self) -> tuple[int, int, int] | None:
        """What changes when the file does, be it through a link that is put elsewhere."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def read_tokens(path: Path) -> Mapping[str, str]:
    """The senders' names by the digests of their tokens. Raises ``TokenFileError``."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise TokenFileError(f"{path} cannot be read: {reason}") from error
    names: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or _NAME.fullmatch(words[0]) is None:  # noqa: PLR2004  name and token
            raise TokenFileError(f"{path}:{number}: a line is a sender's name and its token")
        if len(words[1]) < _SHORTEST:
            raise TokenFileError(f"{path}:{number}: a token has {_SHORTEST} characters at least")
        digest = _digest(words[1])
        if digest in names:
            raise TokenFileError(f"{path}:{number}: this token is {names[digest]}'s already")
        names[digest] = words[0]
    if not names:
        raise TokenFileError(f"{path} has no token: nobody could send anything")
    return names


class Gate:
    """Says who a sender is: by token where there are tokens, else by client certificate."""

    def __init__(self, tokens: Tokens | None) -> None:
        self._tokens = tokens

    def sender(self, authorization: str | None, certificate: str | None) -> str | None:
        """The sender's name; None when nothing says it. Raises ``UnknownSender``."""
        if self._tokens is None:
            return certificate
        return self._tokens.sender(authorization)


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
