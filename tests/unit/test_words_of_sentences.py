"""Data gets into a sentence as a marked piece only, never as words of ours."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "rollout_compare"


def words_that_are_not_literal(source: str) -> Iterator[int]:
    """The lines of the calls of `told` whose words hold more than what stands there."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "told":
            words = node.args[0] if node.args else None
            if not (isinstance(words, ast.Constant) and isinstance(words.value, str)):
                yield node.lineno


def test_all_words_of_sentences_are_literals() -> None:
    found = {path: list(words_that_are_not_literal(path.read_text("utf-8"))) for path in SOURCE.rglob("*.py")}
    assert sum(path.read_text("utf-8").count(" told(") for path in found) > 50
    assert {str(path.relative_to(ROOT)): lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "call",
    [
        'told(f"no row of {name}", 1)',
        "told(name, 1)",
        'told("no row of " + name)',
        'told("no row of %s" % name)',
        'told("no row of {}".format(name), 1)',
        "told(*name)",
    ],
)
def test_other_words_are_noticed(call: str) -> None:
    assert list(words_that_are_not_literal(f"x = 1\n{call}\n")) == [2]


def test_the_type_checker_takes_plain_text_neither_for_a_piece_nor_for_a_sentence(tmp_path: Path) -> None:
    module = tmp_path / "note.py"
    module.write_text(
        "from rollout_compare.core.sentences import Sentence, quoted, told\n"
        "def note(name: str) -> None:\n"
        '    told("no row of {}", name)\n'
        '    Sentence(f"no row of {quoted(name)}")\n'
        '    Sentence(told("no row of {}", quoted(name)))\n'
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(module)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    lines = [line.partition("note.py:")[2].partition(":")[0] for line in checked.stdout.splitlines()]
    assert lines == ["3", "4"], checked.stdout
