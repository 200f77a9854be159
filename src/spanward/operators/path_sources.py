"""What ``all`` and ``any`` share: ``{paths: {from: […]}, match: GLOB or list}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanward import expect
from spanward.errors import did_you_mean
from spanward.match.paths import SOURCES, Paths
from spanward.match.text import glob

if TYPE_CHECKING:
    from spanward.errors import Place, Problems
    from spanward.node import Node


def compile_paths(what: str, place: Place, node: Node, problems: Problems) -> Paths | None:
    """The paths and globs of an operator, or None with the mistakes noted."""
    found = expect.mapping(node, what, problems)
    if found is None:
        return None
    expect.known_keys(found, ("paths", "match"), what, problems)
    asked = expect.required(found, "paths", what, place, problems)
    sources = None if asked is None else _compile_from(asked, what, problems)
    match_node = expect.required(found, "match", what, place, problems)
    globs = None if match_node is None else expect.texts(match_node, f"{what}.match", problems)
    if sources is None or globs is None:
        return None
    good = [glob(pattern) for pattern in globs]
    return Paths(sources, globs, lambda path: any(holds(path) for holds in good))


def _compile_from(node: Node, what: str, problems: Problems) -> tuple[str, ...] | None:
    found = expect.mapping(node, f"{what}.paths", problems)
    if found is None:
        return None
    expect.known_keys(found, ("from",), f"{what}.paths", problems)
    asked = expect.required(found, "from", f"{what}.paths", node.place, problems)
    sources = None if asked is None else expect.texts(asked, f"{what}.paths.from", problems)
    if asked is None or sources is None:
        return None
    unknown = [source for source in sources if source not in SOURCES]
    for source in unknown:
        hint = did_you_mean(source, SOURCES) or f"sources are: {', '.join(SOURCES)}"
        problems.error(asked.place, f"unknown source of paths {source!r}", hint)
    return None if unknown else sources
