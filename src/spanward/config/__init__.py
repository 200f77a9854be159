"""The service's configuration: its values, and the file that gives them."""

from __future__ import annotations

from spanward.config.file import load_config
from spanward.config.values import (
    DEFAULT_SPECS,
    AlertmanagerEmitter,
    Config,
    Endpoint,
    Memory,
    Receiver,
    SpanEmitter,
    as_yaml_object,
)

__all__ = [
    "DEFAULT_SPECS",
    "AlertmanagerEmitter",
    "Config",
    "Endpoint",
    "Memory",
    "Receiver",
    "SpanEmitter",
    "as_yaml_object",
    "load_config",
]
