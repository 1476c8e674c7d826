"""Bench: ladders of levels of doubling length, and the card of one player on them.

A version (``2026.2.yaml``) names tracks; a track is a dataset whose setting ``length``
makes its levels. Each level is an ordinary run, in ``FOLDER/TRACK/LENGTH``, so it resumes, and
every other command reads it. The card is computed from the runs and kept in ``FOLDER/card.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version as installed
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from wayword.bench.checksums import level_checksums
from wayword.bench.horizon import (
    Attempt,
    Horizon,
    horizon,
    mean_success,
    place_means,
)
from wayword.bench.outcomes import (
    cost,
    dollars_text,
    effort,
    place,
    results,
    total,
    triple,
    unpriced,
)
from wayword.bench.real import (
    REAL,
    ROW_HEAD,
    RealSet,
    real_rows,
    sample_folder,
)
from wayword.bench.sight import (
    CONDITIONS,
    DRAWN,
    looks,
    run_folder,
    sight_rows,
    verdict,
)
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, suggest
from wayword.core.files import reading, text_checksum
from wayword.core.shapes import Shapes, check_shape, parse_untrusted
from wayword.metrics.intervals import (
    ALPHA,
    Interval,
    MeanEstimate,
    estimates,
    holm,
    rate_interval,
)
from wayword.metrics.table import latex, markdown
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder, is_run
from wayword.settings import load_shipped, merge

CARD = "card.json"
DIFFERENCE = (-1.0, 1.0)
"""Bounds of the difference of two outcomes."""
ROBUST = "robust"
"""The folder of perturbed runs, ``robust/KIND/TRACK``."""
PERTURBED_TEXTS = ("typos", "paraphrase", "landmarks", "failing")
"""Perturbations that every track has; a track's ``robust`` names its others."""
VERSIONS = ("2026", "2026.2")
"""Versions of the bench, the oldest first; the last one is played by default."""
# A quick run shows large differences within minutes.
QUICK_LEVELS = 3
QUICK_EPISODES = 8
"""Levels of a track in a quick run, the shortest ones, and episodes of each."""
QUICK_REAL = 20
"""Episodes of published data in a quick run."""
PERSON = "human"
"""The agent that a person plays."""
# A sign test over people, whose smallest p is 2 / 2^n: 0.031 with 6, 0.063 with 5.
LEAST_PEOPLE = 6
HOPELESS = 0.1
QUICK_HOPELESS = 0.2
"""A ladder ends above two levels whose success, taken together, is below this with 95% confidence
(one-sided): 32 failures of 32 are enough, with ``--quick`` 16 of 16."""


