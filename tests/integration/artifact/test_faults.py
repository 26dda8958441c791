"""What may go wrong in an upload: what passes is waited for, the rest is told, and no secret is."""

from __future__ import annotations

import io
import logging
import traceback
from collections.abc import Callable

import pytest

from rollout_compare.github.artifacts.sending import ArtifactError
from rollout_compare.github.artifacts.service import NameTakenError
from tests.integration.artifact.conftest import CONTENT, NAME, Uploader
from tests.stand_in import answer, bad_gateway, drop, hook, too_many_requests, unavailable
from tests.stand_in.artifacts import (
    OTHER_JOB,
    Artifacts,
    job_complete,
    name_taken,
    service_error,
    storage_error,
    storage_full,
)
from tests.stand_in.faults import Outcome
from tests.stand_in.server import Request

CALLS = ("CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact")
OF_SERVICE = ("CreateArtifact", "FinalizeArtifact")
OF_STORAGE = ("PutBlock", "PutBlockList")
HTML = answer(200, headers={"content-type": "text/html"}, text="<!doctype html><title>Sign in</title>")
PASSING = {
    "503 JSON": service_error(503, "unavailable", "try again"),
    "503 HTML": unavailable(),
    "500": service_error(500, "internal", "internal error"),
    "502": bad_gateway(),
    "504": answer(504),
    "429": too_many_requests(),
    "dropped": drop(),
}
EACH_FAULT = [
    *(pytest.param(call, outcome, id=f"{call} {name}") for call in CALLS[:2] for name, outcome in PASSING.items()),
    *(pytest.param(call, PASSING["500"], id=f"{call} 500") for call in CALLS[2:]),
]
"""Each fault by the service and by the storage, and one for each other call."""
PATIENCE = 120
"""Seconds that all waits of a step may take."""


@pytest.mark.parametrize(("call", "outcome"), EACH_FAULT)
def test_what_passes_is_tried_again(upload: Uploader, call: str, outcome: Outcome) -> None:
    upload.artifacts.fault(call, outcome, times=2)
    upload()
    assert upload.artifacts.finished[NAME].content == CONTENT
    assert upload.artifacts.sequence == [each for each in CALLS for _ in range(3 if each == call else 1)]
    assert len(upload.clock.slept) == 2
    assert 0 < upload.clock.slept[0] < upload.clock.slept[1]


@pytest.mark.parametrize("call", OF_SERVICE)
def test_an_answer_that_is_not_json_is_tried_again(upload: Uploader, call: str) -> None:
    upload.artifacts.fault(call, HTML)
    upload()
    assert upload.artifacts.finished[NAME].content == CONTENT
    assert len(upload.artifacts.calls(call)) == 2


@pytest.mark.parametrize("call", [*OF_STORAGE, "FinalizeArtifact"])
@pytest.mark.parametrize("outcome", [drop(stores=True), bad_gateway(stores=True)], ids=["dropped", "502"])
def test_a_lost_answer_does_no_harm(upload: Uploader, call: str, outcome: Outcome) -> None:
    upload.artifacts.fault(call, outcome)
    done = upload()
    assert [each.content for each in upload.artifacts.artifacts] == [CONTENT]
    assert done.number == str(upload.artifacts.finished[NAME].number)


def test_an_artifact_made_without_our_knowing_does_not_prevent_the_upload(upload: Uploader) -> None:
    upload.artifacts.fault("CreateArtifact", drop(stores=True))
    done = upload.freely()
    assert [each.content for each in upload.artifacts.finished.values()] == [CONTENT]
    assert done.name in upload.artifacts.finished


@pytest.mark.parametrize(("call", "outcome"), EACH_FAULT)
def test_after_five_tries_it_is_given_up(upload: Uploader, call: str, outcome: Outcome) -> None:
    upload.artifacts.fault(call, outcome, times=None)
    with pytest.raises(ArtifactError, match="after 5 tries"):
        upload.freely()
    assert len(upload.artifacts.calls(call)) == 5
    assert sum(upload.clock.slept) <= PATIENCE


@pytest.mark.parametrize("call", OF_SERVICE)
def test_a_service_that_never_answers_json_is_told_as_such(upload: Uploader, call: str) -> None:
    upload.artifacts.fault(call, HTML, times=None)
    with pytest.raises(ArtifactError, match="did not answer in JSON"):
        upload()
    assert len(upload.artifacts.calls(call)) == 5


def test_a_service_that_is_not_there_is_told(upload: Uploader) -> None:
    upload.artifacts.refuse_connections()
    with pytest.raises(ArtifactError, match="cannot be reached"):
        upload()
    assert len(upload.clock.slept) == 4
    assert sum(upload.clock.slept) <= PATIENCE


