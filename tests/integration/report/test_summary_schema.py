"""The committed JSON Schema is the one that the summary's models give."""

from __future__ import annotations

import importlib.util

from tests.places import ROOT, SCHEMA


def test_the_committed_schema_is_in_step_with_the_models() -> None:
    spec = importlib.util.spec_from_file_location("summary_schema", ROOT / "tools" / "summary_schema.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert SCHEMA.read_text(encoding="utf-8") == tool.schema_text()
