"""An episode as a JSON document: everything its page shows, derived once from the record.

    document = Document.of(record, sources)
    document.progress.best_step, document.causes    # (2, {"looped": 3, "ran_out": 5})
    document.mistake.text                           # "Step 3: went to F; the path was D, …"
    document.json()                                 # for the page: served, in a file, in a notebook

Rendering a page needs no dataset and no world. Deriving its document replays the recorded actions
at most once, for the map and for the progress, which the family's scorer measures after each action
as if the episode ended there.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple

from wayword.agents.person import with_answerer
from wayword.core.action import STOP, Action, Decision
from wayword.core.episode import Json
from wayword.core.errors import WaywordError
from wayword.core.game import Game, PlanningFailed, ReplayDiffers
from wayword.core.trajectory import CLAUSES, FOLLOWED, Note, Trajectory
from wayword.metrics.causes import find_causes, label_of, meaning_of
from wayword.metrics.household import answer_is_right
from wayword.metrics.scoring import Judged, Standing, scorer
from wayword.runs.codec import plain, to_json
from wayword.runs.record import EpisodeRecord
from wayword.runs.running import recorded_answers
from wayword.viewer import maps
from wayword.viewer.data import Sources
from wayword.viewer.figures import SPOKEN, as_mapping, count, objects_in, place_of
from wayword.viewer.maps.babyai import MEANT
from wayword.viewer.maps.drawing import Map
from wayword.viewer.markup import Html, Letters
from wayword.worlds.household.goals import AnswerReference, HouseholdReference, kinds
from wayword.worlds.household.verbs import HIGH_LEVEL
from wayword.worlds.household.world import HouseholdWorld
from wayword.worlds.objectnav.world import ObjectNavReference
from wayword.worlds.two_phase.world import TwoPhaseReference

Condition = tuple[str, int, int]
"""A goal condition: its words, how many of its parts hold, and how many there are."""


@dataclass(frozen=True)
class Document:
    """Content of an episode's page. ``letters`` are the short names of its places, ``drawn`` is its
    map, ``condition_history`` the goal conditions at each step that changed one, and ``sought`` the
    object of each condition."""

    record: EpisodeRecord
    sources: Sources
    letters: Letters
    progress: GoalProgress
    drawn: Map | Html | None
    clauses: Clauses
    condition_history: Mapping[int, Sequence[Condition]] = field(default_factory=dict)
    sought: Sequence[Sought] = ()

    @staticmethod
    def of(record: EpisodeRecord, sources: Sources) -> Document:
        """Derive the document of a record; ``sources`` are the data of its dataset."""
        trajectory = record.trajectory
        letters = maps.letters_of(sources, trajectory)
        sources = replace(sources, letters=letters)
        progress, drawn, history, sought = replay(trajectory, sources)
        clauses = Clauses.of(trajectory)
        return Document(record, sources, letters, progress, drawn, clauses, history, sought)

    def json(self, patience: float = 0.0) -> dict[str, Json]:
        """Return the page's content as JSON, with expert advice if ``patience`` (s) is above 0."""
        progress, clauses, scores = self.progress, self.clauses, self.record.scores
        steps, family = self.trajectory.steps, self.sources.family()
        numbers, percepts = range(1, len(steps) + 1), {}
        for number, step in enumerate(steps, 1):
            if not (step.calls or step.percept) and (place := place_of(step.observation)):
                percepts[number] = self.sources.percept(self.scene, place)
        derived = plain({
            "id": self.record.episode_id, "scene": self.scene, "instruction": self.instruction,
            "notice": self.sources.notice, "succeeded": self.succeeded, "scores": scores,
            "private": self.sources.private_instructions(self.record.episode_id),
            "mistake": self.mistake and {"step": self.mistake.step, "text": self.mistake.text},
            "conditions": self.conditions, "map": None if self.map is None else str(self.map),
            "causes": [(label_of(c), meaning_of(c, scores), n) for c, n in self.causes.items()],
            "progress": {
                "course": progress.values, "conditions": progress.conditions,
                "informative": progress.informative, "off_path": progress.off_path_step,
                "best": progress.best_step, "worst": progress.worst_step,
                "summary": progress.summary(),
                "steps": [(progress.describe(n), progress.kind(n)) for n in numbers],
            },
            "clauses": {
                "texts": clauses.texts, "cut": clauses.cut(self.instruction),
                "followed": clauses.followed, "starts": [clauses.starts(n) for n in numbers],
                "steps": [(now.number, now.done) for now in map(clauses.at, numbers)],
            },
            "rises": self.rises, "letters": self.letters.by_place, "percepts": percepts,
            "fair": family is not None and family.name in _FAIR_EXPERTS,
            "advice": expert_advice(self.trajectory, self.sources, patience) if patience else None,
        })  # fmt: skip
        return {**derived, "trajectory": self.written}

    @property
    def trajectory(self) -> Trajectory:
        """The recorded steps."""
        return self.record.trajectory

    @cached_property
    def written(self) -> dict[str, Json]:
        """The recorded steps in the format of a run folder."""
        return to_json(self.trajectory)

    @property
    def succeeded(self) -> bool | None:
        """True if the episode succeeded; None if success was not measured or the episode failed."""
        score = self.record.scores.get(self.sources.success)
        return None if score is None or self.trajectory.ended == "failed" else score > 0.5

    @property
    def instruction(self) -> str:
        """The instruction, empty if it is unknown."""
        return self.sources.instruction(self.record.episode_id)

    @property
    def scene(self) -> str:
        """The scene; from the first observation if the dataset is not available."""
        first = as_mapping(self.trajectory.steps[0].observation) if self.trajectory.steps else {}
        return self.sources.scene(self.record.episode_id) or str(first.get("scene") or "")

    @cached_property
    def map(self) -> Html | None:
        """The map; in an episode without success, the mistake and the end are marked."""
        if isinstance(self.drawn, Map) and self.succeeded is False:
            step, text = self.mistake or (0, "")
            lettered = self.drawn.lettered  # also the places that the sentence names
            if lettered is not None:
                lettered |= {place for place in self.letters.by_place if place in text}
            drawn = replace(self.drawn, failed=True, mistake=step, lettered=lettered)
            return maps.figure(drawn)
        return maps.figure(self.drawn)

    @cached_property
    def rises(self) -> dict[int, str]:
        """Steps that led up or down by half a metre or more: ``↑ 2.9 m``."""
        heights = maps.heights(self.scene, self.sources)
        rises, places = {}, dict(self.trajectory.start)
        for number, step in enumerate(self.trajectory.steps, 1):
            before, after = (
                heights.get(place_of(pose)) for pose in (places.get(step.actor), step.pose)
            )
            places[step.actor] = step.pose
            if before is not None and after is not None and abs(after - before) >= _RISE:
                rises[number] = f"{'↑' if after > before else '↓'} {abs(after - before):.1f} m"
        return rises

    @cached_property
    def causes(self) -> dict[str, int]:
        """Causes of an episode without success, each with the first step that shows it."""
        if self.succeeded is not False:
            return {}
        return find_causes(self.written, self.record.scores, self.instruction)

    @cached_property
    def conditions(self) -> Sequence[Condition]:
        """The goal conditions with their final states."""
        return conditions(self.sources.reference(self.record.episode_id), self.trajectory.state)

    @cached_property
    def mistake(self) -> Mistake | None:
        """The mistake and its step; None for an episode with success."""
        return find_mistake(self)


