"""Comments: which pull requests they go to, and one of them per pull request and id."""