@dataclass(frozen=True)
class Track:
    """A ladder: a dataset, its levels' ``lengths``, and the score that means success.

    ``unit`` is that of the lengths. ``floor``: success by level of policies that solve nothing.
    ``checksums``: length -> those of the level's first and last episode.
    """

    name: str
    dataset: str
    lengths: tuple[int, ...]
    unit: str
    success: str
    at_least: float = 1.0
    solution: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    floor: tuple[float, ...] = ()
    robust: tuple[str, ...] = ()
    checksums: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @property
    def middle(self) -> int:
        """The length of the middle level, whose episodes the robust block perturbs."""
        return self.lengths[(len(self.lengths) - 1) // 2]

    def quick(self) -> Track:
        """The shortest levels."""
        shortest = slice(QUICK_LEVELS)
        return replace(
            self,
            lengths=self.lengths[shortest],
            floor=self.floor[shortest],
        )


@dataclass(frozen=True)
class Bench:
    """A version: its tracks, the agent that plays by default, and the episodes of each level."""

    version: str
    agent: str
    settings: Mapping[str, Any]
    seed: int
    episodes: int
    robust: Mapping[str, float]
    real_episodes: int
    real: tuple[RealSet, ...]
    tracks: tuple[Track, ...]


@cache
def open_bench(version: str = VERSIONS[-1]) -> Bench:
    """Return the version of that name. Raises ``UsageError`` for an unknown one."""
    if version not in VERSIONS:
        raise UsageError(f"no bench {version!r}; {suggest(version, VERSIONS)}")
    file = Path(__file__).parent / f"{version}.yaml"
    tree = load_shipped(file)
    tracks = []
    # YAML has lists, fields are tuples.
    for name, row in tree.pop("tracks").items():
        row |= {key: tuple(row.get(key, ())) for key in ("lengths", "floor", "robust")}
        tracks.append(Track(name, **row))
    real = []
    for name, row in tree.pop("real").items():
        real.append(RealSet(name, **{**row, "splits": tuple(row["splits"])}))
    return Bench(
        version,
        **tree,
        real=tuple(real),
        tracks=tuple(tracks),
    )


@dataclass(frozen=True)
class Contender:
    """A player on a version, with the options of the command.

    ``salt`` draws a private twin: the same ladders with other seeds.
    """

    bench: Bench
    agent: str
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    tracks: tuple[str, ...] = ()
    quick: bool = False
    salt: str = ""
    out: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of the runs: ``out``, else one named after the player."""
        if self.out:
            return self.out
        parts = [Path(self.agent).stem]
        # The last part of a path or of a name with its maker.
        if model := self.model.rpartition("/")[2]:
            parts.append(model)
        if self.salt:  # without the salt itself, which is secret
            parts.append(f"salt-{_digest(self.salt)}")
        if self.quick:
            parts.append("quick")
        return Path("runs/bench") / "-".join(parts).replace(":", "-")

    def chosen(self) -> list[Track]:
        """Return the tracks to play. Raises ``UsageError`` for an unknown one."""
        # By name, in the order of the version.
        named = {track.name: track for track in self.bench.tracks}
        for name in self.tracks:
            if name not in named:
                raise UsageError(f"--tracks: no track {name!r}; {suggest(name, named)}")
        tracks = [named[name] for name in self.tracks or named]
        if self.quick:
            tracks = [track.quick() for track in tracks]
        return tracks

    def plans(self, track: Track, **options: Any) -> Iterator[tuple[int, Plan]]:
        """Yield each level's length (in the track's unit) and plan, the shortest first.

        ``options`` are further fields of :class:`Plan`, such as ``data``.
        """
        bench = self.bench
        # Every player draws the same episodes.
        seed = bench.seed
        # A salted seed is 1,000 or more, so it never equals a version's own, which is small.
        if self.salt:
            seed = 1_000 + int(_digest(self.salt), 16) % 100_000
        # Shortest first: whoever plays a ladder may end it at the first hopeless level.
        for length in track.lengths:
            drawn = {
                **track.settings,
                "length": length,
                "episodes": bench.episodes,
                "seed": seed,
            }
            yield (
                length,
                Plan(
                    self.agent,
                    track.dataset,
                    self.model,
                    self._settings(drawn),
                    limit=QUICK_EPISODES if self.quick else None,
                    first=True,  # episodes of a level are drawn independently
                    out=self.folder / track.name / f"{length:03d}",
                    **options,
                ),
            )

    def _settings(self, dataset: JsonObject) -> JsonObject:
        """Return the player's settings with those of the dataset, over the version's for its
        agent."""
        # The version's settings are for its own agent only.
        settings = self.settings
        if self.agent == self.bench.agent:
            settings = merge(self.bench.settings, settings)
        return merge(settings, {"dataset": dataset})

    def real_plan(self, real: RealSet, **options: Any) -> Plan:
        """Return the plan of a sample of a published dataset, before its split is known."""
        limit = sample_size(self.bench, self.quick)
        settings = self._settings(real.settings)
        seed = self.bench.seed
        return Plan(
            self.agent,
            real.name,
            self.model,
            settings,
            limit=limit,
            shuffle=seed,
            **options,
        )

    def robust_plans(self, track: Track, **options: Any) -> Iterator[tuple[str, Plan]]:
        """Yield each perturbation and the plan of the track's middle level under it."""
        # The middle level is neither too easy nor too hard to show a loss.
        plan = dict(self.plans(track, **options))[track.middle]
        for kind, rate in self.bench.robust.items():
            # Others have nothing to perturb in this track.
            if kind in (*PERTURBED_TEXTS, *track.robust):
                settings = merge(plan.settings, {"perturb": {kind: rate}})
                out = self.folder / ROBUST / kind / track.name
                yield kind, replace(plan, settings=settings, out=out)

    def sight_plans(self, track: Track, **options: Any) -> Iterator[tuple[str, Plan]]:
        """Yield each condition of sight and the plan of the track's shortest level in it.

        None for a track without pictures.
        """
        if track.name not in DRAWN:
            return
        _, plan = next(self.plans(track, **options))
        plan = replace(plan, on=DRAWN[track.name] or plan.on)
        for condition, settings in CONDITIONS.items():
            out = run_folder(self.folder, track, condition)
            merged = merge(plan.settings, settings)
            yield condition, replace(plan, settings=merged, out=out)

    def header(self) -> JsonObject:
        """Return the part of the card that says who played what."""
        return {
            "bench": self.bench.version,
            "quick": self.quick,
            "private": bool(self.salt),
            "agent": self.agent,
            "model": self.model,
            "settings": dict(self.settings),
            "wayword": installed("wayword"),
            "tracks": {
                track.name: {"lengths": list(track.lengths), "unit": track.unit}
                for track in self.chosen()
            },
        }


def _digest(salt: str) -> str:
    """Return the start of a salt's SHA-256, which names a private twin without telling its salt."""
    return text_checksum(salt, 8)


def sample_size(bench: Bench, quick: bool) -> int:
    """Return the number of episodes in a sample of published data."""
    return QUICK_REAL if quick else bench.real_episodes


def check_level(track: Track, length: int, plan: Plan) -> None:
    """Raise ``UsageError`` where this machine draws other episodes than the version's."""
    # A level without recorded checksums is not checked.
    expected = track.checksums.get(length, ())
    for drawn, known in zip(level_checksums(plan), expected, strict=False):
        if drawn != known:
            raise UsageError(
                f"{track.name}, length {length}: this installation draws other episodes ({drawn}) "
                f"than the bench has ({known}); install the versions of packages in constraints.txt"
            )


def check_player(plan: Plan) -> None:
    """Raise ``UsageError`` where the agent does not play the plan's world."""
    open_agent(plan, open_dataset(plan))


def is_hopeless(
    solved: Sequence[int],
    tried: Sequence[int],
    quick: bool = False,
) -> bool:
    """True if the two last levels together are below ``HOPELESS``, or ``QUICK_HOPELESS``."""
    from scipy.special import betaincinv

    # Two levels together: the episodes of one are too few to end a ladder.
    right = sum(solved[-2:])
    total = sum(tried[-2:])
    highest = QUICK_HOPELESS if quick else HOPELESS
    return (
        len(solved) > 1 and float(betaincinv(right + 1, total - right, 0.95)) < highest
    )


