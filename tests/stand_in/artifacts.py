"""The artifact service of a run and the storage behind it, each on its own port.

What is asked is held against the requests of the official client; the storage refuses what Azure's refuses.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import itertools
import json
import re
import threading
import urllib.parse
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from tests.stand_in.connection import Incoming, Reply, Server, Silence
from tests.stand_in.faults import Faults, Outcome, Rule, answer
from tests.stand_in.server import Request

RUN = "ce7f54c7-61c7-4aae-887f-30da475f5f1a"
JOB = "ca395085-040a-526b-2ce8-bdc85f692774"
"""The job that the token of `Artifacts.environment` belongs to."""
OTHER_JOB = "5e6a5d2d-9a58-5b1c-8ac8-3c1f3a4f7e10"
EARLIER_ATTEMPT = "0b1f3c55-2f4e-4a31-9a44-6f0c8a1d2e77"
"""What the service calls the run's attempt before this one; its artifacts are listed too."""
FORBIDDEN = '":<>|*?\r\n\\/'
"""The characters that the official client allows in no name."""

Casing = Literal["snake", "camel"]

_SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService/"
_IDS: dict[str, type] = {"workflow_run_backend_id": str, "workflow_job_run_backend_id": str}
_REQUIRED: dict[str, dict[str, type]] = {
    "CreateArtifact": _IDS | {"name": str, "version": int},
    "FinalizeArtifact": _IDS | {"name": str, "hash": str},
    "ListArtifacts": _IDS,
    "DeleteArtifact": _IDS | {"name": str},
    "GetSignedArtifactURL": _IDS | {"name": str},
}
_OPTIONAL: dict[str, dict[str, type]] = {
    "CreateArtifact": {"expires_at": str, "mime_type": str},
    "FinalizeArtifact": {"size": str},  # the official client names none of 0
    "ListArtifacts": {"name_filter": str, "id_filter": str},
}
_STORAGE_CALLS = {
    ("PUT", "block"): "PutBlock",
    ("PUT", "blocklist"): "PutBlockList",
    ("PUT", ""): "PutBlob",
    ("GET", ""): "GetBlob",
}
_UNKNOWN = "Unknown"
_VERSION = 7
_OLD_VERSION = 4
_FIRST = 1001
_LONGEST_BLOCK_ID = 64
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_CREATED = "2026-01-05T00:00:00Z"


@dataclass
class Artifact:
    """An artifact of the run; without a digest it is not finalized yet."""

    number: int
    name: str
    job: str
    mime_type: str
    expires_at: str | None = None
    digest: str | None = None
    blocks: dict[str, bytes] = field(default_factory=dict)
    """What was put and is not part of the content yet, by block id."""
    sizes: list[int] = field(default_factory=list)
    """Of the blocks that the content is made of."""
    content: bytes | None = None
    content_type: str = ""
    run: str = RUN

    @property
    def signature(self) -> str:
        """What makes its addresses as good as a password."""
        return base64.b64encode(hashlib.sha256(f"signature of {self.number}".encode()).digest()).decode()


class RefusalError(Exception):
    """A request that is not done, and what is answered."""

    def __init__(self, reply: Outcome) -> None:
        super().__init__(reply.content.decode())
        self.reply = reply


