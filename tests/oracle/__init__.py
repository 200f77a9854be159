"""A second, slow reading of the semantics, written to be compared with the engine.

It shares no code with the engine: every prefix of the input is judged anew from the whole set.
"""

from __future__ import annotations

from .judge import judge

__all__ = ["judge"]
