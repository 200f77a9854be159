"""The command line. A command's module is imported when it is called, or listed in the help.

So the ones that run often and briefly (``healthcheck``) do not pay for the service's imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

import spanward

_COMMANDS: Final = ("serve", "check", "lint", "healthcheck", "demo")
"""Each has a module of its name in this package, with its ``command``."""


class _Commands(click.Group):
    """The commands, in the order in which the help tells them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(spanward.__version__, message="spanward %(version)s")
def main() -> None:
    """Watch AI agents through OpenTelemetry and judge them, live, against behaviour specs."""
