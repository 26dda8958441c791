"""The words for formats, as they are given on the command line and to the Action. Imports nothing: both start fast."""

from __future__ import annotations

ROLLOUTS = "rollouts"
"""Asks for rollouts, which are not a format of another tool."""
FORMAT_NAMES = (ROLLOUTS, "harbor", "inspect", "swebench", "lm-eval", "promptfoo", "verifiers", "tau2")
