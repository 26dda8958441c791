"""Which rollout-compare this is."""

VERSION = "0.1.0"
