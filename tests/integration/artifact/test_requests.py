"""What is asked of the artifact service and its storage: what the official client asks."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from rollout_compare.github.artifacts.sending import ArtifactError
from rollout_compare.github.artifacts.upload import upload_under_free_name
from tests.integration.artifact.conftest import CONTENT, NAME, USER_AGENT, Uploader
from tests.stand_in import REPOSITORY
from tests.stand_in.artifacts import JOB, OTHER_JOB, RUN, runtime_token, unsigned_token
from tests.stand_in.server import Request

CASES = Path(__file__).resolve().parents[2] / "cases" / "artifact"
STORAGE = ("PutBlock", "PutBlockList", "PutBlob", "GetBlob")


def recording(name: str) -> list[dict[str, Any]]:
    recorded: list[dict[str, Any]] = json.loads((CASES / name).read_text(encoding="utf-8"))
    return recorded


def headers(request: Request, token: str) -> dict[str, str]:
    """The headers of the recordings, and whatever else could carry a right or an order to the storage."""
    named = (
        ("content-type", "accept", "authorization") if request.path in STORAGE else ("content-type", "authorization")
    )
    kept = {name: value for name, value in request.headers.items() if name in named or name.startswith("x-ms-")}
    return {name: value.replace(token, "<ACTIONS_RUNTIME_TOKEN>") for name, value in kept.items()}


def body(request: Request, size: int) -> object:
    """The body with the placeholders of the recordings."""
    if request.path == "PutBlock":
        return "<content>"
    if request.path == "PutBlockList":
        return re.sub(r"(?<=<Latest>)[A-Za-z0-9+/]+=*(?=</Latest>)", "<b64 id>", request.content.decode())
    fields = dict(request.json)
    values = {
        "workflow_run_backend_id": (re.escape(RUN), "<run id>"),
        "workflow_job_run_backend_id": (re.escape(JOB), "<job id>"),
        "expires_at": (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "RFC3339 ms Z"),
        "size": (str(size), "decimal string"),
        "hash": ("sha256:[0-9a-f]{64}", "sha256:<hex>"),
    }
    for name, (pattern, placeholder) in values.items():
        if isinstance(fields.get(name), str) and re.fullmatch(pattern, fields[name]):
            fields[name] = placeholder
    return fields


def recorded(request: Request, token: str, size: int = 0) -> dict[str, Any]:
    """A request as the recordings tell of it."""
    query = {name: value for name, [value] in request.query.items() if name not in ("se", "sig", "sp")}
    if "blockid" in query:
        assert base64.b64decode(query["blockid"], validate=True)
        query["blockid"] = "<b64 id>"
    return {
        "method": request.method,
        "call": "BLOB" if request.path in STORAGE else request.path,
        "query": query,
        "headers": headers(request, token),
        "body": body(request, size),
        "status": request.status,
    }


def test_an_upload_asks_what_the_official_client_asks(upload: Uploader) -> None:
    upload(NAME, CONTENT, "application/zip", retention_days=7)
    asked = [recorded(request, upload.artifacts.token, len(CONTENT)) for request in upload.artifacts.requests]
    assert asked == recording("upload-zip.json")


def test_without_a_wish_for_retention_an_upload_names_none(upload: Uploader) -> None:
    upload("report.html", CONTENT, "text/html")
    asked = [recorded(request, upload.artifacts.token, len(CONTENT)) for request in upload.artifacts.requests]
    assert asked == recording("upload-raw.json")


def test_an_artifact_is_replaced_as_the_official_client_deletes_one(upload: Uploader) -> None:
    upload.artifacts.add(NAME)
    upload()
    assert upload.artifacts.sequence[:2] == ["CreateArtifact", "ListArtifacts"]
    asked = [recorded(request, upload.artifacts.token) for request in upload.artifacts.requests[1:3]]
    assert asked == recording("delete.json")


def test_every_request_names_the_user_agent(upload: Uploader) -> None:
    upload()
    assert {request.headers["user-agent"] for request in upload.artifacts.requests} == {USER_AGENT}


def test_a_finished_upload_is_told_with_its_page_and_digest(upload: Uploader) -> None:
    done = upload()
    artifact = upload.artifacts.finished[NAME]
    assert (artifact.content, artifact.mime_type, artifact.job) == (CONTENT, "text/html", JOB)
    assert done == (
        NAME,
        str(artifact.number),
        artifact.digest,
        f"https://github.com/{REPOSITORY}/actions/runs/100/artifacts/{artifact.number}",
    )


def test_answers_may_be_in_camel_case(upload: Uploader) -> None:
    upload.artifacts.casing = "camel"
    upload.artifacts.add(NAME)
    done = upload()
    assert done.number == str(upload.artifacts.finished[NAME].number)
    assert [each.content for each in upload.artifacts.artifacts] == [CONTENT]


def test_only_the_origin_of_the_results_address_is_used(upload: Uploader) -> None:
    upload.environment = {
        "ACTIONS_RESULTS_URL": f"{upload.artifacts.origin}/_services/results/abc/?version=1#top",
        "GITHUB_SERVER_URL": "https://github.example.com",
    }
    done = upload()
    targets = [request.target for request in upload.artifacts.calls("*Artifact")]
    service = "/twirp/github.actions.results.api.v1.ArtifactService"
    assert targets == [f"{service}/CreateArtifact", f"{service}/FinalizeArtifact"]
    assert done.url == f"https://github.example.com/{REPOSITORY}/actions/runs/100/artifacts/{done.number}"


def test_credentials_of_the_host_do_not_replace_the_token_or_reach_the_storage(
    upload: Uploader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password planted-password\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    upload()
    told = {request.path: request.headers.get("authorization") for request in upload.artifacts.requests}
    bearer = f"Bearer {upload.artifacts.token}"
    assert told == {"CreateArtifact": bearer, "PutBlock": None, "PutBlockList": None, "FinalizeArtifact": bearer}


@pytest.mark.parametrize(
    ("asked", "longest", "expires_at"),
    [
        (7, "90", "2026-01-12T00:00:00.000Z"),
        (90, "90", "2026-04-05T00:00:00.000Z"),
        (400, "90", "2026-04-05T00:00:00.000Z"),
        (400, "", "2027-02-09T00:00:00.000Z"),
        (400, "0", "2027-02-09T00:00:00.000Z"),
        (400, "many", "2027-02-09T00:00:00.000Z"),
        (None, "90", None),
    ],
)
def test_the_asked_retention_is_cut_to_what_the_repository_allows(
    upload: Uploader, asked: int | None, longest: str, expires_at: str | None
) -> None:
    upload.environment = {"GITHUB_RETENTION_DAYS": longest}
    upload(retention_days=asked)
    assert upload.artifacts.finished[NAME].expires_at == expires_at


def test_the_expiry_has_milliseconds(upload: Uploader) -> None:
    upload.clock.passed = 3_661.25
    upload(retention_days=1)
    assert upload.artifacts.finished[NAME].expires_at == "2026-01-06T01:01:01.250Z"


@pytest.mark.parametrize("missing", ["ACTIONS_RUNTIME_TOKEN", "ACTIONS_RESULTS_URL"])
def test_without_its_variables_there_is_no_service(upload: Uploader, missing: str) -> None:
    with pytest.raises(ArtifactError, match="does not offer an artifact service"):
        upload.service(without=missing)
    with pytest.raises(ArtifactError, match="does not offer an artifact service"):
        upload.service(**{missing: ""})
    assert upload.artifacts.requests == []


@pytest.mark.parametrize("address", ["results", "ftp://127.0.0.1/", "http://", "http://[/", "/twirp"])
def test_a_results_address_that_is_none_is_told(upload: Uploader, address: str) -> None:
    with pytest.raises(ArtifactError):
        upload.service(ACTIONS_RESULTS_URL=address)


TOKENS_WITHOUT_THE_RIGHT = {
    "one part": "planted-token",
    "two parts": "planted.token",
    "not base64": "planted.%%%.token",
    "no scopes": "planted.e30.token",
    "null": "planted.bnVsbA.token",
    "a list": unsigned_token(["planted"]),
    "scopes are a number": runtime_token(7),
    "scopes are empty": runtime_token(""),
    "another scope": runtime_token("Actions.ExampleScope"),
    "neither run nor job": runtime_token("Actions.Results"),
    "no job": runtime_token(f"Actions.Results:{RUN}"),
    "empty job": runtime_token(f"Actions.Results:{RUN}:"),
    "empty run": runtime_token(f"Actions.Results::{JOB}"),
    "another scope with run and job": runtime_token(f"Actions.GenericRead:{RUN}:{JOB}"),
    "a scope that ends alike": runtime_token(f"Other.Actions.Results:{RUN}:{JOB}"),
}


@pytest.mark.parametrize("token", TOKENS_WITHOUT_THE_RIGHT.values(), ids=TOKENS_WITHOUT_THE_RIGHT.keys())
def test_a_token_without_the_right_to_artifacts_is_told_but_not_shown(upload: Uploader, token: str) -> None:
    with pytest.raises(ArtifactError, match="not give access to artifacts") as caught:
        upload.service(ACTIONS_RUNTIME_TOKEN=token)
    assert "planted" not in str(caught.value)


def test_the_right_to_artifacts_may_stand_anywhere_among_the_scopes(upload: Uploader) -> None:
    scopes = f"Actions.GenericRead:00000000-0000-0000-0000-000000000000 Actions.Results:{RUN}:{JOB} Actions.Other:1:2"
    upload.artifacts.token = runtime_token(scopes)
    assert upload().number == "1001"


def test_an_artifact_of_the_same_job_is_replaced(upload: Uploader) -> None:
    upload.artifacts.add(NAME)
    other = upload.artifacts.add("rollouts", job=OTHER_JOB)
    done = upload.freely()
    assert upload.artifacts.sequence == [
        *("CreateArtifact", "ListArtifacts", "DeleteArtifact"),
        *("CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact"),
    ]
    assert done.name == NAME
    assert upload.artifacts.finished[NAME].content == CONTENT
    assert upload.artifacts.finished["rollouts"] is other


@pytest.mark.parametrize(
    ("name", "numbered"),
    [
        ("rollout-compare", ["rollout-compare-2", "rollout-compare-3"]),
        ("rollout-compare.html", ["rollout-compare-2.html", "rollout-compare-3.html"]),
    ],
)
def test_an_artifact_of_another_job_is_left_alone_and_a_number_is_added(
    upload: Uploader, name: str, numbered: list[str]
) -> None:
    others = [upload.artifacts.add(name, job=OTHER_JOB)]
    assert upload.freely(name).name == numbered[0]
    others.append(upload.artifacts.finished[numbered[0]])
    others[-1].job = OTHER_JOB
    assert upload.freely(name).name == numbered[1]
    assert upload.artifacts.finished[numbered[1]].content == CONTENT
    assert upload.artifacts.artifacts[:2] == others
    assert upload.artifacts.calls("DeleteArtifact") == []


def test_a_content_that_was_read_is_uploaded_whole(upload: Uploader) -> None:
    content = io.BytesIO(CONTENT)
    content.read()
    upload_under_free_name(upload.service(), NAME, content, "text/html")
    assert upload.artifacts.finished[NAME].content == CONTENT
