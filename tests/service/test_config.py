"""The configuration file: defaults, shapes, and mistakes shown where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from spanward.config import (
    AlertmanagerEmitter,
    Config,
    Endpoint,
    Memory,
    Receiver,
    SpanEmitter,
    as_yaml_object,
    load_config,
)
from spanward.engine.limits import Limits
from spanward.errors import Problems, render_all
from spanward.receive.tls import TlsFiles

EVERYTHING = """
receivers:
  otlp_grpc:
    endpoint: "[::1]:0"
    max_message_mib: 8
    bearer_token_file: tokens
    max_connection_age: 1h
  otlp_http:
    endpoint: 0.0.0.0:4318
    tls: {cert_file: cert.pem, key_file: key.pem, client_ca_file: ca.pem, min_version: 1.3}
    bearer_token_file: tokens
specs: {paths: [a, b], watch: "${WATCH:-true}"}
sessions:
  {idle_timeout: 5m, settle: 500ms, retain: 2d, max_open: 7, max_facts: 9, max_open_per_sender: 3}
store: {kind: memory}
emitters:
  spans: {endpoint: "http://127.0.0.1:4319", protocol: http/protobuf, results: [fail]}
  jsonl: {path: "-"}
  alertmanager: {url: "http://127.0.0.1:9093", resolve_after: 30m}
