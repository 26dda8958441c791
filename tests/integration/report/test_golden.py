"""Whole reports, byte for byte: `make golden` writes them anew, and the difference shows what changed for readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Compare
from tools.golden import FORMS, GOLDEN, arguments, cases, golden_file, kept, prepare

CASES = cases()
LARGEST = 40_000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_a_report_is_the_one_that_is_kept(
    case: str, form: str, tmp_path: Path, run: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, inputs = prepare(case, tmp_path)
    monkeypatch.chdir(place)
    done = run(*inputs, *arguments(form))
    assert done.status == 0, done.err
    assert kept(form, done.out).encode("utf-8") == golden_file(case, form).read_bytes()


def test_every_kept_report_is_of_a_case_and_small() -> None:
    files = sorted(GOLDEN.iterdir())
    assert files == sorted(golden_file(case, form) for case in CASES for form in FORMS)
    assert max(file.stat().st_size for file in files) <= LARGEST
