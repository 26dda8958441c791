"""`python -m rollout_compare` is the command line."""

from rollout_compare.cli import entry

entry()
