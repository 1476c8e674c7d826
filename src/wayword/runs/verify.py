"""Verify a run: replay every recorded action, recompute every score, and check the plan.

World, metrics and the choice of episodes are deterministic, so a record that was changed, by a disk
error or by hand, differs from its replay even if each file is intact. Checked are:

- ``run.json``: what the code and the data say about the split, its size and its metrics;
- the set of episodes: the first ones in the plan's order, or of its sample, without gaps;
- each episode: start, turn order, observations, decisions, feedback and poses of all steps, the
  limit of steps, the ending, the final state, the trials and their verdicts, and all scores;
- in runs with pictures: that the world draws the pixels whose hashes the record has.

Everything else comes from whoever played, and ``UNPROVEN`` lists it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from wayword.agents.person import with_answerer
from wayword.core import registry
from wayword.core.action import Decision
from wayword.core.dataset import Dataset, Task, of_ids, task_id
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import WaywordError
from wayword.core.game import Game
from wayword.core.sight import Eyes
from wayword.core.trajectory import Step, Trajectory
from wayword.metrics import scoring
from wayword.runs.active import CHOSEN
from wayword.runs.codec import plain
from wayword.runs.identity import omitted, shown_split
from wayword.runs.opening import Trusted, open_plan, plan_of
from wayword.runs.plan import Plan
from wayword.runs.predicted import CAVEAT
from wayword.runs.record import EpisodeRecord, RecordedRun
from wayword.runs.selection import choose
from wayword.worlds.household.observation import Answerer

UNPROVEN = (
    "not proven: who played, with which model, prompts and answers; thoughts, tokens, cost and "
    "times; how often it was tried, or ended early"
)
"""What no replay can show, for the user."""


_UNKNOWN_EPISODE = "is not in the dataset"
_IMPOSSIBLE = "cannot be replayed"
_OTHER_TRAJECTORY = "has the trajectory of episode"
NOT_REPLAYED = (_UNKNOWN_EPISODE, _IMPOSSIBLE, _OTHER_TRAJECTORY)
"""Beginnings of the differences of episodes that were not replayed to their end."""


def verify(
    run: RecordedRun,
    data: Path | None = None,
    trusted: Trusted = (),
) -> Iterator[tuple[str, str]]:
    """Yield each difference of the run as a whole, with an empty id, then each finished episode's
    id and its first difference, empty if equal. Raises ``RecordingError`` for a damaged record,
    ``UsageError`` if the data differ from the run's."""
    identity = run.config["identity"]
    # The run's own plan, opened again.
    plan = plan_of(identity, data, trusted)
    dataset = open_plan(plan, run)
    for difference in (*_config_differences(run, plan, dataset), _gap(run, dataset)):
        if difference:
            yield "", difference
    # Only the episodes that were played are read.
    tasks = of_ids(dataset.tasks, run.index.ids())
    replay = _Replay(dataset, identity)
    for record in run.records():
        try:
            difference = replay.difference(tasks.get(record.episode_id), record)
        except WaywordError as error:
            difference = f"{_IMPOSSIBLE}: {error}"
        yield record.episode_id, difference


UNORDERED = (CHOSEN, CAVEAT)
"""Caveats of runs whose episodes are neither the first of a split nor drawn."""


def coverage(run: RecordedRun, dataset_size: int = 0) -> str:
    """The episodes of a run: ``the first 12 of 20 episodes``."""
    # Old runs do not have the size of their split.
    of = dataset_size or run.config.get("episodes_in_split") or 0
    tried = len(run.index.tried())
    identity = run.config["identity"]
    seed = identity.get("shuffle")
    # Episodes that were chosen are no sample.
    if not of:
        covered = f"{tried:,} episodes of a split of unknown size"
    elif tried >= of:
        covered = f"all {of:,} episodes of the split"
    elif identity["continues"]:
        covered = f"{tried:,} of {of:,} episodes, continued from another run"
    elif stated := [each for each in UNORDERED if each in run.config["caveats"]]:
        covered = f"{tried:,} of {of:,} episodes, {stated[0]}"
    elif seed is not None:
        covered = f"{tried:,} of {of:,} episodes, a random sample (--shuffle {seed})"
    else:
        covered = f"the first {tried:,} of {of:,} episodes"
    if identity["shard"]:
        covered += f", shard {identity['shard']}"
    if failed := tried - len(run.index.ids()):
        covered += f"; {failed:,} of them failed, for reasons that no replay can show"
    return covered


