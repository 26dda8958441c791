"""The folder of inputs: each pair of files is made once and used again by later runs."""

from __future__ import annotations

import gzip
import importlib
import json
import re
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measure import BenchError, Command, run, say
from workload import GENERATOR_VERSION, SHAPES

_WRITER = str(Path(__file__).with_name("workload.py"))
_FOLDER = re.compile(rf"({'|'.join(SHAPES)})-[0-9.e-]+-v(\d+)")


@dataclass(frozen=True)
class Workload:
    """A pair of files on disk and what a comparison of them must say (see workload.py on plan.json)."""

    name: str
    old: Path
    new: Path
    plan: dict[str, Any]

    @property
    def bytes(self) -> int:
        """Bytes of both files, before any compression."""
        return int(self.plan["old"]["bytes"] + self.plan["new"]["bytes"])

    @property
    def rows(self) -> int:
        """Rows of both files."""
        return int(self.plan["old"]["rows"] + self.plan["new"]["rows"])

    @property
    def largest_row(self) -> int:
        """Bytes of the largest row."""
        return int(max(self.plan["old"]["largest_row"], self.plan["new"]["largest_row"]))


@dataclass(frozen=True)
class Cache:
    """The work folder."""

    folder: Path

    def prepare(self, most_bytes: int) -> None:
        """Make the folder, drop what older generators left, and see that the disk has room for this run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for entry in self.folder.iterdir():
            found = _FOLDER.fullmatch(entry.name)
            if found and int(found[2]) != GENERATOR_VERSION:
                shutil.rmtree(entry)
        held = sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())
        lacking = most_bytes - held - shutil.disk_usage(self.folder).free
        if lacking > 0:
            message = f"{self.folder} lacks {lacking / 1e9:.1f} GB of free disk (use --work or --quick)"
            raise BenchError(message)

    def workload(self, shape: str, factor: float) -> Workload:
        """Take a workload from the folder, making it when it is not there whole."""
        folder = self.folder / f"{shape}-{factor:g}-v{GENERATOR_VERSION}"
        plan = folder / "plan.json"
        if not plan.exists():
            say(f"writing {folder.name}")
            run(Command((sys.executable, _WRITER, shape, str(folder), "--factor", repr(factor))))
        name = shape if factor == 1 else f"{shape} x {factor:g}"
        made = Workload(name, folder / "old.jsonl", folder / "new.jsonl", json.loads(plan.read_text(encoding="ascii")))
        for side, path in (("old", made.old), ("new", made.new)):
            if not path.exists() or path.stat().st_size != made.plan[side]["bytes"]:
                message = f"{path} is not what its plan says: delete {folder} and run again"
                raise BenchError(message)
        return made

    def compressed(self, load: Workload, suffix: str) -> Workload | None:
        """Give the same workload as .gz or .zst, made once. None when nothing at hand writes the format."""
        old, new = (_compress(path, suffix) for path in (load.old, load.new))
        return replace(load, name=f"{load.name} {suffix}", old=old, new=new) if old and new else None

    def scratch(self, name: str) -> Path:
        """Where an output goes that is looked at and thrown away."""
        return self.folder / name


def _compress(path: Path, suffix: str) -> Path | None:
    target = path.with_name(path.name + suffix)
    partial = target.with_name(target.name + ".partial")
    if target.exists():
        return target
    opener = gzip.open if suffix == ".gz" else _zstd_open()
    if opener is None:
        return None
    say(f"compressing {path.parent.name}/{target.name}")
    with path.open("rb") as plain, opener(partial, "wb") as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)
    return partial.rename(target)


def _zstd_open() -> Any:
    for name in ("compression.zstd", "backports.zstd"):  # the first is in the standard library since 3.14
        try:
            return importlib.import_module(name).open
        except ImportError:
            continue
    return None
