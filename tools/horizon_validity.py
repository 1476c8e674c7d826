"""Validity of the bench: levels that the expert solves, chance, coverage of the horizon's interval.

    PYTHONPATH=. python tools/horizon_validity.py coverage [--seeds 40] [--tracks follow,find]
    PYTHONPATH=. python tools/horizon_validity.py levels [--tracks act]
    PYTHONPATH=. python tools/horizon_validity.py floor [--repeats 25] [--shortest 64]

``coverage``: a player strays for good with probability p at each step, so its horizon is
ln 1/2 / ln(1 - p); in half of the rows it also fails a quarter of the episodes whatever their
length. Reports in how many seeds the interval holds the truth. ``levels``: plays every episode's
expert, and prints the checksums of the version. ``floor``: the success of the agent ``random``
over the version's episodes, as many times as ``--repeats`` with other seeds, at levels from
``--shortest`` on.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from wayword.bench import checksums, ladders
from wayword.bench.horizon import Attempt, horizon
from wayword.bench.ladders import Track
from wayword.core.action import Decision
from wayword.core.game import Game
from wayword.core.rollout import Setup, rollout
from wayword.metrics import scoring
from wayword.runs.plan import open_agent, open_dataset

CHANCES = (0.02, 0.05, 0.1, 0.2)
FAILING = (0.0, 0.25)


def attempts(
    lengths: tuple[int, ...], chance: float, failing: float, episodes: int, seed: int
) -> list[Attempt]:
    """Attempts of a player that strays with that chance at each step."""
    rng = np.random.default_rng((seed, episodes))
    return [
        Attempt(
            level,
            f"place {number}",
            f"{level}/{number}",
            bool(rng.random() < (1 - failing) * (1 - chance) ** length),
        )
        for level, length in enumerate(lengths)
        for number in range(episodes)
    ]


def coverage(track: Track, episodes: int, seeds: int) -> None:
    lengths = track.lengths
    for failing in FAILING:
        medians = []
        for chance in CHANCES:
            exact = true = math.log(0.5) / math.log(1 - chance)
            true = (
                math.inf if true > lengths[-1] else 0.0 if true < lengths[0] else true
            )
            found = [
                horizon(lengths, attempts(lengths, chance, failing, episodes, seed)).h50
                for seed in range(seeds)
            ]
            held = sum(each.low <= true <= each.high for each in found)
            medians.append(float(np.median([each.mean for each in found])))
            print(
                f"{track.name} {lengths[0]} to {lengths[-1]}, p={chance:g}, {failing:.0%} failing: "
                f"true {exact:.1f}, median {medians[-1]:.1f}, held {held} of {seeds}",
                flush=True,
            )
        ordered = all(a >= b for a, b in pairwise(medians))
        print(
            f"{track.name}, {failing:.0%} failing: players in order: {ordered}",
            flush=True,
        )


def levels(track: Track) -> None:
    """Play every episode's expert; print each level's lengths, successes and checksum."""
    for length, plan in entry("gold").plans(track):
        dataset = open_dataset(plan)
        steps, solved = [], 0
        for task in dataset.tasks:
            actions = dataset.solve(task, track.solution)
            game = Game(dataset.world(task.episode), task.episode, dataset.max_steps)
            first = game.world.actors[0]
            for actor in game.turns():  # partners stop at once
                taken = game.taken[first] if actor == first else -1
                game.act(actor, Decision(actions[min(taken, len(actions) - 1)]))
            (scores,) = scoring.score(dataset, [(task, game.finished())])
            solved += scores[track.success] >= track.at_least
            steps.append(len(actions))
        print(
            f"{track.name} {length}: {solved} of {len(steps)} solved, {min(steps)} to {max(steps)} "
            f"actions, checksums {checksums.level_checksums(plan)}",
            flush=True,
        )


def floor(track: Track, repeats: int, shortest: int) -> None:
    """Print the success of ``random`` at each level from ``shortest`` on."""
    rates = []
    for length, plan in entry("random").plans(track):
        if length < shortest:
            continue
        dataset, solved, played = open_dataset(plan), 0, 0
        make_agent = open_agent(plan, dataset).make
        for seed in range(repeats):
            setup = Setup(dataset, make_agent, seed=seed, max_steps=dataset.max_steps)
            for task in dataset.tasks:
                trajectory = asyncio.run(rollout(task, setup))
                (scores,) = scoring.score(dataset, [(task, trajectory)])
                solved += scores.get(track.success, 0.0) >= track.at_least
                played += 1
        rates.append(round(solved / played, 4))
        print(f"{track.name}: floor {rates}, {played} episodes a level", flush=True)


def entry(agent: str) -> ladders.Contender:
    return ladders.Contender(ladders.open_bench(), agent)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("coverage", "levels", "floor"))
    parser.add_argument("--tracks", default="")
    parser.add_argument("--episodes", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--shortest", type=int, default=0)
    options = parser.parse_args()
    names = tuple(name for name in options.tracks.split(",") if name)
    for track in replace(entry("gold"), tracks=names).chosen():
        if options.what == "coverage":
            coverage(
                track, options.episodes or ladders.open_bench().episodes, options.seeds
            )
        elif options.what == "levels":
            levels(track)
        else:
            floor(track, options.repeats, options.shortest)


if __name__ == "__main__":
    main()
