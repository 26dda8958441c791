"""Results as other tools write them, as rows of rollouts: one module a format, and `detection`, which knows all."""
