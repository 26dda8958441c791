"""Joining: which rows of the two sides are of the same task."""
