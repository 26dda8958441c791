"""Baselines: which recorded run the new side is compared with."""