def next_level(
    entry: Contender,
    **options: Any,
) -> tuple[Track, int, Plan, int] | None:
    """Return the first level with episodes left: track, length, plan, and how many are tried.

    None once every ladder has ended. ``options`` as in :meth:`Contender.plans`.
    """
    episodes = QUICK_EPISODES if entry.quick else entry.bench.episodes
    for track in entry.chosen():
        solved: list[int] = []
        tried: list[int] = []
        for length, plan in entry.plans(track, **options):
            if is_hopeless(solved, tried, entry.quick):
                break
            won: list[bool] = []
            if plan.out is not None and is_run(plan.out):
                won = [outcome for _, outcome, _ in results(plan.out, track)]
            if len(won) < episodes:
                return track, length, plan, len(won)
            solved.append(sum(won))
            tried.append(len(won))
    return None


def next_place(entry: Contender, **options: Any) -> tuple[Plan, str]:
    """Return the plan of a person's next place, and what its page says of it.

    Raises ``UsageError`` once every place is played.
    """
    found = next_level(entry, **options)
    if found is None:
        raise UsageError(
            "every place is played; Ctrl-C in the terminal prints the card"
        )
    track, length, plan, tried = found
    # A level that has begun was checked then.
    if not tried and not entry.salt:
        check_level(track, length, plan)
    episodes = plan.limit or entry.bench.episodes
    note = (
        f"{track.name}, length {length}: place {tried + 1} of {episodes}, each played once. "
        "Recorded are your actions and the seconds of each, and no name."
    )
    return replace(plan, episode="next"), note


# The card.


def outcomes(
    folder: Path,
    track: Track,
) -> Iterator[tuple[int, str, bool, dict[str, float]]]:
    """Yield each tried episode: its level, id, success, and scores. Failed ones count
    as failures.
    """
    for level, length in enumerate(track.lengths):
        path = folder / track.name / f"{length:03d}"
        if is_run(path):
            for name, won, scores in results(path, track):
                yield level, name, won, scores


def _successes(
    tried: Sequence[tuple[int, str, bool, dict[str, float]]],
) -> dict[str, float]:
    """Return episode -> 1 if it was solved, else 0."""
    return {name: float(won) for _, name, won, _ in tried}


def robustness(folder: Path, bench: Bench, quick: bool) -> list[dict[str, Any]]:
    """A row for each perturbation: success with and without it on the same episodes of the tracks'
    middle levels, and the loss with its interval, paired by episode. Intervals and p-values are
    corrected for the number of perturbations (Holm)."""
    rows = []
    losses = []
    for kind, rate in bench.robust.items():
        places: list[str] = []
        before: list[bool] = []
        after: list[bool] = []
        tracks = []
        played = []
        for track in bench.tracks:
            if quick:
                track = track.quick()
            clean = folder / track.name / f"{track.middle:03d}"
            path = folder / ROBUST / kind / track.name
            # Tracks that were not played under this perturbation have no pairs.
            if not (is_run(path) and is_run(clean)):
                continue
            # Pairs are episodes that were played both ways: a perturbed run may be interrupted.
            clean_wins = {name: won for name, won, _ in results(clean, track)}
            for name, won, scores in results(path, track):
                played.append(scores)
                if name in clean_wins:
                    places.append(f"{track.name}/{place(name)}")
                    before.append(clean_wins[name])
                    after.append(won)
            tracks.append(track.name)
        if places:
            gaps = np.array(before, dtype=float) - np.array(after, dtype=float)
            losses += estimates(gaps[:, None], [DIFFERENCE], places)
            rows.append(
                {
                    "kind": kind,
                    "rate": rate,
                    "tracks": tracks,
                    "episodes": len(places),
                    "clean": round(float(np.mean(before)), 4),
                    "perturbed": round(float(np.mean(after)), 4),
                    **cost(played),
                }
            )
    # Perturbations are one family: the worst of eight looks worse than it is.
    for row, loss, (p, alpha) in zip(
        rows,
        losses,
        holm([loss.p for loss in losses]),
        strict=True,
    ):
        row |= {"loss": triple(loss.interval(alpha), -1.0)}
        row |= {"p": round(p, 4), "p_raw": round(loss.p, 4)}
    return rows


