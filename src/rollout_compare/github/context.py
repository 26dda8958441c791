"""What a step knows before it fetches anything: its inputs, its event, and the services that it uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from rollout_compare.github.api.client import Client
from rollout_compare.github.api.clock import Clock
from rollout_compare.github.api.patience import Patience
from rollout_compare.github.artifacts.service import Service
from rollout_compare.github.baselines.origin import Origin, origin_of
from rollout_compare.github.comments.posting import Posting
from rollout_compare.github.event import Decision, Event, EventError, decide
from rollout_compare.github.runner import Commands, Files, Workspace
from rollout_compare.github.settings import SettingError, Settings
from rollout_compare.report.template import Template, own_template
from rollout_compare.report.untrusted import Redactor
from rollout_compare.version import VERSION

USER_AGENT = f"rollout-compare/{VERSION}"


@dataclass(frozen=True)
class Context:
    """What a step is asked for, and what it works with."""

    settings: Settings
    environment: Mapping[str, str]
    event: Event
    decision: Decision
    """Which pull request the run is about."""
    origin: Origin
    """What the new side was run on."""
    template: Template | None
    """The template of the user's own, if there is one."""
    redact: Redactor
    commands: Commands
    files: Files
    workspace: Workspace
    patience: Patience
    """The budget of waits for all requests of the step."""
    client: Client
    posting: Posting

    def service(self) -> Service:
        """The artifact service of this run. Raises ArtifactError when the runner does not offer it."""
        return Service(self.environment, self.patience, user_agent=USER_AGENT)

    @property
    def temporary(self) -> str | None:
        """Where temporary files go; None for the system's usual place."""
        folder = self.environment.get("RUNNER_TEMP", "")
        return folder if os.path.isdir(folder) and os.access(folder, os.W_OK) else None

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self.patience.clock.wall()


def prepare(
    settings: Settings, environment: Mapping[str, str], commands: Commands, redact: Redactor, clock: Clock
) -> Context:
    """The context of a step in the current folder, the workspace.

    Sends no request. Raises UsageError for an invalid setting.
    """
    workspace = Workspace(environment)
    event = _event(environment, commands)
    decision = decide(event, settings.pr_number)
    patience = Patience(clock)
    client = Client(
        settings.github_token.get_secret_value(),
        api_url=event.api_url,
        graphql_url=event.graphql_url,
        patience=patience,
        user_agent=USER_AGENT,
    )
    return Context(
        settings,
        environment,
        event,
        decision,
        origin_of(event, decision, environment.get("GITHUB_WORKFLOW_REF", "")),
        None if settings.template is None else _template(settings.template, workspace),
        redact,
        commands,
        Files(environment, commands.warning),
        workspace,
        patience,
        client,
        Posting(settings, event.repository, decision, client, commands),
    )


def _event(environment: Mapping[str, str], commands: Commands) -> Event:
    try:
        return Event.from_environment(environment)
    except EventError as fault:
        commands.warning(f"{fault}: which pull request it is about is not known")
        return Event.from_environment({**environment, "GITHUB_EVENT_PATH": ""})


def _template(given: str, workspace: Workspace) -> Template:
    path = workspace.path(given)
    if not workspace.holds(path):
        raise SettingError(f"input `template` must be a file in the workspace, not {given}")
    return own_template(path)