_RISE = 0.5  # metres between two viewpoints from which a step leads up or down
_FAIR_EXPERTS = frozenset({"indoor", "street", "babyai"})
"""Families whose experts know no more than the agent could: no hidden target."""


# How far an episode was from success at the start and after each step.

_ROUNDING = 0.05  # metres that a path must grow by to count as worse: less is rounding of poses


@dataclass(frozen=True, slots=True)
class GoalProgress:
    """The distance from success at the start and after each step.

        >>> progress = GoalProgress((5.0, 3.0, 1.0, 4.0), unit="m")
        >>> progress.best_step, progress.worst_step, progress.describe(3)
        (2, 3, '4.0 m to go, 3.0 m further')

    ``values`` are the distances left, in ``unit``; or, if ``conditions`` is not 0, the number of
    goal conditions met, of ``conditions``. ``off_path_step`` is the first step (from 1) off the
    gold path; 0 if there is none, or no gold path."""

    values: tuple[float, ...] = ()
    conditions: int = 0
    unit: str = "m"
    off_path_step: int = 0

    @property
    def informative(self) -> bool:
        """True if there is anything to draw, which conditions that never change do not provide."""
        varies = self.conditions > 1 or len(set(self.values)) > 1
        return bool(self.values) and (not self.conditions or varies)

    @property
    def best_step(self) -> int:
        """First step after which success was nearest; 0 is the start."""
        best = max if self.conditions else min
        return self.values.index(best(self.values)) if self.values else 0

    @property
    def first_loss(self) -> int:
        """First step (from 1) after which success was farther away; 0 if there is none. A condition
        that is met again later, for example after an object is moved, does not count."""
        for step in range(1, len(self.values)):
            undone = not self.conditions or max(self.values[step:]) < self.values[step - 1]
            if self.change(step) < 0 and undone:
                return step
        return 0

    @property
    def worst_step(self) -> int:
        """Step (from 1) that led farthest away from success; 0 if none did."""
        losses = {step: self.change(step) for step in range(1, len(self.values))}
        worst = min(losses, key=lambda step: losses[step], default=0)
        return worst if worst and losses[worst] < 0 else 0

    def change(self, step: int) -> float:
        """Return the progress of a step in metres, links or conditions; negative if farther."""
        if not 1 <= step < len(self.values):
            return 0.0
        before, after = self.values[step - 1], self.values[step]
        if before == after:
            return 0.0
        gained = after - before if self.conditions else before - after
        return gained if abs(gained) > _ROUNDING else 0.0

    def describe(self, step: int) -> str:
        """Describe the change made by a step; empty if it is unknown."""
        if not self.informative or not 0 <= step < len(self.values):
            return ""
        change, now = self.change(step), self.values[step]
        if not self.conditions:
            further = f", {self.length(-change)} further" if change < 0 else ""
            return f"{self.length(now)} to go{further}"
        more = "more" if change > 0 else "fewer"
        words = f"{now:.0f} of {self.conditions} goal conditions met, {abs(change):.0f} {more}"
        return words if change else ""

    def kind(self, step: int) -> str:
        """Return the CSS classes for the description of a step."""
        change = self.change(step)
        return "led worse" if change < 0 else "led better" if change and self.conditions else "led"

    def summary(self) -> str:
        """Summarize the progress in one line."""
        if not self.informative:
            return ""
        best, last = self.values[self.best_step], self.values[-1]
        when = f"after step {self.best_step}" if self.best_step else "at the start"
        if self.conditions:
            least = f"{best:.0f} at best, {when}" if best > last else "never more"
            return f"{last:.0f} of {self.conditions} goal conditions met at the end, {least}"
        return f"{self.length(last)} to the goal at the end, {self.length(best)} at best, {when}"

    def length(self, length: float) -> str:
        """Format a distance with its unit."""
        if not math.isfinite(length):
            return "no path"
        return f"{length:.0f} {self.unit}" if self.unit != "m" else f"{length:.1f} m"