def make_card(folder: Path, header: JsonObject) -> JsonObject:
    """Return the card of the runs in a folder, whose ``header`` says what they are of.

    Published data count in no number but their own.
    """
    bench = open_bench(header["bench"])
    tracks = {}
    means: list[float] = []
    for track in bench.tracks:
        if track.name not in header["tracks"]:
            continue
        if header["quick"]:
            track = track.quick()
        # A card may be of some tracks.
        played = list(outcomes(folder, track))
        if not played:
            continue
        # A place is what several episodes of a ladder have in common.
        attempts = [
            Attempt(level, place(name), name, won) for level, name, won, _ in played
        ]
        means += place_means(attempts, len(track.lengths)).values()
        tracks[track.name] = {
            **header["tracks"][track.name],
            **_horizon(horizon(track.lengths, attempts, track.floor or None), track),
            "success": triple(mean_success(attempts, len(track.lengths))),
            "levels": [
                _level(played, n, length) for n, length in enumerate(track.lengths)
            ],
        }
    if not tracks:
        raise UsageError(
            f"{folder}: no episode of the bench is finished yet, so there is no card; run "
            "wayword bench again to continue"
        )
    robust = robustness(folder, bench, header["quick"])
    sight = sight_rows(folder, bench.tracks)
    # Perturbed runs cost money too.
    total = [*robust, *sight]
    for each in tracks.values():
        total += each["levels"]
    sums: dict[str, Any] = {}
    for key in ("tokens", "dollars"):
        sums[key] = sum(row.get(key) or 0 for row in total)
    # A mean over some tracks would not compare with one over others.
    overall = None
    if len(tracks) == len(bench.tracks):
        overall = triple(rate_interval(np.array(means)))
    # Runs of the robust block and of sight are one folder deeper than levels.
    deeper = [path.parent for path in folder.glob("*/*/*/run.json")]
    sums["unpriced"] = sum(map(unpriced, [*level_runs(folder), *deeper]))
    sums |= {"date": _date(folder), "robust": robust}
    # Cards of runs in words alone have no such field.
    if sight:
        sums |= {"sight": sight, "looks": looks(folder, bench.tracks)}
    if "real" in header:
        size = sample_size(bench, header["quick"])
        sums["real"] = list(real_rows(folder, bench.real, header["real"], size))
    return {
        **header,
        "success": overall,
        **sums,
        "tracks": tracks,
    }


def level_runs(folder: Path) -> list[Path]:
    """Return the runs of levels in a folder."""
    # Two folders deep are levels; perturbed runs are three deep.
    runs = sorted(path.parent for path in folder.glob("*/*/run.json"))
    return [run for run in runs if run.parent.name != REAL]


def _date(folder: Path) -> str:
    """Return the day on which the last run of a level began."""
    # The day of the last run, since a card grows over days.
    started = [RunFolder.read(run).config["started"] for run in level_runs(folder)]
    return max((each[:10] for each in started), default="")


def recorded_entry(folder: Path, header: JsonObject) -> Contender:
    """Return the entry that a card's header describes."""
    names = tuple(header["tracks"])
    return Contender(
        open_bench(header["bench"]),
        header["agent"],
        header["model"],
        header["settings"],
        names,
        header["quick"],
        out=folder,
    )


def recorded_samples(
    entry: Contender,
    header: JsonObject,
    data: Path | None,
) -> dict[Path, Plan]:
    """Return the plan of each run on published data that a card names."""
    plans = {}
    for on in (row["dataset"] for row in header.get("real", ())):
        for real in entry.bench.real:
            run = sample_folder(entry.folder, on)
            # A version has each dataset once.
            if on.partition(":")[0] == real.name and is_run(run):
                plans[run] = replace(entry.real_plan(real, data=data), on=on)
    return plans


def _horizon(fitted: Horizon, track: Track) -> JsonObject:
    """Return the horizon in the ladder's unit: numbers, or the texts ``< 2`` and ``> 64``."""

    def bounded(length: float) -> float | str:
        """Return a length, or a text for one beyond an end of the ladder."""
        if length <= 0:
            return f"< {track.lengths[0]}"
        if math.isinf(length):
            return f"> {track.lengths[-1]}"
        return round(length, 2)

    # An end beyond the ladder is no number.
    h50 = fitted.h50
    return {
        "h50": [bounded(value) for value in (h50.mean, h50.low, h50.high)],
        "ceiling": triple(fitted.ceiling),
        "monotone": fitted.is_monotone,
        "floor": list(track.floor),
    }


def _level(
    played: Sequence[tuple[int, str, bool, dict[str, float]]],
    level: int,
    length: int,
) -> JsonObject:
    """Return the success and the cost of a level.

    ``episodes`` is 0 where the ladder ended before it.
    """
    # A level without rows was not played, because those before it were hopeless.
    rows = [row for row in played if row[0] == level]
    won = np.array([row[2] for row in rows], dtype=float)
    line: dict[str, Any] = {
        "length": length,
        "episodes": len(rows),
        "solved": int(won.sum()),
    }
    if not rows:
        return line
    rate = rate_interval(won, [place(row[1]) for row in rows])
    scores = [row[3] for row in rows]

    line["success"] = triple(rate)
    # The page of a card links to the first lost episode.
    line["lost"] = next((row[1] for row in rows if not row[2]), "")
    line |= effort(scores)
    line["steps_over_length"] = round(total(scores, "steps") / (length * len(rows)), 2)
    return line


