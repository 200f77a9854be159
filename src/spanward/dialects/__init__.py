"""Dialects: one file a runtime, each turning records into items. Specs never name one."""

from __future__ import annotations

from typing import Final

from spanward.dialects.dialect import Dialect
from spanward.dialects.genai import GenAI
from spanward.dialects.hangar import Hangar
from spanward.dialects.reader import Reader

DIALECTS: Final[dict[str, Dialect]] = {"genai": GenAI(), "hangar": Hangar()}
"""By name, in the order in which they are asked whether a record is theirs."""

__all__ = ["DIALECTS", "Dialect", "Reader"]
