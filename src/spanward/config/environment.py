"""Environment variables in a YAML file: for the service's configuration only, never for specs.

(The regular expressions of specs contain ``$``.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping as AbstractMapping
from typing import Final

import msgspec

from spanward.errors import Problems
from spanward.node import Mapping, Node, Sequence

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expanded(node: Mapping, environment: AbstractMapping[str, str], problems: Problems) -> Mapping:
    """The same mapping with ``${VAR}`` and ``${VAR:-default}`` replaced in its values.

    As a shell has it, the default stands for a variable that is unset or empty. What is digits
    then is a number. An unset variable without a default is noted.
    """
    entries = (
        msgspec.structs.replace(entry, value=_expand(entry.value, environment, problems))
        for entry in node.entries
    )
    return msgspec.structs.replace(node, entries=tuple(entries))


def _expand(node: Node, environment: AbstractMapping[str, str], problems: Problems) -> Node:
    if isinstance(node, Mapping):
        return expanded(node, environment, problems)
    if isinstance(node, Sequence):
        items = tuple(_expand(item, environment, problems) for item in node.items)
        return msgspec.structs.replace(node, items=items)
    if not isinstance(node.value, str) or "${" not in node.value:
        return node

    def value_of(found: re.Match[str]) -> str:
        value: str | None = environment.get(found[1])
        if not value and found[2] is not None:
            value = found[2]
        if value is None:
            hint = f"write ${{{found[1]}:-default}} for a default"
            problems.error(node.place, f"the environment variable {found[1]} is not set", hint)
        return value or ""

    text = _VARIABLE.sub(value_of, node.value)
    number = int(text) if text.isascii() and text.isdigit() else text
    return msgspec.structs.replace(node, value=number, text=text)
