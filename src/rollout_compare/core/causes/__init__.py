"""Causes: which tests changed, in what line a losing row ended, and which flips end alike."""
