"""Spec files to compiled specs: all of them, or, when there is any mistake, none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from spanward.errors import Place, Problems
from spanward.node import Node, Scalar
from spanward.specs import files, yaml
from spanward.specs.document import compile_document, name_of
from spanward.specs.source import Source
from spanward.specs.spec import Spec


class Survey(msgspec.Struct, frozen=True):
    """What was read: the specs that compiled, and how many documents there were in all."""

    specs: tuple[Spec, ...]
    documents: int


def load(paths: Sequence[Path], problems: Problems) -> tuple[Spec, ...]:
    """The specs of some files and directories, in order; none when there is any error.

    All errors and warnings of all files are noted. (Semantics, section 9.)
    """
    return _all_or_none(survey(paths, problems), problems)


def load_sources(sources: Iterable[Source], problems: Problems) -> tuple[Spec, ...]:
    """The specs of texts that were read already, as ``load`` reads those of files."""
    return _all_or_none(_survey(sources, problems), problems)


def load_text(text: str, file_name: str, problems: Problems) -> tuple[Spec, ...]:
    """The specs of one text, as ``load`` reads those of a file."""
    return load_sources([Source(file_name, text)], problems)


def survey(paths: Sequence[Path], problems: Problems) -> Survey:
    """All that some files and directories hold, whether or not there are errors."""
    return _survey(files.sources(paths, problems), problems)


def _all_or_none(found: Survey, problems: Problems) -> tuple[Spec, ...]:
    return () if problems.mistakes else found.specs


def _survey(sources: Iterable[Source], problems: Problems) -> Survey:
    names: dict[str, Place] = {}
    specs: list[Spec] = []
    count = 0
    for source in sources:
        documents = _documents(source, problems)
        count += len(documents)
        for document in documents:
            _check_unique(name_of(document), names, problems)
            spec = compile_document(document, problems)
            if spec is not None:
                specs.append(spec)
    return Survey(tuple(specs), count)


def _documents(source: Source, problems: Problems) -> tuple[Node, ...]:
    known = problems.mistakes
    documents = yaml.read(source, problems)
    if not documents and problems.mistakes == known:
        place = source.place(0)
        problems.warning(place, "the file holds no spec", "begin one with name: and assert:")
    return documents


def _check_unique(name: Scalar | None, names: dict[str, Place], problems: Problems) -> None:
    if name is None:
        return
    first = names.setdefault(name.text, name.place)
    if first is not name.place:
        message = f"the name {name.text!r} is used twice, first at {_where(first)}"
        problems.error(name.place, message, "names are unique over all files")


def _where(place: Place) -> str:
    return f"{place.file}:{place.line}:{place.column}"