def write_card(folder: Path, card: JsonObject) -> Path:
    """Write the card next to its runs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CARD
    path.write_text(
        json.dumps(card, indent=2, allow_nan=False) + "\n",
        encoding="utf-8",
    )
    return path


def read_stored(path: Path) -> JsonObject:
    """Return the card in a file as it was written.

    Raises ``UsageError`` or ``RecordingError`` for a file that is not a card.
    """
    if not path.is_file():
        raise UsageError(f"{path.parent}: has no {CARD}; play with wayword bench")
    # Cards come from other people.
    with reading(str(path), "play the bench again"):
        card: dict[str, Any] = parse_untrusted(path.read_bytes())
        check_shape(path, {"card": card}, {"card": {}})
        check_shape(path, card, SHAPES)
        open_bench(card["bench"])
        render(card)  # raises for whatever else is missing or malformed
    return card


def read_card(folder: Path) -> JsonObject:
    """Return the card of a folder, computed again where its runs are there.

    Raises ``UsageError`` or ``RecordingError``.
    """
    path = folder / CARD if folder.is_dir() else folder
    card = read_stored(path)
    # What the player was is taken from the card.
    header = {key: value for key, value in card.items() if key not in _COMPUTED}
    # Nothing that was computed is taken from the file: a card may have been edited.
    header["tracks"] = track_heads(card)
    if "real" in card:
        header["real"] = []
        for row in card["real"]:
            header["real"].append({key: row[key] for key in ROW_HEAD})
    if not level_runs(path.parent):
        return card
    return make_card(path.parent, header)


def track_heads(card: JsonObject) -> dict[str, dict[str, Any]]:
    """Return the part of each track of a card that its header has: lengths and unit."""
    heads = {}
    for name, row in card["tracks"].items():
        heads[name] = {"lengths": row["lengths"], "unit": row["unit"]}
    return heads


SHAPES: Shapes = {
    "bench": "",
    "quick": False,
    "private": False,
    "agent": "",
    "model": "",
    "settings": {},
    "wayword": "",
    "commit": "",
    "date": "",
    "success": [],
    "success.*": 0.0,
    "tokens": 0,
    "dollars": 0.0,
    "unpriced": 0,
    "tracks": {},
    "tracks.*": {},
    "tracks.*.lengths": [],
    "tracks.*.lengths.*": 0,
    "tracks.*.unit": "",
    "tracks.*.floor.*": 0.0,
    "tracks.*.ceiling.*": 0.0,
    "tracks.*.success.*": 0.0,
    "tracks.*.monotone": False,
    "tracks.*.levels": [],
    "tracks.*.levels.*": {},
    "tracks.*.levels.*.length": 0,
    "tracks.*.levels.*.episodes": 0,
    "tracks.*.levels.*.solved": 0,
    "tracks.*.levels.*.success.*": 0.0,
    "tracks.*.levels.*.lost": "",
    "tracks.*.levels.*.steps_over_length": 0.0,
    "tracks.*.levels.*.tokens": 0,
    "tracks.*.levels.*.dollars": 0.0,
    "tracks.*.levels.*.seconds": 0.0,
    "tracks.*.levels.*.rejection_rate": 0.0,
    "robust": [],
    "robust.*": {},
    "robust.*.kind": "",
    "robust.*.tracks": [],
    "robust.*.tracks.*": "",
    "robust.*.episodes": 0,
    "robust.*.rate": 0.0,
    "robust.*.clean": 0.0,
    "robust.*.perturbed": 0.0,
    "robust.*.loss.*": 0.0,
    "robust.*.p": 0.0,
    "robust.*.p_raw": 0.0,
    "robust.*.tokens": 0,
    "robust.*.dollars": 0.0,
    "sight": [],
    "sight.*": {},
    "sight.*.condition": "",
    "sight.*.episodes": 0,
    "sight.*.success.*": 0.0,
    "sight.*.change.*": 0.0,
    "sight.*.tokens": 0,
    "sight.*.dollars": 0.0,
    "looks": [],
    "looks.*": 0.0,
    "real": [],
    "real.*": {},
    "real.*.dataset": "",
    "real.*.named": "",
    "real.*.missing": [],
    "real.*.missing.*": "",
    "real.*.episodes": 0,
    "real.*.sample": 0,
    "real.*.clusters": 0,
    "real.*.solved": 0,
    "real.*.success.*": 0.0,
    "real.*.value.*": 0.0,
    "real.*.tokens": 0,
    "real.*.dollars": 0.0,
    "real.*.seconds": 0.0,
    "real.*.rejection_rate": 0.0,
}
"""Fields of a card, with examples of their types."""
_COMPUTED = (
    "success",
    "tokens",
    "dollars",
    "unpriced",
    "date",
    "robust",
    "sight",
    "looks",
)

# Output.

HEAD = (
    "Track",
    "H50",
    "95%",
    "Best level",
    "95%",
    "Success",
    "95%",
)
NO_HORIZON = "no horizon"
BELOW = "below the ladder"


def _cells(name: str, row: JsonObject) -> tuple[str, ...]:
    """Return a line of the card's table: the horizon, the best level and the success of a track."""
    return (
        name,
        *estimate(row["h50"]),
        *percents(row["ceiling"]),
        *percents(row["success"]),
    )


def estimate(h50: Sequence[float | str]) -> tuple[str, str]:
    """Return a horizon and its interval as texts.

    It is below the ladder where success never exceeds one half. There is none where the
    interval is the whole ladder: success does not fall.
    """
    texts = []
    for end in h50:
        if isinstance(end, bool):
            raise ValueError(f"a horizon is a number or a text, got {end!r}")
        if not isinstance(end, str):
            end = f"{end:.3g}"
        texts.append(end)
    # The whole ladder as an interval says nothing.
    value, low, high = texts
    if value.startswith("<"):
        value = BELOW
    elif low.startswith("<") and high.startswith(">"):
        value = NO_HORIZON
    return value, f"[{low}, {high}]"


def percents(triple: Sequence[float] | None) -> tuple[str, str]:
    """Return a rate and its interval as texts; dashes where it is not stated.

    Raises ``ValueError`` for numbers that are no rates.
    """
    if triple is None:
        return "–", ""
    if not all(abs(value) <= 1 for value in triple):
        raise ValueError(f"rates are between -1 and 1, got {list(triple)!r:.60}")
    value, low, high = (100 * each for each in triple)
    digits = 0
    # One failure of 600 must not be shown as none. Nearer than 1e-7
    # points, it is 0 or 100% but for rounding errors.
    if 1e-7 < abs(value) < 100 - 1e-7 and round(abs(value)) in (0, 100):
        digits = 1
    # z: what rounds to 0 has no sign.
    return f"{value:z.{digits}f}%", f"[{low:z.0f}, {high:z.0f}]"


