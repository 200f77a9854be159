"""``spanward demo``: placeholder until written below."""

import click


@click.command("demo")
def command(): ...
