"""Results of other tools out of artifacts: the samples of each layout, and what an artifact may do besides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.action.recorded import NAME, Recorded
from tests.integration.action.zips import zipped
from tests.integration.formats.test_samples import FORMATS, RUNS, check


def packed(folder: Path) -> bytes:
    return zipped(
        {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    )


def record(recorded: Recorded, folder: Path, arguments: list[str]) -> dict[str, Any]:
    """Both sides as artifacts; how the step names them."""
    inputs: dict[str, Any] = {}
    for side, argument in zip(("old", "new"), arguments, strict=False):
        top, _, below = argument.partition("/")
        content = packed(folder / top)
        if side == "old":
            recorded.old(content)
        else:
            recorded.service.add(NAME, content=content)
        inputs[f"{side}_artifact"] = f"{NAME}:{below}" if below else NAME
    options = arguments[2:]
    return inputs | {name.removeprefix("--"): value for name, value in zip(options[::2], options[1::2], strict=True)}


@pytest.mark.parametrize(("folder", "wanted"), RUNS)
def test_a_sample_in_artifacts_gives_what_is_expected(folder: Path, wanted: dict[str, Any], recorded: Recorded) -> None:
    done = recorded(**record(recorded, folder, wanted["args"]))
    assert (done.status, done.warnings) == (0, []), done.out
    check(done.json, wanted)
    assert [words for words in wanted["text_has"] if words not in done.text("report.md")] == []


def test_a_job_in_an_artifact_may_be_forced_to_be_something_else(recorded: Recorded) -> None:
    inputs = record(recorded, FORMATS / "harbor", ["old", "new"])
    done = recorded(**inputs, format="tau2")
    assert done.status == 1
    assert "results.json" in done.error


@pytest.mark.parametrize("name", ["gym", "Harbor", "harbor inspect"])
def test_a_format_that_is_not_known_is_wrong_usage(recorded: Recorded, name: str) -> None:
    done = recorded(format=name)
    assert done.status == 2
    assert "`format`" in done.error
    assert "lm-eval" in done.error


def test_rollouts_in_an_artifact_may_be_read_as_such_whatever_lies_beside_them(recorded: Recorded) -> None:
    recorded.old()
    done = recorded(format="rollouts")
    assert done.status == 0
    assert [done.json["sides"][side]["format"] for side in ("old", "new")] == ["rollouts", "rollouts"]
