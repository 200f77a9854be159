"""Operators: folds over facts, one file each.

``OPERATORS`` is the whole language: the YAML key of an operator and the function that compiles it.
``SIBLINGS`` are the keys that may stand beside an operator's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from spanward.errors import Place, Problems
from spanward.node import Mapping, Node
from spanward.operators.all import compile_all
from spanward.operators.any import compile_any
from spanward.operators.before import compile_before
from spanward.operators.count import compile_count
from spanward.operators.each import compile_each
from spanward.operators.eventually import compile_eventually
from spanward.operators.expected_tools import compile_expected_tools
from spanward.operators.never import compile_never
from spanward.operators.operator import Operator
from spanward.operators.order import compile_order

Compile = Callable[[Place, Node, Mapping, Problems], Operator | None]
"""(place of the key, its value, the whole ``assert``, problems) → operator, None with problems."""

OPERATORS: Final[dict[str, Compile]] = {
    "never": compile_never,
    "eventually": compile_eventually,
    "count": compile_count,
    "before": compile_before,
    "order": compile_order,
    "each": compile_each,
    "all": compile_all,
    "any": compile_any,
    "expected_tools": compile_expected_tools,
}

SIBLINGS: Final[dict[str, tuple[str, ...]]] = {"each": ("requires_prior", "within")}