def title(card: JsonObject) -> str:
    """Return the player and the version, in a line."""
    kind = ", quick" if card["quick"] else ""
    twin = ", private twin" if card.get("private") else ""
    player = " with ".join(part for part in (card["agent"], card["model"]) if part)
    if card["agent"] == PERSON:
        player += " (a person)"
    return f"{player} on bench {card['bench']}{kind}{twin}"


def person_note(card: JsonObject) -> str:
    """Return what a person's card does and does not say; empty for other players."""
    if card["agent"] != PERSON:
        return ""
    return (
        "One person: intervals are for other places, not for other people. A claim about people "
        f"needs at least {LEAST_PEOPLE} of them, each in a folder of their own."
    )


def render(card: JsonObject, form: str = "rich") -> str:
    """Return the card as text: ``rich``, ``json``, ``markdown`` or ``latex``."""
    if form == "json":
        return json.dumps(card, indent=2, allow_nan=False)
    rows = [_cells(name, row) for name, row in card["tracks"].items()]
    # The total has no horizon: tracks have different units.
    rows.append(("all", "", "", "", "", *percents(card["success"])))
    # Splits that were not played have no numbers.
    real = [row for row in card.get("real", ()) if row["episodes"]]
    rows += [
        (f"real: {row['dataset']}", "", "", "", "", *percents(row["success"]))
        for row in real
    ]
    if form == "markdown":
        return markdown(HEAD, 1, rows, [title(card)])
    if form == "latex":
        return latex(HEAD, 1, rows, [title(card)])
    lines = [title(card), ""]
    for name, row in card["tracks"].items():
        _, h50, h50_range, best, best_range, success, success_range = _cells(name, row)
        lines.append(
            f"{name} ({row['unit']}): H50 {h50} {h50_range}, best level {best} {best_range}"
        )
        # A reader must not take such a horizon for a limit.
        if not row["monotone"]:
            lines.append("  success rises with length: the horizon is of its last fall")
        unplayed = why_unplayed(row, card["quick"])
        lines += [_bar(level, unplayed) for level in row["levels"]]
        lines.append(f"  success {success} {success_range} over all levels\n")
    if card["success"]:
        success, success_range = percents(card["success"])
        lines.append(f"mean success over levels and tracks: {success} {success_range}")
    else:
        lines.append("no total: it needs all tracks")
    if card.get("robust"):
        lines.append("")
    lines += [
        f"{row['kind']}={row['rate']:g}: {row['clean']:.0%} -> {row['perturbed']:.0%}, loss "
        f"{' '.join(percents(row['loss']))} on {row['episodes']} episodes, p {row['p']:.3f}"
        for row in card.get("robust", ())
    ]
    lines += sight_lines(card)
    if note := person_note(card):
        lines.append(note)
    lines.append(effort_text(card))
    if "real" in card:
        lines += [
            "",
            "published data, in no number above:",
            *map(real_line, card["real"]),
        ]
    return "\n".join(lines)


def sight_lines(card: JsonObject) -> list[str]:
    """Return the conditions of sight of a card as lines, and what they say of the model."""
    rows = card.get("sight", ())
    lines = [""] if rows else []
    for row in rows:
        line = f"{row['condition']}: success {' '.join(percents(row['success']))}"
        if row["condition"] != "words" and row["change"]:
            change = " ".join(percents(row["change"]))
            line += f", change from words {change}"
        lines.append(f"{line} on {row['episodes']} episodes")
    if card.get("looks"):
        lines.append(verdict(card["looks"]))
    return lines


def real_line(row: JsonObject) -> str:
    """Return a published dataset of a card as a line.

    The split and its numbers, and the files that are missing.
    """
    missing = "; ".join(row["missing"])
    if not row["dataset"]:
        return f"{row['named']}: not played, missing: {missing}"
    line = f"{row['dataset']}: not played yet"
    if row["episodes"]:
        line = (
            f"{row['dataset']}: success {' '.join(percents(row['success']))}, {row['metric']} "
            f"{' '.join(percents(row['value']))}, {sample_count(row)} episodes ({row['clusters']} "
            f"{row['unit']}), {row['rejection_rate']:.1%} rejected, {row['tokens']:,} tokens, "
            f"{dollars_text(row)}, {row['seconds']:.0f} s"
        )
    if missing:
        line += f"\n  in place of {row['named']}, missing: {missing}"
    return line


def sample_count(row: JsonObject) -> str:
    """Return the episodes of a row: ``200``, or ``150 of 200`` where the sample is not complete."""
    if row["episodes"] == row["sample"]:
        return str(row["sample"])
    return f"{row['episodes']} of {row['sample']}"


_BAR = 24  # characters of the bar of a level that is solved completely


def why_unplayed(track: JsonObject, quick: bool) -> str:
    """Return why a card's track has levels that were not played: it ended, or is not finished."""
    levels = [level for level in track["levels"] if level["episodes"]]
    solved = [level["solved"] for level in levels]
    if is_hopeless(solved, [level["episodes"] for level in levels], quick):
        highest = QUICK_HOPELESS if quick else HOPELESS
        return f"not played: the levels before it are below {highest:.0%}"
    return "not played yet"


