"""The report files as artifacts of the run: a zip with all of them, and the HTML report by itself, for the browser."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rollout_compare.github.artifacts.sending import ArtifactError
from rollout_compare.github.artifacts.service import NameTakenError, Service, Uploaded
from rollout_compare.report.markdown import Link, ReportContext

_FORBIDDEN = re.compile(r'[":<>|*?\r\n\\/\x00-\x1f]')
_MIDNIGHT = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold: the same files make the same zip."""
_MOST_NAMES = 10
_PAGE = ".html"
_PIECE = 1 << 20


class Uploads(NamedTuple):
    """The artifacts of a step, as far as there are any."""

    whole: Uploaded | None = None
    """All report files."""
    page: Uploaded | None = None
    """The HTML report."""

    def linked(self, setting: ReportContext) -> ReportContext:
        """The same with links to what was uploaded, before the others."""
        named = (("full report", self.page), ("summary.json and all files", self.whole))
        links = tuple(Link(words, uploaded.url) for words, uploaded in named if uploaded is not None)
        elsewhere = "the artifact" if links else setting.elsewhere
        return replace(setting, links=(*links, *setting.links), elsewhere=elsewhere)

    def outputs(self) -> dict[str, str]:
        """The outputs that tell of artifacts."""
        whole, page = self
        return {
            "artifact-id": whole.number if whole is not None else "",
            "artifact-url": whole.url if whole is not None else "",
            "artifact-digest": whole.digest if whole is not None else "",
            "html-artifact-url": page.url if page is not None else "",
        }


def upload_reports(
    files: Mapping[str, str],
    folder: str,
    wanted_name: str,
    service: Callable[[], Service],
    *,
    retention_days: int | None,
    warn: Callable[[str], None],
) -> Uploads:
    """Upload the report files, given as paths by their names. What could not be uploaded is told to `warn`."""
    name = allowed_name(wanted_name)
    if name != wanted_name:
        warn(f"`{wanted_name}` is not a valid artifact name: `{name}` is used instead")

    def upload(own_name: str, content: BinaryIO, mime_type: str) -> Uploaded:
        uploaded = upload_under_free_name(offered, own_name, content, mime_type, retention_days)
        if uploaded.name != own_name:
            warn(
                f"another job has an artifact named `{own_name}`, so this one is named `{uploaded.name}`: give each "
                "job its own `artifact-name`"
            )
        return uploaded

    whole = page = None
    try:
        offered = service()
        with zipped(list(files.items())) as archive:
            whole = upload(name, archive, "application/zip")
        with Path(files["report.html"]).open("rb") as content:
            page = upload(name + _PAGE, content, "text/html")
    except (ArtifactError, OSError) as fault:
        warn(
            f"{'the HTML report is' if whole else 'the reports are'} not uploaded as an artifact: {fault}. The files "
            f"are in `{folder}`: a step with actions/upload-artifact can upload them"
        )
    return Uploads(whole, page)


def upload_under_free_name(
    service: Service, name: str, content: BinaryIO, mime_type: str, retention_days: int | None = None
) -> Uploaded:
    """Store content; when another job has the name, under that name with a number. Raises ArtifactError."""
    stem = name.removesuffix(_PAGE)
    for number in range(1, _MOST_NAMES + 1):
        numbered = name if number == 1 else f"{stem}-{number}{name[len(stem) :]}"
        content.seek(0)
        try:
            return service.upload(numbered, content, mime_type, retention_days)
        except NameTakenError:
            continue
    raise ArtifactError(f"{_MOST_NAMES} artifacts of other jobs have that name already")


def allowed_name(name: str) -> str:
    """An artifact name without the characters that the service forbids."""
    return _FORBIDDEN.sub("-", name).strip(" .") or "rollout-compare"


def zipped(files: Sequence[tuple[str, str]]) -> BytesIO:
    """A zip of files, given as (name, path): the same files make the same bytes."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files):
            entry = zipfile.ZipInfo(name, _MIDNIGHT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with Path(path).open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                while piece := source.read(_PIECE):
                    target.write(piece)
    content.seek(0)
    return content
