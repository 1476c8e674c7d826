"""Coverage of printed intervals, and the size of printed tests, by simulation.

    PYTHONPATH=. python tools/coverage.py [--short] [--only skewed,paired] [--repeats 1000]

Draws episodes whose true mean, difference or horizon is known, hands their scores to the functions
that print tables, comparisons and cards, and counts how often the printed interval holds the truth,
and how often a test without an effect has p < 0.05. Wanted: at least 93% and at most 6% in each
row from 10 episodes on, or no interval ("too few"); and of differences that are said to be
significant in 80% of cases, from 70% to 95%. ``--short`` is the form in the test suite.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from wayword.bench.comparison import ranks
from wayword.bench.horizon import Attempt, horizon, mean_success
from wayword.core import registry
from wayword.core.geometry import Floats
from wayword.core.metric import Kind, Metric
from wayword.metrics import intervals
from wayword.metrics.compare import MetricDifference, compare, mark_best
from wayword.metrics.intervals import Interval
from wayword.metrics.summary import summarize
from wayword.metrics.tours import Tour, compare_gains
from wayword.runs.forecast import dollars_range
from wayword.runs.plan import Plan
from wayword.runs.power import assumed_error, episodes_for
from wayword.runs.selection import choose

HELD = 0.93
REJECTED = 0.06
POWER = (0.70, 0.95)
"""Share of comparisons that find a difference which is said to be found in 80% of them: a rule for
planning, which takes the errors of a pilot for those of the run."""
Rng = np.random.Generator
Draw = Callable[[Rng, int], NDArray[Any]]
"""A number of episodes -> their scores."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of the table. ``held`` is the share of printed intervals that hold the truth (NaN: none
    was printed), ``rejected`` the share of p < 0.05 without an effect (NaN: there is an effect),
    ``power`` that with a difference which is said to be found in 80% of cases."""

    section: str
    name: str
    held: float = math.nan
    rejected: float = math.nan
    width: float = math.nan
    power: float = math.nan

    @property
    def is_good(self) -> bool:
        found = not (self.power < POWER[0] or self.power > POWER[1])
        return found and not (self.held < HELD or self.rejected > REJECTED)

    def __str__(self) -> str:
        if not math.isnan(self.held):
            result = f"{self.held:.1%}"
        elif math.isnan(self.rejected) and math.isnan(self.power):
            result = "too few"
        else:
            result = ""
        line = f"{self.section:<10} {self.name:<58} {result:>8}"
        if not math.isnan(self.power):
            line += f"  found {self.power:.1%}"
        if not math.isnan(self.width):
            line += f"  width {self.width:<8.3g}"
        if not math.isnan(self.rejected):
            line += f"  p<0.05 {self.rejected:.1%}"
        return line if self.is_good else f"{line}  MISSED"


def metric(kind: Kind) -> Metric:
    return Metric("score", "Score", kind, "higher", "a simulated score")


def printed(
    values: Floats, kind: Kind, clusters: Sequence[str] | None = None
) -> Interval:
    """Return the interval that a table prints."""
    scores = [{"score": value} for value in values.tolist()]
    row = summarize(
        "run", scores, family="indoor", metrics=[metric(kind)], of=len(scores),
        clusters=clusters, success="score",
    )  # fmt: skip
    return row.values["score"]


def compared(
    first: Floats,
    second: Floats,
    kinds: Sequence[Kind],
    clusters: Sequence[str] | None = None,
) -> Sequence[MetricDifference]:
    """Return the lines that a comparison prints, of scores (episodes, metrics)."""
    metrics = [
        Metric(f"score{n}", f"Score {n}", kind, "higher", "a simulated score")
        for n, kind in enumerate(kinds)
    ]
    runs = []
    for table in (first, second):
        rows = enumerate(table.tolist())
        runs.append(
            {str(n): {f"score{k}": v for k, v in enumerate(row)} for n, row in rows}
        )
    owners = None
    if clusters is not None:
        owners = {str(n): owner for n, owner in enumerate(clusters)}
    found = compare(
        "first",
        runs[0],
        "second",
        runs[1],
        family="indoor",
        metrics=metrics,
        clusters=owners,
    )
    return found.lines


def summary_cell(
    section: str, name: str, truth: float, intervals: Sequence[Interval]
) -> Cell:
    """Summarize repetitions of one interval."""
    shown = [each for each in intervals if not math.isnan(each.low)]
    if len(shown) < len(intervals) / 2:
        return Cell(section, name, math.nan)
    slack = 1e-9
    held = [each.low - slack <= truth <= each.high + slack for each in shown]
    width = float(np.median([each.high - each.low for each in shown]))
    return Cell(section, name, float(np.mean(held)), width=width)


def test_cell(
    section: str, name: str, truth: float, lines: Sequence[MetricDifference]
) -> Cell:
    """Summarize repetitions of one comparison."""
    cell = summary_cell(section, name, truth, [line.difference for line in lines])
    if truth or math.isnan(cell.held):
        return cell
    rejected = float(np.mean([line.p < 0.05 for line in lines]))
    return Cell(section, name, cell.held, rejected, cell.width)


# Rates and clusters.


def rates(repeats: int) -> Iterator[Cell]:
    for n, rate in product((10, 18, 30, 100, 500), (0.02, 0.1, 0.3, 0.5, 0.925)):
        rng = np.random.default_rng((1, n, int(1000 * rate)))
        found = [
            printed((rng.random(n) < rate).astype(float), "rate")
            for _ in range(repeats)
        ]
        yield summary_cell("rates", f"SR {rate:g}, n {n}", rate, found)


def clustered_outcomes(
    rng: Rng, rate: float, correlation: float, sizes: Sequence[int]
) -> tuple[Floats, list[str]]:
    """Draw outcomes of clusters: with ``correlation`` as the chance that an episode has the outcome
    of its cluster. Return outcomes and clusters."""
    values = []
    owners = []
    for number, size in enumerate(sizes):
        common = rng.random() < rate
        for _ in range(size):
            copied = rng.random() < math.sqrt(correlation)
            values.append(float(common if copied else rng.random() < rate))
            owners.append(f"c{number}")
    return np.array(values), owners


def clustered(repeats: int) -> Iterator[Cell]:
    shapes = {"10 x 3": [3] * 10, "30 x 3": [3] * 30, "11 x 20": [20] * 11,
              "40, of 1 to 6": [1, 1, 1, 2, 2, 3, 4, 6] * 5}  # fmt: skip
    for (name, sizes), rate, correlation in product(
        shapes.items(), (0.05, 0.3, 0.6), (0.0, 0.5, 1.0)
    ):
        rng = np.random.default_rng(
            (2, len(sizes), int(100 * rate), int(10 * correlation))
        )
        found = []
        for _ in range(repeats):
            values, owners = clustered_outcomes(rng, rate, correlation, sizes)
            found.append(printed(values, "rate", owners))
        label = f"{name} episodes, SR {rate:g}, correlation {correlation:g}"
        yield summary_cell("clustered", label, rate, found)


def dataset_clusters(name: str, ids: Sequence[str]) -> list[str]:
    """Return the clusters that tables use for episodes of a dataset."""
    stated = registry.load("dataset", name).clusters
    return [stated.of(each) for each in ids]


def published(repeats: int) -> Iterator[Cell]:
    """Shapes of ALFRED's valid_seen split (251 trajectories of about three annotations) and of
    REVERIE's (142 paths, 501 pairs of a path and an object)."""
    shapes = {}
    alfred_ids = [
        f"trial_T2019_{n:06d}_{k}"
        for n in range(251)
        for k in range(4 if n % 4 == 0 else 3)
    ]
    shapes["household"] = (alfred_ids, [name.rpartition("_")[0] for name in alfred_ids])
    reverie_ids = [
        f"{path}_{target}_{k}"
        for path in range(142) for target in range(3 if path % 2 else 4) for k in range(3)
    ]  # fmt: skip
    shapes["reverie"] = (reverie_ids, [name.partition("_")[0] for name in reverie_ids])
    for (name, (ids, sources)), correlation in product(shapes.items(), (0.5, 1.0)):
        counts = np.unique(sources, return_counts=True)[1].tolist()
        owners = dataset_clusters(name, ids)
        for rate in (0.2, 0.823):
            rng = np.random.default_rng(
                (3, len(ids), int(10 * correlation), int(100 * rate))
            )
            found = []
            lines: list[MetricDifference] = []
            for _ in range(max(50, repeats // 4)):
                values, _ = clustered_outcomes(rng, rate, correlation, counts)
                other, _ = clustered_outcomes(rng, rate, correlation, counts)
                found.append(printed(values, "rate", owners))
                columns = values[:, None], other[:, None]
                lines += compared(*columns, ["rate"], owners)
            label = f"{name}, SR {rate:g}, correlation {correlation:g}"
            yield summary_cell("published", label, rate, found)
            yield test_cell("published", f"{label}, difference", 0.0, lines)


def new_scenes(repeats: int) -> Iterator[Cell]:
    """R2R's 11 unseen scenes as a sample of scenes: scenes differ on the logit scale."""
    for spread, rate in product((0.35, 0.8), (0.3, 0.6)):
        rng = np.random.default_rng((4, int(100 * spread), int(10 * rate)))
        center = math.log(rate / (1 - rate))
        many = 1 / (1 + np.exp(-(center + spread * rng.standard_normal(1_000_000))))
        truth = float(many.mean())
        found = []
        for _ in range(repeats):
            scenes = 1 / (1 + np.exp(-(center + spread * rng.standard_normal(11))))
            owners = np.repeat(np.arange(11), 60)
            values = (rng.random(660) < scenes[owners]).astype(float)
            found.append(printed(values, "rate", [f"s{n}" for n in owners]))
        label = f"11 scenes x 60, SD {spread:g}, SR {rate:g}, --cluster scene"
        yield summary_cell("scenes", label, truth, found)


# Means of other metrics.


def mixture(share: float, usual: Draw, rare: Draw) -> Draw:
    """Draw the first with a probability of ``share``, else the second."""

    def draw(rng: Rng, n: int) -> Floats:
        drawn = np.where(rng.random(n) < share, usual(rng, n), rare(rng, n))
        return np.asarray(drawn, dtype=np.float64)

    return draw


def lognormal(sigma: float) -> Draw:
    return lambda rng, n: 0.01 * rng.lognormal(0, sigma, n)


SKEWED: Mapping[str, tuple[Kind, Draw]] = {
    "SPL of a good agent": (
        "rate", mixture(0.9, lambda rng, n: 1 - rng.beta(0.5, 6, n), lambda rng, n: np.zeros(n))),
    "SPL of a poor agent": (
        "rate", mixture(0.85, lambda rng, n: np.zeros(n), lambda rng, n: rng.beta(4, 2, n))),
    "nDTW": ("rate", lambda rng, n: rng.beta(3, 3, n)),
    "NE, SR 0.6": (
        "metres", mixture(0.6, lambda rng, n: rng.gamma(2, 0.6, n),
                          lambda rng, n: 3 + rng.gamma(1.5, 3, n))),
    "NE, SR 0.85": (
        "metres", mixture(0.85, lambda rng, n: rng.gamma(1, 0.6, n),
                          lambda rng, n: 3 + rng.gamma(1.5, 3, n))),
    "steps, 10% at the limit": (
        "count", mixture(0.9, lambda rng, n: rng.poisson(6, n) + 1.0,
                         lambda rng, n: np.full(n, 30.0))),
    "TL": ("metres", lambda rng, n: rng.normal(10, 3, n)),
    "seconds": ("seconds", lambda rng, n: rng.exponential(5, n)),
    "cost, sigma 0.5": ("dollars", lognormal(0.5)),
    "cost, sigma 1": ("dollars", lognormal(1.0)),
    "cost, sigma 1.5": ("dollars", lognormal(1.5)),
}  # fmt: skip


@cache
def true_mean(name: str) -> float:
    _, draw = SKEWED[name]
    return float(draw(np.random.default_rng(5), 2_000_000).mean())


def skewed(repeats: int) -> Iterator[Cell]:
    for (name, (kind, draw)), n in product(SKEWED.items(), (10, 30, 60, 100)):
        truth = true_mean(name)
        rng = np.random.default_rng((5, n))
        found = [printed(draw(rng, n), kind) for _ in range(repeats)]
        yield summary_cell("skewed", f"{name}, n {n}", truth, found)


# Paired differences.


def paired(repeats: int, sizes: Sequence[int] = (10, 30, 100, 300)) -> Iterator[Cell]:
    rates_of_pairs = ((0.0, 0.0), (0.02, 0.02), (0.1, 0.1), (0.3, 0.3), (0.05, 0.0), (0.1, 0.02),
                      (0.3, 0.1), (0.6, 0.1), (0.95, 0.0))  # fmt: skip
    for n, (gains, losses) in product(sizes, rates_of_pairs):
        rng = np.random.default_rng((6, n, int(100 * gains), int(100 * losses)))
        lines: list[MetricDifference] = []
        for _ in range(repeats):
            drawn = rng.random(n)
            before = ((drawn >= gains) & (drawn < gains + losses)).astype(float)
            after = (drawn < gains).astype(float)
            lines += compared(before[:, None], after[:, None], ["rate"])
        label = f"SR, gains {gains:g}, losses {losses:g}, n {n}"
        yield test_cell("paired", label, gains - losses, lines)
    for shape, gains, losses in product(([3] * 10, [3] * 40), (0.1, 0.3), (0.1,)):
        rng = np.random.default_rng((7, len(shape), int(10 * gains)))
        lines = []
        for _ in range(repeats):
            drawn = np.repeat(rng.random(len(shape)), shape)
            own = rng.random(len(drawn)) < 0.3
            drawn = np.where(own, rng.random(len(drawn)), drawn)
            before = ((drawn >= gains) & (drawn < gains + losses)).astype(float)
            after = (drawn < gains).astype(float)
            owners = [f"c{n}" for n in np.repeat(np.arange(len(shape)), shape)]
            lines += compared(before[:, None], after[:, None], ["rate"], owners)
        label = f"SR, gains {gains:g}, losses {losses:g}, {len(shape)} clusters of 3"
        yield test_cell("paired", label, gains - losses, lines)


def paired_means(repeats: int) -> Iterator[Cell]:
    """Metrics other than success, whose differences are skewed."""
    # The second run costs the same on average, with another spread: differences are skewed.
    for (name, (kind, draw)), n in product(SKEWED.items(), (10, 30, 60, 100)):
        truth = true_mean(name)
        rng = np.random.default_rng((8, n))
        lines: list[MetricDifference] = []
        for _ in range(repeats):
            before = draw(rng, n)
            if kind == "rate":
                after = np.full(n, truth)
            else:
                after = rng.normal(truth, truth / 20, n)
            lines += compared(before[:, None], after[:, None], [kind])
        yield test_cell("means", f"{name} against its mean, n {n}", 0.0, lines)
    # Runs with equal means: one in ten episodes has many rejections, or one in two has one.
    for n in (30, 60, 100):
        rng = np.random.default_rng((23, n))
        lines = []
        for _ in range(repeats):
            before = (rng.random(n) < 0.1) * rng.geometric(0.2, n)
            after = rng.random(n) < 0.5
            lines += compared(before[:, None] * 1.0, after[:, None] * 1.0, ["count"])
        yield test_cell("means", f"many rejections against one, n {n}", 0.0, lines)
    # Equal runs whose walks differ in few episodes, by metres that now and then are many.
    for share, n in product((0.01, 0.03, 0.1), (80, 120, 300)):
        rng = np.random.default_rng((24, n, int(100 * share)))
        lines = []
        for _ in range(repeats):
            differs = rng.random(n) < share
            gaps = differs * rng.choice([-1.0, 1.0], n) * rng.lognormal(2.0, 1.0, n)
            before = rng.uniform(5.0, 15.0, n) + 200.0
            after = before + gaps
            lines += compared(before[:, None], after[:, None], ["metres"])
        yield test_cell("means", f"{share:g} of the walks differ, n {n}", 0.0, lines)


def families(repeats: int, sizes: Sequence[int] = (30, 100)) -> Iterator[Cell]:
    """Equal agents over 12 metrics and two rivals: some p < 0.05, and all intervals together."""
    from wayword.metrics.compare import corrected

    metrics: list[Kind] = [*["rate"] * 4, *["metres"] * 8]  # type: ignore[list-item]
    for n, correlation, rivals in product(sizes, (0.0, 0.7), (1, 2)):
        rng = np.random.default_rng((9, n, int(10 * correlation), rivals))
        wrong = []
        together = []
        for _ in range(repeats // 2):
            results = []
            base = correlated(rng, n, correlation)
            for rival in range(rivals):
                scores = correlated(rng, n, correlation)
                table = [
                    {
                        str(e): {f"s{k}": row[k] for k in range(12)}
                        for e, row in enumerate(each)
                    }
                    for each in (base.tolist(), scores.tolist())
                ]
                definitions = [
                    Metric(f"s{k}", f"S{k}", kind, "higher", "")
                    for k, kind in enumerate(metrics)
                ]
                results.append(
                    compare("a", table[0], f"b{rival}", table[1], family="indoor",
                            metrics=definitions)
                )  # fmt: skip
            lines = [line for each in corrected(results) for line in each.lines]
            wrong.append(any(line.p < 0.05 for line in lines))
            # Fewer than 60 pairs have no interval of metrics without bounds.
            excluded = [
                line.difference.low > 0 or line.difference.high < 0 for line in lines
            ]
            together.append(not any(excluded))
        label = f"12 metrics, {rivals} rivals, n {n}, correlation {correlation:g}"
        yield Cell("families", label, float(np.mean(together)), float(np.mean(wrong)))


def correlated(rng: Rng, n: int, correlation: float) -> Floats:
    """Draw scores (episodes, 12): four from 0 to 1, the others without bounds."""
    common = rng.standard_normal((n, 1))
    scores = math.sqrt(correlation) * common
    scores = scores + math.sqrt(1 - correlation) * rng.standard_normal((n, 12))
    scores[:, :4] = scores[:, :4] > 0.3
    return np.asarray(scores)


def agreement(repeats: int) -> Iterator[Cell]:
    """Random comparisons: p < 0.05 exactly where the interval excludes 0, corrected ones too."""
    rng = np.random.default_rng(10)
    agree = []
    for _ in range(2 * repeats):
        n = int(rng.integers(2, 80))
        kinds: list[Kind] = ["rate", "rate", "metres", "metres"]
        shift = rng.normal(0, 0.3)
        before = rng.random((n, 4))
        after = np.clip(before + shift + rng.normal(0, 0.3, (n, 4)), 0, 1)
        before[:, 0] = before[:, 0] > 0.5
        after[:, 0] = after[:, 0] > 0.5
        owners = None
        if rng.random() < 0.5:
            owners = [f"c{k}" for k in rng.integers(0, max(2, n // 2), n)]
        lines = compared(before, after, kinds, owners)
        line = lines[int(rng.integers(len(lines)))]
        gap = line.difference
        excluded = gap.low > 0 or gap.high < 0
        agree.append(excluded == (line.p < 0.05))
    name = f"{sum(agree)} of {len(agree)} comparisons agree"
    yield Cell("agreement", name, float(np.mean(agree)))


def exact(repeats: int) -> Iterator[Cell]:
    """Rates and their differences against scipy's exact intervals and tests, and the approximation
    for many values against the integral that few values have."""
    rng = np.random.default_rng(14)
    ends = []
    chances = []
    for _ in range(repeats // 2):
        n = int(rng.integers(2, 300))
        solved = int(rng.integers(0, n + 1))
        found = printed(np.repeat([1.0, 0.0], [solved, n - solved]), "rate")
        right = binomtest(solved, n).proportion_ci(method="exact")
        ends.append(max(abs(found.low - right.low), abs(found.high - right.high)))
        gains, losses, ties = rng.multinomial(n, (0.3, 0.2, 0.5))
        after = np.repeat([1.0, 0.0, 0.0], [gains, losses, ties])
        before = np.repeat([0.0, 1.0, 0.0], [gains, losses, ties])
        (line,) = compared(before[:, None], after[:, None], ["rate"])
        exact_p = 1.0
        if gains + losses:
            exact_p = binomtest(int(gains), int(gains + losses)).pvalue
        chances.append(abs(line.p - exact_p))
    # 1e-4: a hundredth of a percentage point, below the digits of any table
    name = f"Clopper-Pearson, largest error {max(ends):.1e}"
    yield Cell("exact", name, float(max(ends) < 1e-4))
    name = f"McNemar, largest error {max(chances):.1e}"
    yield Cell("exact", name, float(max(chances) < 1e-4))

    shapes: Mapping[str, Draw] = {
        "normal": lambda rng, n: rng.normal(rng.uniform(-0.5, 0.5), 1, n),
        "log-normal": lambda rng, n: rng.lognormal(0, 1.5, n) - rng.uniform(1, 6),
        "one far": lambda rng, n: np.append(rng.uniform(-0.2, 0.8, n - 1), -n / 10),
    }
    for shape, draw in shapes.items():
        errors = []
        while len(errors) < repeats // 4:
            values = np.sort(draw(rng, int(rng.integers(31, 200))))
            share, error = approximation_error(values, np.ones(len(values)))
            # Others decide on no interval and no p-value that matters.
            if 1e-6 < share < 0.1:
                errors.append(error)
        name = f"shares of many values, {shape}, largest error {max(errors):.1%}"
        yield Cell("exact", name, float(max(errors) < 0.1))


def approximation_error(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the share of many values by its integral, and the relative error of what is used."""
    approximated = intervals.share_below(values, weights)
    with mock.patch.object(intervals, "_INTEGRATED", len(values)):
        integrated = intervals.share_below(values, weights)
    return integrated, abs(approximated / max(integrated, 1e-300) - 1)


def bold(repeats: int) -> Iterator[Cell]:
    """Three equal runs in a table with three metrics: some mean in bold."""
    metrics = [
        Metric("sr", "SR", "rate", "higher", ""),
        Metric("spl", "SPL", "rate", "higher", ""),
        Metric("ne", "NE", "metres", "lower", ""),
    ]
    keys = [metric.key for metric in metrics]
    for n in (30, 100):
        rng = np.random.default_rng((15, n))
        marked = []
        for _ in range(repeats // 2):
            scored = []
            rows = []
            for run in range(3):
                values = rng.random((n, 3))
                values[:, 0] = values[:, 0] > 0.5
                table = {
                    str(episode): dict(zip(keys, row, strict=True))
                    for episode, row in enumerate(values.tolist())
                }
                scored.append(table)
                rows.append(
                    summarize(str(run), [*table.values()], family="indoor", metrics=metrics, of=n)
                )  # fmt: skip
            marked.append(any(row.best for row in mark_best(rows, scored, keys)))
        yield Cell("bold", f"3 runs, 3 metrics, n {n}", rejected=float(np.mean(marked)))


# Parts of splits, metrics of some episodes, and seeds.


def limits(repeats: int) -> Iterator[Cell]:
    """``--limit`` on a split that is sorted by scene: the mean of all scenes, which differ."""
    for size, n, rate in product((250, 1_000), (30, 100), (0.1, 0.5)):
        rng = np.random.default_rng((16, size, n, int(10 * rate)))
        center = math.log(rate / (1 - rate))
        scenes = np.sort(1 / (1 + np.exp(-(center + 0.8 * rng.standard_normal(11)))))
        outcomes = (rng.random(size) < np.repeat(scenes, size // 11 + 1)[:size]) * 1.0
        tasks: Any = range(size)
        found = []
        for seed in range(repeats):
            plan = Plan("oracle", "r2r:val_unseen", limit=n, shuffle=seed)
            found.append(printed(outcomes[[*choose(plan, tasks)]], "rate"))
        label = f"--limit {n} of {size} sorted by scene, SR {rate:g}"
        yield summary_cell("limits", label, float(outcomes.mean()), found)


def subsets(repeats: int) -> Iterator[Cell]:
    """Metrics that some episodes lack: the interval of those that have it, and their number."""
    for n, share, rate in product((40, 100), (0.4, 0.8), (0.1, 0.5)):
        rng = np.random.default_rng((17, n, int(10 * share), int(10 * rate)))
        found = []
        for _ in range(repeats):
            has = rng.random(n) < share
            has[0] = False
            values = np.where(has, rng.random(n) < rate, np.nan)
            scores = [
                {"length": 1.0} | ({"score": value} if value == value else {})
                for value in values.tolist()
            ]
            row = summarize(
                "run", scores, family="indoor", metrics=[metric("rate")], of=n, success="score",
            )  # fmt: skip
            interval = row.values["score"]
            if row.counts["score"] != int(has.sum()):
                interval = Interval(interval.mean, 2.0, 2.0)  # holds nothing
            found.append(interval)
        label = f"{share:.0%} of {n} episodes have the metric, SR {rate:g}"
        yield summary_cell("subsets", label, rate, found)


def seeds(repeats: int) -> Iterator[Cell]:
    """Pooled runs that differ in their seeds, with the episode as unit."""
    for n, spread in product((30, 100), (0.0, 2.0)):
        rng = np.random.default_rng((18, n, int(spread)))
        truth = float(
            (1 / (1 + np.exp(-spread * rng.standard_normal(1_000_000)))).mean()
        )
        found = []
        for _ in range(repeats):
            chance = 1 / (1 + np.exp(-spread * rng.standard_normal(n)))
            values = (rng.random((3, n)) < chance) * 1.0
            owners = [str(episode) for _ in range(3) for episode in range(n)]
            found.append(printed(values.ravel(), "rate", owners))
        label = f"3 seeds of {n} episodes, SD of their logits {spread:g}"
        yield summary_cell("seeds", label, truth, found)


# Power, and learning over tours.


def power(repeats: int) -> Iterator[Cell]:
    """Differences that are said to be significant in 80% of cases: by the note below a comparison
    that is not significant, and by ``wayword power``."""
    discordant = 0.5  # of equal agents with an SR of 50% and no correlation
    for n in (30, 100, 300):
        rng = np.random.default_rng((19, n))
        promised = []
        for _ in range(repeats // 4):
            (line,) = run_pairs(rng, n, discordant, 0.0)
            if line.p >= 0.05:
                promised.append(line.detectable)
        gap = float(np.median(promised))
        shown = []
        for _ in range(repeats):
            (line,) = run_pairs(rng, n, discordant, gap)
            shown.append(line.p < 0.05)
        label = f"the note below a comparison, n {n}: {100 * gap:.0f} points"
        yield Cell("power", label, power=float(np.mean(shown)))
    for gap in (0.05, 0.1, 0.2):
        rng = np.random.default_rng((20, int(100 * gap)))
        needed = episodes_for(gap, assumed_error(0.0))
        shown = []
        for _ in range(repeats // 2):
            (line,) = run_pairs(rng, needed, discordant, gap)
            shown.append(line.p < 0.05)
        label = f"wayword power, {100 * gap:.0f} points: {needed} episodes"
        yield Cell("power", label, power=float(np.mean(shown)))


def run_pairs(
    rng: Rng, n: int, discordant: float, gap: float
) -> Sequence[MetricDifference]:
    """Compare two runs on n episodes; ``discordant`` is the share that only one of both solves."""
    drawn = rng.random(n)
    after = (drawn < (discordant + gap) / 2) * 1.0
    before = ((drawn < discordant) & (after == 0)) * 1.0
    return compared(before[:, None], after[:, None], ["rate"])


TOURS = {"11 scenes x 3 tours x 20": (11, 3, 20), "16 x 1 x 12": (16, 1, 12),
         "60 x 1 x 10": (60, 1, 10)}  # fmt: skip
"""Scenes, tours of each, and episodes of a tour."""


def tours(
    repeats: int, shapes: Mapping[str, tuple[int, int, int]] = TOURS
) -> Iterator[Cell]:
    """The test of memory: two runs of the same tours, whose later episodes are easier or harder by
    ``slope``. A player without memory gains nothing over one that forgets; one with memory gains
    ``effect`` in second halves."""
    for (name, shape), (slope, effect) in product(
        shapes.items(), ((0.0, 0.0), (0.3, 0.0), (-0.3, 0.0), (0.0, 0.2))
    ):
        rng = np.random.default_rng((21, *shape, int(10 * abs(slope)), int(slope > 0)))
        lines: list[MetricDifference] = []
        for _ in range(repeats // 2):
            chances = tour_chances(rng, *shape, slope)
            played = {tour: [*each] for tour, each in chances.items()}
            runs = []
            for gained in (0.0, effect):
                scores = {}
                for each in chances.values():
                    for number, (episode, chance) in enumerate(each.items()):
                        learned = gained if number >= len(each) / 2 else 0.0
                        won = rng.random() < chance + learned
                        scores[episode] = {"score": float(won)}
                runs.append(scores)
            found = compare_gains(
                ("forgets", runs[0]), ("remembers", runs[1]), played, "indoor", [metric("rate")]
            )  # fmt: skip
            lines += found.lines
        mean = float(np.mean([line.difference.mean for line in lines]))
        label = f"{name}, slope {slope:g}, effect {effect:g}: mean {mean:+.3f}"
        yield test_cell("tours", label, effect, lines)


def tour_chances(
    rng: Rng, scenes: int, count: int, length: int, slope: float
) -> dict[Tour, dict[str, float]]:
    """Draw the success of each episode of each tour. Scenes and paths differ in difficulty; tours
    of a scene have the same paths."""
    chances: dict[Tour, dict[str, float]] = {}
    for scene in range(scenes):
        paths = 0.45 + rng.normal(0, 0.1) + rng.normal(0, 0.15, length)
        paths += slope * np.linspace(-0.5, 0.5, length)
        # Up to 0.75, so that memory has its full effect everywhere
        paths = np.clip(paths, 0.05, 0.75)
        for number in range(count):
            names = [f"s{scene}_p{path}_{number}" for path in range(length)]
            chances[f"s{scene}", number] = dict(zip(names, paths.tolist(), strict=True))
    return chances


# The bench.

LENGTHS = (2, 4, 8, 16, 32, 64)
PLACES = 16
Curve = Callable[[float], float]
"""The length of a task -> the probability of success."""


def decaying(ceiling: float, half: float) -> Curve:
    return lambda length: ceiling * 0.5 ** (length / half)


def between(*rates: float) -> Curve:
    """Interpolate the success of levels, over the logarithm of the length."""
    return lambda length: float(np.interp(math.log2(length), np.log2(LENGTHS), rates))


def logistic(center: float) -> Curve:
    return lambda length: 0.97 / (1 + (length / center) ** 2)


CURVES: Mapping[str, Curve] = {
    **{f"ceiling {u:g}, half at {h:g}": decaying(u, h)
       for u, h in product((1.0, 0.75, 0.4, 0.25), (6.6, 13.5, 34.3))},
    "threshold at 12": lambda length: 0.97 if length <= 12 else 0.02,
    "logistic at 10": logistic(10),
    "logistic at 40": logistic(40),
    "not monotone": between(0.35, 0.9, 0.95, 0.6, 0.15, 0.02),
    "late rise": between(0.9, 0.2, 0.1, 0.2, 0.3, 0.2),
    "guesser, 0.25": lambda length: 0.25,
    "guesser, 0.5": lambda length: 0.5,
    "guesser, 0.75": lambda length: 0.75,
}  # fmt: skip


def horizon_of(curve: Curve, share: float = 0.5) -> float:
    """Return the longest length with at least this success: 0 below the ladder, infinite beyond."""
    lengths = np.geomspace(LENGTHS[0], LENGTHS[-1], 2_001)
    solved = [length for length in lengths.tolist() if curve(length) >= share]
    if not solved:
        return 0.0
    return math.inf if solved[-1] == lengths[-1] else solved[-1]


def attempts_of(rng: Rng, curve: Curve) -> list[Attempt]:
    """Draw one attempt at each level in each place; places differ a little."""
    attempts = []
    for place in range(PLACES):
        easier = rng.normal(0, 0.05)
        for level, length in enumerate(LENGTHS):
            rate = curve(length)
            if 0.1 < rate < 0.9:
                rate += easier
            won = bool(rng.random() < rate)
            attempts.append(Attempt(level, f"p{place}", f"p{place}_{level}", won))
    return attempts


def horizons(repeats: int) -> Iterator[Cell]:
    for number, (name, curve) in enumerate(CURVES.items()):
        rng = np.random.default_rng((11, number))
        truth = horizon_of(curve)
        held = []
        for _ in range(repeats):
            found = horizon(LENGTHS, attempts_of(rng, curve)).h50
            if name == "guesser, 0.5":  # it has no horizon, so none may be claimed
                held.append(found.low == 0 and found.high == math.inf)
            else:
                held.append(found.low <= truth <= found.high)
        yield Cell("horizons", f"H50, {name}, truth {truth:.3g}", float(np.mean(held)))


def bench_means(repeats: int) -> Iterator[Cell]:
    """Success of tracks: the mean over the levels of 16 places."""
    curves = {"flat 0": lambda length: 0.0, "flat 0.02": lambda length: 0.02,
              "flat 0.98": lambda length: 0.98, "half at 13.5": decaying(1, 13.5)}  # fmt: skip
    for number, (name, curve) in enumerate(curves.items()):
        rng = np.random.default_rng((12, number))
        truth = float(np.mean([curve(length) for length in LENGTHS]))
        found = [
            mean_success(attempts_of(rng, curve), len(LENGTHS)) for _ in range(repeats)
        ]
        cell = summary_cell("bench", f"success of a track, {name}", truth, found)
        degenerate = sum(each.low == each.high for each in found)
        if degenerate:
            cell = Cell(cell.section, f"{cell.name}, {degenerate} without a width", 0.0)
        yield cell


def board(repeats: int) -> Iterator[Cell]:
    """Equal players on a track of a board: some are ranked below others."""
    for players in (2, 4):
        rng = np.random.default_rng((22, players))
        differ = []
        for _ in range(repeats // 2):
            cards = []
            for _ in range(players):
                attempts = attempts_of(rng, decaying(1, 13.5))
                cards.append({each.episode: float(each.success) for each in attempts})
            found = ranks(cards, lambda episode: episode.partition("_")[0])
            differ.append(len(set(found)) > 1)
        label = f"{players} equal players, ranks differ"
        yield Cell("board", label, rejected=float(np.mean(differ)))


def forecasts(repeats: int) -> Iterator[Cell]:
    """Dollars of 100 episodes, estimated from the first few of them."""
    for sigma, pilot in product((0.3, 0.8, 1.2), (5, 10, 30)):
        rng = np.random.default_rng((13, pilot, int(10 * sigma)))
        found = []
        for _ in range(repeats):
            costs = lognormal(sigma)(rng, 100).tolist()
            spent = sum(costs[:pilot])
            low, high = dollars_range(costs[:pilot], 100 - pilot)
            total = sum(costs)
            ends = (spent + low) / total, (spent + high) / total
            found.append(Interval(1.0, *ends))
        label = f"100 episodes from {pilot}, sigma {sigma:g}, share of the total"
        yield summary_cell("forecasts", label, 1.0, found)


SECTIONS: Mapping[str, Callable[[int], Iterator[Cell]]] = {
    "rates": rates, "clustered": clustered, "published": published, "scenes": new_scenes,
    "skewed": skewed, "paired": paired, "means": paired_means, "families": families,
    "agreement": agreement, "exact": exact, "bold": bold, "limits": limits, "subsets": subsets,
    "seeds": seeds, "power": power, "tours": tours, "horizons": horizons, "bench": bench_means,
    "board": board, "forecasts": forecasts,
}  # fmt: skip
SHORT: Mapping[str, Callable[[], Iterator[Cell]]] = {
    "rates": lambda: rates(400), "skewed": lambda: skewed(30), "horizons": lambda: horizons(100),
    "paired": lambda: paired(20, (10, 30)), "bench": lambda: bench_means(40),
    "forecasts": lambda: forecasts(200), "agreement": lambda: agreement(40),
    "exact": lambda: exact(40), "limits": lambda: limits(100), "subsets": lambda: subsets(100),
    "families": lambda: families(80, (30,)),
    "tours": lambda: tours(40, {"16 x 1 x 12": TOURS["16 x 1 x 12"]}),
    "scenes": lambda: new_scenes(30), "seeds": lambda: seeds(40), "power": lambda: power(40),
    "board": lambda: board(20), "bold": lambda: bold(20),
}  # fmt: skip
"""The short form, for the test suite: few repetitions, whose seeds are fixed."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=1_000)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name] or list(SECTIONS)
    missed = 0
    for name in names:
        if options.short and name not in SHORT:
            continue
        cells = SHORT[name]() if options.short else SECTIONS[name](options.repeats)
        for cell in cells:
            print(cell, flush=True)
            missed += not cell.is_good
    print(f"{missed} rows missed")


if __name__ == "__main__":
    main()
