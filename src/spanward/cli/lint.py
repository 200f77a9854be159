"""``spanward lint``: load spec files and tell every mistake and every warning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from spanward.errors import Problems, render_all
from spanward.specs.loader import survey

GOOD: Final = 0
MISTAKEN: Final = 2


def lint(paths: Sequence[Path]) -> int:
    """Print the problems of some files and directories and a closing line; the exit code."""
    problems = Problems()
    count = survey(paths, problems).documents
    if problems.found:
        click.echo(render_all(problems.found))
    errors, warnings = len(problems.errors), len(problems.warnings)
    counted = (_counted(count, "spec"), _counted(errors, "error"), _counted(warnings, "warning"))
    click.echo(", ".join(counted))
    return MISTAKEN if errors else GOOD


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@click.command(name="lint")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path)
)
@click.pass_context
def command(context: click.Context, paths: tuple[Path, ...]) -> None:
    """Check the spec files at PATH (files, or directories of *.yaml and *.yml).

    Prints each mistake and warning with its place. Exits 0 when there is no mistake, else 2.
    """
    context.exit(lint(paths))
