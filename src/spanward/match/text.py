"""Globs and regexes: text patterns that take linear time whatever the text is.

Globs are fnmatch's, case-sensitive, and ``*`` also matches ``/``. Regexes are RE2's; what Python
``re`` refuses or reads otherwise is refused too, so that a pattern means the same wherever a spec
is read (seed "matchers and operators"; semantics, section 3).
"""

from __future__ import annotations

import fnmatch
import re
import warnings
from collections.abc import Callable
from typing import Any, Final

import re2

from spanward.errors import Place, Problems

Pattern = Callable[[str], bool]


def glob(pattern: str) -> Pattern:
    """A test of a whole text against a glob."""
    matches = re.compile(fnmatch.translate(pattern)).match

    def holds(text: str) -> bool:
        return matches(text) is not None

    return holds


def search(pattern: str, place: Place, problems: Problems) -> Pattern | None:
    """A test for a match anywhere in a text; None, with problems noted, for a bad pattern."""
    compiled = _compile(pattern, place, problems)
    if compiled is None:
        return None
    find = compiled.search

    def holds(text: str) -> bool:
        return find(text.encode()) is not None

    return holds


def fullmatch(pattern: str, place: Place, problems: Problems) -> Pattern | None:
    """A test of a whole text; None, with problems noted, for a bad pattern."""
    compiled = _compile(pattern, place, problems)
    if compiled is None:
        return None
    find = compiled.fullmatch

    def holds(text: str) -> bool:
        return find(text.encode()) is not None

    return holds


_CONSTRUCTS: Final = (
    (r"\(\?<?[=!]", "lookaround"),
    (r"\(\?P=|\\[1-9]", "a backreference"),
    (r"\(\?>", "an atomic group"),
    (r"\(\?\(", "a conditional group"),
    (r"\(\?#", "a comment group"),
    (r"\(\?<\w", "a named group without P (write (?P<name>...))"),
    (r"\(\?[A-Za-z]*[aLux]", "a flag that RE2 does not have"),
    (r"\(\?\w*U|\(\?-\w*U", "the ungreedy flag"),
    (r"[*+?}]\+", "a possessive quantifier"),
    (r"\{,\d*\}", "a repetition without a minimum (write {0,n})"),
    (r"\\[pP]", "a Unicode class"),
    (r"\\[QE]", r"\Q...\E quoting"),
    (r"\\[Zz]", r"\Z or \z (write $ at the end)"),
    (r"\\[NuU]", "a Unicode escape (write the character itself)"),
    (r"\\x\{", r"\x{...} (write the character itself)"),
    (r"\\C", r"\C"),
)
"""What RE2 and Python do not share, by the text that begins it outside a character class."""

_CLASS_CONSTRUCTS: Final = (
    (r"\[:\^?\w+:\]", "a POSIX class (write the characters out, as in [A-Za-z])"),
    (r"\\[pP]", "a Unicode class"),
    (r"\\b", r"\b in a character class"),
    (r"\\[NuU]", "a Unicode escape (write the character itself)"),
    (r"\\x\{", r"\x{...} (write the character itself)"),
)


def _compile(pattern: str, place: Place, problems: Problems) -> Any:
    construct = _foreign_construct(pattern)
    if construct is not None:
        problems.error(
            place,
            f"the regex uses {construct}, which RE2 and Python do not share",
            "regexes are the common subset of RE2 and Python re",
        )
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        # As bytes, UTF-8 on both sides: for a str RE2's wrapper also counts characters, which
        # nobody asks for and which takes a third of the time (measured).
        compiled = re2.compile(pattern.encode(), options)
    except re2.error as error:
        problems.error(place, f"bad regex: {_words(error)}")
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        problems.error(place, f"bad regex: {error}", "Python re must be able to read it too")
        return None
    return compiled


def _words(error: Exception) -> str:
    reason = error.args[0] if error.args else "not a regex"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _foreign_construct(pattern: str) -> str | None:
    """The first construct that only one of the two engines has, or that they read differently."""
    position, in_class = 0, False
    while position < len(pattern):
        table = _CLASS_CONSTRUCTS if in_class else _CONSTRUCTS
        for begins, name in table:
            if re.compile(begins).match(pattern, position):
                return name
        step = pattern[position]
        if step == "\\":
            position += 2
            continue
        if not in_class and step == "[":
            in_class = True
            position += _class_opening(pattern, position)
            continue
        if in_class and step == "]":
            in_class = False
        position += 1
    return None


def _class_opening(pattern: str, position: int) -> int:
    """The length of ``[``, ``[^``, ``[]`` or ``[^]``: a ``]`` in first place is a member."""
    length = 2 if pattern.startswith("[^", position) else 1
    return length + (1 if pattern.startswith("]", position + length) else 0)
