"""YAML text to documents of nodes that know their place."""

from __future__ import annotations

from spanward.errors import Problems
from spanward.node import Node
from spanward.specs.nodes import Reader, Stopped
from spanward.specs.source import Source


def read(source: Source, problems: Problems) -> tuple[Node, ...]:
    """The documents of a file in order, up to the first place that cannot be read.

    Empty documents are left out; every mistake is noted.
    """
    unreadable = source.unreadable
    reader = Reader(source, source.text[:unreadable], problems)
    documents: list[Node | None] = []
    stopped = None
    try:
        for document in reader.documents():
            documents.append(document)
    except Stopped as reason:
        stopped = reason
    if unreadable is not None and (stopped is None or stopped.detected >= unreadable):
        if stopped is None:  # the last document was cut short
            del documents[-1:]
        stopped = _unreadable(source.text[unreadable], unreadable)
    if stopped is not None:
        problems.error(source.place(stopped.index), stopped.message, stopped.hint)
    return tuple(document for document in documents if document is not None)


def _unreadable(character: str, index: int) -> Stopped:
    code = f"{ord(character):04X}"
    message = f"the character U+{code} cannot stand in a spec file"
    return Stopped(index, index, message, rf'in a text, write it as "\u{code}" in double quotes')
