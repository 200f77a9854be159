"""``spanward serve`` as a process: it starts, tells where it is, and stops in good order."""

from __future__ import annotations

import json
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from spanward.cli import main
from tests.service.world import NEVER_RM, call, export, page, request

CONFIG = """
receivers:
  otlp_grpc: {endpoint: "127.0.0.1:0"}
  otlp_http: {endpoint: "127.0.0.1:0"}
admin: {endpoint: "127.0.0.1:0"}
emitters: {jsonl: {path: "-"}}
store: {path: "${FOLDER}/spanward.db"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration on free ports, and a spec."""
    monkeypatch.setenv("FOLDER", str(tmp_path))
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(NEVER_RM, encoding="utf-8")
    return tmp_path


class Serving:
    """A process that serves, ready when this is made."""

    def __init__(self, *options: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spanward", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""
        found = None
        for line in self._process.stderr or ():
            self.said += line
            if "ready: " in line:
                found = re.search(
                    r"gRPC on \S+:(\d+), .*HTTP on \S+:(\d+), .*http://\S+:(\d+)/", line
                )
                break
        assert found, self.said
        self.grpc_port, self.http_port, self.admin_port = map(int, found.groups())

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def send(self, number: int, until: str) -> None:
        """Send a signal, and wait until something is said."""
        self._process.send_signal(number)
        self.wait_for(until)

    def wait_for(self, words: str) -> None:
        """Wait until something is said."""
        for line in self._process.stderr or ():
            self.said += line
            if words in line:
                return
        raise AssertionError(self.said)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, list[dict[str, object]]]:
        """The exit code, and the verdicts on standard output."""
        self._process.send_signal(number)
        out, said = self._process.communicate(timeout=30)
        self.said += said
        return self._process.returncode, [json.loads(line) for line in out.splitlines()]

    def kill(self) -> None:
        """End it, whatever state it is in."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def serving(folder: Path) -> Iterator[Serving]:
    """A service that drains when it is stopped."""
    specs, config = str(folder / "spec.yaml"), str(folder / "config.yaml")
    process = Serving("--specs", specs, "--config", config, "--drain")
    yield process
    process.kill()


def test_it_may_open_many_files(folder: Path) -> None:
    """As many as its hard limit allows: each connection is one."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        specs, config = str(folder / "spec.yaml"), str(folder / "config.yaml")
        process = Serving("--specs", specs, "--config", config)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    process.kill()
    assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_stops(serving: Serving, number: int) -> None:
    """A violation is written as it falls; a stop ends with 0, and open verdicts are final."""
    export(serving.grpc_port, request(call("rm", 1), call("ls", 2, "s2")))
    assert page(serving.admin_port, "/readyz") == "ready\n"
    code, verdicts = serving.stop(number)
    assert code == 0, serving.said
    told = {verdict["session"]: (verdict["result"], verdict["cause"]) for verdict in verdicts}
    assert told == {"s1": ("fail", "item"), "s2": ("pass", "shutdown")}
    assert "stopped" in serving.said


def test_healthcheck_asks_a_running_service(serving: Serving) -> None:
    """0 when it is ready, 1 when nobody answers."""
    ask = ["healthcheck", "--endpoint", f"127.0.0.1:{serving.admin_port}"]
    assert CliRunner().invoke(main, ask).exit_code == 0
    serving.stop()
    result = CliRunner().invoke(main, ask)
    assert result.exit_code == 1
    assert "not ready" in result.stderr


def test_a_hangup_reloads_the_specs(folder: Path, serving: Serving) -> None:
    """A good file is judged from then on; of a bad one the place of each mistake is told."""
    spec = folder / "spec.yaml"
    export(serving.grpc_port, request(call("rm", 1)))
    spec.write_text(f"{NEVER_RM}---\nname: never-ls\nassert: {{never: {{tool: {{name: ls}}}}}}\n")
    serving.send(signal.SIGHUP, "specs reloaded: 2 specs")
    export(serving.grpc_port, request(call("ls", 2, "s2")))
    spec.write_text("name: never-rm\nassert: {nver: x}\nseverity: bad\n")
    serving.send(signal.SIGHUP, f"  {spec}:3:11: error: ")
    assert "specs not reloaded: 2 mistakes; those of before are judged" in serving.said
    assert f"  {spec}:2:10: error: " in serving.said
    code, verdicts = serving.stop()
    assert code == 0
    fails = [(one["spec"], one["session"]) for one in verdicts if one["result"] == "fail"]
    assert fails == [("never-rm", "s1"), ("never-ls", "s2")]


def test_a_watched_file_is_reloaded(folder: Path) -> None:
    """Some seconds after it was written."""
    config = folder / "watch.yaml"
    config.write_text(f"{CONFIG}specs: {{paths: {folder / 'spec.yaml'}, watch: true}}\n")
    process = Serving("--config", str(config))
    (folder / "spec.yaml").write_text(NEVER_RM.replace("critical", "info"))
    process.wait_for("specs reloaded: 1 spec")
    process.kill()