@dataclass(frozen=True, slots=True)
class Sought:
    """The object of a goal condition, without its destination: its kind, the actors' names for such
    objects, and their room (empty if there are several)."""

    kind: str
    names: Set[str]
    room: str

    @staticmethod
    def of(goal: Any, world: HouseholdWorld) -> Sought:
        """Return the object as it is in the final world."""
        ids: list[str] = []
        for part in getattr(goal, "dishes", (goal,)):
            ids += [*getattr(part, "objects", ()), *getattr(part, "lamps", ())]
            ids += [each for each in [getattr(part, "object", "")] if each]
        named = (world.name(actor, each) for actor in world.actors for each in ids)
        at, placed = [world.layout.index[each] for each in ids], world.house.entities
        rooms = {world.layout.room_at(placed.x[i], placed.y[i]) for i in at}
        room = rooms.pop().replace("_", " ") if len(rooms) == 1 else ""
        return Sought(kinds(ids), {name for name in named if name}, room)


def replay(
    trajectory: Trajectory, sources: Sources
) -> tuple[GoalProgress, Map | Html | None, dict[int, Sequence[Condition]], list[Sought]]:
    """Replay an episode once, for its progress, its map, the goal conditions at each step that
    changed one, and the object of each condition.

    Progress is the remaining distance if the scorer knows it, else the number of goal conditions
    met. If an episode cannot be replayed, it is the straight-line distance to the end of the gold
    path.
    """
    standings: list[Standing] = []
    history: dict[int, Sequence[Condition]] = {}
    sought: list[Sought] = []
    watched, reference = False, sources.reference(trajectory.episode_id)

    def watch(world: Any, step: int, actor: str) -> None:
        nonlocal watched
        watched, dataset = True, sources.dataset
        if step == 1:
            standings.clear()
        if dataset is None or not isinstance(judge := scorer(dataset.family), Judged):
            return
        now = judge.standing(dataset, sources.tasks[trajectory.episode_id], world)
        if now is None:
            return
        if isinstance(reference, HouseholdReference) and (
            not standings or standings[-1].met != now.met
        ):
            history[step - 1] = conditions(reference, world.now())
        standings.append(now)
        if not actor and isinstance(reference, HouseholdReference):
            sought[:] = [Sought.of(goal, world) for goal in reference.goals]

    drawn = maps.map_of(trajectory, replace(sources, watchers=(watch,)))
    if not watched:  # a map that needs no replay
        sources.played(trajectory, watch)
    gold = set(sources.gold(trajectory.episode_id))
    places = enumerate((place_of(step.pose) for step in trajectory.steps), 1)
    off = next((n for n, place in places if gold and place and place not in gold), 0)
    if len(standings) != len(trajectory.steps) + 1:
        return GoalProgress(tuple(maps.distances(drawn)), off_path_step=off), drawn, {}, []
    lengths = [each.distance for each in standings if each.distance is not None]
    if len(lengths) == len(standings):
        return GoalProgress(tuple(lengths), 0, standings[0].unit, off), drawn, history, sought
    met = tuple(float(each.met) for each in standings)
    return GoalProgress(met, standings[0].parts, off_path_step=off), drawn, history, sought


