"""Fetching the content of an artifact from a signed address into a file, piece by piece.

The address is on another host than GitHub's and as good as a password: no token goes there, and it is in no message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from rollout_compare.github.api.client import silence_urllib3
from rollout_compare.github.api.clock import Clock
from rollout_compare.github.artifacts.sending import ArtifactError, no_auth

_TRIES = 3
_TIMEOUT = (15.0, 60.0)
"""Seconds to connect, and from one piece to the next."""
_PATIENCE = 1_800.0
"""Seconds for all tries together."""
_LARGEST = 20 << 30
_PIECE = 1 << 16
_GONE = frozenset({404, 410})
_OK = 200
_MOST_REDIRECTIONS = 3


class _PassingError(Exception):
    """A failure that another try may not meet; the message says which."""


def download(address: Callable[[], str], path: str, *, digest: str, clock: Clock, user_agent: str) -> None:
    """Fetch what is at an address, which is asked for anew for each try, into a file at `path`.

    `digest`, `sha256:` and hexadecimal digits, is what the content must have; empty when it is not known. Raises
    ArtifactError; what `address` raises goes through.
    """
    deadline = clock.now() + _PATIENCE
    for tries in range(1, _TRIES + 1):
        place = address()
        try:
            _compare(digest, _keep(_pieces(place, user_agent), path, lambda: clock.now() > deadline))
        except _PassingError as fault:
            wait = float(2 ** (tries - 1))
            if tries == _TRIES or clock.now() + wait >= deadline:
                raise ArtifactError(f"cannot be downloaded: {fault}, {tries} times") from None
            clock.sleep(wait)
        except OSError as fault:
            raise ArtifactError(f"cannot be kept on disk: {fault.strerror or type(fault).__name__}") from None
        else:
            return


def _compare(wanted: str, found: str) -> None:
    if wanted.startswith("sha256:") and wanted != found:
        raise _PassingError("its content is not what was uploaded (the digest differs)")


def _keep(pieces: Iterator[bytes], path: str, is_too_late: Callable[[], bool]) -> str:
    """Write pieces to a file; their digest."""
    digest = hashlib.sha256()
    size = 0
    with open(path, "wb") as file:
        for piece in pieces:
            size += len(piece)
            if size > _LARGEST:
                raise ArtifactError(f"is larger than {_LARGEST >> 30} GiB")
            if is_too_late():
                raise ArtifactError(f"cannot be downloaded within {_PATIENCE:.0f} s")
            digest.update(piece)
            file.write(piece)
    return f"sha256:{digest.hexdigest()}"


def _pieces(address: str, user_agent: str) -> Iterator[bytes]:
    """The content at an address. Whatever goes wrong with it raises ArtifactError, or _PassingError."""
    import requests

    silence_urllib3()
    # A session of its own, without .netrc: the storage refuses an Authorization header.
    with requests.Session() as session:
        session.auth = no_auth
        session.rebuild_auth = lambda *_: None  # type: ignore[method-assign] # nor for where it redirects to
        session.max_redirects = _MOST_REDIRECTIONS
        try:
            headers = {"user-agent": user_agent, "accept-encoding": "identity"}
            with session.get(address, headers=headers, timeout=_TIMEOUT, stream=True) as answer:
                _check(answer.status_code)
                yield from answer.iter_content(_PIECE)
        except (requests.exceptions.RequestException, ValueError, OSError) as fault:
            # Its text holds the address.
            raise _PassingError(f"the storage cannot be reached, or breaks off ({type(fault).__name__})") from None


def _check(status: int) -> None:
    if status == _OK:
        return
    if status in _GONE:
        raise ArtifactError(f"is no longer there (the storage answered {status})")
    # An address that ran out is refused: the next try has a new one.
    raise _PassingError(f"the storage answered {status}")
