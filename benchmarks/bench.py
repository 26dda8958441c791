"""Measures whole commands side by side and prints the figures against the goals.

    python benchmarks/bench.py [--quick] [--only M,L1,...] [--runs N] [--markdown FILE] [--work DIR]

Exit status 0 whatever the figures say; 1 when a command fails or answers wrongly. A full run writes at most
5.5 GB into the work folder (`--quick`: 0.5 GB) and keeps the inputs there for the next run. The reference's
way needs up to 10 GB of memory; where there is less, it is left out and its lines say so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression
from typing import TYPE_CHECKING

import ending
from answers import verify_counts, verify_logs, verify_summary
from cache import Cache, Workload
from measure import BenchError, Command, Sample, alternate, available_memory, run, say
from scoreboard import MB, Scoreboard

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE_PROGRAM = str(Path(__file__).with_name("reference_way.py"))
OURS, REFERENCE, WC = "rollout-compare", "reference's way", "wc -l"
DISK_BYTES, QUICK_DISK_BYTES = 5_500 * MB, 500 * MB
REFERENCE_MEMORY = 8  # times the bytes of both inputs, from above
START_ROUNDS = 11
BUSY = 1.25  # wall time over CPU time: the commands wait for nothing, so above this others had the cores
BYTES_A_ROW = 200


@dataclass
class Bench:
    """The sections of the benchmark and what they share: inputs, sizes, number of runs, where figures go."""

    cache: Cache
    quick: bool
    runs: int
    board: Scoreboard = field(default_factory=Scoreboard)
    checked: set[Path] = field(default_factory=set)

    def large(self, shape: str, quick_factor: float, bound: float, aim: float) -> None:
        """G1 and G2 on one shape of large rows."""
        load = self.cache.workload(shape, self.factor(quick_factor))
        medians = self.against_reference(load, "G1", bound, aim)
        if WC in medians:
            ratio = medians[OURS].wall / medians[WC].wall
            self.board.at_most("G1", f"{load.name}: times the time of `wc -l` on both files", ratio, 12, "x")
        self.peak(load, medians[OURS])

    def flatness(self) -> None:
        """G2: the same rows, twenty times as many."""
        factors = (0.00564, 0.1127) if self.quick else (0.0564, 1.127)
        loads = [self.cache.workload("M", factor) for factor in factors]
        for load in loads:
            self.check(load)
        medians = alternate({load.name: compare(load) for load in loads}, self.runs, cold=[loads[1].name])
        for load in loads:
            self.board.measured(load.name, OURS, medians[load.name], load.bytes)
        peaks = [medians[load.name].rss for load in loads]
        shown = (f"{load.bytes / MB:,.0f} MB: {peak / MB:.1f} MB" for load, peak in zip(loads, peaks, strict=True))
        what = f"peak memory on input of {', of '.join(shown)}; growth"
        further_rows = loads[1].rows - loads[0].rows
        self.board.at_most("G2", what, max(0.0, peaks[1] - peaks[0]), BYTES_A_ROW * further_rows, "MB")

    def start(self) -> None:
        """G3: small files and the shortest calls."""
        load = self.cache.workload("small", 1)
        self.check(load)
        bare_name = "python -c pass"
        commands = {
            bare_name: Command((sys.executable, "-c", "pass")),
            "--version": Command(ours("--version")),
            "--help": Command(ours("--help")),
            "text report": compare(load),
        }
        page = self.cache.scratch("report.md")
        if self.offers("--markdown"):
            commands["Markdown report"] = compare(load, "--markdown", str(page))
        medians = alternate(commands, max(START_ROUNDS, self.runs))
        page.unlink(missing_ok=True)
        bare = medians[bare_name].wall
        for name, sample in medians.items():
            self.board.measured(load.name, name, sample)
        for name, bound in (("text report", 0.2), ("Markdown report", 0.35)):
            if name in medians:
                wall = medians[name].wall
                what = f"small files: {name} ({wall / bare:.1f} x a bare python)"
                self.board.at_most("G3", what, wall, bound, "ms")
        for name in ("--version", "--help"):
            what = f"{name}: times a bare `python -c pass` ({bare * 1000:.0f} ms)"
            self.board.at_most("G3", what, medians[name].wall / bare, 3, "x")

    def thin(self) -> None:
        """G4: many rows of few bytes, as a report and as JSON."""
        load = self.cache.workload("thin", self.factor(0.02))
        text = self.against_reference(load, "G4", 4)[OURS]
        self.peak(load, text)
        summary = self.cache.scratch("summary.json")
        name = f"{OURS} --json -"
        written = alternate({name: compare(load, "--json", "-", stdout=summary)}, self.runs, cold=[name])[name]
        size = verify_summary(summary, load)
        summary.unlink()
        self.board.measured(load.name, name, written, load.bytes)
        tasks = f"JSON of {load.plan['counts']['tasks']:,} tasks ({size / MB:,.0f} MB)"
        took = f"{written.wall:.2f} s, {written.wall / text.wall:.1f} x the report"
        self.board.inform("G4", f"{tasks}: time", took)
        what = f"{tasks}: peak memory {written.rss / MB:,.0f} MB, above the report's"
        self.board.at_most("G4", what, max(0.0, written.rss - text.rss), size, "MB")

        self.statistics(load)

    def statistics(self, load: Workload) -> None:
        """What the statistics add to a comparison, in one process so that the phases can be told apart."""
        script = Path(__file__).with_name("phases.py")
        done = subprocess.run(
            [sys.executable, str(script), str(load.old), str(load.new)], capture_output=True, text=True, check=True
        )
        took = json.loads(done.stdout)
        what = (
            f"statistics of {load.plan['counts']['tasks']:,} tasks ({took['statistics']:.2f} s CPU): times the reading"
        )
        self.board.at_most("S", what, took["statistics"] / took["read"], 1, "x")

    def flips(self) -> None:
        """G4: a report with very many flips, each with its log."""
        load = self.cache.workload("flips", self.factor(0.1))
        self.check(load, verify_logs)
        sample = alternate({OURS: compare(load)}, self.runs)[OURS]
        self.board.measured(load.name, OURS, sample, load.bytes)
        self.board.at_most("G4", f"report of {load.plan['counts']['flipped']:,} flips", sample.wall, 10, "s")

    def causes(self) -> None:
        """G4: why very many tasks flipped, each with a log of 1 MB on disk, as JSON and Markdown."""
        flips = 500 if self.quick else 5_000
        sides = ending.write(self.cache.folder / f"causes-{flips}", flips)
        summary, page = self.cache.scratch("summary.json"), self.cache.scratch("report.md")
        command = Command(ours(*map(str, sides), "--json", str(summary), "--markdown", "-"), page)
        sample = alternate({OURS: command}, self.runs)[OURS]
        ending.verify(summary, flips)
        summary.unlink()
        page.unlink()
        self.board.measured(f"causes, {flips:,} flips", OURS, sample)
        what = f"causes of {flips:,} flips with logs of 1 MB, as JSON and Markdown"
        self.board.at_most("G4", what, sample.wall, 10, "s")
        self.board.at_most("G4", f"{what}: peak memory", sample.rss, 100 * MB, "MB")

    def growth(self) -> None:
        """G5: how time grows with the number of rows."""
        start = self.cache.workload("thin", 1e-5)
        self.check(start)
        took: dict[int, float] = {}
        # Few rows take no longer than the start itself varies, so they need many runs.
        for exponent, runs in ((3, 5 * self.runs), (4, 2 * self.runs), (5, self.runs), (6, self.runs)):
            if self.quick and exponent > 5:
                continue
            load = self.cache.workload("thin", 10.0 ** (exponent - 6))
            self.check(load)
            medians = alternate({"10 rows": compare(start), load.name: compare(load)}, runs, cold=[load.name])
            self.board.measured(f"thin, 10^{exponent} rows", OURS, medians[load.name], load.bytes)
            took[exponent] = medians[load.name].wall - medians["10 rows"].wall
        seconds = ", ".join(f"{value:.3f}" for value in took.values())
        what = f"thin, 10^3 to 10^{max(took)} rows ({seconds} s after the start): exponent of time"
        if min(took.values()) <= 0:
            self.board.inform("G5", what, "not measured: the machine is too unsteady for the smallest size")
            return
        slope, _ = linear_regression(list(took), [math.log10(value) for value in took.values()])
        self.board.at_most("G5", what, slope, 1.05, "")

    def compressed(self) -> None:
        """For information: plain megabytes a second out of compressed inputs."""
        load = self.cache.workload("M", 0.02 if self.quick else 0.25)
        self.check(load)
        commands = {f"{load.name} plain": compare(load)}
        for suffix in (".gz", ".zst"):
            packed = self.cache.compressed(load, suffix)
            if packed:
                self.check(packed)
                commands[packed.name] = compare(packed)
            else:
                self.board.inform("info", f"{load.name} {suffix}", "not measured: this Python writes no such file")
        for name, sample in alternate(commands, self.runs).items():
            self.board.measured(name, OURS, sample, load.bytes)
            rate = f"{load.bytes / sample.wall / MB:,.0f} MB/s"
            self.board.inform("info", f"{name}: plain bytes compared", rate)

    def against_reference(self, load: Workload, goal: str, bound: float, aim: float = 0) -> dict[str, Sample]:
        """Time ours, the reference's way and `wc -l` in turn; add the line that compares the first two."""
        self.check(load)
        answer = self.cache.scratch("reference.json")
        sides = (str(load.old), str(load.new))
        commands = {
            OURS: compare(load),
            REFERENCE: Command((sys.executable, REFERENCE_PROGRAM, *sides), answer),
        }
        if shutil.which("wc"):
            commands[WC] = Command(("wc", "-l", *sides))
        needed, there = load.bytes * REFERENCE_MEMORY, available_memory()
        if there is not None and there < needed:
            del commands[REFERENCE]
        # The reference's way may take a minute, and the check has brought both files into memory for it.
        medians = alternate(commands, self.runs, cold=[REFERENCE])
        for name, sample in medians.items():
            self.board.measured(load.name, name, sample, load.bytes)
        faster = f"{load.name}: times faster than the reference's way"
        if REFERENCE in medians:
            counts = json.loads(answer.read_text(encoding="utf-8"))
            answer.unlink()
            verify_counts(counts, load, REFERENCE)
            ratio = medians[REFERENCE].wall / medians[OURS].wall
            in_cpu = f" ({medians[REFERENCE].cpu / medians[OURS].cpu:.1f} x in CPU time)"
            self.board.at_least(goal, faster + in_cpu, ratio, bound, "x", aim=aim)
        else:
            why = f"not measured: needs about {needed / 1e9:.0f} GB of free memory"
            self.board.inform(goal, faster, why)
        return medians

    def peak(self, load: Workload, sample: Sample) -> None:
        """Add the line on the peak memory of one comparison."""
        bound = 64 * MB + 2 * load.largest_row + BYTES_A_ROW * load.rows
        self.board.at_most("G2", f"{load.name}: peak memory, {load.rows:,} rows", sample.rss, bound, "MB")

    def check(self, load: Workload, verify: Callable[[Path, Workload], object] = verify_summary) -> None:
        """Compare our JSON with the plan, once for a workload. Raises BenchError on any difference."""
        if load.old in self.checked:
            return
        say(f"checking the answer on {load.name}")
        summary = self.cache.scratch("summary.json")
        run(compare(load, "--json", "-", stdout=summary))
        verify(summary, load)
        summary.unlink()
        self.checked.add(load.old)

    def offers(self, option: str) -> bool:
        """Say whether our command knows an option."""
        page = self.cache.scratch("help.txt")
        run(Command(ours("--help"), page))
        text = page.read_text(encoding="utf-8")
        page.unlink()
        return option in text

    def factor(self, quick_factor: float) -> float:
        """Give the share of a shape's tasks for this run."""
        return quick_factor if self.quick else 1