admin: {endpoint: "${HOST:-127.0.0.1}:9000", allowed_hosts: [spanward], token_file: t}
queue: {max_requests: "${REQUESTS}", max_mib: 3}
memory: {soft_mib: 700, hard_mib: 900}
redact_values: true
drain_timeout: 1.5s
"""


def loaded(tmp_path: Path, text: str, **environment: str) -> tuple[Config, str]:
    """The configuration of a text, and what is told about it."""
    file = tmp_path / "spanward.yaml"
    file.write_text(text, encoding="utf-8")
    problems = Problems()
    config = load_config(file, problems, environment)
    return config, render_all(problems.found).replace(str(file), "spanward.yaml")


def test_every_key_has_its_place(tmp_path: Path) -> None:
    """All keys at once, environment variables and defaults included."""
    config, told = loaded(tmp_path, EVERYTHING, REQUESTS="12")
    assert told == ""
    assert config == Config(
        grpc=Receiver(
            Endpoint("::1", 0), 8, bearer_token_file=Path("tokens"), max_connection_age=3600.0
        ),
        http=Receiver(
            Endpoint("0.0.0.0", 4318),  # noqa: S104  a configuration that is only read
            tls=TlsFiles(Path("cert.pem"), Path("key.pem"), Path("ca.pem"), "1.3"),
            bearer_token_file=Path("tokens"),
        ),
        admin=Endpoint("127.0.0.1", 9000),
        allowed_hosts=("spanward",),
        token_file=Path("t"),
        specs=(Path("a"), Path("b")),
        watch=True,
        limits=Limits(
            settle=0.5,
            idle_timeout=300.0,
            retain=172800.0,
            max_open=7,
            max_facts=9,
            max_open_per_sender=3,
            redact_values=True,
        ),
        spans=SpanEmitter("http://127.0.0.1:4319", "http/protobuf", ("fail",)),
        jsonl="-",
        alertmanager=AlertmanagerEmitter("http://127.0.0.1:9093", 1800.0),
        store=None,
        max_requests=12,
        max_queue_mib=3,
        memory=Memory(700, 900),
        drain_timeout=1.5,
    )


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    """They listen on loopback."""
    config, told = loaded(tmp_path, "# nothing\n")
    assert (config, told) == (Config(), "")
    assert config.grpc.endpoint.is_loopback
    assert config.http.endpoint.is_loopback
    assert config.admin.is_loopback
    exposed = ("0.0.0.0", "::", "10.0.0.1", "127.evil.example", "spanward")  # noqa: S104
    assert not any(Endpoint(host, 1).is_loopback for host in exposed)
    assert all(Endpoint(host, 1).is_loopback for host in ("localhost", "127.0.0.2", "::1"))


def test_what_is_printed_can_be_loaded(tmp_path: Path) -> None:
    """``--print-config`` writes the shape that it reads."""
    config, _ = loaded(tmp_path, EVERYTHING, REQUESTS="12")
    printed = yaml.safe_dump(as_yaml_object(config))
    again, told = loaded(tmp_path, printed)
    assert (again, told) == (config, "")
    assert as_yaml_object(Config())["specs"] == {"paths": ["specs"], "watch": False}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("queu: {}", "1:1: error: unknown key 'queu' in the configuration\n"),
        ("queue: {max_mb: 3}", "unknown key 'max_mb' in queue"),
        ("[]", "1:1: error: the configuration must be a mapping, not an empty list"),
        ("queue: 5", "1:8: error: queue must be a mapping, not the number 5"),
        ("admin: {endpoint: nowhere}", "endpoint must be host:port, not 'nowhere'"),
        ("admin: {endpoint: 'a:99999'}", "endpoint must be host:port"),
        ("admin: {endpoint: 5}", "endpoint must be a text, not the number 5"),
        ("sessions: {settle: soon}", "settle must be a duration, not the text 'soon'"),
        ("sessions: {settle: [1]}", "settle must be a duration, not a list"),
        ("sessions: {max_open: 0}", "max_open must be an integer of at least 1"),
        ("emitters: {spans: {endpoint: 'a:1'}}", "endpoint must be a URL, not 'a:1'"),
        ("emitters: {spans: {protocol: smoke}}", "protocol cannot be 'smoke'"),
        ("emitters: {spans: {results: [good]}}", "results cannot be 'good'"),
        ("emitters: {spans: {protocol: grpc}}", "spans needs the key 'endpoint'"),
        ("receivers: {otlp_grpc: {max_message_mib: 4096}}", "max_message_mib must be at most 2047"),
        ("redact_values: 1", "redact_values must be true or false, not the number 1"),
        ("specs: {watch: often}", "watch must be true or false, not the text 'often'"),
        ("specs: {watch: [1]}", "watch must be true or false, not a list"),
        ("specs: {paths: []}", "paths must be a text or a list of texts"),
        ("store: {kind: postgres}", "kind cannot be 'postgres'"),
        ("store: {path: 5}", "path must be a text, not the number 5"),
        ("receivers: {otlp_grpc: {tls: {cert_file: x}}}", "tls needs the key 'key_file'"),
        (
            "receivers: {otlp_http: {tls: {cert_file: x, key_file: y, min_version: 1.1}}}",
            "min_version must be a version of TLS, 1.2 or 1.3",
        ),
        (
            "receivers: {otlp_grpc: {tls: {cert_file: x, key_file: y, min_version: 1.3}}}",
            "gRPC for Python cannot be told to refuse TLS 1.2",
        ),
        (
            "receivers: {otlp_http: {endpoint: '0.0.0.0:1', bearer_token_file: x}}",
            "otlp_http would take tokens in clear text from other machines",
        ),
        ("emitters: {alertmanager: {url: x}}", "url must be a URL, not 'x'"),
        ("emitters: {alertmanager: {resolve_after: 1h}}", "alertmanager needs the key 'url'"),
        ("admin: {endpoint: '${NOWHERE}:1'}", "the environment variable NOWHERE is not set"),
        ("a: [", "error"),
    ],
)
def test_mistakes_are_told_and_nothing_is_half_loaded(tmp_path: Path, text: str, told: str) -> None:
    """With file, line, column and the line itself; the configuration is then the default."""
    config, problems = loaded(tmp_path, text)
    assert told in problems
    assert problems.startswith("spanward.yaml:1:")
    assert config == Config()


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """Three mistakes, three places."""
    text = "queue: {max_mib: x}\nadmin: {endpoint: y}\nsessions: {settle: z}\n"
    _, problems = loaded(tmp_path, text)
    assert [f"spanward.yaml:{line}:" in problems for line in (1, 2, 3)] == [True] * 3


def test_a_second_document_is_told(tmp_path: Path) -> None:
    """Half of a configuration must not be ignored."""
    _, problems = loaded(tmp_path, "queue: {max_mib: 3}\n---\nstore: {kind: memory}\n")
    assert "spanward.yaml:3:1: error: a configuration is one document" in problems


def test_variables_are_taken_as_a_shell_does(tmp_path: Path) -> None:
    """A default stands for what is unset or empty; what is set but empty is not unset."""
    text = "admin: {endpoint: '${HOST:-127.0.0.1}:${PORT:-1}${EMPTY}'}"
    config, told = loaded(tmp_path, text, HOST="", PORT="9", EMPTY="")
    assert (config.admin, told) == (Endpoint("127.0.0.1", 9), "")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Not an exception."""
    problems = Problems()
    assert load_config(tmp_path / "missing.yaml", problems) == Config()
    assert problems.errors
