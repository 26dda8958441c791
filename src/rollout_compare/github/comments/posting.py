"""Commenting on the pull requests that a run is about. A comment that cannot be made is a warning, never a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rollout_compare.github.api.client import Client
from rollout_compare.github.api.faults import ApiError, advice
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
    """The comments of one step."""

    def __init__(
        self, settings: Settings, repository: str, decision: Decision, client: Client, commands: Commands
    ) -> None:
        self._settings = settings
        self._repository = repository
        self._decision = decision
        self._client = client
        self._commands = commands

    def comment(self, bodies: Callable[[int], str], stamp: Stamp, *, create: bool) -> list[Posted]:
        """Comment on the pull requests that the run is about, and return the comments that stand now.

        `bodies` gives the body within a number of code points. `create`: whether a comment is made where there is none.
        """
        decision, settings = self._decision, self._settings
        if settings.comment == "off":
            return []
        if not decision.can_write:
            self._commands.warning(
                f"not commented: {decision.reason}. The report is in `{settings.report_dir}`; to have it as a comment, "
                f"add a second workflow, triggered by workflow_run: see {_RECIPES}"
            )
            return []
        if decision.action is Action.NOTHING:
            tell = self._commands.warning if decision.is_refused else self._commands.notice
            tell(f"not commented: {decision.reason}")
            return []
        if not settings.github_token.get_secret_value():
            self._commands.notice("not commented: there is no `github-token`")
            return []
        try:
            pull_requests = find_pull_requests(decision, self._client, self._repository)
        except ApiError as fault:
            why = self._advice(fault, "the pull request")
            self._commands.warning(f"not commented: the pull request is not known ({why})")
            return []
        if not pull_requests.numbers:
            tell = self._commands.warning if pull_requests.is_doubtful else self._commands.notice
            tell(f"not commented: {pull_requests.reason}")
        return list(self._posted(pull_requests.numbers, bodies, stamp, create=create))

    def _posted(
        self, numbers: Sequence[int], bodies: Callable[[int], str], stamp: Stamp, *, create: bool
    ) -> Iterator[Posted]:
        marker = str(ReportContext(self._settings.comment_id).marker)
        writer = Writer(self._client, self._repository, marker, warn=self._commands.warning, tell=self._commands.notice)
        for number in numbers:
            try:
                posted = writer.write(number, bodies, stamp, create=create, sizes=_SIZES)
            except ApiError as fault:
                why = self._advice(fault, f"pull request {number}")
                self._commands.warning(f"pull request {number} is not commented on: {why}")
            except TemplateError as fault:
                # It was fine for the report files, which have more room.
                self._commands.warning(f"pull request {number} is not commented on: {fault}")
            else:
                if posted.number:
                    yield posted

    def _advice(self, fault: ApiError, missing: str) -> str:
        said = advice(fault, needs="pull-requests: write", missing=missing)
        if "pull-requests: write" not in said:
            return said
        return f"{said}; for pull requests from forks and by Dependabot see {_RECIPES}"