_MOST_CONDITIONS = 12  # that are listed


def conditions(reference: Any, state: Mapping[str, Any]) -> list[Condition]:
    """Return the goal conditions of an episode with their final states; empty if unknown."""
    if isinstance(reference, TwoPhaseReference):
        left = state.get("phase") == 2
        right = left and state.get("place") == reference.room
        return [("leave the room", int(left), 1), (f"go to the {reference.room}", int(right), 1)]
    if isinstance(reference, AnswerReference):
        right = bool(answer_is_right(state, reference.answer))
        return [(f"the answer {reference.answer!r}", int(right), 1)]
    if not isinstance(reference, HouseholdReference):
        return []
    goals = reference.goals[:_MOST_CONDITIONS]
    try:
        return [(goal.words, goal.met(state), goal.parts) for goal in goals]
    except (KeyError, TypeError, AttributeError):
        return []  # a state that is not of this world


# The mistake: the step at which an episode went wrong, in one sentence.


class Mistake(NamedTuple):
    """The mistake of an episode. ``step`` counts from 1; 0 if it is not a single step."""

    step: int
    text: str


_NAMED_CONDITIONS = 2  # unmet goal conditions that the sentence names


def find_mistake(document: Document) -> Mistake | None:
    """Find the mistake of an episode without success: a step off the gold path, a target in view
    but not taken, a goal condition undone or never met, a wrong choice or answer; else the first
    cause, else the first step away from the goal."""
    trajectory, progress, causes = document.trajectory, document.progress, document.causes
    last = len(trajectory.steps)
    if trajectory.ended == "failed":
        return Mistake(last, f"Step {last}: the episode ended with an error.")
    if document.succeeded is not False:
        return None
    reference = document.sources.reference(document.record.episode_id)
    gold = document.sources.gold(document.record.episode_id)
    mistake = None
    if gold:
        mistake = _off_path(document, gold)
    elif isinstance(reference, ObjectNavReference):
        mistake = _target_passed(document, reference.targets)
    elif isinstance(reference, AnswerReference):
        actors = as_mapping(trajectory.state.get("actors") or {}).values()
        answers = [as_mapping(actor).get("answer") for actor in actors]
        given = next((str(each) for each in answers if each), "")
        words = f"answered “{given}”" if given else "stopped without an answer"
        text = f"Step {last}: {words}; the right answer is “{reference.answer}”."
        mistake = Mistake(last, text)
    elif isinstance(reference, TwoPhaseReference) and last:
        final = trajectory.steps[-1]
        chosen = final.decision.action if isinstance(final.decision, Decision) else "no action"
        led = final.feedback.details.get("room") or trajectory.state.get("place")
        to = f", which led to the {led}" if led else ""
        text = f"Step {last}: chose {chosen}{to}; the target is in the {reference.room}."
        mistake = Mistake(last, text)
    elif document.conditions:
        mistake = _unmet(document)
    if mistake is not None:
        return mistake
    if (short := _short_of_target(document)) is not None:
        return short
    for cause, step in causes.items():
        where = f"Step {step}: " if step else ""
        text = meaning_of(cause, document.record.scores)
        return Mistake(step, f"{where or text[0].upper()}{text if where else text[1:]}.")
    if step := progress.first_loss:
        return Mistake(step, f"Step {step}: {progress.describe(step)}.")
    return Mistake(last, f"Step {last}: {progress.summary()}.") if progress.summary() else None


