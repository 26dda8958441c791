"""The GitHub Action: what the runner gives, which pull request is meant, the comment, the job summary, the outputs."""
