"""Uploads artifacts of the run, as the official client does: the service behind actions/upload-artifact, version 4.

Create, then the content in blocks to a signed address, then finalize. The signed address is as good as a password, and
the runtime token is one: neither is part of any message. Source: the recorded requests of the official client in
tests/cases/artifact, and its published sources.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit, urlunsplit
from xml.sax.saxutils import escape as escaped

from rollout_compare.github.client import Clock, silence_urllib3
from rollout_compare.github.payload import at, text_at

if TYPE_CHECKING:
    import requests

_SERVICE = "twirp/github.actions.results.api.v1.ArtifactService"
_SCOPE = "Actions.Results"
_VERSION = 7
_OLDER_VERSION = 4
_ZIP = "application/zip"
_BROKEN = "answered 500"
_BLOCK = 8 << 20
_STORAGE_VERSION = "2026-04-06"
_TRIES = 5
_PATIENCE = 60.0
"""Seconds until nothing is tried again."""
_TIMEOUT = 30.0
_LONGEST_RETENTION = 400
"""Days; what GitHub allows at most."""
_SHORTEST_SECRET = 8
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_QUOTA = "insufficient usage"
_LONGEST_QUOTE = 200
_ADDRESS = re.compile(r"\S*://\S*")


class ArtifactError(Exception):
    """An upload that did not succeed; the message says why, and holds neither token nor address."""


class NameTakenError(ArtifactError):
    """There is an artifact of that name in the run already."""


class _ConflictError(ArtifactError):
    """What is asked for does not go with what is there."""


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
    def of_token(cls, token: str) -> Backend:
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
        message = "the runtime token gives no right to artifacts"
        raise ArtifactError(message)


class Service:
    """The artifact service of one run."""

    def __init__(self, environment: Mapping[str, str], clock: Clock, *, user_agent: str) -> None:
        """Raises ArtifactError when the runner does not offer the service."""
        token, url = environment.get("ACTIONS_RUNTIME_TOKEN", ""), environment.get("ACTIONS_RESULTS_URL", "")
        if not token or not url:
            message = "the runner offers no artifact service"
            raise ArtifactError(message)
        self._origin = _origin(url)
        self._token = token
        self._secrets = _pieces(token)
        self._backend = Backend.of_token(token)
        self._clock = clock
        self._user_agent = user_agent
        self._deadline = clock.now() + _PATIENCE
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
            message = "the service is an older one that takes zip files only"
            raise ArtifactError(message)
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
        if at(created, "ok") is not True or not address:
            message = "the artifact service gave no place to upload to"
            raise ArtifactError(message)
        size, digest = self._put(address, content, mime_type)
        finalized = self._call("FinalizeArtifact", {"name": name, "size": str(size), "hash": digest})
        number = str(at(finalized, "artifact_id") or at(finalized, "artifactId") or "")
        if at(finalized, "ok") is not True or not number.isdigit():
            message = "the artifact service did not confirm the upload"
            raise ArtifactError(message)
        return Uploaded(name, number, digest, f"{self._page}/{number}")

    def _create(self, asked: Mapping[str, Any]) -> Any:
        """Create an artifact. A service that fails may be an older one, which does not know of types."""
        older = {name: value for name, value in asked.items() if name != "mime_type"} | {"version": _OLDER_VERSION}
        try:
            return self._call("CreateArtifact", asked, older if asked["mime_type"] == _ZIP else None)
        except _ConflictError as fault:
            raise NameTakenError(str(fault)) from None

    def _expiry(self, retention_days: int | None) -> str | None:
        if not retention_days:
            return None
        days = min(retention_days, self._longest_retention)
        moment = datetime.fromtimestamp(self._clock.wall(), UTC) + timedelta(days=days)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _is_own(self, name: str) -> bool:
        """Whether the artifact of that name was made by this job."""
        listed = self._call("ListArtifacts", {"name_filter": name})
        entries = at(listed, "artifacts")
        for entry in entries if isinstance(entries, list) else ():
            job = text_at(entry, "workflow_job_run_backend_id") or text_at(entry, "workflowJobRunBackendId")
            if text_at(entry, "name") == name and job == self._backend.job:
                return True
        return False

    def _call(self, method: str, asked: Mapping[str, Any], otherwise: Mapping[str, Any] | None = None) -> Any:
        """One call of the service, tried again while that may help; in another form, if given, when it breaks."""
        ids = {"workflow_run_backend_id": self._backend.run, "workflow_job_run_backend_id": self._backend.job}
        bodies = [json.dumps({**ids, **form}).encode() for form in (asked, otherwise) if form is not None]
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "authorization": f"Bearer {self._token}",
        }
        answer, number = self._tried("POST", f"{self._origin}/{_SERVICE}/{method}", bodies, headers)
        self._is_old = self._is_old or number > 0
        try:
            return json.loads(answer.content)
        except (ValueError, RecursionError):
            message = "the artifact service's answer makes no sense"
            raise ArtifactError(message) from None

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
            self._tried("PUT", f"{address}{separator}comp=block&blockid={quoted}", [block], headers)
        latest = "".join(f"<Latest>{escaped(block)}</Latest>" for block in blocks)
        document = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><BlockList>{latest}</BlockList>'
        headers = storage | {"content-type": "application/xml", "x-ms-blob-content-type": mime_type}
        self._tried("PUT", f"{address}{separator}comp=blocklist", [document.encode()], headers)
        return size, f"sha256:{digest.hexdigest()}"

    def _tried(
        self, method: str, url: str, bodies: Sequence[bytes], headers: Mapping[str, str]
    ) -> tuple[requests.Response, int]:
        """The answer, and to which of the bodies: the last one is for a service that breaks at the first."""
        number, why = 0, ""
        for tries in range(1, _TRIES + 1):
            number = len(bodies) - 1 if why == _BROKEN and not number else 0
            answer, why = self._once(method, url, bodies[number], headers)
            if answer is not None:
                return answer, number
            wait = float(2 ** (tries - 1))
            if tries == _TRIES or self._clock.now() + wait >= self._deadline:
                message = f"the artifact service {why}" + (f", {tries} times" if tries > 1 else "")
                raise ArtifactError(message)
            self._clock.sleep(wait)
        raise AssertionError

    def _once(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[requests.Response | None, str]:
        """The answer; or None and why another try may help. Raises ArtifactError when none will."""
        import requests

        silence_urllib3()
        # A session of its own, without .netrc: an Authorization header would be refused by the storage.
        with requests.Session() as session:
            session.auth = _no_auth
            try:
                answer = session.request(
                    method,
                    url,
                    data=body,
                    headers={**headers, "user-agent": self._user_agent},
                    timeout=_TIMEOUT,
                    allow_redirects=False,
                )
            except (OSError, ValueError) as fault:
                # Its text holds the address.
                why = f"cannot be reached ({type(fault).__name__})"
                if isinstance(fault, requests.exceptions.RequestException) and not isinstance(fault, ValueError):
                    return None, why
                message = f"the artifact service {why}"
                raise ArtifactError(message) from None
        said = _said(answer)
        if 200 <= answer.status_code < 300:
            is_json = headers["accept"] != "application/json" or said is not None
            return (answer, "") if is_json else (None, "answered with something else than JSON")
        told = self._quoted(text_at(said, "msg") or text_at(said, "message"))
        if _QUOTA in told.lower():
            message = f"the artifact storage is full: {told}"
            raise ArtifactError(message)
        if answer.status_code == 409:
            message = "the artifact service answered 409" + (f": {told}" if told else "")
            raise _ConflictError(message)
        if answer.status_code in _PASSING:
            return None, f"answered {answer.status_code}"
        message = f"the artifact service answered {answer.status_code}" + (f": {told}" if told else "")
        raise ArtifactError(message)

    def _quoted(self, message: str) -> str:
        """What the service says, without what must not be told, should it echo that."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            message = message.replace(secret, "…")
        message = _ADDRESS.sub("…", message)
        words = " ".join(message.split())
        return words if len(words) <= _LONGEST_QUOTE else words[:_LONGEST_QUOTE] + "…"


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        message = "ACTIONS_RESULTS_URL is no address"
        raise ArtifactError(message)
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def _pieces(secret: str) -> list[str]:
    """The pieces of a token or an address that tell something by themselves."""
    return [piece for piece in re.split(r"[^A-Za-z0-9_%-]+", secret) if len(piece) >= _SHORTEST_SECRET]


def _no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _said(answer: requests.Response) -> Any:
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):
        return None


def _days(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text) else None


def _blocks(content: BinaryIO) -> Iterator[bytes]:
    while block := content.read(_BLOCK):
        yield block
