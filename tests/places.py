"""Where things of the project are."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
REAL_CASES = CASES / "real"
"""Both are told of in tests/cases/README.md."""
SCHEMA = ROOT / "schema" / "summary.v1.json"
BIN = Path(sys.executable).parent
"""The installed commands."""
