"""Validity of the bench: levels that the expert solves, chance, and policies without any skill.

    PYTHONPATH=. python tools/horizon_validity.py levels [--tracks act]
    PYTHONPATH=. python tools/horizon_validity.py floor [--repeats 25] [--shortest 64]
    PYTHONPATH=. python tools/horizon_validity.py policies [--tracks ask]

``levels``: plays every episode's expert, and prints the checksums of the version. ``floor``: the
success of the agent ``random`` over the version's episodes, as many times as ``--repeats`` with
other seeds, at levels from ``--shortest`` on. ``policies``: constant answers, an immediate stop,
the first, last or any listed action, and one action repeated, all of which must be below the
ladder (``tests/bench/test_policies.py``).
Coverage of intervals is measured by ``tools/coverage.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import replace

from wayword.bench import checksums, ladders, outcomes
from wayword.bench.horizon import Attempt, horizon
from wayword.bench.ladders import Track
from wayword.core.action import STOP, Action, ActionSpace, Decision
from wayword.core.dataset import Dataset, Task
from wayword.core.game import Game
from wayword.core.rollout import Setup, rollout
from wayword.metrics import scoring
from wayword.runs.opening import open_agent, open_dataset

ANSWERS = ("0", "1", "2", "3")
"""Constant answers, on tracks that ask for one."""


def levels(track: Track) -> None:
    """Play every episode's expert; print each level's lengths, successes and checksum."""
    for length, plan in entry("gold").plans(track):
        dataset = open_dataset(plan)
        steps = []
        solved = 0
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
        dataset = open_dataset(plan)
        solved = 0
        played = 0
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


def policies(track: Track) -> None:
    """Print the episodes that policies without any skill solve at each level, and their horizon."""
    for name, attempts in policy_attempts(track).items():
        print(row_of(track, name, attempts), flush=True)


def policy_names(track: Track) -> list[str]:
    """The policies of a track: the constant answers that it takes, and those of ``choice``."""
    _, plan = next(entry("random").plans(track))
    dataset = open_dataset(plan)
    task = dataset.tasks[0]
    game = Game(dataset.world(task.episode), task.episode, dataset.max_steps)
    space = game.world.action_space(next(game.turns()))
    answers = [each for each in ANSWERS if Action("stop", (each,)) in space]
    constant = [f"answer {each}" for each in answers]
    return [*constant, "stop", "first", "last", "repeat", "random"]


def policy_attempts(
    track: Track, levels: int = 99, episodes: int = 99
) -> dict[str, list[Attempt]]:
    """Play the first episodes of the first levels of a track with each of its policies."""
    names = policy_names(track)
    attempts: dict[str, list[Attempt]] = {name: [] for name in names}
    for level, (length, plan) in enumerate(entry("random").plans(track)):
        if level >= levels:
            break
        dataset = open_dataset(plan)
        # All policies play an episode before the next one: a home takes longer to build than to
        # play, and not all of a level fit into the cache.
        for number in range(min(episodes, len(dataset.tasks))):
            task = dataset.tasks[number]
            for name in names:
                won = solves(name, dataset, task, track, random.Random(number))
                place = outcomes.place(task.episode.id)
                attempts[name].append(Attempt(level, place, task.episode.id, won))
        solved = {
            name: sum(each.success for each in tried if each.level == level)
            for name, tried in attempts.items()
        }
        print(f"{track.name} {length}: {solved}", file=sys.stderr, flush=True)
    return attempts


def solves(
    name: str, dataset: Dataset, task: Task, track: Track, rng: random.Random
) -> bool:
    """Play an episode with a policy, and return True if it succeeds."""
    game = Game(dataset.world(task.episode), task.episode, dataset.max_steps)
    repeated: dict[str, Action] = {}
    for actor in game.turns():
        space = game.world.action_space(actor)
        chosen = choice(name, space, repeated.get(actor), rng)
        repeated[actor] = chosen
        game.act(actor, Decision(chosen))
    (scores,) = scoring.score(dataset, [(task, game.finished())])
    return bool(scores.get(track.success, 0.0) >= track.at_least)


def row_of(track: Track, name: str, attempts: Sequence[Attempt]) -> str:
    """The episodes solved at each level, and the horizon as a card prints it."""
    levels = 1 + max(each.level for each in attempts)
    lengths = track.lengths[:levels]
    found = horizon(lengths, attempts, track.floor[:levels] or None)
    solved = [
        sum(each.success for each in attempts if each.level == level)
        for level in range(levels)
    ]
    text = "below the ladder"
    if found.h50.mean > 0:
        text = f"H50 {[found.h50.mean, found.h50.low, found.h50.high]}"
    return f"{track.name}, {name}: {solved} solved, {text}"


def choice(
    policy: str, space: ActionSpace, before: Action | None, rng: random.Random
) -> Action:
    """Return the action of a policy: a constant answer, a stop, the first, last or any listed
    action, or the first one that moves, repeated while it is legal."""
    if policy.startswith("answer "):
        return Action("stop", (policy.partition(" ")[2],))
    listed = list(space.listed)
    if policy == "stop" and STOP in space:
        return STOP
    if policy == "repeat" and before is not None and before in space:
        return before
    if policy == "random" and listed:
        return rng.choice(listed)
    moves = [action for action in listed if action.name != "stop"] or [STOP]
    if policy == "last":
        return listed[-1] if listed else STOP
    return moves[0]


def entry(agent: str) -> ladders.Contender:
    return ladders.Contender(ladders.open_bench(), agent)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("levels", "floor", "policies"))
    parser.add_argument("--tracks", default="")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--shortest", type=int, default=0)
    options = parser.parse_args()
    names = tuple(name for name in options.tracks.split(",") if name)
    for track in replace(entry("gold"), tracks=names).chosen():
        if options.what == "policies":
            policies(track)
        elif options.what == "levels":
            levels(track)
        else:
            floor(track, options.repeats, options.shortest)


if __name__ == "__main__":
    main()
