"""YAML's syntax errors in a spec author's words: what was found, and what to write instead."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import yaml

_QUOTE: Final = "a text that begins with {0} must be quoted: '{0}...'"
_QUOTE_WHOLE: Final = "if it is one text, quote it whole: '...'"


class Wording(NamedTuple):
    """How one kind of error is told; ``at_start`` places it where the broken thing begins."""

    pattern: re.Pattern[str]
    message: str
    hint: str
    at_start: bool = False


def _wording(pattern: str, message: str, hint: str = "", *, at_start: bool = False) -> Wording:
    return Wording(re.compile(pattern, re.DOTALL), message, hint, at_start)


# Patterns are over "context: problem" as PyYAML words them; the first that matches is used.
_WORDINGS: Final = (
    _wording(
        r"found character '\\t' that cannot start",
        "a tab cannot stand here",
        "use spaces",
    ),
    _wording(
        r"found character '([@`%|>])' that cannot start",
        "no text can begin with {0}",
        _QUOTE,
    ),
    _wording(
        r"scanning an alias: expected alphabetic",
        "no text can begin with *",
        _QUOTE.format("*"),
        at_start=True,
    ),
    _wording(
        r"scanning an anchor: expected alphabetic",
        "no text can begin with &",
        _QUOTE.format("&"),
        at_start=True,
    ),
    _wording(
        r"(?:parsing|scanning) a tag: |found undefined tag handle",
        "no text can begin with !, which marks a YAML tag",
        _QUOTE.format("!"),
        at_start=True,
    ),
    _wording(
        r"scanning a simple key: could not find expected ':'",
        "a key without ':' after it, or a text that goes on at the wrong indentation",
        "write 'key: value'",
        at_start=True,
    ),
    _wording(
        r"mapping values are not allowed here",
        "a second ':' on the line, or a line at the wrong indentation",
        "a text that holds ': ' must be quoted",
    ),
    _wording(
        r"(sequence entries|mapping keys) are not allowed here",
        "no list element or key can begin here",
        "begin it on a line of its own",
    ),
    _wording(
        r"found unknown escape character '(.*)'",
        r"\{0} is no escape in double quotes",
        r"in single quotes a backslash needs no escape: '\{0}'",
    ),
    _wording(
        r"expected escape sequence of (\d+) hexadecimal numbers",
        r"this escape needs {0} hexadecimal digits",
        "in single quotes a backslash needs no escape",
    ),
    _wording(
        r"quoted scalar: found unexpected (?:end of stream|document separator)",
        "the quote that opens here is never closed",
        "inside single quotes write a quote as '', inside double quotes as \\\"",
        at_start=True,
    ),
    _wording(
        r"scanning a block scalar: ",
        "nothing can follow the | or > of a block text on its line",
        _QUOTE_WHOLE,
    ),
    _wording(
        r"flow sequence: expected ',' or '\]', but got '<(?:stream end|document start)>'",
        "the [ that opens here is never closed",
        at_start=True,
    ),
    _wording(
        r"flow mapping: expected ',' or '}', but got '<(?:stream end|document start)>'",
        "the { that opens here is never closed",
        at_start=True,
    ),
    _wording(r"flow sequence: expected", "expected ',' or ']' here", _QUOTE_WHOLE),
    _wording(r"flow mapping: expected", "expected ',' or '}' here", _QUOTE_WHOLE),
    _wording(
        r"block mapping: expected <block end>, but found '(?:<block sequence start>|-)'",
        "a list element stands where a key is expected",
        "indent the list under its key",
    ),
    _wording(
        r"expected <block end>, but found '<(?:scalar|alias|anchor|tag)>'",
        "the value has ended before this text",
        _QUOTE_WHOLE,
    ),
    _wording(
        r"expected <block end>, but found '([\]},])'",
        "this {0} belongs to no list or mapping",
        _QUOTE_WHOLE,
    ),
    _wording(
        r"expected <block end>",
        "the indentation fits neither the line above nor what encloses it",
        "give keys of one mapping the same indentation",
    ),
    _wording(
        r"expected the node content, but found '(.*)'",
        "a value is expected here, not '{0}'",
    ),
    _wording(
        r"expected '<document start>'",
        "the document has ended before this text",
        "begin each further spec with a line ---",
    ),
)


class Explained(NamedTuple):
    """What to tell of an error: ``place`` is where it is shown, ``detected`` where it came out."""

    place: int
    detected: int
    message: str
    hint: str


def explain(error: yaml.MarkedYAMLError) -> Explained:
    """An error of PyYAML's scanner or parser in our words; in its own where we have none."""
    problem_mark, context_mark = error.problem_mark, error.context_mark
    detected = problem_mark.index if problem_mark is not None else 0
    begun = context_mark.index if context_mark is not None else detected
    told = f"{error.context or 'while reading'}: {error.problem}"
    for wording in _WORDINGS:
        found = wording.pattern.search(told)
        if found is None:
            continue
        place = begun if wording.at_start else detected
        letter = found[1] if found.re.groups else ""
        message = wording.message.replace("{0}", letter)
        return Explained(place, detected, message, wording.hint.replace("{0}", letter))
    return Explained(detected, detected, f"not valid YAML: {error.problem}", "")
