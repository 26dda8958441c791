"""Write schema/summary.v1.json from the summary's models, or check that it is in step with them (--check)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rollout_compare.report.summary import Summary

_FILE = Path(__file__).resolve().parent.parent / "schema" / "summary.v1.json"


def schema_text() -> str:
    """The JSON Schema of the summary, as committed."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Summary.model_json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or with --check compare it and return 1 when it differs."""
    if arguments != ["--check"]:
        _FILE.parent.mkdir(exist_ok=True)
        _FILE.write_text(schema_text(), encoding="utf-8")
        return 0
    if _FILE.is_file() and _FILE.read_text(encoding="utf-8") == schema_text():
        return 0
    print("schema/summary.v1.json is not what the models say: run `make schema`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
