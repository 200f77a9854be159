"""TLS of the doors: their certificates, read again when they changed, and their senders' names."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc
import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)

VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class TlsFiles(msgspec.Struct, frozen=True):
    """PEM files: a certificate (its chain after it), its key, and who may sign senders' own.

    With ``client_ca`` a sender needs a certificate (mTLS). ``min_version`` is one of ``VERSIONS``.
    """

    cert: Path
    key: Path
    client_ca: Path | None = None
    min_version: str = "1.2"


class TlsFilesError(OSError):
    """Files that no TLS can be made of."""


class Certificates:
    """The certificate files of one door. Raises ``TlsFilesError`` when they cannot be used."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._context = _context(files)
        self._read = _contents(files)

    def context(self) -> ssl.SSLContext:
        """What an HTTP server needs; ``refresh`` keeps it up to date."""
        return self._context

    def credentials(self) -> grpc.ServerCredentials:
        """What a gRPC server needs; it asks for new certificates at every handshake."""
        return grpc.dynamic_ssl_server_credentials(
            _configuration(self._read),
            self._changed,
            require_client_authentication=self._files.client_ca is not None,
        )

    def refresh(self) -> None:
        """Have the files' new certificate used from now on, if they changed."""
        if (read := self._reread()) is not None:
            try:
                self._context.load_cert_chain(self._files.cert, self._files.key)
            except OSError as error:  # they changed once more; an SSLError is one too
                log.error("%s: %s", self._files.cert, error)  # noqa: TRY400
                return
            self._read = read

    def _changed(self) -> Any:
        read = self._reread()
        if read is None:
            return None
        self._read = read
        return _configuration(read)

    def _reread(self) -> dict[str, bytes] | None:
        """What the files hold, if it changed and can be used."""
        try:
            read = _contents(self._files)
            if read == self._read:
                return None
            _context(self._files)
        except TlsFilesError as error:
            log.error("%s: the certificate of before is still used", error)  # noqa: TRY400
            return None
        log.info("%s changed: it is used from now on", self._files.cert)
        return read


def _contents(files: TlsFiles) -> dict[str, bytes]:
    try:
        return {
            name: path.read_bytes()
            for name in ("cert", "key", "client_ca")
            if (path := getattr(files, name)) is not None
        }
    except OSError as error:
        raise TlsFilesError(f"{error.filename} cannot be read: {error.strerror}") from error


def _context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[files.min_version]
    try:
        context.load_cert_chain(files.cert, files.key)
        if files.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(files.client_ca)
    except OSError as error:  # an SSLError is one
        shown = ", ".join(str(path) for path in (files.cert, files.key, files.client_ca) if path)
        raise TlsFilesError(f"no TLS can be made of {shown}: {error}") from error
    return context


def _configuration(read: Mapping[str, bytes]) -> Any:
    pair = (read["key"], read["cert"])
    return grpc.ssl_server_certificate_configuration([pair], read.get("client_ca"))


_NAMES: Final = ("DNS", "URI", "email", "IP Address")
"""Kinds of alternative names that both gRPC and Python give as text."""


def name_of_peer(certificate: Mapping[str, Any] | None) -> str | None:
    """The name in a certificate as Python has it: an alternative one, else its common name."""
    if not certificate:
        return None
    for kind, name in certificate.get("subjectAltName", ()):
        if kind in _NAMES:
            return str(name)
    subject = (pair for part in certificate.get("subject", ()) for pair in part)
    return next((str(value) for key, value in subject if key == "commonName"), None)


def name_of_grpc_peer(context: Mapping[str, Any]) -> str | None:
    """The name in a certificate as gRPC has it, chosen in the same way."""
    for key in ("x509_subject_alternative_name", "x509_common_name"):
        for value in context.get(key) or ():
            return str(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)
    return None
