"""The libraries that send requests, kept from logging: addresses, headers and bodies may hold secrets."""

from __future__ import annotations

import logging

_LIBRARIES = ("urllib3", "urllib3.connectionpool", "github.Requester")


def silence_libraries() -> None:
    """Keep what is sent and received out of logs, whatever level somebody gave them."""
    for name in _LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