def _off_path(document: Document, gold: Sequence[str]) -> Mistake | None:
    """Find the step that left the goal, the first step off the gold path, or a stop before its"""
    steps, progress = document.trajectory.steps, document.progress
    start = next(iter(document.trajectory.start.values()), {})
    places = [place_of(pose) for pose in (start, *(step.pose for step in steps))]
    if gold[-1] in places and places[-1] != gold[-1]:
        number = places.index(gold[-1])
        gone = next(n for n in range(number, len(places)) if places[n] != gold[-1])
        if not 0 < progress.off_path_step < gone:
            return Mistake(gone, f"Step {gone}: left the goal; ended at {places[-1]}.")
    if (number := progress.off_path_step) and places[number - 1] in gold:
        before = places[number - 1]
        after = gold[gold.index(before) + 1] if before != gold[-1] else ""
        missed = f"the path was {after}" if after else "the goal was where it had been"
        change = progress.change(number)
        further = f", {progress.length(-change)} further from the goal" if change < 0 else ""
        return Mistake(number, f"Step {number}: went to {places[number]}; {missed}{further}.")
    if number or not steps:
        return None
    left = f", {progress.length(progress.values[-1])} before the goal" if progress.values else ""
    verb = "stopped at" if document.trajectory.ended == "stopped" else "ran out of steps at"
    return Mistake(len(steps), f"Step {len(steps)}: {verb} {places[-1]}{left}.")


_SOUGHT = re.compile(r"find (?:the|an?) (.+?)[.!]?", re.IGNORECASE)


def _target_passed(document: Document, targets: frozenset[str]) -> Mistake | None:
    """Find the step at which a target in view was nearest; 0 if none was ever in view."""
    steps, progress = document.trajectory.steps, document.progress
    end = f"; ended {progress.length(progress.values[-1])} from it" if progress.values else ""
    views = [
        (float(each.get("away") or 0.0), number, str(each.get("words") or each.get("kind")))
        for number, step in enumerate(steps, 1)
        for each in map(as_mapping, as_mapping(step.observation).get("shown") or ())
        if each.get("id") in targets
    ]
    if not views:
        sought = _SOUGHT.fullmatch(document.instruction.strip())
        seen = "never_seen" in document.causes
        return Mistake(0, f"The {sought[1]} was never in view{end}.") if sought and seen else None
    away, number, words = min(views)
    text = f"Step {number}: the {words} was in view, {away:.1f} m away, and not taken{end}."
    return Mistake(number, text)


def _unmet(document: Document) -> Mistake | None:
    """Find the goal condition that was undone, else those that were never met."""
    number, last = document.progress.first_loss, len(document.trajectory.steps)
    if number and number in document.condition_history:
        before = document.condition_history[
            max(step for step in document.condition_history if step < number)
        ]
        pairs = zip(before, document.condition_history[number], strict=True)
        if undone := [words for (words, a, _), (_, b, _) in pairs if b < a]:
            return Mistake(number, f"Step {number}: undid “{undone[0]}”.")
    unmet = [words for words, met, parts in document.conditions if met < parts]
    if not unmet:
        return None
    if "wrong_object" not in document.causes and (left := _objects_left(document)) is not None:
        return left
    more = f" and {len(unmet) - _NAMED_CONDITIONS} more" if len(unmet) > _NAMED_CONDITIONS else ""
    named = "; ".join(f"“{words}”" for words in unmet[:_NAMED_CONDITIONS])
    step = document.causes.get("wrong_object", last)
    return Mistake(step, f"Not done at the end: {named}{more}.")


