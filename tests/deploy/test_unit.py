"""The systemd unit: well formed, little exposed, and forbidding nothing that the service needs.

Systemd itself does not run it here. Its commands are run, and what they ask of the kernel is
compared with what the unit allows.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.deploy.tools import DEPLOY, ROOT, tool
from tests.service.world import NEVER_RM, call, export, otlp_endpoint, request

UNIT: Final = DEPLOY / "systemd" / "spanward.service"
PROGRAM: Final = "/opt/spanward/bin/spanward"
MOST_EXPOSED: Final = 15
"""Tenths: ``systemd-analyze security`` goes from 0.0 (nothing) to 10.0."""


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that is there: systemd looks whether it is."""
    return written(tmp_path, UNIT.read_text("utf-8"))


def written(folder: Path, text: str) -> Path:
    """A unit file of this text."""
    (there := folder / UNIT.name).write_text(text.replace(PROGRAM, program()), "utf-8")
    return there


def program() -> str:
    """The command in the environment that runs these tests."""
    return str(Path(sys.executable).with_name("spanward"))


def settings(key: str) -> list[str]:
    """The values of a key of the unit, in order."""
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text("utf-8"), re.MULTILINE)


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ``systemd-analyze``."""
    words = (tool("systemd-analyze"), "--no-pager", *words)
    return subprocess.run(words, capture_output=True, text=True, check=False)


def complaints(unit: Path) -> str:
    """What ``systemd-analyze verify`` says; it exits with 0 in spite of an unknown key."""
    ran = analyze("verify", str(unit))
    return ran.stderr + ran.stdout + (f"exit code {ran.returncode}" if ran.returncode else "")


def exposed(unit: Path) -> bool:
    """Whether the unit leaves more open than it may."""
    ran = analyze("security", "--offline=yes", f"--threshold={MOST_EXPOSED}", str(unit))
    return ran.returncode != 0


def test_systemd_has_nothing_to_complain_of(unit: Path) -> None:
    """Neither a key nor a value nor a program that is not there."""
    assert complaints(unit) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ProtectClock", "ProtectClocks"),
        ("Type=notify", "Type=notified"),
        ("ExecStart=", "ExecStart=/nowhere"),
        ("SystemCallFilter=@system-service", "SystemCallFilter=@system-services"),
    ],
)
def test_a_mistake_in_the_unit_is_found(before: str, after: str, tmp_path: Path) -> None:
    """So the test above means something."""
    text = UNIT.read_text("utf-8")
    assert before in text
    assert complaints(written(tmp_path, text.replace(before, after))) != ""


def test_it_is_little_exposed(unit: Path, tmp_path: Path) -> None:
    """By systemd's own measure; and a unit without its capabilities taken away is not."""
    assert not exposed(unit)
    opened = re.sub(
        r"^(CapabilityBoundingSet|SystemCallFilter|Protect\w+)=.*\n",
        "",
        unit.read_text("utf-8"),
        flags=re.MULTILINE,
    )
    assert exposed(written(tmp_path, opened))


# --- what it does, and what it may


