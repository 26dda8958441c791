"""Logs: what the verifier said about the losing row of a flip."""