def _bar(level: JsonObject, unplayed: str) -> str:
    """Return a level of a ladder as a line of text, with a bar for its success."""
    if not level["episodes"]:
        return f"  {level['length']:>4} {unplayed}"
    rate, low, high = level["success"]
    # Raises for a card with numbers that are no rates.
    percents(level["success"])
    # The bar shows at a glance what the numbers say.
    full = round(_BAR * rate)
    counts = f"{level['solved']}/{level['episodes']}"
    return (
        f"  {level['length']:>4} {'█' * full}{'·' * (_BAR - full)} {100 * rate:3.0f}% "
        f"[{100 * low:.0f}, {100 * high:.0f}] {counts}"
    )


@dataclass(frozen=True)
class TrackDifference:
    """The second player's success less the first's on the episodes of a track, or of a published
    split, that both tried, in a number of ``places``. ``rates`` are the success of both on them.
    ``holm`` and ``difference`` are corrected for the number of tracks, or of splits; ``p`` is not.
    """

    track: str
    rates: tuple[float, ...]
    shared: int
    places: int
    difference: Interval
    p: float
    holm: float


def compare_cards(first: Path, second: Path) -> list[TrackDifference]:
    """Return the difference over all shared tracks, if there are several, and those by track.

    Paired by episode. Raises ``UsageError`` where nothing is shared.
    """
    cards = [read_card(folder) for folder in (first, second)]
    # Other versions have other episodes.
    if cards[0]["bench"] != cards[1]["bench"]:
        raise UsageError(f"{first} and {second} are of two versions of the bench")
    found = []
    totals = [dict[str, float](), dict[str, float]()]
    for track in open_bench(cards[0]["bench"]).tracks:
        if not all(track.name in card["tracks"] for card in cards):
            continue  # a folder may have further runs, of a command with other tracks
        # Read from the runs, not from the cards.
        played = [list(outcomes(each, track)) for each in (first, second)]
        wins = [_successes(each) for each in played]
        found.append((track.name, wins, place))
        for means, each in zip(totals, played, strict=True):
            means |= place_totals(track, each)
    compared = _differences(found)
    if not compared:
        raise UsageError(
            f"{first} and {second} share no episode; compare folders with runs"
        )
    # The total stands first, corrected apart from the tracks.
    if len(compared) > 1:
        compared[:0] = _differences([(ALL_TRACKS, totals, str)])
    return compared


ALL_TRACKS = "all tracks"


def place_totals(
    track: Track,
    played: Sequence[tuple[int, str, bool, dict[str, float]]],
) -> dict[str, float]:
    """Return the mean success of each place of a track over its levels."""
    attempts = [
        Attempt(level, place(name), name, won) for level, name, won, _ in played
    ]
    means = place_means(attempts, len(track.lengths))
    return {f"{track.name}/{where}": mean for where, mean in means.items()}


def compare_real(first: Path, second: Path) -> list[TrackDifference]:
    """Return differences on each split of published data that both cards have.

    Corrected apart from the tracks.
    """
    cards = [read_card(folder) for folder in (first, second)]
    played = [_real_splits(card) for card in cards]
    found = []
    for real in open_bench(cards[0]["bench"]).real:
        for split in real.splits:
            on = f"{real.name}:{split}"
            # Both must have played the split.
            if not all(on in splits for splits in played):
                continue
            wins = []
            for path in (sample_folder(first, on), sample_folder(second, on)):
                if is_run(path):
                    tried = results(path, real)
                    wins.append({name: float(won) for name, won, _ in tried})
            found.append((on, wins, real.cluster_of))
    return _differences(found)


def _real_splits(card: JsonObject) -> set[str]:
    """Return the published splits of which a card has episodes."""
    return {row["dataset"] for row in card.get("real", ()) if row["episodes"]}


def _differences(
    found: Sequence[tuple[str, Sequence[Mapping[str, float]], Callable[[str], str]]],
) -> list[TrackDifference]:
    """Return paired tests of named pairs of outcomes by episode.

    Those without shared episodes are left out. The last of each of ``found`` returns
    the cluster of an episode.
    """
    rows: list[tuple[str, tuple[float, ...], int, int, MeanEstimate]] = []
    for label, wins, cluster in found:
        # A run is not there.
        if len(wins) < 2:
            continue
        # Paired by episode.
        shared = [name for name in wins[0] if name in wins[1]]
        if shared:
            owners = [cluster(name) for name in shared]
            estimate = _difference(
                wins[0],
                wins[1],
                shared,
                owners,
            )
            rates = tuple(fmean(each[name] for name in shared) for each in wins)
            rows.append((label, rates, len(shared), len(set(owners)), estimate))
    # All tracks are one family of tests.
    corrected = holm([estimate.p for *_, estimate in rows])
    return [
        TrackDifference(
            label,
            rates,
            shared,
            places,
            each.interval(alpha),
            each.p,
            p,
        )
        for (label, rates, shared, places, each), (p, alpha) in zip(
            rows,
            corrected,
            strict=True,
        )
    ]


def _difference(
    first: Mapping[str, float],
    second: Mapping[str, float],
    shared: Sequence[str],
    owners: Sequence[str],
) -> MeanEstimate:
    """Return the mean of the second player's outcomes less the first's on shared episodes."""
    gaps = np.array([[second[name] - first[name]] for name in shared])
    return estimates(gaps, [DIFFERENCE], owners)[0]


