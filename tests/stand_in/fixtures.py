"""The fixtures by which tests get the stand-in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stand_in.descriptions import Descriptions
from tests.stand_in.server import GitHub


@pytest.fixture(scope="session")
def descriptions() -> Descriptions:
    """What GitHub publishes of its API, read once."""
    return Descriptions()


@pytest.fixture
def github(descriptions: Descriptions) -> Iterator[GitHub]:
    """A GitHub with one empty repository; the test fails if anything asked or answered breaks the descriptions."""
    with GitHub(descriptions) as server:
        yield server
    _fail_on_violations(server)


@pytest.fixture
def enterprise(descriptions: Descriptions) -> Iterator[GitHub]:
    """The same as an Enterprise Server has it: below /api/v3."""
    with GitHub(descriptions, prefix="/api/v3", server_url="https://github.example.com") as server:
        yield server
    _fail_on_violations(server)


def _fail_on_violations(server: GitHub) -> None:
    if server.violations:
        pytest.fail("What GitHub publishes of its API says otherwise:\n" + "\n".join(server.violations))
