"""Whole reports, byte for byte: `make golden` writes them anew, and the difference shows what changed for readers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tools.golden import FORMS, GOLDEN, cases, golden_file, prepare

CASES = cases()
LARGEST = 32_000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_a_report_is_the_one_that_is_kept(
    case: str, form: str, tmp_path: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, inputs = prepare(case, tmp_path)
    monkeypatch.chdir(place)
    done = run(*inputs, "--format", form)
    assert done.status == 0, done.err
    assert done.out.encode("utf-8") == golden_file(case, form).read_bytes()


def test_every_kept_report_is_of_a_case_and_small() -> None:
    kept = sorted(GOLDEN.iterdir())
    assert kept == sorted(golden_file(case, form) for case in CASES for form in FORMS)
    assert max(file.stat().st_size for file in kept) <= LARGEST
