"""``spanward serve``: the service."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sys
from pathlib import Path
from typing import Final

import click
import msgspec
import yaml

from spanward.app import running
from spanward.cli import logs, manager
from spanward.config import DEFAULT_SPECS, Config, Endpoint, as_yaml_object, load_config
from spanward.errors import Problems, render_all
from spanward.reload import Reading, compiled, read
from spanward.specs.spec import Spec

log = logging.getLogger("spanward")

BAD_CONFIG: Final = 2
_MOST_FILES: Final = 65_536


@click.command("serve")
@click.option("--config", "config_path", type=click.Path(path_type=Path), help="A YAML file.")
@click.option(
    "--specs",
    "spec_paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A spec file or a directory of them, instead of those of the file; may be repeated.",
)
@click.option("--drain", is_flag=True, help="Make every open verdict final when stopping.")
@click.option("--print-config", is_flag=True, help="Print the effective configuration and exit.")
def command(
    config_path: Path | None, spec_paths: tuple[Path, ...], drain: bool, print_config: bool
) -> None:
    """Receive telemetry over OTLP and judge it as it comes.

    Without --config every default is for this machine alone: gRPC on 127.0.0.1:4317, HTTP on
    127.0.0.1:4318, metrics on 127.0.0.1:9464, specs from ./specs. Stops in good order on SIGTERM
    and SIGINT.
    """
    # A request to reload that comes before there is a service is met: specs are about to be read.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    logs.begin()
    _allow_many_files()
    problems = Problems()
    config = Config() if config_path is None else load_config(config_path, problems)
    if spec_paths:
        config = msgspec.structs.replace(config, specs=spec_paths)
    if print_config and not problems.errors:
        click.echo(yaml.safe_dump(as_yaml_object(config), sort_keys=False), nl=False)
        return
    reading = _read(config)
    specs = () if reading is None else compiled(reading, problems)
    if problems.found:
        click.echo(render_all(problems.found), err=True)
    if problems.errors:
        sys.exit(BAD_CONFIG)
    try:
        digest = b"" if reading is None else reading.digest
        asyncio.run(_serve(config, specs, digest, drain=drain))
    except OSError as error:
        sys.stderr.write(f"spanward: {error}\n")
        sys.exit(BAD_CONFIG)


def _read(config: Config) -> Reading | None:
    """What stands in the spec files; None when none are named and there is no default folder."""
    if config.specs or DEFAULT_SPECS.is_dir():
        return read(config.specs or (DEFAULT_SPECS,))
    log.warning("there is no folder ./%s: nothing is judged", DEFAULT_SPECS)
    return None


def _allow_many_files() -> None:
    """Have as many open files as we may: connections that only stay must not use up the usual 1024.

    (More than 65,536 would be of no use, and some systems allow a thousand million.)
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _serve(config: Config, specs: tuple[Spec, ...], digest: bytes, *, drain: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(config, specs, reading=digest, drain=drain) as service:
        loop.add_signal_handler(signal.SIGHUP, service.watch.ask)
        log.info(
            "ready: %d specs, OTLP/gRPC on %s, OTLP/HTTP on %s, metrics on http://%s/metrics",
            len(specs),
            Endpoint(config.grpc.endpoint.host, service.grpc_port),
            Endpoint(config.http.endpoint.host, service.http_port),
            Endpoint(config.admin.host, service.admin_port),
        )
        manager.tell(manager.READY)
        await stop.wait()
        log.info("stopping")
        manager.tell(manager.STOPPING)
    log.info("stopped")
