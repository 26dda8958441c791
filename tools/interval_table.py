"""Measure intervals for the mean difference, and print the tables of docs/statistics.md: python tools/interval_table.py

Made-up comparisons of tasks that are drawn from a model, of which the true mean difference is known. Of each interval:
how often it holds the truth, how often it excludes 0 although nothing changed, how wide it is beside Student's t, and
how often it would claim that no difference is larger than a margin that the truth exceeds. Of the resolution that a
comparison prints: how often a loss of that size is called lower.

Seeded: it prints the same tables each time, in about two minutes. numpy comes with scipy. `--runs N` for fewer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rollout_compare.statistics.paired import NORMAL_975, TINY, compare_pairs
from rollout_compare.statistics.resolution import resolution

Numbers = NDArray[np.float64]
TASKS = (10, 20, 50, 100, 200)
REPEATS = (1, 2, 4, 8)
RUNS = 10_000
PRINTED = 200
"""How many comparisons print a resolution, for each of which so many are made with a loss of that size:"""
LOSSES = 50
FEW_TASKS, LEAST, LEAST_OF_FEW, MOST_FALSE = 20, 0.94, 0.92, 0.055
UNSEEN = 3
CHECKED = 5
SAME = 1e-9


class Drawn(NamedTuple):
    """Comparisons of one kind, one a row: the mean rewards of each task, and how each task truly changed."""

    old: Numbers
    new: Numbers
    change: Numbers


class Model(NamedTuple):
    """How comparisons of one kind are drawn, and their true mean difference over all tasks that may be drawn."""

    name: str
    truth: float
    draw: Callable[[np.random.Generator, tuple[int, int], int], Drawn]


def passing(draw: np.random.Generator, rates: Numbers, repeats: int) -> Numbers:
    """The mean of so many runs that pass at these rates."""
    return draw.binomial(repeats, rates) / repeats


def graded(draw: np.random.Generator, quality: Numbers, repeats: int, steadiness: float) -> Numbers:
    """The mean of so many runs with rewards around the quality of each task, the nearer the steadier."""
    total: Numbers = np.zeros(quality.shape)
    for _ in range(repeats):
        total += draw.beta(np.maximum(quality * steadiness, 1e-3), np.maximum((1 - quality) * steadiness, 1e-3))
    return total / repeats


def by_rates(rates: Callable[[np.random.Generator, tuple[int, int]], tuple[Numbers, Numbers]]) -> Callable[..., Drawn]:
    """Tasks that pass at one rate on the old side and at another one on the new side."""

    def draw(generator: np.random.Generator, shape: tuple[int, int], repeats: int) -> Drawn:
        old, new = rates(generator, shape)
        return Drawn(passing(generator, old, repeats), passing(generator, new, repeats), new - old)

    return draw


def steady(flaky: float, broken: float) -> Callable[..., Drawn]:
    """Tasks that always pass, but for flaky ones that pass half of the time, and others that broke."""

    def rates(generator: np.random.Generator, shape: tuple[int, int]) -> tuple[Numbers, Numbers]:
        kind = generator.random(shape)
        old = np.where(kind < flaky, 0.5, 1.0)
        return old, np.where((kind >= flaky) & (kind < flaky + broken), 0.0, old)

    return by_rates(rates)


def shifted(shift: float) -> Callable[..., Drawn]:
    """Tasks of all pass rates, each of which passes less often on the new side by `shift`."""

    def rates(generator: np.random.Generator, shape: tuple[int, int]) -> tuple[Numbers, Numbers]:
        old = shift + (1 - shift) * generator.random(shape)
        return old, old - shift

    return by_rates(rates)


def graded_tasks(shape_of: tuple[float, float], steadiness: float, lost: float) -> Callable[..., Drawn]:
    """Graded tasks of the same quality on both sides, but for a share that scores 0 on the new side."""

    def draw(generator: np.random.Generator, shape: tuple[int, int], repeats: int) -> Drawn:
        quality = generator.beta(*shape_of, shape)
        is_lost = generator.random(shape) < lost
        old, new = (graded(generator, quality, repeats, steadiness) for _ in "on")
        return Drawn(old, np.where(is_lost, 0.0, new), np.where(is_lost, -quality, 0.0))

    return draw


MODELS = (
    Model("nothing changed, all pass rates", 0.0, shifted(0.0)),
    Model("nothing changed, 5% flaky", 0.0, steady(0.05, 0.0)),
    Model("5% flaky, 2% broken", -0.02, steady(0.05, 0.02)),
    Model("20% flaky, 5% broken", -0.05, steady(0.20, 0.05)),
    Model("10% broken", -0.10, steady(0.0, 0.10)),
    Model("all pass 10 points less", -0.10, shifted(0.10)),
    Model("nothing changed, graded", 0.0, graded_tasks((2, 2), 10, 0.0)),
    Model("graded, 3% lost", -0.03 * 0.8, graded_tasks((8, 2), 10, 0.03)),
    Model("graded, steady, 3% lost", -0.03 * 0.8, graded_tasks((8, 2), 200, 0.03)),
)


class Shape(NamedTuple):
    """An interval: how much of R² it adds to the squares, to how many tasks, and whether by Student's t."""

    name: str
    weight: float = 0.0
    tasks: int = 0
    is_t: bool = False

    def bounds(self, old: Numbers, new: Numbers) -> tuple[Numbers, Numbers]:
        """Both ends for each comparison."""
        differences = new - old
        number = differences.shape[1]
        total, squares = differences.sum(1), (differences**2).sum(1)
        span = np.maximum(old.max(1), new.max(1))
        span = np.where(span == 0, 1.0, span)
        size = number + self.tasks
        middle = total / size
        around = np.maximum(squares + self.weight * span**2 - total**2 / size, 0.0)
        if self.is_t:
            reach = stats.t.ppf(0.975, number - 1) * np.sqrt(around / (number - 1) / number)
        else:
            reach = NORMAL_975 * np.sqrt(around) / size
        return middle - reach, middle + reach


