"""GitHub's API: requests, and the patience that they need."""
