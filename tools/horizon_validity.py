"""Validity of the bench: levels that the expert solves, chance, and policies without any skill.

    PYTHONPATH=. python tools/horizon_validity.py levels [--tracks act]
    PYTHONPATH=. python tools/horizon_validity.py floor [--repeats 25] [--shortest 64]
    PYTHONPATH=. python tools/horizon_validity.py policies [--tracks ask]

``levels``: plays every episode's expert, and prints the checksums of the version. ``floor``: the
success of the agent ``random`` over the version's episodes, as many times as ``--repeats`` with
other seeds, at levels from ``--shortest`` on. ``policies``: constant answers, an immediate stop,
the first or last listed action, and one action repeated, all of which must be below the ladder.
Coverage of intervals is measured by ``tools/coverage.py``.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace

from wayword.bench import checksums, ladders
from wayword.bench.horizon import Attempt, horizon
from wayword.bench.ladders import Track
from wayword.core.action import STOP, Action, ActionSpace, Decision
from wayword.core.game import Game
from wayword.core.rollout import Setup, rollout
from wayword.metrics import scoring
from wayword.runs.plan import open_agent, open_dataset

ANSWERS = ("0", "1", "2", "3")
"""Constant answers on ``ask``; elsewhere a policy that stops does so without one."""


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
    if track.name == "ask":
        names = [*(f"answer {each}" for each in ANSWERS)]
    else:
        names = ["stop"]
    for name in [*names, "first", "last", "repeat"]:
        attempts = []
        for level, (_, plan) in enumerate(entry("random").plans(track)):
            dataset = open_dataset(plan)
            for task in dataset.tasks:
                game = Game(
                    dataset.world(task.episode), task.episode, dataset.max_steps
                )
                repeated: dict[str, Action] = {}
                for actor in game.turns():
                    space = game.world.action_space(actor)
                    chosen = choice(name, space, repeated.get(actor))
                    repeated[actor] = chosen
                    game.act(actor, Decision(chosen))
                (scores,) = scoring.score(dataset, [(task, game.finished())])
                won = scores.get(track.success, 0.0) >= track.at_least
                place = ladders.place(task.episode.id)
                attempts.append(Attempt(level, place, task.episode.id, won))
        found = horizon(track.lengths, attempts, track.floor or None)
        solved = [
            sum(each.success for each in attempts if each.level == level)
            for level in range(len(track.lengths))
        ]
        ends = [found.h50.mean, found.h50.low, found.h50.high]
        text = "below the ladder" if found.h50.mean == 0 else f"H50 {ends}"
        print(f"{track.name}, {name}: {solved} solved, {text}", flush=True)


def choice(policy: str, space: ActionSpace, before: Action | None) -> Action:
    """Return the action of a policy: a constant answer, a stop, the first or last listed action, or
    the first one that moves, repeated while it is legal."""
    if policy.startswith("answer "):
        return Action("stop", (policy.partition(" ")[2],))
    listed = list(space.listed)
    if policy == "stop" and STOP in space:
        return STOP
    if policy == "repeat" and before is not None and before in space:
        return before
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