T = Shape("Student's t", is_t=True)
ADDED_PAIR = Shape("added pair", 2, 0)
SHAPES = (
    T,
    Shape("Agresti and Min, carried over (n + 2)", 1, 2),
    Shape("the same without the pair at 0 (n + 1)", 1, 1),
    Shape("Bonett and Price, carried over", 2, 2),
    ADDED_PAIR,
)


class Cell(NamedTuple):
    """What one interval did in one cell of the grid."""

    model: Model
    repeats: int
    tasks: int
    shape: Shape
    coverage: float
    """How often the true mean difference over all tasks that may be drawn is in the interval."""
    of_same_tasks: float
    """How often the true mean difference of the tasks that were drawn is."""
    width: float
    """Of Student's t."""
    wrong_margins: float
    """How often a margin just below the truth would be claimed."""

    @property
    def falls_short(self) -> bool:
        """Whether it misses what was asked for."""
        return self.coverage < (LEAST_OF_FEW if self.tasks <= FEW_TASKS else LEAST)


def cells(runs: int) -> Iterator[Cell]:
    """The whole grid."""
    for at, model in enumerate(MODELS):
        for repeats in REPEATS:
            for tasks in TASKS:
                drawn = model.draw(np.random.default_rng((at, repeats, tasks)), (runs, tasks), repeats)
                check(drawn)
                widths = np.subtract(*T.bounds(drawn.old, drawn.new)[::-1]).mean()
                for shape in SHAPES:
                    low, high = shape.bounds(drawn.old, drawn.new)
                    yield Cell(
                        model,
                        repeats,
                        tasks,
                        shape,
                        holds(low, high, np.full(runs, model.truth)),
                        holds(low, high, drawn.change.mean(1)),
                        float((high - low).mean() / widths) if widths else float("inf"),
                        wrong_margins(drawn, low, high, abs(model.truth)),
                    )


def holds(low: Numbers, high: Numbers, truths: Numbers) -> float:
    """How often the truth is in the interval."""
    return float(((low <= truths + SAME) & (truths - SAME <= high)).mean())