@pytest.mark.parametrize(
    "name", ["{folder}/notify", "@spanward-{folder}"], ids=["path", "abstract"]
)
def test_a_service_manager_is_told(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it is ready, so that what needs it can start; and when it begins to stop."""
    name = name.format(folder=folder)
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name.replace("@", "\0"))
        manager.settimeout(30)
        specs, config = str(folder / "spec.yaml"), str(folder / "config.yaml")
        process = Serving("--specs", specs, "--config", config)
        assert manager.recv(100) == b"READY=1"
        assert page(process.admin_port, "/readyz") == "ready\n"
        assert process.stop()[0] == 0
        assert manager.recv(100) == b"STOPPING=1"


def test_a_service_manager_that_has_gone_is_no_matter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is logged, and the service serves."""
    monkeypatch.setenv("NOTIFY_SOCKET", str(folder / "nobody"))
    specs, config = str(folder / "spec.yaml"), str(folder / "config.yaml")
    process = Serving("--specs", specs, "--config", config)
    assert process.stop()[0] == 0
    assert "could not be told STOPPING=1" in process.said


def serve(*options: str) -> tuple[int, str]:
    """Run the command to its end; exit code and what it said."""
    result = CliRunner().invoke(main, ["serve", *options])
    return result.exit_code, result.output


def test_mistakes_end_it_before_it_starts(folder: Path) -> None:
    """In the configuration, in a spec, in a path: exit code 2, and where."""
    bad = folder / "bad.yaml"
    bad.write_text("queue: {max_mib: none}\n", encoding="utf-8")
    code, said = serve("--config", str(bad), "--specs", str(folder / "spec.yaml"))
    assert (code, "bad.yaml:1:18: error: max_mib must be" in said) == (2, True)
    code, said = serve("--specs", str(bad))
    assert (code, "bad.yaml:1:1" in said) == (2, True)
    code, said = serve("--specs", str(folder / "nowhere"))
    assert (code, "nowhere" in said) == (2, True)


def test_an_address_that_cannot_be_had_ends_it(folder: Path, serving: Serving) -> None:
    """Said in words, with exit code 2."""
    taken = folder / "taken.yaml"
    taken.write_text(
        CONFIG.replace(
            'grpc: {endpoint: "127.0.0.1:0"', f'grpc: {{endpoint: "127.0.0.1:{serving.grpc_port}"'
        ).replace("spanward.db", "another.db"),
        encoding="utf-8",
    )
    code, said = serve("--config", str(taken), "--specs", str(folder / "spec.yaml"))
    assert (code, "is the port in use?" in said) == (2, True)


def test_a_store_belongs_to_one_process(folder: Path, serving: Serving) -> None:
    """A second one would undo what the first one saved: said in words, with exit code 2."""
    config, specs = str(folder / "config.yaml"), str(folder / "spec.yaml")
    code, said = serve("--config", config, "--specs", specs)
    assert (code, "spanward.db is in use by another process" in said) == (2, True)
    assert serving.stop()[0] == 0


def test_a_restart_goes_on_where_it_stopped(folder: Path) -> None:
    """Without draining: an open session is finished by the next process, with its own facts."""
    specs, config = str(folder / "spec.yaml"), str(folder / "config.yaml")
    first = Serving("--specs", specs, "--config", config)
    export(first.grpc_port, request(call("rm", 1), call("ls", 2, "s2")))
    code, verdicts = first.stop()
    assert (code, [one["session"] for one in verdicts]) == (0, ["s1"])
    second = Serving("--specs", specs, "--config", config, "--drain")
    assert (
        'spanward_violations_total{operator="never",severity="critical",spec="never-rm"} 1.0'
        in (page(second.admin_port, "/metrics"))
    )
    export(second.grpc_port, request(call("rm", 3, "s2"), call("rm", 4, "s1")))
    code, verdicts = second.stop()
    assert [(one["session"], one["result"], one["early"]) for one in verdicts] == [
        ("s2", "fail", True)
    ]
    assert (folder / "spanward.db").stat().st_mode & 0o777 == 0o600


def test_print_config(folder: Path) -> None:
    """The effective configuration, without starting anything."""
    code, said = serve("--config", str(folder / "config.yaml"), "--print-config")
    assert code == 0
    assert "endpoint: 127.0.0.1:0" in said
    assert "kind: sqlite" in said


def test_version_and_help() -> None:
    """The version, and every command in the help."""
    assert CliRunner().invoke(main, ["--version"]).output.startswith("spanward 0.")
    told = CliRunner().invoke(main, ["--help"]).output
    assert all(name in told for name in ("serve", "check", "lint", "healthcheck", "demo"))


def test_the_demo_shows_a_violation_and_what_led_to_it() -> None:
    """Verdicts as they fall, the step, its lead-up, and the metric an alert would see."""
    result = CliRunner().invoke(main, ["demo", "--fast"])
    assert result.exit_code == 0
    assert "FAIL    never-delete-builds: a forbidden item occurred" in result.output
    assert "before: execute_tool run_shell" in result.output
    assert "here:   tool.call delete_file" in result.output
    assert 'result="fail",severity="critical",spec="never-delete-builds"} 1.0' in result.output
    assert "PASS    few-retries" in result.output


def test_a_healthcheck_does_not_import_the_service() -> None:
    """A container is asked every few seconds: it must not cost the start of a service."""
    script = """
import atexit, sys
from spanward.cli import main
atexit.register(lambda: print(*sorted(sys.modules)))
main(["healthcheck", "--endpoint", "127.0.0.1:1"])
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "not ready" in ran.stderr
    assert {"grpc", "aiohttp", "opentelemetry", "spanward.app"}.isdisjoint(ran.stdout.split())
