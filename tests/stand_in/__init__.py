"""A local stand-in of the GitHub API, held against what GitHub publishes of it."""

from tests.stand_in.faults import (
    answer,
    bad_gateway,
    cut,
    drop,
    hang,
    hook,
    primary_limit,
    secondary_limit,
    too_many_requests,
    unavailable,
)
from tests.stand_in.server import GitHub
from tests.stand_in.state import FINE_GRAINED, INSTALLATION, PERSONAL, REPOSITORY, Token

__all__ = [
    "FINE_GRAINED",
    "INSTALLATION",
    "PERSONAL",
    "REPOSITORY",
    "GitHub",
    "Token",
    "answer",
    "bad_gateway",
    "cut",
    "drop",
    "hang",
    "hook",
    "primary_limit",
    "secondary_limit",
    "too_many_requests",
    "unavailable",
]
