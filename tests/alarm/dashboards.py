"""Grafana's dashboards as what a test can look at: their panels and their queries."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from tests.docs.pages import ROOT

DASHBOARDS: Final = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))
SOURCE: Final = {"type": "prometheus", "uid": "$datasource"}
_WINDOW: Final = re.compile(r"\[([^\]]*)\]")


def load(file: Path) -> dict[str, Any]:
    """A dashboard."""
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """Its panels, without the rows."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(board: dict[str, Any]) -> list[str]:
    """All queries, of panels and of variables."""
    found = [target["expr"] for panel in panels(board) for target in panel["targets"]]
    return found + [one["definition"] for one in board["templating"]["list"] if "definition" in one]


def faults(board: dict[str, Any]) -> list[str]:
    """What is wrong with a dashboard, in words."""
    found = [f"id {i} twice" for i in _twice([panel["id"] for panel in board["panels"]])]
    known = {one["name"] for one in board["templating"]["list"]}
    for panel in panels(board):
        where = panel.get("title") or f"panel {panel.get('id')}"
        words = ("title", "description")
        found += [f"{where}: no {word}" for word in words if not panel.get(word)]
        if not panel.get("fieldConfig", {}).get("defaults", {}).get("unit"):
            found.append(f"{where}: no unit")
        if not panel.get("targets"):
            found.append(f"{where}: no query")
        for one in (panel, *panel.get("targets", [])):
            if one.get("datasource") != SOURCE:
                found.append(f"{where}: a source of data that is not $datasource")
        for target in panel.get("targets", []):
            found += [f"{where}: {each}" for each in _faults_of(target, known)]
    return found


def _faults_of(target: dict[str, Any], known: set[str]) -> list[str]:
    windows = set(_WINDOW.findall(target["expr"]))
    allowed = {"$__range"} if target.get("instant") else {"$__rate_interval"}
    found = [f"the window [{one}]" for one in sorted(windows - allowed)]
    used = set(re.findall(r"\$\{?([a-z]\w*)", target["expr"]))
    return found + [f"the variable ${one}" for one in sorted(used - known)]


def _twice(ids: list[int]) -> list[int]:
    return sorted({one for one in ids if ids.count(one) > 1})
