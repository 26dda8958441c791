"""Makes logs with Inspect itself, in both of its formats, to hold our reader against.

    python -m venv VENV && VENV/bin/pip install inspect_ai
    VENV/bin/python tools/inspect_logs.py FOLDER
    rollout-compare FOLDER/eval FOLDER/json

The two are the same run twice, so every task must be identical, but for `err`, which has an error and is masked, and
with `--reward measure` for `nan`. No model is asked. The samples have what is hard to read: ids with slashes, a number
as id, a long input with an image, NaN, several scorers of which two have one name, several epochs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval, task  # type: ignore[import-not-found] # noqa: A004 - its name there
from inspect_ai.dataset import Sample  # type: ignore[import-not-found]
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, ModelOutput  # type: ignore[import-not-found]
from inspect_ai.scorer import Score, match, mean, scorer  # type: ignore[import-not-found]
from inspect_ai.solver import solver  # type: ignore[import-not-found]

_IMAGE = "data:image/png;base64,AAAA"


@scorer(metrics=[mean()])  # type: ignore[untyped-decorator]
def measure() -> Any:
    async def score(state: Any, _: Any) -> Any:
        value = float("nan") if state.sample_id == "nan" else len(state.output.completion) / 10
        return Score(value=value, explanation="line one\nline two\n" + "x" * 2_000)

    return score


@solver  # type: ignore[untyped-decorator]
def scripted() -> Any:
    async def solve(state: Any, _: Any) -> Any:
        if state.sample_id == "err":
            raise RuntimeError("the sandbox went away")
        state.output = ModelOutput.from_content("made-up", "hi")
        return state

    return solve


@task  # type: ignore[untyped-decorator]
def demo() -> Any:
    image = ChatMessageUser(content=[ContentText(text="y" * 7_000), ContentImage(image=_IMAGE)])
    samples = [
        Sample(id="a/b c", input="say hi", target="hi"),
        Sample(id=17, input=[image], target="no"),
        Sample(id="nan", input="x" * 9_000, target="hi"),
        Sample(id="err", input="e", target="hi"),
    ]
    return Task(dataset=samples, solver=[scripted()], scorer=[match(), measure(), match()], epochs=2)


if __name__ == "__main__":
    for form in ("eval", "json"):
        folder = Path(sys.argv[1]) / form
        eval(demo(), model="mockllm/model", log_dir=str(folder), log_format=form, display="none", fail_on_error=False)
        print(f"wrote {folder}")