def test_a_certificate_bundle_that_is_not_there_is_told_at_once(
    upload: Uploader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nonexistent/bundle.pem")
    upload.environment = {"ACTIONS_RESULTS_URL": upload.artifacts.origin.replace("http:", "https:")}
    with pytest.raises(ArtifactError, match="cannot be reached"):
        upload()
    assert upload.clock.slept == []


def test_all_waits_of_a_service_together_are_bounded(upload: Uploader) -> None:
    service = upload.service()
    upload.artifacts.fault("CreateArtifact", unavailable(), times=None)
    for _ in range(10):
        with pytest.raises(ArtifactError):
            service.upload(NAME, io.BytesIO(CONTENT), "text/html")
    assert sum(upload.clock.slept) <= PATIENCE


def test_the_time_until_a_bad_answer_comes_counts_too(upload: Uploader) -> None:
    last = 25

    def let_time_pass(*_: object) -> None:
        upload.clock.passed += last

    upload.artifacts.fault("CreateArtifact", hook(let_time_pass), times=None)
    upload.artifacts.fault("CreateArtifact", drop(), times=None)
    with pytest.raises(ArtifactError):
        upload()
    assert upload.clock.passed <= PATIENCE + last


@pytest.mark.parametrize("call", [*CALLS[:2], "FinalizeArtifact"])
@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (job_complete(), "job is complete"),
        (storage_full(), "insufficient usage"),
        (answer(429, {"code": "resource_exhausted", "msg": "insufficient usage to create artifact"}), "is full"),
        (service_error(400, "invalid_argument", "no such version"), "400: no such version"),
        (service_error(401, "unauthenticated", "token has expired"), "401: token has expired"),
        (answer(404, text="not found"), "404"),
        (answer(307, headers={"location": "http://127.0.0.1:9/elsewhere"}), "307"),
    ],
    ids=["job complete", "quota", "quota as 429", "400", "401", "404", "redirection"],
)
def test_what_does_not_pass_is_told_at_once(upload: Uploader, call: str, outcome: Outcome, told: str) -> None:
    upload.artifacts.fault(call, outcome, times=None)
    with pytest.raises(ArtifactError, match=told) as caught:
        upload.freely()
    assert not isinstance(caught.value, NameTakenError)
    assert len(upload.artifacts.calls(call)) == 1
    assert upload.clock.slept == []


@pytest.mark.parametrize(
    "body",
    [{}, [], "text", {"ok": False}, {"ok": True}, {"ok": True, "signed_upload_url": 7, "artifact_id": None}],
    ids=str,
)
@pytest.mark.parametrize("call", OF_SERVICE)
def test_an_answer_without_what_is_needed_is_told(upload: Uploader, call: str, body: object) -> None:
    upload.artifacts.fault(call, answer(200, body))
    with pytest.raises(ArtifactError):
        upload()
    assert upload.artifacts.finished == {}


@pytest.mark.parametrize("address", ["", "elsewhere", "ftp://127.0.0.1/", "http://[/", f"http://{'a' * 64}.invalid/"])
def test_an_upload_address_that_is_none_is_told(upload: Uploader, address: str) -> None:
    upload.artifacts.fault("CreateArtifact", answer(200, {"ok": True, "signed_upload_url": address}))
    with pytest.raises(ArtifactError):
        upload()


@pytest.mark.parametrize("call", ["PutBlock", "PutBlockList", "FinalizeArtifact"])
def test_a_conflict_after_the_name_was_given_is_no_taken_name(upload: Uploader, call: str) -> None:
    conflict = storage_error(409, "BlobImmutableDueToPolicy") if call in OF_STORAGE else name_taken()
    upload.artifacts.fault(call, conflict, times=None)
    with pytest.raises(ArtifactError) as caught:
        upload.freely()
    assert not isinstance(caught.value, NameTakenError)
    assert len(upload.artifacts.calls("CreateArtifact")) == 1


def test_a_name_that_another_job_takes_meanwhile_is_numbered(upload: Uploader) -> None:
    upload.artifacts.add(NAME)

    def take(artifacts: Artifacts, _: Request) -> None:
        artifacts.add(NAME, job=OTHER_JOB)

    upload.artifacts.fault("CreateArtifact", hook(take), nth=2)
    assert upload.freely().name == f"{NAME}-2"
    assert upload.artifacts.finished[NAME].job == OTHER_JOB


def test_if_all_names_are_taken_it_is_given_up(upload: Uploader) -> None:
    upload.artifacts.fault("CreateArtifact", name_taken(), times=None)
    with pytest.raises(ArtifactError, match="have that name already"):
        upload.freely()
    assert len({request.json["name"] for request in upload.artifacts.calls("CreateArtifact")}) <= 10
    assert upload.artifacts.calls("DeleteArtifact") == []


Cause = Callable[[Artifacts, str], object]


def always(outcome: Outcome) -> Cause:
    return lambda artifacts, call: artifacts.fault(call, outcome, times=None)


CAUSES: dict[str, Cause] = {
    **{
        name: always(outcome)
        for name, outcome in {
            "unavailable": unavailable(),
            "dropped": drop(),
            "200 HTML": HTML,
            "empty JSON": answer(200, {}),
            "job complete": job_complete(),
            "name taken": name_taken(),
            "redirection": answer(302, headers={"location": "http://127.0.0.1:9/elsewhere"}),
            "bad gzip": answer(200, headers={"content-encoding": "gzip"}, text="no gzip"),
        }.items()
    },
    "connection refused": lambda artifacts, call: artifacts.fault(
        call, hook(lambda *_: artifacts.refuse_connections()), times=None
    ),
    "echo of the token": lambda artifacts, call: artifacts.fault(
        call, service_error(400, "malformed", f"not valid: {artifacts.token}"), times=None
    ),
    "echo of the address": lambda artifacts, call: artifacts.fault(
        call, answer(407, {"message": f"not forwarded: {artifacts.first_address}"}), times=None
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES.keys())
def test_no_error_tells_a_secret(upload: Uploader, call: str, cause: Cause) -> None:
    secrets = upload.artifacts.secrets
    cause(upload.artifacts, call)
    with pytest.raises(ArtifactError) as caught:
        upload()
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert [secret for secret in secrets if secret in told] == []


def test_no_log_tells_a_secret(upload: Uploader, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = upload.artifacts.secrets
    for call in CALLS:
        upload.artifacts.fault(call, unavailable())
    upload()
    assert [secret for secret in secrets if secret in caplog.text] == []