def wrong_margins(drawn: Drawn, low: Numbers, high: Numbers, truth: float) -> float:
    """How often "no difference larger than M" would be claimed for the largest M that the truth exceeds."""
    margin = truth * (1 - SAME)
    unseen = UNSEEN * np.maximum(drawn.old.max(1), drawn.new.max(1)) / drawn.old.shape[1]
    return float(((-margin <= low) & (high <= margin) & (unseen <= margin)).mean()) if truth else 0.0


def check(drawn: Drawn) -> None:
    """See that the formula measured is the program's."""
    lows, highs = ADDED_PAIR.bounds(drawn.old, drawn.new)
    for old, new, low, high in list(zip(drawn.old, drawn.new, lows, highs, strict=True))[:CHECKED]:
        found = compare_pairs(old.tolist(), new.tolist()).interval
        if found is None or not np.allclose((max(-1, low), min(1, high)), (found.low, found.high), rtol=0, atol=TINY):
            raise SystemExit(f"the program's interval is {found}, not {low} to {high}")


class Loss(NamedTuple):
    """Comparisons without a difference, and such with a loss of a given size."""

    name: str
    repeats: tuple[int, ...]
    draw: Callable[[np.random.Generator, int, int, Numbers], Drawn]
    """From tasks, repeats and the loss in each comparison."""
    most: float = 1.0
    """The largest loss that these tasks can have."""


def whole(flaky: float) -> Callable[..., Drawn]:
    """A share of the steady tasks breaks."""

    def draw(generator: np.random.Generator, tasks: int, repeats: int, losses: Numbers) -> Drawn:
        shape = len(losses), tasks
        kind = generator.random(shape)
        old = np.where(kind < flaky, 0.5, 1.0)
        new = np.where((kind >= flaky) & (kind < flaky + losses[:, None]), 0.0, old)
        return Drawn(passing(generator, old, repeats), passing(generator, new, repeats), new - old)

    return draw


def of_all_rates(generator: np.random.Generator, tasks: int, repeats: int, losses: Numbers) -> Drawn:
    """A share of the tasks breaks, whatever their pass rates: half a reward each."""
    old = generator.random((len(losses), tasks))
    new = np.where(generator.random(old.shape) < 2 * losses[:, None], 0.0, old)
    return Drawn(passing(generator, old, repeats), passing(generator, new, repeats), new - old)


def even(generator: np.random.Generator, tasks: int, repeats: int, losses: Numbers) -> Drawn:
    """Each task passes less often."""
    old = losses[:, None] + (1 - losses[:, None]) * generator.random((len(losses), tasks))
    new = old - losses[:, None]
    return Drawn(passing(generator, old, repeats), passing(generator, new, repeats), new - old)


def even_graded(generator: np.random.Generator, tasks: int, repeats: int, losses: Numbers) -> Drawn:
    """Each graded task scores less."""
    quality = generator.beta(2, 2, (len(losses), tasks))
    old, new = (graded(generator, quality, repeats, 10) for _ in "on")
    room = 1 - losses[:, None]
    return Drawn(losses[:, None] + room * old, room * new, np.broadcast_to(-losses[:, None], quality.shape))


KINDS_OF_LOSS = (
    Loss("whole tasks, nothing else changes", (1,), whole(0.0)),
    Loss("whole tasks, 5% flaky", REPEATS, whole(0.05)),
    Loss("whole tasks, 20% flaky", REPEATS, whole(0.20), 0.8),
    Loss("tasks of all pass rates break", REPEATS, of_all_rates, 0.5),
    Loss("all pass less often", REPEATS, even),
    Loss("graded, all score less", REPEATS, even_graded),
)


def power(at: int, loss: Loss, repeats: int, tasks: int) -> tuple[float, float] | None:
    """The mean resolution printed, and how often a loss as large as it is called lower; None for an impossible loss."""
    generator = np.random.default_rng((100 + at, repeats, tasks))
    unchanged = loss.draw(generator, tasks, repeats, np.zeros(PRINTED))
    pairs = zip(unchanged.old.tolist(), unchanged.new.tolist(), strict=True)
    printed = np.array([resolution(compare_pairs(old, new)) for old, new in pairs], dtype=float)
    if printed.max() > loss.most:
        return None
    drawn = loss.draw(generator, tasks, repeats, np.repeat(printed, LOSSES))
    return float(printed.mean()), float((ADDED_PAIR.bounds(drawn.old, drawn.new)[1] < 0).mean())


