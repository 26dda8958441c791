"""Artifacts: storing reports, and fetching rollouts."""