# In the order they run.
SECTIONS: dict[str, Callable[[Bench], None]] = {
    "M": lambda bench: bench.large("M", 0.05, 8, 12),
    "L1": lambda bench: bench.large("L1", 0.03, 15, 25),
    "flat": Bench.flatness,
    "small": Bench.start,
    "thin": Bench.thin,
    "flips": Bench.flips,
    "causes": Bench.causes,
    "growth": Bench.growth,
    "compressed": Bench.compressed,
}


def ours(*arguments: str) -> tuple[str, ...]:
    """Our command with arguments, run by this Python."""
    return (sys.executable, "-m", "rollout_compare", *arguments)


def compare(load: Workload, *options: str, stdout: Path | None = None) -> Command:
    """Our command for a workload."""
    return Command(ours(str(load.old), str(load.new), *options), stdout)


def main(argv: list[str] | None = None) -> int:
    """Run the chosen sections and print the tables."""
    arguments = parse(argv)
    bench = Bench(Cache(arguments.work.resolve()), arguments.quick, arguments.runs)
    most = QUICK_DISK_BYTES if bench.quick else DISK_BYTES
    failure = None
    try:
        run(Command(ours("--version")))
        bench.cache.prepare(most)
        say(f"inputs are kept in {bench.cache.folder} (at most {most / 1e9:.1f} GB)")
        for name in arguments.only:
            say(f"== {name}")
            SECTIONS[name](bench)
    except BenchError as error:
        failure = error
    if bench.board.medians:
        text = bench.board.markdown("rollout-compare: figures against the goals", remarks(bench))
        print(text, end="", flush=True)
        if arguments.markdown:
            arguments.markdown.write_text(text, encoding="utf-8")
    if failure:
        say(f"error: {failure}")
    return 1 if failure else 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure rollout-compare against its goals.")
    parser.add_argument("--quick", action="store_true", help="few rows: under a minute, rough ratios")
    parser.add_argument("--only", metavar="SECTIONS", help=f"some of {','.join(SECTIONS)}")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="counted runs of each (default 3)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there too")
    default = Path(tempfile.gettempdir()) / "rollout-compare-bench"
    parser.add_argument("--work", type=Path, default=default, metavar="DIR", help=f"default {default}")
    arguments = parser.parse_args(argv)
    chosen = set(SECTIONS if arguments.only is None else arguments.only.split(","))
    if unknown := sorted(chosen - SECTIONS.keys()):
        parser.error(f"no such section: {', '.join(unknown)} (there are {', '.join(SECTIONS)})")
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    arguments.only = [name for name in SECTIONS if name in chosen]
    return arguments


def remarks(bench: Bench) -> list[str]:
    """Say how the figures came about."""
    runs = f"medians of {bench.runs} runs in turn (start-up: {max(START_ROUNDS, bench.runs)})"
    load = f"load {os.getloadavg()[0]:.1f} at the end"
    said = [
        f"Whole commands, {runs}. MB = 10^6 bytes, MB/s of both files.",
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {load}.",
    ]
    if bench.board.waiting > BUSY:
        busy = f"wall times are up to {bench.board.waiting:.1f} x the CPU times"
        said.insert(0, f"The machine was busy ({busy}): run again when it is idle.")
    if bench.quick:
        said.insert(0, "Quick run: start-up weighs more in it, so its ratios are lower than those of full sizes.")
    return said


if __name__ == "__main__":
    sys.exit(main())