def ranks(
    players: Sequence[Mapping[str, float]],
    cluster: Callable[[str], str],
) -> list[int]:
    """Return the rank of each player by success on the episodes (or places) that two share.

    One more than the number of players that are significantly better, with Holm's
    correction over the pairs.
    """
    pairs = []
    for a, b in combinations(range(len(players)), 2):
        shared = [name for name in players[a] if name in players[b]]
        if shared:
            # Players are compared on what both have played.
            owners = [cluster(name) for name in shared]
            pairs.append((a, b, _difference(players[a], players[b], shared, owners)))
    # The number of players that are better than each.
    better = [0] * len(players)
    corrected = holm([estimate.p for *_, estimate in pairs])
    for (a, b, estimate), (p, _) in zip(pairs, corrected, strict=True):
        if p < ALPHA and estimate.mean > 0:  # b is better
            better[a] += 1
        elif p < ALPHA:
            better[b] += 1
    return [1 + number for number in better]


COMPARISON_HEAD = ("Track", "First", "Second", "Difference", "95%", "p", "Holm")


def render_comparison(first: Path, second: Path, form: str = "rich") -> str:
    """Return the horizons of two players and their differences, a line a track.

    ``form`` is ``rich``, ``markdown`` or ``latex``; the latter two have the success of both.
    """
    cards = [read_card(folder) for folder in (first, second)]
    heads = [
        f"first:  {title(cards[0])}, {effort_text(cards[0])}",
        f"second: {title(cards[1])}, {effort_text(cards[1])}",
    ]
    rows = compare_cards(first, second)
    if form != "rich":
        cells = [_comparison_cells(row) for row in rows]
        writer = markdown if form == "markdown" else latex
        return writer(COMPARISON_HEAD, 1, cells, heads)
    lines = [*heads, ""]
    for row in rows:
        if row.track == ALL_TRACKS:
            lines.append(f"{row.track}: {_change(row, 'places')}")
            continue
        h50s = [" ".join(estimate(card["tracks"][row.track]["h50"])) for card in cards]
        lines.append(f"{row.track}: H50 {h50s[0]} -> {h50s[1]}; {_change(row)}")
    tracks = [row for row in rows if row.track != ALL_TRACKS]
    # Say it before a reader takes "not significant" for "equal".
    clearest = clearest_p(min(row.places for row in tracks), len(tracks))
    if clearest >= ALPHA:
        lines.append(
            f"too few places for a difference on one of {len(tracks)} tracks: the clearest has a "
            f"corrected p of {clearest:.3f}; play without --quick, or fewer --tracks"
        )
    if any(card["quick"] for card in cards):
        lines.append(_quick_note(rows))
    if real := compare_real(first, second):
        lines += [
            "",
            "published data:",
            *(f"{row.track}: {_change(row)}" for row in real),
        ]
    return "\n".join(lines)


def _comparison_cells(row: TrackDifference) -> tuple[str, ...]:
    """Return a line of a comparison's table: the success of both, and their difference."""
    gap = row.difference.times(100)
    return (
        row.track,
        *(f"{rate:.0%}" for rate in row.rates),
        f"{gap.mean:+.0f}",
        f"[{gap.low:+.0f}, {gap.high:+.0f}]",
        f"{row.p:.3f}",
        f"{row.holm:.3f}",
    )


def effort_text(card: JsonObject) -> str:
    """Return what a card took: tokens and dollars, and on its ladders rejections and seconds."""
    steps = 0.0
    rejected = 0.0
    seconds = 0.0
    for track in card["tracks"].values():
        for level in (each for each in track["levels"] if each["episodes"]):
            # A card from another program may lack what no horizon needs.
            share = level.get("steps_over_length", 0.0)
            taken = share * level["length"] * level["episodes"]
            steps += taken
            rejected += taken * level.get("rejection_rate", 0.0)
            seconds += level.get("seconds", 0.0)
    text = f"{card['tokens']:,} tokens, {dollars_text(card)}"
    if steps:
        text += f", {rejected / steps:.1%} rejected, {seconds / steps:.2f} s a step"
    return text


def _quick_note(rows: Sequence[TrackDifference]) -> str:
    """Return what a comparison of quick runs can show at best.

    Its smallest p-values are those of a player that wins in all places.
    """
    tracks = [row for row in rows if row.track != ALL_TRACKS]
    fewest = min(row.places for row in tracks)
    every = sum(row.places for row in tracks)
    best = f"on one of {len(tracks)} tracks {clearest_p(fewest, len(tracks)):.2g}"
    if len(tracks) > 1:
        best += f", on all together {clearest_p(every, 1):.2g}"
    # With one place there is no test.
    needed = 2
    while clearest_p(needed, 1) >= ALPHA:
        needed += 1
    return (
        f"a quick run can show at best, with a win in every place: p {best}; a difference needs "
        f"{needed} places without a loss"
    )


def clearest_p(places: int, tracks: int) -> float:
    """Return the corrected p-value of a track where one player wins everything in all places.

    The other one wins nothing: no comparison can be clearer.
    """
    return tracks * 2 * 0.5**places


def _change(row: TrackDifference, items: str = "episodes") -> str:
    """Return a difference as text, in points, with a star where it is significant."""
    gap = row.difference.times(100)
    verdict = ""
    if row.holm < ALPHA:
        verdict = " *"
    return (
        f"success {gap.mean:+.0f} points [{gap.low:+.0f}, {gap.high:+.0f}] on {row.shared} "
        f"{items}, p {row.p:.3f}, Holm {row.holm:.3f}{verdict}"
    )
