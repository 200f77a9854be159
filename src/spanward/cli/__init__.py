"""The command line."""

from __future__ import annotations

import click

import spanward
from spanward.cli import check, demo, healthcheck, lint, serve


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(spanward.__version__, message="spanward %(version)s")
def main() -> None:
    """Watch AI agents through OpenTelemetry and judge them, live, against behaviour specs."""


for _command in (serve.command, check.command, lint.command, healthcheck.command, demo.command):
    main.add_command(_command)