class Artifacts:
    """The service for one run. With `casing` "camel" the names in its answers are camelCase.

    The calls are named CreateArtifact, FinalizeArtifact, ListArtifacts, DeleteArtifact, GetSignedArtifactURL, and, for
    the storage, PutBlock, PutBlockList, PutBlob and GetBlob. That name is the `path` of a request and of a fault.
    """

    def __init__(self, *, casing: Casing = "snake") -> None:
        self.casing = casing
        self.is_old = False
        """Whether it breaks at what older ones do not know, as that of act does."""
        self.faults = Faults()
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.artifacts: list[Artifact] = []
        self.token = runtime_token(f"Actions.ExampleScope Actions.Results:{RUN}:{JOB}")
        self._numbers = itertools.count(_FIRST)
        self._lock = threading.Lock()
        self._service = Server(self._respond_as_service)
        self._storage = Server(self._respond_as_storage)
        self.origin = self._service.origin

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._service.close()
        self._storage.close()

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a runner offers the service."""
        return {"ACTIONS_RUNTIME_TOKEN": self.token, "ACTIONS_RESULTS_URL": f"{self.origin}/"}

    @property
    def first_address(self) -> str:
        """Where the first artifact is to be uploaded."""
        return self._address(Artifact(_FIRST, "", "", ""), "rcw")

    @property
    def secrets(self) -> list[str]:
        """What nobody may get to see of the token, of the first address and of those of what is there."""
        _, claims, mark = self.token.split(".")
        signed = {each.number: each for each in (Artifact(_FIRST, "", "", ""), *self.artifacts)}
        signatures = [each.signature for each in signed.values()]
        return [claims[:40], mark, *signatures, *(urllib.parse.quote(each, "") for each in signatures)]

    def fault(self, call: str, outcome: Outcome, *, nth: int = 1, times: int | None = 1) -> None:
        """Let this happen to the nth call of that name (`*`: of any), and to the next ones up to `times`."""
        self.faults.add(Rule("*", call, outcome, nth, times))

    def calls(self, call: str = "*") -> list[Request]:
        """The requests of a name so far."""
        return [request for request in self.requests if fnmatch.fnmatchcase(request.path, call)]

    @property
    def sequence(self) -> list[str]:
        """The names of the requests so far, in order."""
        return [request.path for request in self.requests]

    @property
    def finished(self) -> dict[str, Artifact]:
        """The finalized artifacts by name."""
        return {each.name: each for each in self.artifacts if each.digest is not None}

    def add(
        self,
        name: str,
        *,
        job: str = JOB,
        run: str = RUN,
        content: bytes = b"older",
        finished: bool = True,
        digest: str = "",
        mime_type: str = "application/zip",
    ) -> Artifact:
        """Put an artifact there, which other jobs, or the same one in an earlier attempt, may have as well."""
        digest = digest or f"sha256:{hashlib.sha256(content).hexdigest()}"
        artifact = Artifact(next(self._numbers), name, job, mime_type, run=run)
        if finished:
            artifact.digest, artifact.content, artifact.sizes = digest, content, [len(content)]
            artifact.content_type = mime_type
        self.artifacts.append(artifact)
        return artifact

    def refuse_connections(self) -> None:
        """Close the ports: whoever comes from now on is refused."""
        self._service.refuse()
        self._storage.refuse()

    def _respond_as_service(self, incoming: Incoming) -> Reply | Silence:
        call = incoming.path.removeprefix(_SERVICE)
        return self._respond(incoming, call if call in _REQUIRED else _UNKNOWN)

    def _respond_as_storage(self, incoming: Incoming) -> Reply | Silence:
        comp = incoming.query.get("comp", [""])[0]
        return self._respond(incoming, _STORAGE_CALLS.get((incoming.method, comp), "UnknownOfStorage"))

    def _respond(self, incoming: Incoming, call: str) -> Reply | Silence:
        request = Request(incoming.method, call, incoming.target, incoming.query, incoming.headers, incoming.content)
        self.requests.append(request)
        outcomes = self.faults.due(request.method, call)
        for outcome in outcomes:
            if outcome.call is not None:
                outcome.call(self, request)
        fault = next((outcome for outcome in outcomes if outcome.call is None), None)
        kept = None
        if fault is not None and fault.action == "cut":
            kept, fault = fault.kept, None
        if fault is None:
            fault = self._done(request)
        elif fault.stores:
            self._done(request)
        if fault.action != "answer":
            return Silence(fault.seconds)
        request.status = fault.status
        return Reply(fault.status, {"content-type": "application/json"} | fault.headers, fault.content, kept)

    def _done(self, request: Request) -> Outcome:
        """Do what is asked for, and tell the answer."""
        with self._lock:
            try:
                if request.path == _UNKNOWN:
                    self._expect(False, request, request.target)
                    return service_error(404, "bad_route", "no handler for path")
                if request.path in _REQUIRED:
                    return answer(200, self._cased(self._service_answer(request)))
                return self._storage_answer(request)
            except RefusalError as refusal:
                return refusal.reply

    def _cased(self, value: Any) -> Any:
        if self.casing == "snake":
            return value
        if isinstance(value, list):
            return [self._cased(each) for each in value]
        if isinstance(value, dict):
            return {_camel(name): self._cased(each) for name, each in value.items()}
        return value

    def _service_answer(self, request: Request) -> dict[str, Any]:
        self._expect(request.method == "POST", request, "not a POST")
        self._expect(request.headers.get("content-type") == "application/json", request, "the content is not JSON")
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise RefusalError(service_error(401, "unauthenticated", "token is invalid"))
        asked = request.json if isinstance(request.json, dict) else {}
        required, optional = _REQUIRED[request.path], _OPTIONAL.get(request.path, {})
        for name in dict.fromkeys((*required, *asked)):
            if type(asked.get(name)) is not (required | optional).get(name):
                self._expect(False, request, f"{name} is {asked.get(name)!r}")
                raise RefusalError(service_error(400, "malformed", "the json request could not be decoded"))
        known = {RUN} | ({each.run for each in self.artifacts} if request.path == "GetSignedArtifactURL" else set())
        if asked["workflow_run_backend_id"] not in known:
            raise RefusalError(service_error(403, "permission_denied", "not this run"))
        methods = {
            "CreateArtifact": self._create,
            "FinalizeArtifact": self._finalize,
            "ListArtifacts": self._list,
            "DeleteArtifact": self._delete,
            "GetSignedArtifactURL": self._sign,
        }
        return methods[request.path](request, asked)

    def _create(self, request: Request, asked: dict[str, Any]) -> dict[str, Any]:
        name, expires_at = asked["name"], asked.get("expires_at")
        # The official client says the type from version 7 on; before, all was zip.
        of_today = asked["version"] == _VERSION and "mime_type" in asked
        of_old = asked["version"] == _OLD_VERSION and "mime_type" not in asked
        self._expect(of_today or of_old, request, "not as any official client")
        if self.is_old and not of_old:
            raise RefusalError(answer(500, text=""))
        if expires_at is not None:
            self._expect(_TIME.fullmatch(expires_at) is not None, request, f"expires_at is {expires_at}")
        if not name or any(character in name for character in FORBIDDEN):
            raise RefusalError(service_error(400, "invalid_argument", "the artifact name is not valid"))
        if any(each.name == name for each in self.artifacts):
            raise RefusalError(name_taken())
        job = asked["workflow_job_run_backend_id"]
        artifact = Artifact(next(self._numbers), name, job, asked.get("mime_type", "application/zip"), expires_at)
        self.artifacts.append(artifact)
        return {"ok": True, "signed_upload_url": self._address(artifact, "rcw")}

    def _finalize(self, request: Request, asked: dict[str, Any]) -> dict[str, Any]:
        artifact = self._named(asked["name"])
        if artifact.content is None:
            raise RefusalError(service_error(400, "failed_precondition", "nothing was uploaded"))
        digest = f"sha256:{hashlib.sha256(artifact.content).hexdigest()}"
        size = asked.get("size", "0")
        self._expect(size == str(len(artifact.content)), request, f"size is {size}")
        self._expect(asked["hash"] == digest, request, f"hash is {asked['hash']}")
        self._expect(artifact.content_type == artifact.mime_type, request, "stored with another type than created")
        artifact.digest = asked["hash"]
        return {"ok": True, "artifact_id": str(artifact.number)}

    def _list(self, _: Request, asked: dict[str, Any]) -> dict[str, Any]:
        wanted = asked.get("name_filter"), asked.get("id_filter")
        found = [
            {
                "workflow_run_backend_id": each.run,
                "workflow_job_run_backend_id": each.job,
                "database_id": str(each.number),
                "name": each.name,
                "size": str(len(each.content or b"")),
                "created_at": _CREATED,
                "digest": each.digest,
            }
            for each in self.artifacts
            if each.digest is not None
            if wanted[0] in (None, each.name) and wanted[1] in (None, str(each.number))
        ]
        return {"artifacts": found}

    def _delete(self, _: Request, asked: dict[str, Any]) -> dict[str, Any]:
        artifact = self._named(asked["name"])
        self.artifacts.remove(artifact)
        return {"ok": True, "artifact_id": str(artifact.number)}

    def _sign(self, _: Request, asked: dict[str, Any]) -> dict[str, Any]:
        wanted = asked["workflow_run_backend_id"], asked["workflow_job_run_backend_id"], asked["name"]
        for artifact in reversed(self.artifacts):
            if (artifact.run, artifact.job, artifact.name) == wanted and artifact.digest is not None:
                return {"signed_url": self._address(artifact, "r")}
        raise RefusalError(service_error(404, "not_found", "artifact not found"))

    def _named(self, name: str) -> Artifact:
        for artifact in self.artifacts:
            if artifact.name == name:
                return artifact
        raise RefusalError(service_error(404, "not_found", "artifact not found"))

    def _address(self, artifact: Artifact, rights: str) -> str:
        query = urllib.parse.urlencode({"se": "2026-01-05T01:00:00Z", "sig": artifact.signature, "sp": rights})
        return f"{self._storage.origin}/actions-results/{artifact.number}?{query}"

    def _storage_answer(self, request: Request) -> Outcome:
        self._expect("authorization" not in request.headers, request, "has an Authorization header")
        if "authorization" in request.headers:
            raise RefusalError(storage_error(400, "InvalidAuthenticationInfo"))
        artifact = self._signed(request)
        if request.path == "GetBlob":
            ending = ".zip" if artifact.mime_type == "application/zip" else ""
            disposition = f"attachment; filename*=UTF-8''{urllib.parse.quote(artifact.name + ending, '')}"
            headers = {"content-type": artifact.content_type, "content-disposition": disposition}
            return Outcome("answer", 200, artifact.content or b"", headers)
        self._expect("x-ms-version" in request.headers, request, "has no x-ms-version")
        if request.path == "PutBlock":
            self._put_block(request, artifact)
        elif request.path == "PutBlockList":
            self._put_block_list(request, artifact)
        else:
            raise RefusalError(storage_error(400, "UnsupportedHttpVerb"))
        return answer(201, headers={"x-ms-version": request.headers.get("x-ms-version", ""), "content-type": ""})

    def _signed(self, request: Request) -> Artifact:
        number = urllib.parse.urlsplit(request.target).path.removeprefix("/actions-results/")
        needed = "r" if request.method == "GET" else "w"
        for artifact in self.artifacts:
            is_signed = request.query.get("sig") == [artifact.signature]
            if str(artifact.number) == number and is_signed and needed in request.query.get("sp", [""])[0]:
                return artifact
        raise RefusalError(storage_error(403, "AuthenticationFailed"))

    def _put_block(self, request: Request, artifact: Artifact) -> None:
        if not request.content:
            raise RefusalError(storage_error(400, "InvalidHeaderValue"))  # a Content-Length of 0
        [identifier] = request.query.get("blockid", [""])
        try:
            plain = base64.b64decode(identifier, validate=True)
        except binascii.Error:
            plain = b""
        lengths = {len(each) for each in (*artifact.blocks, identifier)}
        if not 0 < len(plain) <= _LONGEST_BLOCK_ID or len(lengths) > 1:
            raise RefusalError(storage_error(400, "InvalidBlobOrBlock"))
        artifact.blocks[identifier] = request.content

    def _put_block_list(self, request: Request, artifact: Artifact) -> None:
        try:
            document = ET.fromstring(request.content)  # noqa: S314 - what the client under test wrote
        except ET.ParseError:
            raise RefusalError(storage_error(400, "InvalidXmlDocument")) from None
        named = [(each.tag, each.text or "") for each in document]
        if document.tag != "BlockList" or any(
            tag not in ("Latest", "Uncommitted") or identifier not in artifact.blocks for tag, identifier in named
        ):
            raise RefusalError(storage_error(400, "InvalidBlockList"))
        blocks = [artifact.blocks[identifier] for _, identifier in named]
        artifact.content, artifact.sizes = b"".join(blocks), [len(block) for block in blocks]
        artifact.content_type = request.headers.get("x-ms-blob-content-type", "application/octet-stream")

    def _expect(self, holds: bool, request: Request, otherwise: str) -> None:
        if not holds:
            self.violations.append(f"{request.path}: {otherwise}")


def runtime_token(scopes: object) -> str:
    """A token of a runner with these scopes, parted by spaces."""
    return unsigned_token({"iss": "https://token.actions.githubusercontent.com", "scp": scopes})


def unsigned_token(claims: object) -> str:
    """A JSON web token with these claims and no true signature."""
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256", "typ": "JWT"}, claims)]
    encoded = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, "planted-signature-of-the-runtime-token"])


def service_error(status: int, code: str, message: str) -> Outcome:
    """An error as the service answers it."""
    return answer(status, {"code": code, "msg": message})


def storage_error(status: int, code: str) -> Outcome:
    """An error as the storage answers it."""
    text = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
    return answer(status, headers={"content-type": "application/xml", "x-ms-error-code": code}, text=text)


def name_taken() -> Outcome:
    """There is an artifact of that name."""
    return service_error(409, "already_exists", "an artifact with this name already exists on the workflow run")


def job_complete() -> Outcome:
    """The job is over, as the service sees it."""
    return service_error(403, "permission_denied", "job is complete")


def storage_full() -> Outcome:
    """The account's storage for artifacts is used up."""
    return service_error(403, "resource_exhausted", "insufficient usage to create artifact")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)