def _objects_left(document: Document) -> Mistake | None:
    """Find the step at which the object of an unmet condition came into view but was not used, else
    the last action on one, else that none was ever in view; None if they have no names."""
    pairs = zip(document.conditions, document.sought, strict=False)
    unmet = [(words, about) for (words, met, parts), about in pairs if met < parts]
    acted: dict[str, int] = {}
    seen: dict[str, int] = {}
    steps = document.trajectory.steps
    for number, step in enumerate(steps, 1):
        listed = [held for held in step.feedback.details.values() if isinstance(held, list | tuple)]
        for name in (*objects_in(as_mapping(step.observation)), *chain.from_iterable(listed)):
            seen.setdefault(str(name), number)  # also along its route, by the feedback
        if isinstance(step.decision, Decision):
            acted |= dict.fromkeys(step.decision.action.arguments, number)
    for names in (about.names for _, about in unmet):
        if not names & acted.keys() and (views := [(seen[n], n) for n in names if n in seen]):
            number, name = min(views)
            text = f"Step {number}: {name} came into view, and nothing was done with it."
            return Mistake(number, text)
    for words, about in unmet:
        if number := max((acted[name] for name in about.names if name in acted), default=0):
            done = getattr(steps[number - 1].decision, "action", "")
            text = f"Step {number}: {done} came last, and “{words}” is not done."
            return Mistake(number, text)
    if not unmet:
        return None
    about = unmet[0][1]
    where = f"; it was in the {about.room}" if about.room else ""
    return Mistake(0, f"No {about.kind} was ever in view{where}.")


def _short_of_target(document: Document) -> Mistake | None:
    """Describe the end of a walk on a grid by its distance from the instruction's object."""
    if not isinstance(document.drawn, Map) or len(document.drawn.walks) != 1:
        return None
    ((*_, end),) = document.drawn.walks.values()
    last, shapes = len(document.trajectory.steps), document.drawn.shapes
    titles: dict[tuple[float, ...], set[str]] = {}
    for shape in shapes:
        if shape.title and shape.last == last:
            middle = tuple(round(sum(axis) / len(axis)) for axis in zip(*shape.points, strict=True))
            titles.setdefault(middle, set()).add(shape.title)
    away = [
        (round(sum(abs(a - b) for a, b in zip(end.point, middle, strict=True))), middle)
        for middle, names in titles.items() if MEANT in names
    ]  # fmt: skip
    called = {name for _, middle in away for name in titles[middle] - {MEANT}} or {"target"}
    if not away or len(called) > 1:
        return None  # a task of several parts
    (squares, _), (name,) = min(away), called
    verb = "stopped" if document.trajectory.ended == "stopped" else "ran out of steps"
    where = "next to" if squares == 1 else f"{count(squares, 'square')} from"
    return Mistake(last, f"Step {last}: {verb} {where} the {name}; the task was not done.")


# The expert's actions at the steps of a recorded episode.

SOLUTIONS = ("expert", "shortest", "gold")
"""Solutions of a dataset, in the order they are tried."""
SKILLS = "skills"
"""The solution that replaces ``expert`` for actors who take high-level actions: low-level
advice would not help them."""
OVER = "nothing more"
"""Advice at the end of a plan: nothing is left to do for the expert."""


def expert_advice(
    trajectory: Trajectory, sources: Sources, patience: float = 5.0
) -> list[tuple[str, bool]]:
    """Return the expert's next action at each step, and True if the agent took it.

    The action is empty if the expert has no plan; the list is empty if the dataset has no expert or
    the replay differs from the record. The recorded actions are replayed and a plan is made before
    each of them, for at most ``patience`` seconds.
    """
    dataset, task = sources.dataset, sources.tasks.get(trajectory.episode_id)
    if task is None or dataset is None or not dataset.solutions:
        return []
    end = time.monotonic() + patience
    actions = [
        s.decision.action if isinstance(s.decision, Decision) else None for s in trajectory.steps
    ]
    acted = zip(trajectory.steps, actions, strict=True)
    high = {s.actor for s, action in acted if action and action.name in HIGH_LEVEL}
    advice: list[tuple[str, bool]] = [("", False)] * len(trajectory.steps)
    for how in SOLUTIONS:
        if any(words for words, _ in advice):
            break  # one expert for the whole episode
        world = with_answerer(dataset.world(task.episode), recorded_answers(trajectory))
        game = Game(world, task.episode)
        with suppress(ReplayDiffers):
            for number, step in enumerate(game.replay(trajectory.steps)):
                done = actions[number]
                if done is not None and done.name in SPOKEN:
                    continue
                by_skill = how == "expert" and SKILLS in dataset.solutions and step.actor in high
                solution = SKILLS if by_skill else how
                try:
                    plan = dataset.plan(task, game.world, step.actor, solution)
                    action: Action | None = next(plan, None)
                except (PlanningFailed, WaywordError, LookupError, ValueError):
                    continue
                if action == STOP and len(trajectory.start) > 1:
                    continue  # of several, one may have nothing to do
                advice[number] = (OVER if action is None else str(action)), action == done
                if time.monotonic() > end:
                    return advice
    return advice


