"""Fetching the content of an artifact from a signed address into a file, piece by piece.

The address is on another host than GitHub's and as good as a password: no token goes there, and it is in no message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from rollout_compare.github.api.patience import Patience
from rollout_compare.github.artifacts.sending import ArtifactError, plain_session

_TRIES = 3
_TIMEOUT = (15.0, 60.0)
"""Seconds to connect, and from one piece to the next."""
_LONGEST_TRANSFER = 1_800.0
"""Seconds from the first try to the last piece. What it takes is not waiting, so it is not taken from the budget."""
_LARGEST = 20 << 30
_PIECE = 1 << 16
_GONE = frozenset({404, 410})
_OK = 200
_MOST_REDIRECTIONS = 3


def download(address: Callable[[], str], path: str, *, digest: str, patience: Patience, user_agent: str) -> None:
    """Fetch what is at an address, which is asked for anew for each try, into a file at `path`.

    `digest`, `sha256:` and hexadecimal digits, is what the content must have; empty when it is not known. Raises
    ArtifactError; what `address` raises goes through.
    """
    clock = patience.clock
    deadline = clock.now() + _LONGEST_TRANSFER

    def fetch() -> None:
        content = _keep(_pieces(address(), user_agent), path, lambda: clock.now() > deadline)
        if digest.startswith("sha256:") and digest != content:
            raise ArtifactError("its content is not what was uploaded (the digest differs)", wait=0.0)

    try:
        patience.tried(fetch, _TRIES)
    except OSError as fault:
        raise ArtifactError(f"it could not be stored on disk: {fault.strerror or type(fault).__name__}") from None


def _keep(pieces: Iterator[bytes], path: str, is_too_late: Callable[[], bool]) -> str:
    """Write pieces to a file; their digest."""
    digest = hashlib.sha256()
    size = 0
    with open(path, "wb") as file:
        for piece in pieces:
            size += len(piece)
            if size > _LARGEST:
                raise ArtifactError(f"it is larger than {_LARGEST >> 30} GiB")
            if is_too_late():
                raise ArtifactError(f"it did not arrive within {_LONGEST_TRANSFER:,.0f} s")
            digest.update(piece)
            file.write(piece)
    return f"sha256:{digest.hexdigest()}"


def _pieces(address: str, user_agent: str) -> Iterator[bytes]:
    """The content at an address. Raises ArtifactError, whatever goes wrong with it."""
    import requests

    try:
        with plain_session(user_agent) as session:
            session.max_redirects = _MOST_REDIRECTIONS
            headers = {"accept-encoding": "identity"}
            with session.get(address, headers=headers, timeout=_TIMEOUT, stream=True) as answer:
                _check(answer.status_code)
                yield from answer.iter_content(_PIECE)
    except (requests.exceptions.RequestException, ValueError, OSError) as fault:
        # Its text holds the address.
        raise ArtifactError(
            f"the storage cannot be reached, or breaks off ({type(fault).__name__})", wait=0.0
        ) from None


def _check(status: int) -> None:
    if status in _GONE:
        raise ArtifactError(f"it is no longer there (the storage answered {status})", status=status)
    if status != _OK:
        # An address that ran out is refused: the next try has a new one.
        raise ArtifactError(f"the storage answered {status}", status=status, wait=0.0)
