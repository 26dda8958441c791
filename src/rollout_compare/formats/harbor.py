"""Harbor: a job folder with a folder for each trial, or a folder of jobs that are read as one side.

Layout: `<trial>/result.json`, `config.json` and `lock.json`, of Harbor up to 0.26. What the verifier said lies in
`<trial>/verifier`, of a task in several steps in `<trial>/steps/<step>/verifier`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from rollout_compare.core.errors import CompareInputError
from rollout_compare.core.reading.json_line import field_of
from rollout_compare.core.sentences import field_name, named, quoted, told
from rollout_compare.formats.attempt import Attempt, Reading
from rollout_compare.formats.documents import object_of
from rollout_compare.formats.given import Given
from rollout_compare.formats.values import mapping, numbers, seconds_between, sequence, text, total

NAME = "harbor"
TITLE = "Harbor job"
ROWS = "trial"

_LOOKED_AT = 50
"""How many folders are looked into before it is clear that a folder is no job."""
_REWARD = "reward"
_NO_REWARD = "no_reward"
_NO_RESULT = "no_result"
# fmt: off
_WORTHLESS = frozenset(
    {
        "EnvironmentStartTimeoutError", "SandboxBuildFailedError", "AgentSetupTimeoutError", "HealthcheckError",
        "SandboxLikelyOutOfMemoryError", "MemoryLimitExceededError", "SSHAccessError",
        "GKEExecStreamClosedError", "GKEPodNotFoundError", "RuntimeRequestError", "AddTestsDirError",
        "DownloadVerifierDirError", "ApiError", "ApiRateLimitError", "ApiInternalServerError",
        "ApiOverloadedError", "ApiConnectionClosedError", "ApiResponseStalledError", "UnknownApiError",
        "NetworkConnectionError", "ApiConnectionError", "ApiUsageLimitError", "RateLimitError",
        "InternalServerError", "ServiceUnavailableError", "APIConnectionError", "APIError", "Timeout",
        "UnsupportedModelParametersError", "BadRequestError", "UnprocessableEntityError",
        "UnsupportedParamsError", "APIResponseValidationError", "BudgetExceededError", "VerifierTimeoutError",
        "RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError",
        "AgentAuthenticationError", "ModelNotFoundError", "ApiProviderResourceNotFoundError",
        "AuthenticationError", "PermissionDeniedError", "NotFoundError", "ServiceOperationsUnsupportedError",
        "VercelScopeError", "DspyImportError", "MissingExtraError", "RegradeError", "CancelledError",
    }
)
# fmt: on
"""Exceptions after which Harbor says that a reward is worthless; older results do not say it themselves."""


def detect(given: Given) -> bool:
    """Whether this is a folder of trials, or one of folders of trials."""
    return given.is_folder and next(_jobs(given, _LOOKED_AT), None) is not None


def rows(given: Given, reading: Reading) -> Iterator[dict[str, Any]]:
    """A row for each trial, job after job. Raises CompareInputError for a trial that may not be read."""
    jobs = list(_jobs(given))
    if not jobs:
        what = "not a Harbor job: no folder in it has a result.json or a config.json of a trial"
        raise CompareInputError(given.path, what)
    if len(jobs) > 1:
        reading.note(told("{}: {} Harbor jobs are read as one side: {}", quoted(given.path), len(jobs), named(jobs)))
    others: dict[str, None] = {}
    for job in jobs:
        config = mapping(_document(given, job, "config.json"))
        agents = Counter(text(field_of(agent, "name")) for agent in sequence(config.get("agents")))
        for trial in given.folders(job):
            attempt = _attempt(given, trial, reading)
            if attempt is None:
                continue
            if attempt.agent and attempt.model and agents[attempt.agent] > 1:
                attempt.agent = f"{attempt.agent} ({attempt.model})"
            others |= dict.fromkeys(attempt.components or ())
            yield attempt.row()
    if others:
        chosen = field_name(reading.reward or _REWARD)
        option, offered = field_name("--reward NAME"), named(list(others))
        reading.note(told("the reward that counts is {}; {} takes another: {}", chosen, option, offered))


def _jobs(given: Given, most: int | None = None) -> Iterator[str]:
    """The folders that hold trials: the given one itself, or those in it. Looks into `most` folders of each."""
    if any(_is_trial(given, folder) for folder in islice(given.folders(), most)):
        yield ""
        return
    for folder in islice(given.folders(), most):
        if any(_is_trial(given, trial) for trial in islice(given.folders(folder), most)):
            yield folder


def _document(given: Given, folder: str, name: str) -> dict[str, Any] | None:
    return object_of(given.find(f"{folder}/{name}" if folder else name))


def _is_trial(given: Given, folder: str) -> bool:
    return any(mapping(_document(given, folder, name)).get("trial_name") for name in ("result.json", "config.json"))


def _attempt(given: Given, trial: str, reading: Reading) -> Attempt | None:
    """The attempt that a folder holds; None when the folder is not that of a trial."""
    written = given.find(f"{trial}/result.json")
    result = mapping(object_of(written))
    config = {} if result.get("trial_name") else mapping(_document(given, trial, "config.json"))
    if not (result.get("trial_name") or config.get("trial_name")):
        return None
    if text(result.get("task_name")):
        return _finished(given, trial, result, reading)
    attempt = _started(given, trial, config or mapping(_document(given, trial, "config.json")))
    why = "has no result.json: it was killed, or still runs"
    if written is not None:
        why = "has a result.json without a result: empty, or cut short" if not result else "has no task in result.json"
    attempt.mask(_NO_RESULT, f"the trial {why}")
    return attempt


def _started(given: Given, trial: str, config: dict[str, Any]) -> Attempt:
    """What is known of a trial before it ends."""
    task = mapping(config.get("task"))
    path = text(task.get("path"))
    found = text(task.get("name")) or (re.split(r"[/\\]", path.rstrip("/\\"))[-1] if path else None)
    if not found:
        task = mapping(mapping(_document(given, trial, "lock.json")).get("task"))
        found = text(task.get("name")) or trial.rpartition("/")[2].rpartition("__")[0] or trial.rpartition("/")[2]
    attempt = _of_task(found, task.get("source"))
    attempt.model = text(field_of(config, "agent.model_name"))
    attempt.agent = text(field_of(config, "agent.name"))
    attempt.logs = f"{trial}/verifier"
    return attempt


def _of_task(task_name: str, source: Any) -> Attempt:
    organisation, _, name = task_name.rpartition("/")
    attempt = Attempt(name or task_name, taskset=text(source) or organisation or None)
    attempt.more = {"task_name": task_name}
    return attempt


def _finished(given: Given, trial: str, result: dict[str, Any], reading: Reading) -> Attempt:
    attempt = _of_task(result["task_name"], result.get("source"))
    steps = [mapping(step) for step in sequence(result.get("step_results"))]
    parts = [result, *steps]
    model = mapping(field_of(result, "agent_info.model_info"))
    attempt.identity = text(result.get("id"))
    attempt.model = "/".join(filter(None, (text(model.get("provider")), text(model.get("name"))))) or None
    attempt.agent = text(field_of(result, "agent_info.name"))
    attempt.input_tokens = total(field_of(part, "agent_result.n_input_tokens") for part in parts)
    attempt.output_tokens = total(field_of(part, "agent_result.n_output_tokens") for part in parts)
    attempt.seconds = _seconds(result, steps)
    attempt.logs = _logs(given, trial, steps)
    exceptions = [found for part in parts if (found := mapping(part.get("exception_info")))]
    rewards = numbers(field_of(result, "verifier_result.rewards"))
    name = reading.reward or (_REWARD if _REWARD in rewards or len(rewards) != 1 else next(iter(rewards)))
    attempt.reward = rewards.get(name)
    attempt.components = {other: reward for other, reward in rewards.items() if other != name}
    kinds = [text(found.get("exception_type")) or "exception" for found in exceptions]
    message = text(exceptions[0].get("exception_message")) if exceptions else None
    if not _is_valid(result, rewards, exceptions):
        attempt.mask(kinds[0] if kinds else _NO_REWARD, message)
    elif attempt.reward is None:
        offered = f"no reward is called {name}; there are {', '.join(rewards)} (--reward NAME takes one)"
        attempt.mask(kinds[0] if kinds and not rewards else _NO_REWARD, offered if rewards else message)
    elif exceptions:
        attempt.error = ": ".join(filter(None, (kinds[0], message)))
    return attempt


def _is_valid(result: dict[str, Any], rewards: dict[str, float], exceptions: list[dict[str, Any]]) -> bool:
    """Whether the rewards of a trial say something: `reward_valid`, or what Harbor would have made of it."""
    said = result.get("reward_valid")
    if isinstance(said, bool):
        return said
    for found in exceptions:
        valid = field_of(found, "policy.has_valid_reward")
        if valid is False or (valid is None and text(found.get("exception_type")) in _WORTHLESS):
            return False
    return bool(rewards)


def _seconds(result: dict[str, Any], steps: list[dict[str, Any]]) -> float | None:
    own, *of_steps = [
        seconds_between(field_of(part, "agent_execution.started_at"), field_of(part, "agent_execution.finished_at"))
        for part in (result, *steps)
    ]
    known = [seconds for seconds in of_steps if seconds is not None]
    return own if own is not None or not known else sum(known)


def _logs(given: Given, trial: str, steps: list[dict[str, Any]]) -> str:
    for step in reversed(steps):
        name = text(step.get("step_name"))
        # The name comes from the document: it must be that of a folder in `steps`, not a way out of it.
        is_name = name and not name.startswith(".") and not set("/\\\0") & set(name)
        if is_name and given.has_folder(f"{trial}/steps/{name}/verifier"):
            return f"{trial}/steps/{name}/verifier"
    return f"{trial}/verifier"