def _config_differences(
    run: RecordedRun,
    plan: Plan,
    dataset: Dataset,
) -> Iterator[str]:
    """Yield the first field of ``run.json`` that differs from the code and the data, as text, and a
    missing caveat. The first text is empty if no field differs.

    These fields describe the results in tables, so a changed one would misrepresent them.
    """
    config = run.config
    # What the code and the data say now.
    expected: dict[str, Any] = {
        "family": dataset.family.name,
        "success": dataset.family.success,
        "metrics": [asdict(each) for each in scoring.scorer(dataset.family).metrics],
        "episodes_in_split": len(dataset.tasks),
        "left_out": omitted(dataset),
    }
    if not registry.is_path(plan.dataset_name):  # whose path may have changed
        expected["split"] = shown_split(plan, dataset)
    agents = [config["identity"], *config["identity"]["actors"].values()]
    name, *others = {str(each.get("agent", "")) for each in agents}
    # Of agents in files, nothing is known without running them. Where there are several, those of
    # actors may play all of them, so the run's own need not.
    if not others and name in registry.names("agent"):
        expected["sees_answer"] = registry.load("agent", name).sees_answer
    # One difference is enough: later fields often depend on earlier ones.
    yield _first_difference(
        "run.json: field",
        expected,
        {k: config.get(k) for k in expected},
    )
    strangers = set(config["identity"]["actors"])
    for task in dataset.tasks if strangers else ():
        strangers -= set(task.episode.actors)
    if strangers:
        name = min(strangers)
        yield f"run.json: field 'identity.actors' names {name!r}, which no episode has"
    lacking = [line for line in dataset.caveats if line not in config["caveats"]]
    if lacking:
        yield f"run.json: field 'caveats' lacks {lacking[0]!r}"


def _gap(run: RecordedRun, dataset: Dataset) -> str:
    """The first episode that the plan demands before others that were tried; empty if none."""
    identity = run.config["identity"]
    tried = run.index.tried()
    # Such runs have no order that could have a gap.
    if identity["continues"]:
        others = sorted(tried - {identity["continues"].get("episode")})
        return f"episode {others[0]!r} is not the continued one" if others else ""
    if CHOSEN in run.config["caveats"]:
        return ""
    shuffle = identity.get("shuffle")
    order = Plan(
        "any",
        "any",
        shuffle=shuffle,
        first=shuffle is None,
        shard=identity["shard"],
    )
    # The order of episodes that the run's settings demand.
    numbers = choose(order, dataset.tasks)
    for number in islice(numbers, len(tried)):
        name = task_id(dataset.tasks, number)
        if name not in tried:
            return (
                f"episode {name!r} is missing, although later ones of the plan were tried; "
                "finish the run with its command"
            )
    return ""


def recorded_answers(trajectory: Trajectory) -> Answerer | None:
    """An answerer that repeats the recorded answers in order; None if no question was asked: with
    an answerer, agents are offered the action ``ask``."""
    answers = [
        step.feedback.details.get("answer") if step.feedback.ok else None
        for step in trajectory.steps
        if isinstance(step.decision, Decision) and step.decision.action.name == "ask"
    ]
    remaining = iter(answers)
    return (lambda actor, question: next(remaining, None)) if answers else None