# The instruction of an episode by its clauses, and which of them the agent follows at each step.
# Recipes that know it note it: ``walker`` and ``velma`` with ``follow`` mark the instruction's own
# words, DiscussNav's decomposition and published sub-instructions are a list below it.

_CHARACTER = re.compile(r"\S|(?<=\S)\s+(?=\S)")
"""A character of a text whose white space counts once, and not at its ends."""


class Followed(NamedTuple):
    """The clause followed at a step (from 1; 0 if not reported), and the clauses done."""

    number: int = 0
    done: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Clauses:
    """Clauses of an instruction from a recipe's notes, the position of each (or none), and the
    clause followed at each step.

        >>> Clauses(("Go ahead", "stop at the lamp"), (0, 10)).cut("Go ahead. Stop at the lamp.")
        [('Go ahead. ', (1,)), ('Stop at the lamp.', (2,))]
    """

    texts: tuple[str, ...] = ()
    begins: tuple[int, ...] = ()
    steps: tuple[Followed, ...] = ()

    @staticmethod
    def of(trajectory: Trajectory) -> Clauses:
        """Read the clauses from an episode's notes. A step without a note repeats the last."""
        noted = _last(trajectory.opening_notes, CLAUSES)
        texts = noted.get("texts")
        if not isinstance(texts, list | tuple) or not texts:
            return Clauses()
        begins = tuple(_integers(noted.get("begins")))
        if len(texts) == 1 and not begins:
            return Clauses()  # no decomposition
        steps, now = [], Followed()
        for step in trajectory.steps:
            details = _last(step.notes, FOLLOWED)
            number, count = details.get("number"), len(texts)
            if isinstance(number, int) and 0 <= number <= count:
                done = (n for n in _integers(details.get("done")) if 1 <= n <= count)
                now = Followed(number, tuple(done))
            steps.append(now)
        fit = len(begins) == len(texts) and all(one <= two for one, two in pairwise(begins))
        return Clauses(tuple(map(str, texts)), begins if fit else (), tuple(steps))

    @property
    def followed(self) -> bool:
        """True if any step reports the clause that it follows."""
        return any(step.number for step in self.steps)

    def at(self, step: int) -> Followed:
        """Return the clause followed at a step, from 1."""
        return self.steps[step - 1] if 0 < step <= len(self.steps) else Followed()

    def cut(self, instruction: str) -> list[tuple[str, tuple[int, ...]]]:
        """Cut the instruction into pieces, each with the numbers of its clauses; one piece if the
        clauses are not part of its text. Clauses that start at the same position share a piece."""
        places = [match.start() for match in _CHARACTER.finditer(instruction)]
        if not self.begins or self.begins[-1] >= len(places):
            return [(instruction, ())]
        starts = sorted(set(self.begins))
        ends = [0]
        for start in starts[1:]:  # white space and marks that end a clause belong to the one before
            rest = instruction[places[start] :].lstrip(" \t\r\n.,;!")
            ends.append(len(instruction) - len(rest))
        return [
            (instruction[a:b], tuple(n for n, at in enumerate(self.begins, 1) if at == start))
            for start, (a, b) in zip(starts, pairwise([*ends, len(instruction)]), strict=True)
        ]

    def starts(self, step: int) -> int:
        """Return the clause that the agent starts to follow at a step; 0 for none."""
        number = self.at(step).number
        return number if number != self.at(step - 1).number else 0


def _last(notes: Sequence[Note], kind: str) -> Mapping[str, Any]:
    """Return the details of the last note of a kind."""
    details = next((note.details for note in reversed(notes) if note.kind == kind), {})
    return details if isinstance(details, Mapping) else {}  # a folder may hold anything


def _integers(value: Any) -> list[int]:
    """Return the integers of a list; empty for anything else."""
    items = value if isinstance(value, list | tuple) else ()
    return [each for each in items if type(each) is int and each >= 0]
