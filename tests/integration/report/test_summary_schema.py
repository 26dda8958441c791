"""The committed JSON Schema is the one that the summary's models give."""

from __future__ import annotations

import importlib.util
import json
import re

from tests.places import ROOT, SCHEMA


def test_the_committed_schema_is_in_step_with_the_models() -> None:
    spec = importlib.util.spec_from_file_location("summary_schema", ROOT / "tools" / "summary_schema.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert SCHEMA.read_text(encoding="utf-8") == tool.schema_text()


def test_every_field_has_a_description_and_is_told_in_the_documentation() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("semantics.md", "statistics.md")]
    told = set(re.findall(r"`(?:\w+(?:\[\])?\.)*(\w+)`", "".join(pages)))
    models = {"Summary": schema, **schema["$defs"]}
    assert len(models) > 15
    for model, shape in models.items():
        for name, field in shape["properties"].items():
            of_its_type = schema["$defs"].get(field.get("$ref", "").rpartition("/")[2], {})
            description = field.get("description") or of_its_type.get("description")
            assert description, f"{model}.{name}"
            assert description.endswith("."), f"{model}.{name}"
            assert name in told | {"sides"}, f"{model}.{name}"