class _Replay:
    """Replays the episodes of a run under its limit of steps and trials."""

    def __init__(self, dataset: Dataset, identity: JsonObject) -> None:
        self._dataset = dataset
        self._judge = scoring.judge(dataset)
        self._limit = identity.get("max_steps") or dataset.max_steps
        # The steps of a continued episode were taken under the limit of another run.
        self._continued = max(0, (identity["continues"].get("step") or 1) - 1)
        parts = [identity, *identity["actors"].values()]
        trials = [part["settings"].get("trials", 1) for part in parts]
        self._trials = max(each for each in (1, *trials) if type(each) is int)

    def difference(self, task: Task | None, record: EpisodeRecord) -> str:
        """The first difference between an episode and its replay; empty if equal."""
        if task is None:
            return _UNKNOWN_EPISODE
        if record.trajectory.episode_id != record.episode_id:
            return f"{_OTHER_TRAJECTORY} {record.trajectory.episode_id!r}"
        # Each trial is replayed; one that succeeded must be the last.
        trials = record.trajectory.trials()
        if len(trials) > self._trials:
            return f"has {len(trials)} trials, but its settings allow {self._trials}"
        for number, trial in enumerate(trials, 1):
            difference = self._trial_difference(task, trial)
            if not difference and number < len(trials):
                difference = _why_final(trial)
            if difference:
                if len(trials) == 1:
                    return difference
                return f"trial {number}: {difference}"
        # Scores last: those of a trajectory that cannot happen mean nothing.
        (scores,) = scoring.score(self._dataset, [(task, record.trajectory)])
        return _first_difference("score", scores, record.scores)

    def _trial_difference(self, task: Task, recorded: Trajectory) -> str:
        """Return how a replayed trial differs from the recorded one; empty if it does
        not."""
        world = self._dataset.world(task.episode)
        world = with_answerer(world, recorded_answers(recorded))
        game = Game(world, task.episode, self._limit)
        # A record may name anything.
        if unknown := {step.actor for step in recorded.steps} - set(world.actors):
            return f"there is no actor {min(unknown)!r}"
        # From another start, every step would differ.
        start = game.trajectory.start
        if difference := _first_difference("start of", start, recorded.start):
            return difference
        # Continued steps were taken over, in the order of their recording.
        turns: Iterator[str] = iter(())
        looked: dict[str, set[str]] = {}
        for number, step in enumerate(recorded.steps, 1):
            if number == self._continued + 1:
                turns = game.turns()
            if number > self._continued:
                actor = next(turns, "")
                # A record must not go on after the end.
                if not actor:
                    return f"step {number}: the episode had ended ({game.ended})"
                if actor != step.actor:
                    return f"step {number}: it was the turn of {actor!r}"
            if difference := self._pictures_difference(game, step, looked):
                return f"step {number}: {difference}"
            # The world takes the recorded decision and answers now.
            replayed = game.act(step.actor, step.decision)
            for field in ("observation", "decision", "feedback", "pose"):
                if not _same(
                    plain(getattr(replayed, field)), plain(getattr(step, field))
                ):
                    return f"step {number}: the {field} differs"
            # metrics read the type of an observation, which records lack
            step.observation = replayed.observation
        # An episode that was cut off could hide a failure.
        if game.ended is None:
            return (
                f"ends after {len(recorded.steps)} steps, without a stop and below its limit of "
                f"{self._limit}"
            )
        if game.ended != recorded.ended:
            return f"ends as {game.ended}, recorded as {recorded.ended}"
        state = _first_difference("final state of", world.state(), recorded.state)
        return state or self._verdict_difference(task, recorded)

    def _pictures_difference(
        self, game: Game, step: Step, looked: dict[str, set[str]]
    ) -> str:
        """Compare the hashes of a step's pictures with what the world draws now. ``looked``:
        those of each actor's earlier steps, which may stay in its conversation."""
        painter = self._dataset.painter()
        # Runs in words have no pictures.
        if self._dataset.eyes is None or painter is None:
            return ""
        shown = [call.pixels for call in step.calls]
        # Drawing takes long, and there is nothing to compare.
        if not any(shown):
            return ""
        earlier = looked.setdefault(step.actor, set())
        eyes = Eyes(self._dataset.eyes, painter, game.world, step.actor)
        missing = [hashes for hashes in shown if hashes]
        # Searchers look around before they choose; other agents see what is ahead.
        for each in (eyes, eyes.turning()):
            now = each.hashes()
            missing = [h for h in missing if not _shows(h, now, earlier)]
            if not missing:
                break
        if missing:
            # Experts are shown one direction each.
            parts = set(eyes.in_parts().hashes())
            missing = [hashes for hashes in missing if not parts.issuperset(hashes)]
        for hashes in shown:
            earlier.update(hashes)
        return "the pictures differ" if missing else ""

    def _verdict_difference(self, task: Task, recorded: Trajectory) -> str:
        """Return how a verdict differs from the recorded one; empty if it does not."""
        verdict = recorded.verdict
        if verdict is None or verdict.succeeded is None:
            return ""
        # The verdict decides whether another trial follows.
        succeeded = self._judge(task, recorded)
        if verdict.succeeded != succeeded:
            return f"its verdict is {succeeded}, recorded as {verdict.succeeded}"
        return ""


def _shows(hashes: Sequence[str], now: Sequence[str], earlier: Set[str]) -> bool:
    """True if a prompt's pictures are those of earlier steps, then those of ``now``."""
    count = len(hashes) - len(now)
    return list(hashes[count:]) == list(now) and earlier >= set(hashes[:count])


def _why_final(trial: Trajectory) -> str:
    """The reason why no other trial may follow; empty if one may."""
    if trial.verdict is None:
        return "was played again without a verdict"
    return "was played again after a success" if trial.verdict.succeeded else ""


def _same(one: Json, other: Json) -> bool:
    """True if two JSON values are equal and of equal types, as ``true`` is not 1."""
    return one == other and _agree(one, other)


def _agree(one: Json, other: Json) -> bool:
    """True if equal values are true or false at the same places."""
    if isinstance(one, dict):
        return all(_agree(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return all(map(_agree, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def _first_difference(
    label: str,
    actual: JsonObject,
    recorded: JsonObject,
) -> str:
    """Return the first field that differs, with both values."""
    actual = plain(actual)
    recorded = plain(recorded)
    # Fields of either side.
    for key in {**actual, **recorded}:
        values = actual.get(key), recorded.get(key)
        if not _same(*values):
            return "{} {!r} is {!r:.60}, recorded {!r:.60}".format(label, key, *values)
    return ""
