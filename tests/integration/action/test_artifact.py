"""The report files as artifacts: what a step uploads, what links to it, and what becomes of a step when it cannot."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator

import pytest

from tests.integration.action.conftest import REPORT_FILES, REPORT_FOLDER, Stage
from tests.stand_in import REPOSITORY, GitHub, unavailable
from tests.stand_in.artifacts import OTHER_JOB, RUN, Artifacts, job_complete, runtime_token, storage_full
from tests.stand_in.faults import Outcome

NAME = "rollout-compare"
RUN_PAGE = f"https://github.com/{REPOSITORY}/actions/runs/100"


@pytest.fixture
def artifacts(step: Stage) -> Iterator[Artifacts]:
    """The artifact service, offered to every step."""
    with Artifacts() as service:
        step.environment |= service.environment
        yield service
        assert service.violations == []


def test_all_report_files_are_one_artifact_and_the_page_is_one_by_itself(
    step: Stage, pull_request: GitHub, artifacts: Artifacts
) -> None:
    done = step(pull_request, upload_artifact="true")
    assert (done.status, done.warnings) == (0, [])
    assert sorted(artifacts.finished) == [NAME, f"{NAME}.html"]
    whole, page = artifacts.finished[NAME], artifacts.finished[f"{NAME}.html"]
    assert whole.content is not None
    assert page.content is not None
    with zipfile.ZipFile(io.BytesIO(whole.content)) as archive:
        assert archive.namelist() == sorted(REPORT_FILES)
        for name in REPORT_FILES:
            assert archive.read(name).decode("utf-8") == done.text(name)
    assert page.content.decode("utf-8") == done.text("report.html")
    assert (whole.mime_type, page.mime_type) == ("application/zip", "text/html")


def test_outputs_comment_and_summary_lead_to_the_artifacts(
    step: Stage, pull_request: GitHub, artifacts: Artifacts
) -> None:
    done = step(pull_request, upload_artifact="true")
    whole, page = artifacts.finished[NAME], artifacts.finished[f"{NAME}.html"]
    urls = [
        f"{pull_request.server_url}/{REPOSITORY}/actions/runs/100/artifacts/{each.number}" for each in (page, whole)
    ]
    assert done.outputs["html-artifact-url"] == urls[0]
    assert done.outputs["artifact-url"] == urls[1]
    assert done.outputs["artifact-id"] == str(whole.number)
    assert done.outputs["artifact-digest"] == whole.digest
    [body] = pull_request.state.bodies()
    for text in (body, done.summary):
        assert [text.count(f"]({url})") for url in urls] == [1, 1]


def test_the_same_files_make_the_same_artifact(step: Stage, pull_request: GitHub, artifacts: Artifacts) -> None:
    digests = []
    for _ in range(2):
        done = step(pull_request, upload_artifact="true")
        digests.append(done.outputs["artifact-digest"])
    assert digests[0] == digests[1]
    assert sorted(artifacts.finished) == [NAME, f"{NAME}.html"], "the same job's older ones are replaced"


def test_switched_off_nothing_is_asked_of_the_service(step: Stage, pull_request: GitHub, artifacts: Artifacts) -> None:
    done = step(pull_request, upload_artifact="false")
    assert (done.status, done.warnings, artifacts.requests) == (0, [], [])
    assert done.outputs["artifact-url"] == ""


def test_a_name_that_is_not_allowed_is_changed_with_a_warning(
    step: Stage, pull_request: GitHub, artifacts: Artifacts
) -> None:
    done = step(pull_request, upload_artifact="true", artifact_name='a/b:"c"*?')
    assert (done.status, sorted(artifacts.finished)) == (0, ["a-b--c---", "a-b--c---.html"])
    [warning] = done.warnings
    assert "a-b--c---" in warning


def test_a_name_that_another_job_has_gets_a_number_and_a_warning(
    step: Stage, pull_request: GitHub, artifacts: Artifacts
) -> None:
    artifacts.add(NAME, job=OTHER_JOB)
    done = step(pull_request, upload_artifact="true")
    assert (done.status, sorted(artifacts.finished)) == (0, [NAME, f"{NAME}-2", f"{NAME}.html"])
    [warning] = done.warnings
    assert f"{NAME}-2" in warning
    assert "`artifact-name`" in warning


def test_retention_is_passed_on_within_what_the_repository_allows(
    step: Stage, pull_request: GitHub, artifacts: Artifacts
) -> None:
    step(pull_request, upload_artifact="true", retention_days="30", environment={"GITHUB_RETENTION_DAYS": "7"})
    assert {each.expires_at for each in artifacts.finished.values()} == {"2026-01-12T00:00:00.000Z"}


@pytest.mark.parametrize(
    ("outcome", "said"),
    [(unavailable(), "503"), (job_complete(), "job is complete"), (storage_full(), "full")],
    ids=["unavailable", "job complete", "storage full"],
)
@pytest.mark.parametrize("call", ["CreateArtifact", "PutBlock", "FinalizeArtifact"])
def test_an_upload_that_fails_is_one_warning_that_names_the_files(
    step: Stage, pull_request: GitHub, artifacts: Artifacts, call: str, outcome: Outcome, said: str
) -> None:
    artifacts.fault(call, outcome, times=None)
    secrets = artifacts.secrets
    done = step(pull_request, upload_artifact="true")
    assert done.status == 0
    [warning] = done.warnings
    assert said in warning
    assert f"`{REPORT_FOLDER}`" in warning
    assert "actions/upload-artifact" in warning
    assert done.outputs["artifact-url"] == ""
    assert len(pull_request.state.bodies()) == 1
    assert [secret for secret in secrets if secret in done.told + "".join(pull_request.state.bodies())] == []
    assert sum(done.clock.slept) <= 60


def test_if_only_the_page_fails_the_other_one_is_linked(
    step: Stage, pull_request: GitHub, artifacts: Artifacts
) -> None:
    artifacts.fault("CreateArtifact", storage_full(), nth=2)
    done = step(pull_request, upload_artifact="true")
    assert (done.status, sorted(artifacts.finished)) == (0, [NAME])
    [warning] = done.warnings
    assert warning.startswith("the HTML report is not uploaded")
    assert done.outputs["artifact-url"] in pull_request.state.bodies()[0]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda environment: environment.pop("ACTIONS_RUNTIME_TOKEN"),
        lambda environment: environment.pop("ACTIONS_RESULTS_URL"),
        lambda environment: environment.update(ACTIONS_RUNTIME_TOKEN=runtime_token(f"Other.Scope:{RUN}:x")),
        lambda environment: environment.update(ACTIONS_RESULTS_URL="no address"),
    ],
    ids=["no token", "no address", "a token for something else", "a bad address"],
)
def test_without_the_service_the_step_is_green_and_says_what_to_do(
    step: Stage, pull_request: GitHub, artifacts: Artifacts, spoil: Callable[[dict[str, str]], object]
) -> None:
    spoil(step.environment)
    done = step(pull_request, upload_artifact="true")
    assert (done.status, artifacts.requests) == (0, [])
    [warning] = done.warnings
    assert "actions/upload-artifact" in warning


def test_an_older_service_gets_the_zip_as_the_older_client_sends_it(
    step: Stage, pull_request: GitHub, artifacts: Artifacts
) -> None:
    artifacts.is_old = True
    artifacts.violations = []
    done = step(pull_request, upload_artifact="true")
    assert (done.status, sorted(artifacts.finished), done.clock.slept) == (0, [NAME], [1.0])
    [warning] = done.warnings
    assert "older" in warning
    assert done.outputs["artifact-url"] in pull_request.state.bodies()[0]


def test_a_service_that_breaks_for_a_moment_is_asked_again(
    step: Stage, pull_request: GitHub, artifacts: Artifacts
) -> None:
    artifacts.fault("CreateArtifact", unavailable(), times=2)
    done = step(pull_request, upload_artifact="true")
    assert (done.warnings, sorted(artifacts.finished)) == ([], [NAME, f"{NAME}.html"])


def test_an_unreadable_input_uploads_nothing(step: Stage, pull_request: GitHub, artifacts: Artifacts) -> None:
    done = step(pull_request, upload_artifact="true", old="nowhere.jsonl")
    assert (done.status, artifacts.requests) == (1, [])
