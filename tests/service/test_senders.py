"""Who sends: tokens, certificates, and the name that a spec can ask for."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc
import msgspec
import pytest
import trustme

from spanward.config import Config, Endpoint, Receiver
from spanward.receive.senders import Gate, TokenFileError, Tokens, UnknownSender
from spanward.receive.tls import Certificates, TlsFiles, TlsFilesError, name_of_peer
from tests.service.world import (
    ANY_DOOR,
    HERE,
    apart,
    export,
    exporting,
    figures,
    request,
    service,
    span,
)

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
AGENT, PEOPLE = "agent-token-0123456789", "people-token-0123456789"
TOKENS = f"# who may send\nagent {AGENT}\n\npeople\t{PEOPLE}\n"
ASKED_PEOPLE = """
name: people-approve
assert:
  each: {tool: {name: push}}
  requires_prior: {approval: {status: granted}, principal: people}
"""


def tokens_in(folder: Path, text: str = TOKENS) -> Path:
    """A token file."""
    path = folder / "tokens"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_token_says_who_sends(tmp_path: Path) -> None:
    """The scheme in any case; nobody without a token, or with another one."""
    tokens = Tokens(tokens_in(tmp_path))
    assert tokens.sender(f"Bearer {AGENT}") == "agent"
    assert tokens.sender(f"bearer  {PEOPLE} ") == "people"
    for said in (None, "", AGENT, f"Basic {AGENT}", "Bearer ", f"Bearer {AGENT}x", "Bearer \udcff"):
        with pytest.raises(UnknownSender):
            tokens.sender(said)


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """Also behind a link that is put elsewhere; a bad file changes nothing, and is told once."""
    first, second = tokens_in(tmp_path), tmp_path / "second"
    second.write_text(f"other {AGENT}\n", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(first)
    tokens = Tokens(link)
    assert tokens.sender(f"Bearer {AGENT}") == "agent"
    link.unlink()
    link.symlink_to(second)
    assert tokens.sender(f"Bearer {AGENT}") == "other"
    with pytest.raises(UnknownSender):
        tokens.sender(f"Bearer {PEOPLE}")


def test_a_bad_change_keeps_the_tokens_of_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told once, not with every request; a good one after it counts."""
    path = tokens_in(tmp_path)
    tokens = Tokens(path)
    path.write_text("agent\n", encoding="utf-8")
    for _ in range(3):
        assert tokens.sender(f"Bearer {AGENT}") == "agent"
    path.unlink()
    assert tokens.sender(f"Bearer {AGENT}") == "agent"
    told = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == 2
    assert "tokens:1: a line is a sender's name and its token" in told[0]
    path.write_text(f"new {AGENT}\n", encoding="utf-8")
    assert tokens.sender(f"Bearer {AGENT}") == "new"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("agent\n", ":1: a line is a sender's name and its token"),
        (f"ok {AGENT}\na b c\n", ":2: a line is a sender's name"),
        (f"a{{b {AGENT}\n", ":1: a line is a sender's name"),
        ("agent short\n", ":1: a token has 16 characters at least"),
        (f"a {AGENT}\nb {AGENT}\n", ":2: this token is a's already"),
        ("# none\n", " has no token"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_mistakes_in_a_token_file_are_told_without_tokens(
    tmp_path: Path, text: str, told: str
) -> None:
    """With the line; what stands there is a secret."""
    path = tmp_path / "tokens"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(TokenFileError, match=told) as error:
        Tokens(path)
    assert AGENT not in str(error.value)
    with pytest.raises(TokenFileError, match="cannot be read"):
        Tokens(tmp_path / "missing")


def test_without_tokens_a_certificate_says_it() -> None:
    """And nothing does where there is none either."""
    assert Gate(None).sender(None, "agent-7") == "agent-7"
    assert Gate(None).sender("Bearer x", None) is None


def test_the_name_of_a_certificate() -> None:
    """An alternative name first, as gRPC has it; else the common name; else nobody."""
    subject = ((("organizationName", "o"),), (("commonName", "c"),))
    assert name_of_peer({"subject": subject, "subjectAltName": (("DNS", "d"),)}) == "d"
    assert name_of_peer({"subject": subject}) == "c"
    others = (("othername", "<unsupported>"), ("email", "e@x"))
    assert name_of_peer({"subject": subject, "subjectAltName": others}) == "e@x"
    assert name_of_peer({"subject": ()}) is None
    assert name_of_peer(None) is None


def approved(number: int) -> bytes:
    """A granted approval."""
    known = {"hangar__session__id": "s1", "hangar__approval__status": "granted"}
    return request(span("approval", number, **known))


def pushed(number: int) -> bytes:
    """A push."""
    return request(span("tool.call", number, hangar__session__id="s1", gen_ai__tool__name="push"))


def by_grpc(port: int, data: bytes, token: str | None) -> None:
    """Send over gRPC, with a token or without."""
    known = [("authorization", f"Bearer {token}")] if token else None
    export(port, data, metadata=known)


def by_http(port: int, data: bytes, token: str | None) -> int:
    """Send over HTTP; the status."""
    headers = {"Content-Type": "application/x-protobuf"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with urlopen(Request(f"http://127.0.0.1:{port}/v1/traces", data, headers)) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


@pytest.mark.parametrize(("token", "result"), [(AGENT, "fail"), (PEOPLE, "pass")])
def test_a_spec_can_say_whose_approvals_count(tmp_path: Path, token: str, result: str) -> None:
    """The agent cannot approve what it does itself: it has no token of those who may."""
    door = msgspec.structs.replace(ANY_DOOR, bearer_token_file=tokens_in(tmp_path))
    config = msgspec.structs.replace(HERE, grpc=door, http=door)

    async def story() -> dict[str, float]:
        async with service(ASKED_PEOPLE, config, drain=True) as running:
            data = approved(1)
            await apart(by_grpc, running.grpc_port, data, token)
            await apart(by_http, running.http_port, pushed(2), AGENT)
            for wrong in (None, "wrong"):
                assert await apart(by_http, running.http_port, data, wrong) == 401
                with pytest.raises(grpc.RpcError, match="a valid token is needed"):
                    await apart(by_grpc, running.grpc_port, data, wrong)
            await asyncio.to_thread(running.worker.stop, drain=True, timeout=10)
            return await apart(figures, running.admin_port)

    counted = asyncio.run(story())
    labels = f'operator="each",result="{result}",severity="warning",spec="people-approve"'
    assert counted[f"spanward_verdicts_total{{{labels}}}"] == 1
    assert counted['spanward_requests_refused_total{reason="unauthenticated"}'] == 4


@contextmanager
def authority(folder: Path) -> Iterator[tuple[trustme.CA, TlsFiles]]:
    """A certificate authority, and files of a server that asks its senders for certificates."""
    ca = trustme.CA()
    server = ca.issue_cert("localhost", "127.0.0.1")
    server.private_key_pem.write_to_path(folder / "key.pem")
    (folder / "cert.pem").write_bytes(b"".join(p.bytes() for p in server.cert_chain_pems))
    ca.cert_pem.write_to_path(folder / "ca.pem")
    yield ca, TlsFiles(folder / "cert.pem", folder / "key.pem", folder / "ca.pem")


def secured(files: TlsFiles) -> Config:
    """Both doors with TLS."""
    door = Receiver(Endpoint("127.0.0.1", 0), tls=files)
    return msgspec.structs.replace(HERE, grpc=door, http=door)


def by_tls_grpc(port: int, data: bytes, ca: trustme.CA, cert: trustme.LeafCert | None) -> None:
    """Send over gRPC with TLS, with a certificate of one's own or without."""
    chain = None if cert is None else b"".join(p.bytes() for p in cert.cert_chain_pems)
    key = None if cert is None else cert.private_key_pem.bytes()
    credentials = grpc.ssl_channel_credentials(ca.cert_pem.bytes(), key, chain)
    with grpc.secure_channel(f"localhost:{port}", credentials) as way:
        exporting(way, EXPORT)(data, timeout=10)


def by_tls_http(port: int, data: bytes, ca: trustme.CA, cert: trustme.LeafCert | None) -> None:
    """The same over HTTP."""
    context = ssl.create_default_context()
    ca.configure_trust(context)
    if cert is not None:
        cert.configure_cert(context)
    headers = {"Content-Type": "application/x-protobuf"}
    url = f"https://localhost:{port}/v1/traces"
    with urlopen(Request(url, data, headers), context=context, timeout=10) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("transport", ["grpc", "http"])
def test_a_certificate_says_who_sends(tmp_path: Path, transport: str) -> None:
    """Its name is the principal, as gRPC and as Python read it; without one nobody comes in."""

    async def story(ca: trustme.CA, files: TlsFiles) -> dict[str, float]:
        async with service(ASKED_PEOPLE, secured(files), drain=True) as running:
            send, port = {
                "grpc": (by_tls_grpc, running.grpc_port),
                "http": (by_tls_http, running.http_port),
            }[transport]
            with pytest.raises((grpc.RpcError, OSError)):
                await apart(send, port, pushed(1), ca, None)
            people, agent = ca.issue_cert("people"), ca.issue_cert("agent")
            await apart(send, port, approved(1), ca, people)
            await apart(send, port, pushed(2), ca, agent)
            await asyncio.to_thread(running.worker.stop, drain=True, timeout=10)
            return await apart(figures, running.admin_port)

    with authority(tmp_path) as (ca, files):
        counted = asyncio.run(story(ca, files))
    labels = 'operator="each",result="pass",severity="warning",spec="people-approve"'
    assert counted[f"spanward_verdicts_total{{{labels}}}"] == 1


@pytest.mark.parametrize("transport", ["grpc", "http"])
def test_a_new_certificate_is_used_without_a_restart(tmp_path: Path, transport: str) -> None:
    """And a broken one is not: the one of before stays, and it is told."""

    async def story(ca: trustme.CA, files: TlsFiles) -> None:
        async with service(ASKED_PEOPLE, secured(files)) as running:
            send, port = {
                "grpc": (by_tls_grpc, running.grpc_port),
                "http": (by_tls_http, running.http_port),
            }[transport]
            client = ca.issue_cert("client")
            await apart(send, port, pushed(1), ca, client)
            other = trustme.CA()
            renewed = other.issue_cert("localhost", "127.0.0.1")
            renewed.private_key_pem.write_to_path(files.key)
            with pytest.raises((grpc.RpcError, OSError)):
                # The key is not the certificate's: the old pair is still served, which the
                # client of the new authority does not trust.
                await apart(send, port, pushed(2), other, client)
            await apart(send, port, pushed(2), ca, client)
            files.cert.write_bytes(b"".join(p.bytes() for p in renewed.cert_chain_pems))
            await apart(send, port, pushed(3), other, client)

    with authority(tmp_path) as (ca, files):
        asyncio.run(story(ca, files))


def test_files_that_are_no_certificates_are_told(tmp_path: Path) -> None:
    """By name, before anything listens."""
    (tmp_path / "cert.pem").write_text("x")
    (tmp_path / "key.pem").write_text("x")
    files = TlsFiles(tmp_path / "cert.pem", tmp_path / "key.pem")
    with pytest.raises(TlsFilesError, match=r"no TLS can be made of .*cert\.pem"):
        Certificates(files)
    files.key.unlink()
    with pytest.raises(TlsFilesError, match="no TLS can be made"):
        Certificates(files)


def test_an_old_version_of_tls_is_refused(tmp_path: Path) -> None:
    """HTTP can be told to refuse 1.2."""

    async def story(ca: trustme.CA, files: TlsFiles) -> None:
        config = secured(msgspec.structs.replace(files, min_version="1.3", client_ca=None))
        config = msgspec.structs.replace(config, grpc=ANY_DOOR)
        async with service(ASKED_PEOPLE, config) as running:
            for most, good in ((ssl.TLSVersion.TLSv1_2, False), (ssl.TLSVersion.TLSv1_3, True)):
                context = ssl.create_default_context()
                ca.configure_trust(context)
                context.maximum_version = most
                try:
                    _, writer = await asyncio.open_connection(
                        "localhost", running.http_port, ssl=context
                    )
                    writer.close()
                    assert good
                except (ssl.SSLError, ConnectionError):
                    assert not good

    with authority(tmp_path) as (ca, files):
        asyncio.run(story(ca, files))
