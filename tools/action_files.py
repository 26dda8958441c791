"""Write what the Action's settings say into action.yml and docs/inputs-and-outputs.md, or check both (--check)."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from rollout_compare.github.settings import OUTPUTS, Settings

_ROOT = Path(__file__).resolve().parent.parent
ACTION = _ROOT / "action.yml"
PAGE = _ROOT / "docs" / "inputs-and-outputs.md"
_IN_ACTION = {"github-token": "${{ github.token }}"}
"""Defaults that only the runner can fill in."""


def in_step(path: Path) -> str:
    """The text of a file with its written parts as the settings say."""
    text = path.read_text(encoding="utf-8")
    for name, lines in (_action_parts() if path == ACTION else _page_parts()).items():
        begin, end = _edges(path, name)
        between = re.compile(rf"(?<={re.escape(begin)}\n).*?(?={re.escape(end)}\n)", re.DOTALL)
        written = "".join(f"{line}\n" for line in lines)
        text, found = between.subn(written.replace("\\", r"\\"), text)
        if found != 1:
            message = f"{path.name} needs `{begin}` and `{end}`, once each"
            raise SystemExit(message)
    return text


def _edges(path: Path, name: str) -> tuple[str, str]:
    if path == ACTION:
        return f"# {name}: written by `make action-files`", f"# end of {name}"
    return f"<!-- {name}: written by `make action-files` -->", f"<!-- end of {name} -->"


def _inputs() -> list[tuple[str, str | None, str]]:
    """Name, default (None: required) and description of each input."""
    return [
        (
            field.alias or name,
            None if field.is_required() else _IN_ACTION.get(field.alias or name, _text(field.default)),
            field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]


def _text(default: Any) -> str:
    """A default as a workflow would write it; empty when there is none."""
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, SecretStr):
        return default.get_secret_value()
    return str(default) if default or default == 0 else ""


def _action_parts() -> dict[str, list[str]]:
    # Texts of JSON are texts of YAML too.
    quoted = json.JSONEncoder(ensure_ascii=False).encode
    inputs = ["inputs:"]
    for name, default, description in _inputs():
        inputs += [f"  {name}:", f"    description: {quoted(description)}"]
        if default is None:
            inputs.append("    required: true")
        elif default:
            inputs.append(f"    default: {quoted(default)}")
    outputs = ["outputs:"]
    for name, description in OUTPUTS.items():
        outputs += [f"  {name}:", f"    description: {quoted(description)}"]
    return {"inputs": inputs, "outputs": outputs}


def _page_parts() -> dict[str, list[str]]:
    inputs = ["| input | default | what |", "|:--|:--|:--|"]
    for name, default, description in _inputs():
        shown = "required" if default is None else f"`{default}`" if default else ""
        inputs.append(f"| `{name}` | {shown} | {description} |")
    outputs = ["| output | what |", "|:--|:--|"]
    outputs += [f"| `{name}` | {description} |" for name, description in OUTPUTS.items()]
    return {"inputs": ["", *inputs, ""], "outputs": ["", *outputs, ""]}


def main(arguments: list[str]) -> int:
    """Write both files, or with --check compare them and return 1 when one differs."""
    status = 0
    for path in (ACTION, PAGE):
        text = in_step(path)
        if arguments != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(_ROOT)} is not what the settings say: run `make action-files`", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
