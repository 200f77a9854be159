"""``python -m spanward``."""

from __future__ import annotations

from spanward.cli import main

if __name__ == "__main__":
    main()
