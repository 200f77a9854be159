"""Spec files are found, read and compiled: all of them, or none."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanward.errors import Problems, render_all
from spanward.specs.files import decode
from spanward.specs.loader import load, load_text
from spanward.specs.spec import Spec

NEVER = "assert: {never: {event: x}}\n"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _load(paths: Sequence[Path], base: Path) -> tuple[list[str], str]:
    problems = Problems()
    specs = load(paths, problems)
    return [spec.name for spec in specs], render_all(problems.found).replace(f"{base}/", "")


def _spec(text: str) -> Spec:
    problems = Problems()
    (spec,) = load_text(text, "f.yaml", problems)
    assert problems.found == ()
    return spec


def test_a_spec_has_its_defaults() -> None:
    """Only name and assert are required."""
    spec = _spec(f"name: a\n{NEVER}")
    assert (spec.name, spec.description, spec.severity, spec.unit) == (
        "a",
        "",
        "warning",
        "session",
    )
    assert (spec.turns, spec.runbook_url, spec.labels) == (None, "", {})
    assert spec.operator_name == "never"
    assert (spec.place.file, spec.place.line, spec.place.column) == ("f.yaml", 1, 7)


def test_a_spec_has_what_its_document_says() -> None:
    """Every key is taken over; turns are sorted, each once."""
    spec = _spec(
        "name: a\ndescription: b\nseverity: critical\nunit: turn\nturns: [3, 0, 3]\n"
        "runbook_url: https://example.org/\nlabels: {team: c, empty: ''}\n" + NEVER
    )
    assert (spec.description, spec.severity, spec.unit) == ("b", "critical", "turn")
    assert (spec.turns, spec.runbook_url) == ((0, 3), "https://example.org/")
    assert spec.labels == {"team": "c", "empty": ""}


def test_the_hash_is_of_what_is_judged_and_told() -> None:
    """Layout, comments, the order of keys and tests do not change it; everything else does."""
    first = _spec(f"name: a\nseverity: info\n{NEVER}")
    same = _spec(
        "# moved\nassert:\n  never:\n    'event': x\nseverity: info\nname: a\n"
        "tests: [{items: [], expect: pass}]\n"
    )
    other = _spec(f"name: a\nseverity: critical\n{NEVER}")
    assert first.sha256 == same.sha256 != other.sha256
    canonical = b'{"assert":{"never":{"event":"x"}},"name":"a","severity":"info"}'
    assert first.sha256 == hashlib.sha256(canonical).hexdigest()


def test_files_and_directories_are_read_in_order(tmp_path: Path) -> None:
    """Paths as given; within a directory all *.yaml and *.yml, sorted, hidden ones left out."""
    for name in ("d/b/x.yml", "d/a.yaml", "d/c.yaml", "d/.git/x.yaml", "d/.x.yaml", "d/n.json"):
        _write(tmp_path / name, f"name: {name.replace('/', '-').lstrip('.')}\n{NEVER}")
    last = _write(tmp_path / "single", f"name: single\n{NEVER}")
    names, shown = _load([last, tmp_path / "d"], tmp_path)
    assert shown == ""
    assert names == ["single", "d-a.yaml", "d-b-x.yml", "d-c.yaml"]


def test_a_file_is_read_once(tmp_path: Path) -> None:
    """However many paths and links lead to it."""
    file = _write(tmp_path / "d/a.yaml", f"name: a\n{NEVER}")
    (tmp_path / "d/again.yaml").symlink_to(file)
    (tmp_path / "d/loop").symlink_to(tmp_path / "d")
    assert _load([tmp_path / "d", file, tmp_path], tmp_path) == (["a"], "")


def test_links_to_directories_are_followed(tmp_path: Path) -> None:
    """A directory of links, as Kubernetes mounts one, holds its files once, under plain names."""
    _write(tmp_path / "m/..2024/a.yaml", f"name: a\n{NEVER}")
    (tmp_path / "m/..data").symlink_to("..2024")
    (tmp_path / "m/a.yaml").symlink_to("..data/a.yaml")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/mounted").symlink_to(tmp_path / "m")
    problems = Problems()
    (spec,) = load([tmp_path / "specs"], problems)
    assert spec.place.file == str(tmp_path / "specs/mounted/a.yaml")


def test_all_problems_of_all_files_are_told_and_nothing_is_loaded(tmp_path: Path) -> None:
    """One bad file keeps the good ones out; the second use of a name tells where the first is."""
    _write(tmp_path / "a.yaml", f"name: a\n{NEVER}")
    _write(tmp_path / "b.yaml", f"name: a\n{NEVER}---\nname: @\n")
    _write(tmp_path / "c.yaml", f"name: c\nseverity: x\n{NEVER}")
    _write(tmp_path / "d.yaml", "")
    names, shown = _load([tmp_path], tmp_path)
    assert names == []
    assert shown.split("\n") == [
        "b.yaml:1:7: error: the name 'a' is used twice, first at a.yaml:1:7",
        "    name: a",
        "          ^",
        "    hint: names are unique over all files",
        "b.yaml:4:7: error: no text can begin with @",
        "    name: @",
        "          ^",
        "    hint: a text that begins with @ must be quoted: '@...'",
        "c.yaml:2:11: error: 'x' is no severity",
        "    severity: x",
        "              ^",
        "    hint: write critical, warning or info",
        "d.yaml:1:1: warning: the file holds no spec",
        "    hint: begin one with name: and assert:",
    ]


def test_a_warning_keeps_nothing_out(tmp_path: Path) -> None:
    """Specs are loaded when there are only warnings."""
    _write(tmp_path / "a.yaml", f"name: a\n{NEVER}")
    _write(tmp_path / "b.yaml", "# none yet\n")
    names, shown = _load([tmp_path], tmp_path)
    assert names == ["a"]
    assert "b.yaml:1:1: warning: " in shown


def test_an_earlier_error_keeps_the_specs_out(tmp_path: Path) -> None:
    """Problems that were noted before count too: nothing is loaded unless there is no error."""
    problems = Problems()
    load_text("name: @", "f.yaml", problems)
    assert load([_write(tmp_path / "a.yaml", f"name: a\n{NEVER}")], problems) == ()


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    """A missing path, a link that leads nowhere or round, an empty directory."""
    (tmp_path / "empty").mkdir()
    _write(tmp_path / "links/good.yaml", f"name: good\n{NEVER}")
    (tmp_path / "links/dangling.yaml").symlink_to("nowhere")
    (tmp_path / "links/round.yaml").symlink_to("round.yaml")
    paths = [tmp_path / "missing", tmp_path / "empty", tmp_path / "links", Path("a\0b")]
    names, shown = _load(paths, tmp_path)
    assert names == []
    assert shown.split("\n") == [
        "empty:1:1: error: no spec file in this directory",
        "    hint: spec files are named *.yaml or *.yml",
        "links/dangling.yaml:1:1: error: cannot read it: no such file or directory",
        "links/round.yaml:1:1: error: cannot read it: too many levels of symbolic links",
        "missing:1:1: error: cannot read it: no such file or directory",
        "a\\x00b:1:1: error: cannot read it: embedded null byte",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    """A directory inside another that is closed to us does not vanish silently."""
    (tmp_path / "open/closed").mkdir(parents=True, mode=0)
    _, shown = _load([tmp_path / "open"], tmp_path)
    assert "open:1:1: error: cannot read it: permission denied (" in shown


def test_pipes_in_a_directory_are_left_alone(tmp_path: Path) -> None:
    """Reading one would wait for ever."""
    os.mkfifo(tmp_path / "pipe.yaml")
    _write(tmp_path / "a.yaml", f"name: a\n{NEVER}")
    assert _load([tmp_path], tmp_path) == (["a"], "")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (
            b"name: a\nx: \xe9t\xe9\n",
            (
                "f:2:4: error: the file is not UTF-8: byte 0xe9 cannot stand here\n"
                "    x: \ufffdt\ufffd\n       ^\n    hint: save it as UTF-8"
            ),
        ),
        (
            b"\xef\xbb\xbfab\xff",
            (
                "f:1:3: error: the file is not UTF-8: byte 0xff cannot stand here\n"
                "    ab\ufffd\n      ^\n    hint: save it as UTF-8"
            ),
        ),
        (
            "name".encode("utf-16"),
            (
                "f:1:1: error: the file is not UTF-8: byte 0xff cannot stand here\n"
                "    \ufffd\ufffdn\\x00a\\x00m\\x00e\\x00\n    ^\n"
                "    hint: it looks like UTF-16: save it as UTF-8"
            ),
        ),
    ],
)
def test_a_file_that_is_not_utf8_is_told_with_the_place(raw: bytes, shown: str) -> None:
    """The first byte that cannot be read, and what to do."""
    problems = Problems()
    assert decode(raw, "f", problems) is None
    assert render_all(problems.found) == shown


def test_a_file_that_is_not_utf8_hides_no_other(tmp_path: Path) -> None:
    """The other files are still checked."""
    (tmp_path / "a.yaml").write_bytes(b"\xff")
    _write(tmp_path / "b.yaml", "name: b\n")
    _, shown = _load([tmp_path], tmp_path)
    assert "a.yaml:1:1: error: " in shown
    assert "b.yaml:1:1: error: " in shown


@given(st.binary())
def test_any_bytes_are_decoded_or_told(raw: bytes) -> None:
    """A source or a problem that can be shown, never an exception."""
    problems = Problems()
    source = decode(raw, "f", problems)
    assert (source is None) == bool(problems.found)
    render_all(problems.found).encode()
    if source is not None:
        load_text(source.text, "f", problems)
