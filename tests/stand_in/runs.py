"""What the stand-in knows of workflows: their runs, and the artifacts of these."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

WORKFLOW = ".github/workflows/evaluate.yml"
EXPIRY = "2026-04-05T00:00:00Z"
STARTED = "2026-01-04T00:00:00Z"


@dataclass
class WorkflowRun:
    """A run of a workflow; a head repository of None is a deleted fork."""

    id: int
    path: str
    workflow_id: int
    event: str
    status: str
    conclusion: str | None
    head_branch: str | None
    head_sha: str
    head_repository: str | None
    attempt: int
    created: str
    updated: str

    def fits(self, name: str, value: str) -> bool:
        """Whether a filter of a list lets the run through; `status` means a conclusion as well."""
        known = {
            "branch": (self.head_branch,),
            "event": (self.event,),
            "head_sha": (self.head_sha,),
            "status": (self.status, self.conclusion),
        }
        return name not in known or value in known[name]


@dataclass
class StoredArtifact:
    """An artifact of a run. Its digest and its size are what GitHub says, whatever the content is."""

    id: int
    name: str
    run: WorkflowRun
    content: bytes
    created: str
    expired: bool
    digest: str | None
    size: int
    mime_type: str

    @property
    def file_name(self) -> str:
        return f"{self.name}.zip" if self.mime_type == "application/zip" else self.name


def digest_of(content: bytes) -> str:
    """The digest as GitHub writes it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
