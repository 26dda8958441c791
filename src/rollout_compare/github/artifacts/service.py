"""Artifacts of the run itself, as the official client stores and finds them: the service behind version 4 of
actions/upload-artifact and actions/download-artifact.

To store: create, then the content in blocks to a signed address, then finalize. To fetch: list, then a signed address.
Source: the recorded requests of the official client in tests/cases/artifact, and its published sources.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit, urlunsplit
from xml.sax.saxutils import escape as escaped

from rollout_compare.github.api.patience import Patience
from rollout_compare.github.api.payload import text_at, value_at
from rollout_compare.github.artifacts.sending import ArtifactError, ConflictError, Sender

_SERVICE = "twirp/github.actions.results.api.v1.ArtifactService"
_SCOPE = "Actions.Results"
_VERSION = 7
_OLDER_VERSION = 4
_ZIP = "application/zip"
_BLOCK = 8 << 20
_STORAGE_VERSION = "2026-04-06"
_LONGEST_RETENTION = 400
"""Days; what GitHub allows at most."""


class NameTakenError(ArtifactError):
    """There is an artifact of that name in the run already."""


class Uploaded(NamedTuple):
    """An artifact as it was stored."""

    name: str
    number: str
    digest: str
    """`sha256:` and hexadecimal digits."""
    url: str


@dataclass(frozen=True, slots=True)
class Backend:
    """Which run and which job the service knows us as."""

    run: str
    job: str

    @classmethod
    def from_token(cls, token: str) -> Backend:
        """The ids in the runtime token. Raises ArtifactError when it does not hold them."""
        parts = token.split(".")
        try:
            claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        except (ValueError, IndexError):
            claims = None
        for scope in text_at(claims, "scp").split():
            name, *ids = scope.split(":")
            if name == _SCOPE and len(ids) == 2 and all(ids):
                return cls(*ids)
        raise ArtifactError("the runtime token does not give access to artifacts")


class Stored(NamedTuple):
    """An artifact of this run, as the service lists it."""

    name: str
    number: int
    backend: Backend
    """The run and the job that stored it."""
    digest: str
    """`sha256:` and hexadecimal digits; empty when the service does not tell."""


class Service:
    """The artifact service of one run."""

    def __init__(self, environment: Mapping[str, str], patience: Patience, *, user_agent: str) -> None:
        """Raises ArtifactError when the runner does not offer the service."""
        token, url = environment.get("ACTIONS_RUNTIME_TOKEN", ""), environment.get("ACTIONS_RESULTS_URL", "")
        if not token or not url:
            raise ArtifactError("the runner does not offer an artifact service")
        self._origin = _origin(url)
        self._token = token
        self._backend = Backend.from_token(token)
        self._clock = patience.clock
        self._sender = Sender(patience, token=token, user_agent=user_agent)
        self._is_old = False
        self._longest_retention = _days(environment.get("GITHUB_RETENTION_DAYS", "")) or _LONGEST_RETENTION
        run = environment.get("GITHUB_RUN_ID", "")
        server = environment.get("GITHUB_SERVER_URL", "").rstrip("/")
        self._page = f"{server}/{environment.get('GITHUB_REPOSITORY', '')}/actions/runs/{run}/artifacts"

    def upload(self, name: str, content: BinaryIO, mime_type: str, retention_days: int | None = None) -> Uploaded:
        """Store content as an artifact; one of the same name by the same job is replaced.

        Raises NameTakenError when another job has one of that name, ArtifactError for everything else.
        """
        if self._is_old and mime_type != _ZIP:
            raise ArtifactError("the service is an older one that takes zip files only")
        asked: dict[str, Any] = {"name": name}
        expires = self._expiry(retention_days)
        if expires is not None:
            asked["expires_at"] = expires
        asked |= {"version": _VERSION, "mime_type": mime_type}
        try:
            created = self._create(asked)
        except NameTakenError:
            if not self._is_own(name):
                raise
            self._call("DeleteArtifact", {"name": name})
            created = self._create(asked)
        address = text_at(created, "signed_upload_url") or text_at(created, "signedUploadUrl")
        if value_at(created, "ok") is not True or not address:
            raise ArtifactError("the artifact service did not say where to upload to")
        size, digest = self._put(address, content, mime_type)
        finalized = self._call("FinalizeArtifact", {"name": name, "size": str(size), "hash": digest})
        number = str(value_at(finalized, "artifact_id") or value_at(finalized, "artifactId") or "")
        if value_at(finalized, "ok") is not True or not number.isdigit():
            raise ArtifactError("the artifact service did not confirm the upload")
        return Uploaded(name, number, digest, f"{self._page}/{number}")

    def _create(self, asked: Mapping[str, Any]) -> Any:
        """Create an artifact. A service that fails may be an older one, which does not know of types."""
        older = {name: value for name, value in asked.items() if name != "mime_type"} | {"version": _OLDER_VERSION}
        try:
            return self._call("CreateArtifact", asked, older if asked["mime_type"] == _ZIP else None)
        except ConflictError as fault:
            raise NameTakenError(str(fault)) from None

    def _expiry(self, retention_days: int | None) -> str | None:
        if not retention_days:
            return None
        days = min(retention_days, self._longest_retention)
        moment = datetime.fromtimestamp(self._clock.wall(), UTC) + timedelta(days=days)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _is_own(self, name: str) -> bool:
        """Whether the artifact of that name was made by this job."""
        return any(stored.backend.job == self._backend.job for stored in self.stored({"name_filter": name}))

    def find(self, name: str) -> Stored | None:
        """The artifact of that name in this run, whichever job stored it; the last one, when several did."""
        return max(self.stored({"name_filter": name}), key=lambda stored: stored.number, default=None)

    def names(self) -> list[str]:
        """The names of all artifacts of this run."""
        return sorted({stored.name for stored in self.stored({})})

    def stored(self, asked: Mapping[str, Any]) -> list[Stored]:
        """The artifacts of this run that answer a request. Raises ArtifactError."""
        entries = value_at(self._call("ListArtifacts", asked), "artifacts")
        listed = [_stored(entry) for entry in (entries if isinstance(entries, list) else ())]
        return [stored for stored in listed if asked.get("name_filter", stored.name) == stored.name]

    def address(self, stored: Stored) -> str:
        """Where the content of an artifact can be fetched, without a token: a secret. Raises ArtifactError."""
        ids = {
            "workflow_run_backend_id": stored.backend.run or self._backend.run,
            "workflow_job_run_backend_id": stored.backend.job or self._backend.job,
        }
        answer = self._call("GetSignedArtifactURL", ids | {"name": stored.name})
        address = text_at(answer, "signed_url") or text_at(answer, "signedUrl")
        if not address:
            raise ArtifactError("the artifact service did not say where to download from")
        return address

    def _call(self, method: str, asked: Mapping[str, Any], otherwise: Mapping[str, Any] | None = None) -> Any:
        """One call of the service, tried again while that may help; in another form, if given, when it breaks."""
        ids = {"workflow_run_backend_id": self._backend.run, "workflow_job_run_backend_id": self._backend.job}
        bodies = [json.dumps({**ids, **form}).encode() for form in (asked, otherwise) if form is not None]
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "authorization": f"Bearer {self._token}",
        }
        answer, number = self._sender.tried("POST", f"{self._origin}/{_SERVICE}/{method}", bodies, headers)
        self._is_old = self._is_old or number > 0
        try:
            return json.loads(answer.content)
        except (ValueError, RecursionError):
            raise ArtifactError("the artifact service's answer cannot be understood") from None

    def _put(self, address: str, content: BinaryIO, mime_type: str) -> tuple[int, str]:
        """Put the content into blocks at the signed address; its size in bytes, and its digest."""
        separator = "&" if "?" in address else "?"
        storage = {"accept": "application/xml", "x-ms-version": _STORAGE_VERSION}
        digest = hashlib.sha256()
        size = 0
        blocks = []
        for number, block in enumerate(_blocks(content)):
            digest.update(block)
            size += len(block)
            blocks.append(base64.b64encode(f"rollout-compare-{number:08d}".encode()).decode())
            headers = storage | {"content-type": "application/octet-stream"}
            quoted = blocks[-1].replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
            self._sender.tried("PUT", f"{address}{separator}comp=block&blockid={quoted}", [block], headers)
        latest = "".join(f"<Latest>{escaped(block)}</Latest>" for block in blocks)
        document = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><BlockList>{latest}</BlockList>'
        headers = storage | {"content-type": "application/xml", "x-ms-blob-content-type": mime_type}
        self._sender.tried("PUT", f"{address}{separator}comp=blocklist", [document.encode()], headers)
        return size, f"sha256:{digest.hexdigest()}"


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ArtifactError("`ACTIONS_RESULTS_URL` is not a valid address")
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def _days(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text) else None


def _blocks(content: BinaryIO) -> Iterator[bytes]:
    while block := content.read(_BLOCK):
        yield block


def _stored(entry: Any) -> Stored:
    """An entry of the list of artifacts, whose names are written in either of two ways."""

    def either(snake: str, camel: str) -> Any:
        value = value_at(entry, snake)
        return value_at(entry, camel) if value is None else value

    number = either("database_id", "databaseId")
    digest = value_at(entry, "digest")
    return Stored(
        text_at(entry, "name"),
        int(number) if isinstance(number, str | int) and str(number).isdecimal() else 0,
        Backend(
            str(either("workflow_run_backend_id", "workflowRunBackendId") or ""),
            str(either("workflow_job_run_backend_id", "workflowJobRunBackendId") or ""),
        ),
        digest if isinstance(digest, str) else text_at(digest, "value"),
    )
