"""The literal matcher's equality, used wherever a spec compares values (semantics, section 4).

Numbers compare by value and exactly (Python compares int with float without rounding), booleans
only with booleans, null only with null, lists and mappings element by element by the same rules.
"""

from __future__ import annotations

from typing import Any


def equal(expected: Any, actual: Any) -> bool:
    """Whether two values are the same. A NaN equals nothing."""
    if expected is None or isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(expected) == len(actual)
            and all(map(equal, expected, actual))
        )
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and expected.keys() == actual.keys()
            and all(equal(value, actual[key]) for key, value in expected.items())
        )
    return bool(expected == actual)
