"""``spanward healthcheck``: whether a service is ready, for containers and scripts."""

from __future__ import annotations

import sys
from http.client import HTTPException
from typing import Final
from urllib.request import ProxyHandler, build_opener

import click

_UNHEALTHY: Final = 1


@click.command("healthcheck")
@click.option("--endpoint", default="127.0.0.1:9464", show_default=True, help="host:port of admin")
@click.option("--timeout", default=3.0, show_default=True, help="Seconds to wait for the answer.")
def command(endpoint: str, timeout: float) -> None:
    """Ask the admin endpoint whether the service is ready. Exits with 0 when it is, else 1."""
    direct = build_opener(ProxyHandler({}))  # whatever proxy the environment names
    try:
        with direct.open(f"http://{endpoint}/readyz", timeout=timeout) as answer:
            click.echo(answer.read().decode().strip())
    except (OSError, HTTPException, ValueError) as reason:
        click.echo(f"not ready: {reason}", err=True)
        sys.exit(_UNHEALTHY)
