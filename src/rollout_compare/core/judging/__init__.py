"""Judging: what became of each task, what the figures say, and what makes them doubtful."""