def table(head: list[str], rows: list[list[str]]) -> None:
    """Print a Markdown table, numbers to the right."""
    print(f"| {' | '.join(head)} |")
    print(f"|:--|{'--:|' * (len(head) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f}"


def summary(grid: list[Cell]) -> None:
    """One line for each interval."""
    rows = []
    for shape in SHAPES:
        own = [cell for cell in grid if cell.shape is shape]
        few, many = ([cell for cell in own if (cell.tasks <= FEW_TASKS) is is_few] for is_few in (True, False))
        unchanged = [cell for cell in own if not cell.model.truth]
        rows.append(
            [
                shape.name,
                percent(min(cell.coverage for cell in few)),
                percent(min(cell.coverage for cell in many)),
                str(sum(cell.falls_short for cell in own)),
                percent(min(cell.of_same_tasks for cell in own)),
                percent(1 - min(cell.coverage for cell in unchanged)),
                f"{np.mean([cell.width for cell in many]):.2f}",
                percent(max(cell.wrong_margins for cell in own)),
            ]
        )
    head = ["interval", "least, 10 and 20 tasks", "least, 50 to 200", "cells short", "least, same tasks"]
    table([*head, "false alarms, most", "width, 50 to 200", "wrong margins, most"], rows)
    for shape in SHAPES[1:]:
        short = [cell for cell in grid if cell.shape is shape and cell.falls_short]
        told = [f"{cell.model.name}, {cell.repeats} x {cell.tasks}: {percent(cell.coverage)}" for cell in short]
        print(f"{shape.name} falls short in: {'; '.join(told) or 'no cell'}\n")


def coverage(grid: list[Cell]) -> None:
    """Coverage and width of the chosen interval in each cell."""
    rows = []
    for model in MODELS:
        for repeats in REPEATS:
            own = [c for c in grid if c.shape is ADDED_PAIR and c.model is model and c.repeats == repeats]
            rows.append([model.name, str(repeats), *(f"{percent(c.coverage)} · {c.width:.2f}" for c in own)])
    table(["tasks", "runs", *(f"{tasks}" for tasks in TASKS)], rows)


def shares_broken() -> None:
    """The least coverage over all shares of broken tasks, by the binomial distribution: nothing else changes."""
    rows = []
    for shape in SHAPES[1:]:
        least = []
        for tasks in TASKS:
            lost = np.arange(tasks + 1)
            old = np.ones((tasks + 1, tasks))
            low, high = shape.bounds(old, (np.arange(tasks) >= lost[:, None]).astype(float))
            shares = np.linspace(0.001, 0.5, 500)
            held = [
                stats.binom.pmf(lost, tasks, share)[(low <= -share + SAME) & (-share - SAME <= high)].sum()
                for share in shares
            ]
            least.append(f"{percent(min(held))} ({percent(shares[int(np.argmin(held))])})")
        rows.append([shape.name, *least])
    table(["interval", *(f"{tasks}" for tasks in TASKS)], rows)


def powers() -> None:
    """What a printed resolution is worth."""
    rows = []
    for at, loss in enumerate(KINDS_OF_LOSS):
        for repeats in loss.repeats:
            found = [power(at, loss, repeats, tasks) for tasks in TASKS]
            told = ["-" if each is None else f"{percent(each[0])} · {100 * each[1]:.0f}" for each in found]
            rows.append([loss.name, str(repeats), *told])
    table(["loss", "runs", *(f"{tasks}" for tasks in TASKS)], rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"comparisons in each cell of the grid ({RUNS:,})")
    grid = list(cells(parser.parse_args().runs))
    summary(grid)
    shares_broken()
    coverage(grid)
    powers()


if __name__ == "__main__":
    main()
