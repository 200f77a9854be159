"""Writes the Prometheus Operator's objects of rendered manifests as programs that check them.

``python -m tests.deploy.crds FOLDER FILE...`` writes one ``.mts`` file an object: the compiler
finds keys that the type does not have, and running it finds values that its schema does not allow.
(A cluster would drop an unknown key without a word.)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import yaml

GROUP: Final = "monitoring.coreos.com/v1"
MODELS: Final = f"@kubernetes-models/prometheus-operator/{GROUP}"


def main(folder: Path, files: list[Path]) -> int:
    """Write the programs; the exit code, which is 1 when there is nothing to check."""
    written = 0
    for file in files:
        for each in yaml.safe_load_all(file.read_text("utf-8")):
            if each and each["apiVersion"] == GROUP:
                written += 1
                text = _program(each["kind"], json.dumps(each, indent=2))
                (folder / f"{file.stem}-{each['kind']}.mts").write_text(text, "utf-8")
    return 0 if written else 1


def _program(kind: str, value: str) -> str:
    return (
        f'import {{ type I{kind}, {kind} }} from "{MODELS}";\n'
        f"const value: I{kind} = {value};\n"
        f"new {kind}(value).validate();\n"
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]))
