"""Bench: ladders of levels of doubling length, and the runs of one player on them.

A version (``2026.2.yaml``) names tracks; a track is a dataset whose setting ``length``
makes its levels. Each level is an ordinary run, in ``FOLDER/TRACK/LENGTH``, so it resumes, and
every other command reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from wayword.bench.checksums import level_checksums
from wayword.bench.outcomes import results
from wayword.bench.real import RealSet
from wayword.bench.sight import CONDITIONS, DRAWN, run_folder
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, suggest
from wayword.core.files import text_checksum
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import is_run
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

    def is_middle_played(self, track: Track) -> bool:
        """True if the ladder got to its middle level, with which perturbed runs are compared."""
        return is_run(self.folder / track.name / f"{track.middle:03d}")

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
