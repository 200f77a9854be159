"""``spanward check``: judge recorded telemetry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TextIO

import click

from spanward.cli.formats import FORMATS
from spanward.cli.recordings import STDIN, lines
from spanward.dialects import DIALECTS
from spanward.errors import Problems, render_all, visible
from spanward.offline import Judgement, Recording
from spanward.otlp import Unreadable
from spanward.otlp.jsonlines import read_line
from spanward.specs.loader import load
from spanward.verdict import Result, Verdict

GOOD: Final = 0
FAILED: Final = 1
BAD_SPEC: Final = 2
UNREADABLE: Final = 3


@click.command("check")
@click.option(
    "--specs",
    "spec_paths",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="A spec file or a directory of them; may be repeated.",
)
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="table", show_default=True
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file instead."
)
@click.option("--only-failures", is_flag=True, help="Show failed verdicts only.")
@click.option(
    "--dialect",
    "dialects",
    multiple=True,
    type=click.Choice(list(DIALECTS)),
    help="Read with these dialects only; may be repeated.",
)
@click.argument("files", nargs=-1, required=True)
def command(
    spec_paths: tuple[Path, ...],
    form: str,
    output: Path | None,
    only_failures: bool,
    dialects: tuple[str, ...],
    files: tuple[str, ...],
) -> None:
    """Judge FILES, recorded telemetry as OTLP JSON lines ("-": standard input, ".gz" too).

    Exits with 0 when nothing failed, 1 when a verdict is "fail", 2 for a mistake in the specs or
    the options, 3 for input that cannot be read.
    """
    problems = Problems()
    specs = load(spec_paths, problems)
    _tell(render_all(problems.found))
    if problems.errors:
        sys.exit(BAD_SPEC)
    recording = Recording(specs, [DIALECTS[name] for name in dialects or DIALECTS])
    if not _read(recording, files):
        sys.exit(UNREADABLE)
    judgement = recording.judge()
    _tell_rejected(judgement)
    shown = _is_failure if only_failures else _is_any
    _write(output, lambda out: FORMATS[form](judgement, len(specs), shown, out))
    sys.exit(FAILED if any(map(_is_failure, judgement.verdicts)) else GOOD)


def _read(recording: Recording, files: Sequence[str]) -> bool:
    """Read all files; false when something could not be read, which is then told."""
    place = files[0]
    try:
        for name, number, line in lines(files):
            place = f"{'standard input' if name == STDIN else name}:{number}"
            recording.add(read_line(line, recording.wanted))
    except Unreadable as mistake:
        _tell(f"{place}: {visible(str(mistake))}\n")
        return False
    except (OSError, EOFError) as mistake:
        _tell(f"{visible(str(mistake))}\n")
        return False
    return True


def _write(output: Path | None, write: Callable[[TextIO], None]) -> None:
    if output is None:
        write(sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8") as out:
            write(out)
    except OSError as error:
        _tell(f"cannot write {visible(str(output))}: {error.strerror}\n")
        sys.exit(BAD_SPEC)


def _is_failure(verdict: Verdict) -> bool:
    return verdict.result is Result.FAIL


def _is_any(verdict: Verdict) -> bool:
    return True


def _tell_rejected(judgement: Judgement) -> None:
    for reason, count in sorted(judgement.rejected.items()):
        _tell(f"warning: {count} records were not taken: bad {reason.replace('_', ' ')}\n")


def _tell(text: str) -> None:
    sys.stderr.write(text)