def groups() -> dict[str, set[str]]:
    """Systemd's groups of system calls, by name; a group may name another."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in analyze("syscall-filter").stdout.splitlines():
        if line.startswith("@"):
            found[name := line.strip()] = set()
        elif line.startswith("    ") and not line.strip().startswith("#"):
            found[name].add(line.strip())
        elif not line.startswith(" "):
            name = ""
            found.setdefault(name, set())
    return found


def expanded(name: str, known: dict[str, set[str]]) -> set[str]:
    """The system calls of a group."""
    return {
        call
        for each in known[name]
        for call in (expanded(each, known) if each.startswith("@") else {each})
    }


def allowed() -> set[str]:
    """The system calls that the unit allows: its lines add, or with a tilde take away."""
    known = groups()
    calls = expanded("@default", known)
    for line in settings("SystemCallFilter"):
        names = line.removeprefix("~").split()
        of_it = {call for name in names for call in expanded(name, known)}
        calls = calls - of_it if line.startswith("~") else calls | of_it
    return calls


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the unit's commands asked of the kernel, from the start to the end of a service."""
    folder = tmp_path_factory.mktemp("unit")
    (folder / "specs").mkdir()
    (folder / "specs" / "spec.yaml").write_text(NEVER_RM, "utf-8")
    config = (DEPLOY / "spanward.yaml").read_text("utf-8")
    config = config.replace(":4317", f":{(port := free_port())}")
    config = config.replace(":4318", ":0").replace(":9464", ":0")
    (folder / "spanward.yaml").write_text(config, "utf-8")
    before, start = (
        shlex.split(
            settings(key)[0].replace("/etc/spanward", str(folder)).replace(PROGRAM, program())
        )
        for key in ("ExecStartPre", "ExecStart")
    )
    out = folder / "trace"
    strace = [tool("strace"), "-f", "-qq", "-o", str(out), "--"]
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",  # under systemd it could not be written
        "NOTIFY_SOCKET": str(folder / "notify"),
        "SPANWARD_SPECS": str(folder / "specs"),
        "SPANWARD_STORE": str(folder / "spanward.db"),
    }
    subprocess.run(before, check=True, env=environment, cwd=folder, stdout=subprocess.DEVNULL)
    with otlp_endpoint() as backend, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        environment["SPANWARD_VERDICTS"] = f"http://127.0.0.1:{backend.port}"
        manager.bind(environment["NOTIFY_SOCKET"])
        manager.settimeout(60)
        process = subprocess.Popen(
            [*strace, *start], env=environment, cwd=folder, stdout=subprocess.PIPE
        )
        assert manager.recv(100) == b"READY=1"
        export(port, request(call("rm")))
        assert backend.arrived.wait(60)
        child = int(out.read_text("utf-8").split(maxsplit=1)[0])
        os.kill(child, signal.SIGTERM)
        told, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b'"fail"' in told
    return out.read_text("utf-8")


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def calls(trace: str, name: str = r"\w+") -> Iterator[tuple[str, str]]:
    """The system calls of a trace that have a name: name and the rest of the line."""
    for found in re.finditer(rf"^\d+ +({name})\((.*)$", trace, re.MULTILINE):
        yield found[1], found[2]


def test_no_system_call_is_missing(trace: str) -> None:
    """What the service calls, the unit allows; and what it does not need is not allowed."""
    used = {name for name, _ in calls(trace)}
    assert len(used) > 40, "the trace is no trace of a service"
    # To root, which may run this test, SQLite gives its files again; to nobody else.
    as_root = {"fchown"} if os.geteuid() == 0 else set()
    assert used - allowed() - as_root == set()
    assert {"mount", "ptrace", "reboot", "setuid", "bpf"}.isdisjoint(allowed())


def test_no_socket_family_is_missing(trace: str) -> None:
    """The families of sockets are those of ``RestrictAddressFamilies``."""
    used = {rest.split(",")[0] for _, rest in calls(trace, "socket")}
    assert {"AF_UNIX", "AF_INET"} <= used
    assert used <= set(settings("RestrictAddressFamilies")[0].split())


def test_memory_is_never_writable_and_executable(trace: str) -> None:
    """What ``MemoryDenyWriteExecute`` would refuse."""
    both = [rest for _, rest in calls(trace, "mmap|mprotect") if "PROT_WRITE|PROT_EXEC" in rest]
    assert both == []


def test_only_the_store_is_written(trace: str) -> None:
    """``ProtectSystem=strict`` leaves the state's directory, which the store is in."""
    opened = [
        rest.split('"')[1]
        for _, rest in calls(trace, "openat")
        if re.search("O_WRONLY|O_RDWR|O_CREAT", rest)
    ]
    elsewhere = {file for file in opened if "spanward.db" not in file}
    assert elsewhere <= {"/dev/null", "/dev/tty"}
    assert any("spanward.db-wal" in file for file in opened)


def test_reload_is_offered_as_soon_as_there_is_one() -> None:
    """A service that SIGHUP ends must not be sent it by ``systemctl reload``."""
    sources = (ROOT / "src" / "spanward").rglob("*.py")
    heeded = any("signal.SIGHUP" in source.read_text("utf-8") for source in sources)
    wanted = ["/bin/kill -HUP $MAINPID"] if heeded else []
    assert settings("ExecReload") == wanted
