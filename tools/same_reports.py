"""Whether images make the same reports of the example rollouts, byte for byte: one image for each platform, by docker.

    tools/same_reports.py PLATFORM=IMAGE PLATFORM=IMAGE...

Needs Python and docker alone. Exit status: 0 all are the same, 1 some differ, 2 other arguments.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
REPORTS = {"text": (), "Markdown": ("--markdown", "-"), "HTML": ("--html", "-"), "JSON": ("--json", "-")}


def reports(platform: str, image: str) -> Iterator[tuple[str, bytes]]:
    """The reports that an image makes: what of, and the bytes."""
    confined = ["--network", "none", "--read-only", "--volume", f"{EXAMPLES}:/work:ro", "--workdir", "/work"]
    for old in sorted(EXAMPLES.glob("*/old.jsonl")):
        pair = old.parent.name
        for name, options in REPORTS.items():
            command = ["docker", "run", "--rm", "--platform", platform, *confined, image]
            command += [f"{pair}/old.jsonl", f"{pair}/new.jsonl", *options]
            yield f"{pair}, {name}", subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def main(arguments: list[str]) -> int:
    """Compare the reports of all images with those of the first."""
    platforms = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    if len(platforms) != len(arguments) or len(platforms) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    made = {platform: dict(reports(platform, image)) for platform, image in platforms.items()}
    first, *others = made.items()
    different = 0
    for what, content in first[1].items():
        digest = hashlib.sha256(content).hexdigest()
        print(f"{digest[:16]}  {len(content):>7} bytes  {what}")
        if not content:
            print(f"empty: {what}, {first[0]}", file=sys.stderr)
            different += 1
        for platform, others_reports in others:
            if others_reports[what] != content:
                print(f"not the same: {what}, {first[0]} and {platform}", file=sys.stderr)
                different += 1
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
