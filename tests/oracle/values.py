"""Values: equality, the three argument matchers, and the tests of `where` (sections 3 and 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Context, Decimal
from fnmatch import fnmatchcase
from typing import Any, Final

MISSING: Final = None
"""No value. An empty attribute is a missing one, so null never stands for a present column."""

_EXACT = Context(prec=3000)
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<int>[0-9]{1,3}(?: [0-9]{3})+|[0-9]*)(?:\.(?P<frac>[0-9]*))?"
    r"(?:e(?P<exp>[+-]?[0-9]+))?",
    re.ASCII,
)


def is_number(value: Any) -> bool:
    """Whether a value is an integer or a float, and not a boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(expected: Any, actual: Any) -> bool:
    """The literal matcher (section 4): numbers by value, everything else by type and value."""
    if is_number(expected) and is_number(actual):
        return bool(expected == actual)
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return False
        return all(equal(e, a) for e, a in zip(expected, actual, strict=True))
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return expected.keys() == actual.keys() and all(
            equal(expected[k], actual[k]) for k in expected
        )
    return type(expected) is type(actual) and bool(expected == actual)


def normalize(text: str) -> str:
    """Fuzzy text: stripped, lower case, without separators, white space collapsed."""
    text = re.sub("[,_\u202f]", "", text.strip().lower())
    return re.sub(r"\s+", " ", text)


def number(text: str) -> Decimal | None:
    """The number that a normalized text spells, or None when it is plain text."""
    text = text.strip()
    percent = text.endswith("%")
    found = _NUMBER.fullmatch(text[:-1].strip() if percent else text)
    if found is None:
        return None
    whole, fraction = found["int"].replace(" ", ""), found["frac"] or ""
    digits, power = whole + fraction, found["exp"] or "0"
    if not digits or len(digits) > 400 or len(power.lstrip("+-0")) > 3 or abs(int(power)) > 400:
        return None
    shift = int(power) - len(fraction) - (2 if percent else 0)
    return Decimal(found["sign"] + digits).scaleb(shift, _EXACT)


def fuzzy(pattern: str, actual: Any) -> bool:
    """The fuzzy matcher: numbers within 1e-9, otherwise the normalized texts."""
    left, right = normalize(pattern), normalize(str(actual))
    a, b = number(left), number(right)
    if a is None or b is None:
        return left == right
    return abs(_EXACT.subtract(a, b)) <= Decimal("1e-9")


def argument(matcher: Any, actual: Any) -> bool:
    """Whether one argument that is present satisfies its matcher."""
    if isinstance(matcher, Mapping) and len(matcher) == 1:
        ((word, pattern),) = matcher.items()
        if word == "literal":
            return equal(pattern, actual)
        if word == "fuzzy":
            return fuzzy(pattern, actual)
        if word == "regex":
            return re.fullmatch(pattern, str(actual), re.ASCII) is not None
    return equal(matcher, actual)


def shown(matcher: Any) -> str:
    """How a reason names what was expected."""
    if isinstance(matcher, Mapping) and len(matcher) == 1:
        ((word, pattern),) = matcher.items()
        if word == "literal":
            return repr(pattern)
        if word in ("fuzzy", "regex"):
            return f"{word}({pattern!r})"
    return repr(matcher)


def passes(test: Any, value: Any) -> bool:
    """Whether a value (None: missing) passes a TEST of `where`."""
    if not isinstance(test, Mapping):
        return test is None if value is MISSING else equal(test, value)
    return all(_clause(word, operand, value) for word, operand in test.items())


def _clause(word: str, operand: Any, value: Any) -> bool:
    if value is MISSING:
        return word == "in" and any(element is None for element in operand)
    if word == "not":
        return not passes(operand, value)
    if word == "in":
        return any(equal(element, value) for element in operand)
    if word == "regex":
        return isinstance(value, str) and re.search(operand, value, re.ASCII) is not None
    if word == "glob":
        return isinstance(value, str) and fnmatchcase(value, operand)
    if word == "contains":
        return _contains(operand, value)
    return _compares(word, operand, value)


def _contains(operand: Any, value: Any) -> bool:
    if isinstance(value, list):
        return any(equal(operand, element) for element in value)
    return isinstance(value, str) and isinstance(operand, str) and operand in value


def _compares(word: str, operand: Any, value: Any) -> bool:
    numbers = is_number(operand) and is_number(value)
    texts = isinstance(operand, str) and isinstance(value, str)
    if not (numbers or texts):
        return False
    if word == "gt":
        return bool(value > operand)
    if word == "gte":
        return bool(value >= operand)
    if word == "lt":
        return bool(value < operand)
    if word == "lte":
        return bool(value <= operand)
    raise ValueError(f"no such test: {word}")
