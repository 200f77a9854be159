"""``spanward lint``: what it prints and how it exits."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from spanward.cli.lint import command, lint

NEVER = "assert: {never: {event: x}}\n"


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.output


def test_good_specs_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without problems only the closing line is printed, and the exit code is 0."""
    (tmp_path / "a.yaml").write_text(f"name: a\n{NEVER}---\nname: b\n{NEVER}", "utf-8")
    assert lint([tmp_path]) == 0
    assert capsys.readouterr().out == "2 specs, 0 errors, 0 warnings\n"


def test_warnings_do_not_fail(tmp_path: Path) -> None:
    """A warning is printed and counted; the exit code stays 0."""
    (tmp_path / "a.yaml").write_text(f"name: a\n{NEVER}", "utf-8")
    (tmp_path / "b.yaml").write_text("", "utf-8")
    code, output = _run(str(tmp_path))
    assert code == 0
    assert ": warning: the file holds no spec\n" in output
    assert output.endswith("\n1 spec, 0 errors, 1 warning\n")


def test_errors_fail_with_2(tmp_path: Path) -> None:
    """Every error is printed, in order, and specs that hold them are counted too."""
    (tmp_path / "a.yaml").write_text(f"name: A\n{NEVER}---\nname: b\n", "utf-8")
    code, output = _run(str(tmp_path / "a.yaml"), str(tmp_path / "missing"))
    assert code == 2
    heads = [line for line in output.split("\n") if not line.startswith(" ")]
    assert heads == [
        f"{tmp_path}/a.yaml:1:7: error: the name 'A' must match [a-z0-9][a-z0-9._-]*",
        f"{tmp_path}/a.yaml:4:1: error: a spec needs the key 'assert'",
        f"{tmp_path}/missing:1:1: error: cannot read it: no such file or directory",
        "2 specs, 3 errors, 0 warnings",
        "",
    ]


def test_a_path_is_required() -> None:
    """Without one, usage is told and the exit code is 2."""
    code, output = _run()
    assert code == 2
    assert "Missing argument 'PATH...'" in output
