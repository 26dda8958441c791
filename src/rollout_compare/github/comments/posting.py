"""Commenting on the pull requests that a run is about, as far as that can be done: what cannot is a warning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rollout_compare.github.api.client import ApiError, Client, is_rate_limit
from rollout_compare.github.comments.comment import Posted, Stamp, Writer
from rollout_compare.github.comments.pulls import find_pull_requests
from rollout_compare.github.event import Action, Decision
from rollout_compare.github.runner import Commands
from rollout_compare.github.settings import Settings
from rollout_compare.report.markdown import COMMENT, ReportContext
from rollout_compare.report.template import TemplateError

_SIZES = (COMMENT.size, 40_000, 20_000)
"""Code points of a comment: what is tried when GitHub finds the one before too long."""
_RECIPES = "docs/recipes.md"


class Posting:
    """The comments of one step. `client` makes the client that writes them, once one is to be written."""

    def __init__(
        self, settings: Settings, repository: str, decision: Decision, client: Callable[[], Client], commands: Commands
    ) -> None:
        self._settings = settings
        self._repository = repository
        self._decision = decision
        self._client = client
        self._commands = commands

    def comment(self, bodies: Callable[[int], str], stamp: Stamp, *, create: bool) -> list[Posted]:
        """Comment on the pull requests that the run is about, as far as that can be done."""
        decision, settings = self._decision, self._settings
        if settings.comment == "off":
            return []
        if not decision.can_write:
            self._commands.warning(
                f"not commented: {decision.reason}. The report is in `{settings.report_dir}`; to comment on it, let a "
                f"workflow that is triggered by workflow_run do so: see {_RECIPES}"
            )
            return []
        if decision.action is Action.NOTHING:
            (self._commands.warning if decision.is_refused else self._commands.notice)(
                f"not commented: {decision.reason}"
            )
            return []
        if not settings.github_token.get_secret_value():
            self._commands.notice("not commented: there is no `github-token`")
            return []
        client = self._client()
        try:
            found = find_pull_requests(decision, client, self._repository)
        except ApiError as fault:
            self._commands.warning(f"not commented: the pull request is not known ({_advised(fault)})")
            return []
        if not found.numbers:
            (self._commands.warning if found.is_doubtful else self._commands.notice)(f"not commented: {found.reason}")
        return list(self._posted(client, found.numbers, bodies, stamp, create=create))

    def _posted(
        self, client: Client, numbers: Sequence[int], bodies: Callable[[int], str], stamp: Stamp, *, create: bool
    ) -> Iterator[Posted]:
        marker = str(ReportContext(self._settings.comment_id).marker)
        writer = Writer(client, self._repository, marker, warn=self._commands.warning, tell=self._commands.notice)
        for number in numbers:
            try:
                posted = writer.write(number, bodies, stamp, create=create, sizes=_SIZES)
            except ApiError as fault:
                self._commands.warning(f"pull request {number} is not commented on: {_advised(fault)}")
            except TemplateError as fault:
                # It was fine for the report files, which have more room.
                self._commands.warning(f"pull request {number} is not commented on: {fault}")
            else:
                if posted.number:
                    yield posted


def _advised(fault: ApiError) -> str:
    """What GitHub says, and what to do about it."""
    said = f"GitHub says {fault.status}, {fault.message}" if fault.status else fault.message
    if fault.status == 401:
        return f"{said}: the `github-token` is not accepted"
    if fault.status == 403 and "locked" in fault.message.lower():
        return f"{said}: the conversation is locked"
    if fault.status == 403 and "archived" in fault.message.lower():
        return f"{said}: the repository takes no comments"
    if fault.status in (403, 404) and not is_rate_limit(fault):
        return (
            f"{said}: the job needs `permissions: pull-requests: write`; for pull requests from forks and by "
            f"Dependabot see {_RECIPES}"
        )
    return said
