"""Requests that did not succeed: what to say of them, what to do about it, and whether another try may help."""

from __future__ import annotations


class RequestError(Exception):
    """A request that did not succeed.

    `message` is the server's own, or says why there is none; it holds neither a token nor an address. `status` is 0
    when there was no answer. `wait` is how many seconds to wait at least before the same may succeed; None when it
    will not.
    """

    def __init__(self, message: str, *, status: int = 0, wait: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.wait = wait

    def __str__(self) -> str:
        return self.message


class ApiError(RequestError):
    """A request to GitHub's API that did not succeed."""

    def __str__(self) -> str:
        return f"GitHub says {self.status}, {self.message}" if self.status else self.message

    @property
    def is_rate_limit(self) -> bool:
        """Whether it failed for being one request too many."""
        return self.wait is not None and self.status in (403, 429)


def advice(fault: ApiError, *, needs: str, missing: str) -> str:
    """What GitHub says of a request, and what to do about it.

    `needs` is the permission that the request takes; `missing` is what may not exist when GitHub says 404, which it
    also says of what a token may not see.
    """
    said = fault.message.lower()
    if fault.status == 401:
        return f"{fault}: the `github-token` is not accepted"
    if fault.status == 403 and "locked" in said:
        return f"{fault}: the conversation is locked"
    if fault.status == 403 and "archived" in said:
        return f"{fault}: the repository is archived and takes no comments"
    if fault.status == 403 and not fault.is_rate_limit:
        return f"{fault}: the job needs `permissions: {needs}`"
    if fault.status == 404:
        return f"{fault}: {missing} does not exist, or the job lacks `permissions: {needs}`"
    return str(fault)
