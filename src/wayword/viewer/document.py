"""An episode as a JSON document: everything its page shows, derived once from the record.

    document = Document.of(record, sources)
    document.progress.best_step, document.causes    # (2, {"looped": 3, "ran_out": 5})
    document.mistake.text                           # "Step 3: went to F; the path was D, …"
    document.json()                                 # for the page: served, in a file, in a notebook

Deriving it replays the recorded actions at most once, for the map and for the progress, which the
family's scorer measures after each action as if the episode ended there.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise, product, zip_longest
from statistics import fmean
from typing import Any, NamedTuple

from wayword.agents.person import with_answerer
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Walkable
from wayword.core.episode import Json
from wayword.core.errors import WaywordError
from wayword.core.game import Game, PlanningFailed, ReplayDiffers
from wayword.core.geometry import bearing, relative
from wayword.core.trajectory import CLAUSES, FOLLOWED, Note, Trajectory
from wayword.datasets.two_phase import ROOM_OBJECTS
from wayword.metrics.causes import find_causes, label_of, meaning_of
from wayword.metrics.household import answer_is_right
from wayword.metrics.scoring import Judged, Standing, scorer
from wayword.runs.codec import plain, to_json
from wayword.runs.record import EpisodeRecord
from wayword.runs.verify import recorded_answers
from wayword.viewer import maps
from wayword.viewer.data import Sources
from wayword.viewer.figures import (
    SPOKEN,
    as_mapping,
    count,
    listed,
    objects_in,
    place_of,
    wind,
)
from wayword.viewer.maps import finite
from wayword.viewer.maps.babyai import MEANT
from wayword.viewer.maps.drawing import Map
from wayword.viewer.markup import Html, Letters
from wayword.worlds.household.goals import AnswerReference, HouseholdReference, kinds
from wayword.worlds.household.verbs import HIGH_LEVEL
from wayword.worlds.household.world import HouseholdWorld
from wayword.worlds.objectnav.world import ObjectNavReference
from wayword.worlds.two_phase.world import HALLWAY, TwoPhaseReference

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
        trajectory = record.trajectory
        letters = maps.letters_of(sources, trajectory)
        sources = replace(sources, letters=letters)
        progress, drawn, history, sought = replay(trajectory, sources)
        clauses = Clauses.of(trajectory)
        return Document(
            record, sources, letters, progress, drawn, clauses, history, sought
        )

    def json(self, patience: float = 0.0) -> dict[str, Json]:
        """Return the page's content as JSON, with expert advice if ``patience`` (s) is above 0."""
        progress = self.progress
        clauses = self.clauses
        scores = self.record.scores
        numbers = range(1, len(self.trajectory.steps) + 1)
        derived = plain({
            "id": self.record.episode_id, "scene": self.scene, "instruction": self.instruction,
            "notice": self.sources.notice, "succeeded": self.succeeded, "scores": scores,
            "private": self.sources.private_instructions(self.record.episode_id),
            "mistake": self.mistake and self.mistake._asdict(), "conditions": self.shown_conditions,
            "map": None if self.map is None else str(self.map),
            "causes": [(label_of(c), meaning_of(c, scores), n) for c, n in self.causes.items()],
            "progress": {
                "course": progress.values, "conditions": progress.conditions,
                "informative": progress.informative, "summary": progress.summary(),
                "best": progress.best_step, "worst": progress.worst_step,
                "steps": [(progress.describe(n), progress.kind(n)) for n in numbers],
            },
            "clauses": {
                "texts": clauses.texts, "cut": clauses.cut(self.instruction),
                "followed": clauses.followed, "starts": [clauses.starts(n) for n in numbers],
                "steps": [(now.number, now.done) for now in map(clauses.at, numbers)],
            },
            "rises": self.rises, "letters": self.letters.by_place,
            "advice": expert_advice(self.trajectory, self.sources, patience) if patience else None,
        })  # fmt: skip
        return {**derived, "trajectory": self.written}

    @property
    def trajectory(self) -> Trajectory:
        return self.record.trajectory

    @cached_property
    def written(self) -> dict[str, Json]:
        return to_json(self.trajectory)

    @property
    def succeeded(self) -> bool | None:
        """True if the episode succeeded; None if success was not measured or the episode failed."""
        score = self.record.scores.get(self.sources.success)
        return (
            None if score is None or self.trajectory.ended == "failed" else score > 0.5
        )

    @property
    def instruction(self) -> str:
        return self.sources.instruction(self.record.episode_id)

    @property
    def scene(self) -> str:
        """The scene; from the first observation if the dataset is not available."""
        first = (
            as_mapping(self.trajectory.steps[0].observation)
            if self.trajectory.steps
            else {}
        )
        return self.sources.scene(self.record.episode_id) or str(
            first.get("scene") or ""
        )

    @cached_property
    def map(self) -> Html | None:
        """The map; in an episode without success, the mistake and the end are marked."""
        if isinstance(self.drawn, Map) and self.succeeded is False:
            step, text, limit, missed = self.mistake or Mistake(0, "")
            named = frozenset(place for place in self.letters.by_place if place in text)
            step = 0 if limit else step
            return maps.figure(
                replace(
                    self.drawn, failed=True, mistake=step, named=named, missed=missed
                )
            )
        return maps.figure(self.drawn)

    @cached_property
    def rises(self) -> dict[int, str]:
        """Steps that led up or down by half a metre or more: ``↑ 2.9 m``."""
        graph = self.sources.graph(self.scene)
        positions = getattr(graph, "positions", None)
        if positions is None or positions.ndim != 2 or positions.shape[1] != 3:
            return {}
        heights = dict(zip(graph.ids, positions[:, 2].tolist(), strict=True))
        rises = {}
        places = dict(self.trajectory.start)
        for number, step in enumerate(self.trajectory.steps, 1):
            before, after = (
                heights.get(place_of(pose))
                for pose in (places.get(step.actor), step.pose)
            )
            places[step.actor] = step.pose
            if (
                before is not None
                and after is not None
                and abs(after - before) >= _RISE
            ):
                rises[number] = (
                    f"{'↑' if after > before else '↓'} {abs(after - before):.1f} m"
                )
        return rises

    @cached_property
    def causes(self) -> dict[str, int]:
        """Causes of an episode without success, each with the first step that shows it."""
        if self.succeeded is not False:
            return {}
        return find_causes(self.written, self.record.scores, self.instruction)

    @cached_property
    def conditions(self) -> Sequence[Condition]:
        final = conditions(self.reference, self.trajectory.state)
        return final or self.condition_history.get(
            max(self.condition_history, default=0), ()
        )

    @property
    def reference(self) -> Any:
        return self.sources.reference(self.record.episode_id)

    @property
    def shown_conditions(self) -> Sequence[Condition]:
        """The goal conditions with the final places of their objects, without those that another
        unmet one includes (a hot potato, if a hot potato is to be in the bin)."""
        if isinstance(self.reference, AnswerReference) and self.sought:
            seen = _first_views(self.trajectory).keys()
            found = sum(not seen.isdisjoint(about.names) for about in self.sought)
            rooms = " or ".join(dict.fromkeys(a.room for a in self.sought if a.room))
            where = f" in the {rooms}" if rooms else ""
            return [(f"saw every place to look at{where}", found, len(self.sought))]
        unmet = [
            set(words.split()) for words, met, parts in self.conditions if met < parts
        ]
        state = self.trajectory.state
        goals = zip_longest(self.conditions, self.sought[: len(self.conditions)])
        return [
            (
                about.ended(words, state, parts) if about and met < parts else words,
                met,
                parts,
            )
            for (words, met, parts), about in goals
            if met == parts or not any(set(words.split()) < other for other in unmet)
        ][:_MOST_CONDITIONS]

    @cached_property
    def mistake(self) -> Mistake | None:
        return find_mistake(self)


_RISE = 0.5  # metres between two viewpoints from which a step leads up or down
_MOST_CONDITIONS = 12  # that are listed


# How far an episode was from success at the start and after each step.

# Metres that a path must grow by to count as worse: less is rounding of poses
_ROUNDING = 0.05


@dataclass(frozen=True, slots=True)
class GoalProgress:
    """The distance from success at the start and after each step.

        >>> progress = GoalProgress((5.0, 3.0, 1.0, 4.0), unit="m")
        >>> progress.best_step, progress.worst_step, progress.describe(3)
        (2, 3, '4.0 m to go, 3.0 m further')

    ``values`` are the distances left, in ``unit``; or, if ``conditions`` is not 0, the number of
    goal conditions met, of ``conditions``."""

    values: tuple[float, ...] = ()
    conditions: int = 0
    unit: str = "m"

    @property
    def informative(self) -> bool:
        return len(set(self.values)) > 1

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
            undone = (
                not self.conditions or max(self.values[step:]) < self.values[step - 1]
            )
            if self.change(step) < 0 and undone:
                return step
        return 0

    @property
    def worst_step(self) -> int:
        """Step (from 1) that led farthest away from success; 0 if none did."""
        worst = min(range(1, len(self.values)), key=self.change, default=0)
        return worst if self.change(worst) < 0 else 0

    def change(self, step: int) -> float:
        if not 1 <= step < len(self.values):
            return 0.0
        before = self.values[step - 1]
        after = self.values[step]
        if before == after:
            return 0.0
        gained = after - before if self.conditions else before - after
        return gained if abs(gained) > _ROUNDING else 0.0

    def describe(self, step: int) -> str:
        """Describe the change made by a step; empty if it is unknown."""
        if not self.informative or not 0 <= step < len(self.values):
            return ""
        change = self.change(step)
        now = self.values[step]
        if not self.conditions:
            further = f", {self.length(-change)} further" if change < 0 else ""
            return f"{self.length(now)} to go{further}"
        more = "more" if change > 0 else "fewer"
        words = f"{now:.0f} of {self.conditions} goal conditions met, {abs(change):.0f} {more}"
        return words if change else ""

    def kind(self, step: int) -> str:
        """Return the CSS classes for the description of a step."""
        change = self.change(step)
        return (
            "led worse"
            if change < 0
            else "led better"
            if change and self.conditions
            else "led"
        )

    def summary(self) -> str:
        """Summarize how near success came before the end; empty if the end was nearest."""
        if not self.informative and self.conditions < 2:
            return ""
        best = self.values[self.best_step]
        last = self.values[-1]
        step = self.best_step
        if not self.conditions:
            nearest = f"nearest: {self.length(best)}, after step {step}"
            return nearest if 0 < step < len(self.values) - 1 else ""
        when = "at the end" if best else "at any time"
        more = f", {best:.0f} after step {step}" if best > last else ""
        return f"{last:.0f} of {self.conditions} goal conditions met {when}{more}"

    def length(self, length: float) -> str:
        if not math.isfinite(length):
            return "no path"
        return (
            f"{length:.1f} m"
            if self.unit == "m"
            else count(round(length), self.unit[:-1])
        )


@dataclass(frozen=True, slots=True)
class Sought:
    """The object of a goal condition, without its destination: its kind, the actors' names for such
    objects, their room (empty if there are several), their ids, True if they can be picked up, and
    how many objects an actor can hold."""

    kind: str
    names: Set[str]
    room: str
    ids: Sequence[str] = ()
    small: bool = False
    hands: int = 1

    @staticmethod
    def of(goal: Any, world: HouseholdWorld) -> Sought:
        ids = [goal] if isinstance(goal, str) else []  # a place to look at
        for part in getattr(goal, "dishes", (goal,)):
            ids += [*getattr(part, "objects", ()), *getattr(part, "lamps", ())]
            ids += [each for each in [getattr(part, "object", "")] if each]
        named = (world.name(actor, each) for actor in world.actors for each in ids)
        at = [world.layout.index[each] for each in ids]
        placed = world.house.entities
        rooms = {world.layout.room_at(placed.x[i], placed.y[i]) for i in at}
        room = rooms.pop().replace("_", " ") if len(rooms) == 1 else ""
        small = any(
            "pickupable" in o.affordances for o in world.scene.objects if o.id in ids
        )
        hands = max(
            actor.body.inventory_capacity for actor in world.house.actors.values()
        )
        return Sought(
            kinds(ids), {name for name in named if name}, room, ids, small, hands
        )

    def ended(self, words: str, state: Mapping[str, Any], parts: int = 1) -> str:
        """Return an unmet condition with its object's final place, or the number of such objects:
        ``kettle: sink basin, kitchen → cabinet``, ``bowl (either of 2) → cabinet``."""
        objects = as_mapping(state.get("objects"))
        placed = as_mapping(objects.get(self.ids[0])) if len(self.ids) == 1 else {}
        holder = str(placed.get("in") or "")
        room = str(placed.get("room") or "").replace("_", " ")
        place = ", ".join(filter(None, (kinds([holder]) if holder else "", room)))
        name, moved, target = words.partition(" in or on ")
        if (number := len(self.ids)) > 1 and parts == 1 and moved:
            return (
                f"{name} ({'either' if number == 2 else 'any'} of {number}) → {target}"
            )
        if not place:
            return words
        if not moved and words.endswith(")"):  # ``safe (open)``
            name, _, wanted = words.removesuffix(")").partition(" (")
            return f"{name} ({place}): should be {wanted}"
        target = target.removesuffix(" (open)" if placed.get("open") else " (closed)")
        return f"{name}: {place} → {target}" if moved else f"{words}, in the {place}"


def replay(
    trajectory: Trajectory, sources: Sources
) -> tuple[
    GoalProgress, Map | Html | None, dict[int, Sequence[Condition]], list[Sought]
]:
    """Replay an episode once, for its progress, its map, the goal conditions at each step that
    changed one, and the object of each condition.

    Progress is the remaining distance if the scorer knows it, else the number of goal conditions
    met; empty if the episode cannot be replayed.
    """
    standings: list[Standing] = []
    history: dict[int, Sequence[Condition]] = {}
    sought: list[Sought] = []
    watched = False
    reference = sources.reference(trajectory.episode_id)

    def watch(world: Any, step: int, actor: str) -> None:
        nonlocal watched
        watched = True
        dataset = sources.dataset
        if step == 1:
            standings.clear()
        if dataset is None or not isinstance(judge := scorer(dataset.family), Judged):
            return
        now = judge.standing(dataset, sources.tasks[trajectory.episode_id], world)
        if now is None:
            return
        if not standings or standings[-1].met != now.met:
            if isinstance(reference, HouseholdReference):
                history[step - 1] = conditions(reference, world.now())
            elif now.parts > 1 and (level := getattr(world, "level", None)):  # a grid
                history[step - 1] = level.conditions()
        standings.append(now)
        if not actor and isinstance(reference, HouseholdReference):
            goals = (
                reference.look
                if isinstance(reference, AnswerReference)
                else reference.goals
            )
            sought[:] = [Sought.of(goal, world) for goal in goals]

    drawn = maps.map_of(trajectory, replace(sources, watchers=(watch,)))
    if not watched:  # a map that needs no replay
        sources.played(trajectory, watch)
    if len(standings) != len(trajectory.steps) + 1:
        return GoalProgress(), drawn, {}, []
    lengths = [each.distance for each in standings if each.distance is not None]
    if len(lengths) == len(standings):
        return (
            GoalProgress(tuple(lengths), 0, standings[0].unit),
            drawn,
            history,
            sought,
        )
    met = tuple(float(each.met) for each in standings)
    return GoalProgress(met, standings[0].parts), drawn, history, sought


def conditions(reference: Any, state: Mapping[str, Any]) -> list[Condition]:
    """Return the goal conditions of an episode with their final states; empty if unknown."""
    if isinstance(reference, TwoPhaseReference):
        left = state.get("phase") == 2
        right = left and state.get("place") == reference.room
        return [
            ("leave the room", int(left), 1),
            (f"go to the {reference.room}", int(right), 1),
        ]
    if isinstance(reference, AnswerReference):
        right = bool(answer_is_right(state, reference.answer))
        given = answer_given(state)
        words = f"expected answer: “{reference.answer}”, given: "
        return [(words + (f"“{given}”" if given else "nothing"), int(right), 1)]
    if not isinstance(reference, HouseholdReference):
        return []
    try:
        return [(goal.words, goal.met(state), goal.parts) for goal in reference.goals]
    except (KeyError, TypeError, AttributeError):
        return []  # a state that is not of this world


def answer_given(state: Mapping[str, Any]) -> str:
    """Return the answer that an actor gave, by the final state, or empty."""
    actors = map(as_mapping, as_mapping(state.get("actors")).values())
    return next((str(actor["answer"]) for actor in actors if actor.get("answer")), "")


# The mistake: the one step that decided a failed episode, in a sentence.


class Mistake(NamedTuple):
    """The decisive step, from 1 (0 without steps), and what happened in words. ``limit`` is True if
    the step limit ended a walk on the gold path. ``missed`` are objects that were left alone."""

    step: int
    text: str
    limit: bool = False
    missed: Sequence[str] = ()


_NAMED_CONDITIONS = 2  # unmet goal conditions that the sentence names
_TURNS = {
    "left": "turned left",
    "right": "turned right",
    "turn_around": "turned around",
}
# Degrees between a heading and a target from which the actor does not face it
_TOWARD = 45.0


def find_mistake(document: Document) -> Mistake | None:
    """Find the step that decided an episode without success: the last departure from the gold path,
    a target in view and not taken, a goal condition undone or never met, a wrong choice or answer;
    else the first cause, else the first step away from the goal."""
    trajectory = document.trajectory
    progress = document.progress
    causes = document.causes
    last = len(trajectory.steps)
    if trajectory.ended == "failed":
        return Mistake(last, f"Step {last}: the episode ended with an error.")
    if document.succeeded is not False or not last:
        return None
    if not any(isinstance(step.decision, Decision) for step in trajectory.steps):
        reason = getattr(trajectory.steps[0].decision, "kind", "").replace("_", " ")
        many = f"all {last} answers were rejected, the first"
        return Mistake(
            1, f"Step 1: {many if last > 1 else 'the answer was rejected'} as {reason}."
        )
    reference = document.reference
    gold = document.sources.gold(document.record.episode_id)
    mistake = None
    if gold:
        mistake = _departure(document, gold)
    elif isinstance(reference, ObjectNavReference):
        mistake = _target_passed(document, reference.targets)
    elif isinstance(reference, AnswerReference):
        given = answer_given(trajectory.state)
        words = (
            f"answered “{given}”" if given else f"{_left(document)} without an answer"
        )
        mistake = Mistake(
            last, f"Step {last}: {words}; the right answer is “{reference.answer}”."
        )
    elif isinstance(reference, TwoPhaseReference):
        mistake = _wrong_choice(document, reference.room)
    elif document.conditions:
        mistake = _unmet(document)
    if mistake := mistake or _short_of_target(document):
        return mistake
    for cause, number in causes.items():
        step = number or last
        return Mistake(
            step, f"Step {step}: {meaning_of(cause, document.record.scores)}."
        )
    if step := progress.first_loss:
        return Mistake(step, f"Step {step}: {progress.describe(step)}.")
    words = progress.summary() or progress.describe(last)
    return Mistake(last, f"Step {last}: {words}.") if words else None


def _wrong_choice(document: Document, room: str) -> Mistake:
    """Describe the last choice of a two-phase test, and the objects that lead to the room."""
    trajectory = document.trajectory
    last = len(document.trajectory.steps)
    final = trajectory.steps[-1]
    action = final.decision.action if isinstance(final.decision, Decision) else None
    named = (
        action.arguments[0]
        if action and action.arguments
        else str(action or "no action")
    )
    chosen = f"the {named}" if action and action.arguments else named
    held = as_mapping(final.observation)
    led = final.feedback.details.get("room")
    place = led or trajectory.state.get("place")
    before = held.get("place")
    leads = (HALLWAY,) if held.get("phase") == 1 else ROOM_OBJECTS.get(room, ())
    right = _and(
        [f"the {name}" for name in held.get("objects", ()) if name in leads], "or"
    )
    target = f", with the {held['target']}" if held.get("target") else ""
    where = (
        f"only {right} leads to the {room}{target}"
        if right
        else f"the target is in the {room}"
    )
    text = f"Step {last}: chose {chosen}; {where}."
    if place and action != STOP:
        to = "It stayed in" if place == before else "This led to"
        text += f" {to} the {place}; one wrong choice ends the episode."
    return Mistake(last, text)


def _ended(document: Document, actor: str = "") -> str:
    """Describe how the episode ended, or how it ended for one of several actors."""
    trajectory = document.trajectory
    stopped = document.trajectory.ended == "stopped"
    if actor and len(trajectory.start) > 1:
        stopped = [action.name for action in trajectory.actions(actor)][-1:] == [
            STOP.name
        ]
    if stopped:
        return "stopped"
    return (
        "took its last action" if trajectory.ended == "stopped" else "ran out of steps"
    )


def _left(document: Document) -> str:
    """Describe the end after the room of all places to look at, if the actor was not in it."""
    asked = {about.room for about in document.sought}
    trajectory = document.trajectory
    been = [room for actor in trajectory.start for room in _rooms(document, actor)]
    end = str(as_mapping(trajectory.steps[-1].pose).get("room")).replace("_", " ")
    if len(asked) != 1 or not been or {end, ""} & asked:
        return _ended(document)
    did = "left" if asked <= {*been} else "never entered"
    return f"{did} the {asked.pop()} and {_ended(document)}"


def _departure(document: Document, gold: Sequence[str]) -> Mistake | None:
    """Find the expert's first disagreement after the walk's last stay farthest on the gold path."""
    trajectory = document.trajectory
    progress = document.progress
    last = len(trajectory.steps)
    poses = [
        next(iter(trajectory.start.values()), {}),
        *(step.pose for step in trajectory.steps),
    ]
    places = [place_of(pose) for pose in poses]
    reached = [gold.index(place) if place in gold else -1 for place in places]
    if (farthest := max(reached)) < 0:
        return None
    there = len(reached) - 1 - reached[::-1].index(farthest)
    came = next(
        n for n in range(there, -1, -1) if n == 0 or places[n - 1] != places[there]
    )
    stopped = trajectory.ended == "stopped"
    stays = range(came, there + (not (stopped and there == last)))  # a stop is no stay
    leaves = 1 + max((n for n in stays if poses[n] == poses[came]), default=last - 1)
    number = leaves
    agreed = False
    for advised, _, same in _advised(trajectory, document.sources, first=leaves):
        if not same:
            number = advised
            agreed = False
            break
        agreed = True
    if agreed:  # the expert did the same to the end
        number = last if stopped else last + 1
    far = progress.length(progress.values[-1]) if progress.values else ""
    left = f", {far} from the goal {gold[-1]}" if far else ""
    if number > last:
        at = f"at {places[-1]}{left}" if farthest < len(gold) - 1 else "at the goal"
        how = (
            "Back on the path"
            if places[-1] in gold
            else "On a path as short as the gold one"
        )
        how = how if {*filter(None, places)} - {*gold} else "On the path throughout"
        if len(gold) > last + 1:
            text = (
                f"the path needs at least {len(gold) - 1} steps; the limit was {last}"
            )
            return Mistake(last, f"{how}, but {text}. It ended {at}.", limit=True)
        return Mistake(last, f"{how}; the limit of {last} steps came {at}.", limit=True)
    before = places[number - 1]
    after = places[number]
    if number == last and stopped:
        return Mistake(
            last, f"Step {last}: stopped at {after}{left}.{_clause(document, after)}"
        )
    step = trajectory.steps[number - 1]
    action = step.decision.action.name if isinstance(step.decision, Decision) else ""
    onward = gold[gold.index(before) + 1] if before in gold[:-1] else ""
    went = _bearing(document, before, after)
    ahead = _bearing(document, before, onward)
    back = "back " if after in places[:number] else ""
    if before == gold[-1]:
        did = "did not stop at the goal" if after == before else "left the goal"
    elif after != before:
        did = f"went {back}from {before} to {after}{_wind(went)}"
    elif action in _TURNS and step.feedback.ok:
        did = f"{_TURNS[action]}{_wind(finite(step.pose.get('heading')))} at {before}"
    else:
        chose = f"chose {action}" if action else "had no legal action"
        did = f"{chose} and stayed at {before}"
    facing = finite(poses[number - 1].get("heading"))
    if onward and ahead is not None and facing is not None and after == before:
        off = relative(ahead, facing)
        side = "right" if off > 0 else "left"
        side = (
            "straight on" if abs(off) < _TOWARD else "back" if abs(off) > 135 else side
        )
        did += f"; the path goes {side}{_wind(ahead)}"
    elif onward:
        did += f"; the path goes to {onward}{_wind(ahead)}"
    never = (
        "" if set(places[min(number + 1, last) :]) & set(gold) else "never got back: "
    )
    ended = f"{_clause(document, before)} It {never}{_ended(document)} at {places[-1]}{left}."
    return Mistake(number, f"Step {number}: {did}.{ended}")


def _clause(document: Document, place: str) -> str:
    """Quote the part of the instruction for the gold path from a place on, after a space; empty if
    the dataset does not know it."""
    sources = document.sources
    name = document.record.episode_id
    narrated = getattr(sources.dataset, "narrated", None)
    gold = sources.gold(name)
    parts = narrated(sources.tasks[name]) if narrated and place in gold else ()
    if not parts:
        return ""
    family = sources.family()
    turns = family and family.place == "panorama"  # on a street, at the end of a part
    begin = next(
        (at for at, end in parts if end >= gold.index(place) + (not turns)),
        parts[-1][0],
    )
    end = min((at for at, _ in parts if at > begin), default=None)
    return f" The instruction here: “{document.instruction[begin:end].strip(' .,;')}”."


def _bearing(document: Document, start: str, end: str) -> float | None:
    """Return the direction between two places (degrees); None if either is not on the map."""
    drawn = document.drawn
    at = {**drawn.places, **dict(drawn.gold)} if isinstance(drawn, Map) else {}
    return bearing(at[start], at[end]) if {start, end} <= at.keys() else None


def _wind(heading: float | None) -> str:
    return "" if heading is None else f" ({wind(heading)})"


_SOUGHT = re.compile(r"find (?:the|an?) (.+?)[.!]?", re.IGNORECASE)


def _target_passed(document: Document, targets: frozenset[str]) -> Mistake | None:
    """Find the step at which a target in view was nearest, else describe the walk to its end."""
    steps = document.trajectory.steps
    progress = document.progress
    left = f" {progress.length(progress.values[-1])} from" if progress.values else ""
    views = [
        (math.inf if away is None else away, number, each)
        for number, step in enumerate(steps, 1)
        for each in listed(step.observation, "shown")
        if each.get("id") in targets
        for away in [finite(each.get("away"))]
    ]
    if not views:
        sought = _SOUGHT.fullmatch(document.instruction.strip())
        if not sought or "never_seen" not in document.causes:
            return None
        facts = _behavior(document)
        last = len(steps)
        text = f"Step {last}: {_ended(document)}{left or ' without'} the {sought[1]}"
        text += "" if "never faced" in "".join(facts[:1]) else ", never in view"
        return Mistake(last, _with_facts(text, facts))
    nearest, number, shown = min(views, key=lambda view: view[:2])
    words = str(shown.get("words") or shown.get("kind"))
    missed = str(shown.get("kind"))
    at = f", {nearest:.1f} m away," if nearest < math.inf else ""
    text = f"Step {number}: the {words} was in view{at} and not taken"
    text += f"; ended{left} it." if left else "."
    return Mistake(number, text, missed=[missed.replace("_", " ")])


def _with_facts(text: str, facts: Sequence[str]) -> str:
    """Return a sentence with the first of the facts, which is its cause, and one with the rest."""
    whole = ": ".join(filter(None, (text, *facts[:1])))
    rest = "; ".join(facts[1:])
    return f"{whole}. {rest[0].upper()}{rest[1:]}." if rest else f"{whole}."


def _behavior(document: Document, unseen: Sequence[Sought] = ()) -> list[str]:
    """Describe an episode in which the target, or the ``unseen`` objects, never came into view, the
    best explanation first: headings, rooms, failed actions, the walk, messages."""
    trajectory = document.trajectory
    drawn = document.drawn
    near = list[str]()
    found = list[str]()
    steps = trajectory.steps
    several = len(trajectory.start) > 1
    walks = list[str]()
    for actor in trajectory.start:
        name = f"{actor} " if several else ""
        rooms = _rooms(document, actor)
        did = _walk_of(document, actor)
        one = len(document.conditions) < 2 and isinstance(drawn, Map)
        side = (
            _never_faced(drawn, actor, unseen) if one and isinstance(drawn, Map) else ""
        )
        there = [about.kind for about in unseen if rooms == [about.room]]
        if side and there:
            near.append(
                f"{name}was in the {rooms[0]} with it but never faced {side}, where it was"
            )
        elif side and not several:
            near.append(f"never faced {side}, where it was")
        if len(rooms) == 1 and not (side and there):
            found.append(f"{name}stayed in the {rooms[0]}")
            if there:
                found.append(
                    f"{name}never saw the {_and(there, 'or')}, which is in that room"
                )
        elif did and not rooms:
            walks.append(f"{name}{did}")
    silent = "no message was sent" if several and not _spoken(document) else ""
    return [
        *filter(
            None, (*near, *found, _failures(document, len(steps) / 4), *walks, silent)
        )
    ]


def _rooms(document: Document, actor: str) -> list[str]:
    """Return the rooms that an actor was in, in order."""
    poses = map(as_mapping, document.trajectory.visited(actor))
    return [
        *dict.fromkeys(str(p["room"]).replace("_", " ") for p in poses if p.get("room"))
    ]


def _walk_of(document: Document, actor: str) -> str:
    """Describe an actor's walk by coordinates: ``turned 4 times, moved 0.25 m``."""
    poses = [*map(as_mapping, document.trajectory.visited(actor))]
    spots = [
        (finite(pose.get("x")) or 0.0, finite(pose.get("y")) or 0.0) for pose in poses
    ]
    if len(poses) < 2 or "x" not in poses[0]:
        return ""
    moved = sum(math.dist(a, b) for a, b in pairwise(spots))
    turned = sum(a.get("heading") != b.get("heading") for a, b in pairwise(poses))
    if not moved:
        return "only turned" if turned else "never left the start"
    turns = f"turned {'once' if turned == 1 else f'{turned} times'}, " if turned else ""
    return f"{turns}moved {round(moved, 2):g} m"


def _failures(document: Document, least: float) -> str:
    """Count the steps that failed, at least ``least`` of them: ``3 of 6 steps were blocked``."""
    steps = document.trajectory.steps
    failed = [step.feedback.status for step in steps if step.feedback.status != "ok"]
    if not failed or len(failed) < least:
        return ""
    blocked = set(failed) == {"blocked"}
    number = [s.feedback.status for s in steps].index(failed[0])
    if len(failed) == 1:
        done = getattr(steps[number].decision, "action", "the action")
        return f"{done} at step {number + 1} {'was blocked' if blocked else 'failed'}"
    return (
        f"{len(failed)} of {len(steps)} steps {'were blocked' if blocked else 'failed'}"
    )


def _spoken(document: Document) -> bool:
    """True if any actor sent a message."""
    decisions = (step.decision for step in document.trajectory.steps)
    return any(isinstance(d, Decision) and d.action.name in SPOKEN for d in decisions)


def _never_faced(drawn: Map, actor: str, unseen: Sequence[Sought]) -> str:
    """Return the direction of the nearest of the ``unseen`` objects (default: the targets) from the
    end of an actor's walk that faced none of them; empty if it did, or if that is unknown."""
    ids = tuple(
        f"{mark}{each})" for about in unseen for each in about.ids for mark in "( "
    )
    middles = [
        (fmean(x for x, _ in shape.points), fmean(y for _, y in shape.points))
        for shape in drawn.shapes
        if (shape.title.endswith(ids) if unseen else "goal-object" in shape.kind)
    ]
    stops = drawn.walks.get(actor)
    if not middles or not stops:
        return ""
    for stop, middle in product(stops, middles):
        ahead = bearing(stop.point, middle)
        if stop.heading is None or abs(relative(ahead, stop.heading)) <= _TOWARD:
            return ""
    end = stops[-1].point
    return wind(bearing(end, min(middles, key=lambda middle: math.dist(middle, end))))


def _unmet(document: Document) -> Mistake | None:
    """Find the goal condition that was undone, else those that were never met."""
    number = document.progress.first_loss
    last = len(document.trajectory.steps)
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
    if (
        "wrong_object" not in document.causes
        and (left := _objects_left(document)) is not None
    ):
        return left
    more = (
        f" and {len(unmet) - _NAMED_CONDITIONS} more"
        if len(unmet) > _NAMED_CONDITIONS
        else ""
    )
    named = "; ".join(f"“{words}”" for words in unmet[:_NAMED_CONDITIONS]) + more
    if not (step := document.causes.get("wrong_object", 0)):
        return Mistake(last, f"Step {last}: not done at the end: {named}.")
    picked = document.trajectory.steps[step - 1]
    did = f"{picked.actor} did" if len(document.trajectory.start) > 1 else "did"
    text = f"{did} {getattr(picked.decision, 'action', '')}, an object that the task does not name"
    return Mistake(step, f"Step {step}: {text}. Not done at the end: {named}.")


def _first_views(trajectory: Trajectory) -> dict[str, int]:
    """Return the names of objects in view, also along a route, by the feedback; each with the first
    step."""
    seen: dict[str, int] = {}
    for number, step in enumerate(trajectory.steps, 1):
        listed = [
            held
            for held in step.feedback.details.values()
            if isinstance(held, list | tuple)
        ]
        for name in (
            *objects_in(as_mapping(step.observation)),
            *chain.from_iterable(listed),
        ):
            seen.setdefault(str(name), number)
    return seen


def _objects_left(document: Document) -> Mistake | None:
    """Find the end of the actor who saw objects of unmet conditions without using them, else the
    last action on one, else the end if none was ever in view; None if they have no names."""
    pairs = zip(document.conditions, document.sought, strict=False)
    unmet = [(words, about) for (words, met, parts), about in pairs if met < parts]
    steps = document.trajectory.steps
    several = len(document.trajectory.start) > 1
    seen = _first_views(document.trajectory)
    acted = dict[str, int]()
    ends = {step.actor: number for number, step in enumerate(steps, 1)}
    for number, step in enumerate(steps, 1):
        if isinstance(step.decision, Decision):
            acted |= dict.fromkeys(step.decision.action.arguments, number)
    left = {
        n: about
        for _, about in unmet
        if not about.names & acted.keys()
        for n in about.names
    }
    if views := [(seen[name], name) for name in left if name in seen]:
        in_view = {actor: [*filter(left.get, objects_in(as_mapping(steps[last - 1].observation)))]
                   for actor, last in ends.items()}  # fmt: skip
        actor = max(in_view, key=lambda actor: len(in_view[actor]))
        first, name = min(views)
        if not (names := in_view[actor]):
            actor = steps[first - 1].actor
            names = [name]
        last = ends[actor]
        about = left[names[0]]
        text = f"Step {last}: {f'{actor} ' if several else ''}{_ended(document, actor)}"
        held = [
            str(each.get("name"))
            for each in listed(steps[last - 1].observation, "holding")
        ]
        full = (
            f" with its hands full ({_and(held)})" if len(held) >= about.hands else ""
        )
        if in_view[actor]:
            done = "taken" if about.small else "used"
            text += f"{full}:" if full else " with"
            text += (
                f" {_and(names)} in view, {'none' if len(names) > 1 else 'not'} {done}"
            )
        else:
            how = "picked it up" if about.small else "used it"
            text += f"{full}; it had seen {name} at step {first} and never {how}"
        notes = []
        if held and not full:
            notes.append(f"it held {_and(held)} and had a hand free")
        if len(ends) > 1 and not _spoken(document):
            notes.append("no message was sent")
        rooms = [(other, _rooms(document, other)) for other in ends if other != actor]
        notes += [
            f"{other} stayed in the {at[0]}" for other, at in rooms if len(at) == 1
        ]
        return Mistake(last, _with_facts(text, ["", *notes]), missed=names)
    for words, about in unmet:
        if number := max(
            (acted[name] for name in about.names if name in acted), default=0
        ):
            done = getattr(steps[number - 1].decision, "action", "")
            actor = f"{steps[number - 1].actor}'s " if several else ""
            text = f"after {actor}{done} nothing was done with it. Not done: “{words}”."
            return Mistake(number, f"Step {number}: {text}")
    if not unmet:
        return None
    about = unmet[0][1]
    total = len(document.conditions)
    last = len(steps)
    given = document.sources.private_instructions(document.record.episode_id)
    named = re.compile(rf"\b{re.escape(about.kind)}s?\b", re.IGNORECASE)
    knew = [
        actor for actor, text in given.items() if named.search(text) and actor in ends
    ]
    private = not named.search(document.instruction) and not _spoken(document)
    if len(ends) > 1 and len(unmet) == len(knew) == 1 and private:
        last = ends[knew[0]]
        others = _and([actor for actor in ends if actor not in knew])
        text = f"{knew[0]} {_ended(document, knew[0])} and never sent its goal “{unmet[0][0]}” to"
        never = f"No {about.kind} was ever in view of {others}"
        return Mistake(last, f"Step {last}: {text} {others}. {never}.")
    facts = _behavior(document, [about for _, about in unmet])
    room = (
        f" (it was in the {about.room})"
        if about.room and "with it" not in f"{facts}"
        else ""
    )
    lacked = f"no {about.kind} ever in view{room}"
    if (objects := len({tuple(about.ids) or about.kind for _, about in unmet})) > 1:
        met = (
            f"{total - len(unmet)} of {total} goals met and "
            if total > len(unmet)
            else ""
        )
        lacked = f"{met}none of the {objects} goal objects ever in view"
    return Mistake(
        last, _with_facts(f"Step {last}: {_ended(document)} with {lacked}", facts)
    )


def _and(names: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _short_of_target(document: Document) -> Mistake | None:
    """Describe the end of a walk on a grid by its distance from the instruction's object."""
    if not isinstance(document.drawn, Map) or len(document.drawn.walks) != 1:
        return None
    ((actor, stops),) = document.drawn.walks.items()
    last = len(document.trajectory.steps)
    end = stops[-1]
    titles: dict[tuple[float, ...], set[str]] = {}
    for shape in document.drawn.shapes:
        if shape.title and shape.last > last:
            middle = tuple(
                round(sum(axis) / len(axis)) for axis in zip(*shape.points, strict=True)
            )
            titles.setdefault(middle, set()).add(shape.title)
    away = [
        (round(sum(abs(a - b) for a, b in zip(end.point, middle, strict=True))), middle)
        for middle, names in titles.items() if MEANT in names
    ]  # fmt: skip
    called = {name for _, middle in away for name in titles[middle] - {MEANT}} or {
        "target"
    }
    if not away or len(called) > 1:
        return None  # a task of several parts
    (squares, _), (name,) = min(away), called
    where = "next to" if squares == 1 else f"{count(squares, 'square')} from"
    lacked = ", not done" if squares == 1 else ""
    held = listed(document.trajectory.steps[-1].observation, "objects")
    seen = [f"{each.get('color')} {each.get('kind')}" for each in held]
    # Any of them may be the one in view
    alike = sum(name in names for names in titles.values())
    lacked += ", in view" if name in seen and alike == 1 else ""
    did = (
        ""
        if len({stop.point for stop in stops}) > 1
        else f"; {_walk_of(document, actor)}"
    )
    did += f", {failed}" if did and (failed := _failures(document, 1)) else ""
    return Mistake(
        last, f"Step {last}: {_ended(document)} {where} the {name}{lacked}{did}."
    )


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

    The action is empty if the expert has no plan, the list if all are. The recorded actions are
    replayed and a plan is made before each of them, for at most ``patience`` seconds.
    """
    end = time.monotonic() + patience
    advice: list[tuple[str, bool]] = [("", False)] * len(trajectory.steps)
    for number, words, same in _advised(trajectory, sources):
        advice[number - 1] = words, same
        if time.monotonic() > end:
            break
    return advice if any(words for words, _ in advice) else []


def _advised(
    trajectory: Trajectory, sources: Sources, first: int = 1
) -> Iterator[tuple[int, str, bool]]:
    """Yield steps from ``first`` with the action of one expert, on the gold path the one along it,
    and True if either was done."""
    dataset = sources.dataset
    task = sources.tasks.get(trajectory.episode_id)
    if task is None or dataset is None:
        return
    actions = [
        s.decision.action if isinstance(s.decision, Decision) else None
        for s in trajectory.steps
    ]
    acted = zip(trajectory.steps, actions, strict=True)
    high = {s.actor for s, action in acted if action and action.name in HIGH_LEVEL}
    advised = False
    gold = sources.gold(trajectory.episode_id)
    for how in SOLUTIONS if dataset.solutions else ():
        if advised:
            return
        world = with_answerer(dataset.world(task.episode), recorded_answers(trajectory))
        game = Game(world, task.episode)
        with suppress(ReplayDiffers):
            for number, step in enumerate(game.replay(trajectory.steps), 1):
                done = actions[number - 1]
                if number < first or (done is not None and done.name in SPOKEN):
                    continue
                by_skill = (
                    how == "expert"
                    and SKILLS in dataset.solutions
                    and step.actor in high
                )
                solution = SKILLS if by_skill else how
                here = place_of(game.world.pose(step.actor))
                on_path = list[Action]()
                try:
                    plan = dataset.plan(task, game.world, step.actor, solution)
                    action: Action | None = next(plan, None)
                    if here in gold and isinstance(game.world, Walkable):
                        on_path = game.world.along(
                            step.actor, gold[gold.index(here) :]
                        )[:1]
                except (PlanningFailed, WaywordError, LookupError, ValueError):
                    continue
                if action == STOP and len(trajectory.start) > 1:
                    continue  # of several, one may have nothing to do
                advised = True
                words = OVER if action is None else str((*on_path, action)[0])
                yield number, words, done in (action, *on_path)


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
        steps = []
        now = Followed()
        for step in trajectory.steps:
            details = _last(step.notes, FOLLOWED)
            number = details.get("number")
            count = len(texts)
            if isinstance(number, int) and 0 <= number <= count:
                done = (n for n in _integers(details.get("done")) if 1 <= n <= count)
                now = Followed(number, tuple(done))
            steps.append(now)
        fit = len(begins) == len(texts) and all(
            one <= two for one, two in pairwise(begins)
        )
        return Clauses(tuple(map(str, texts)), begins if fit else (), tuple(steps))

    @property
    def followed(self) -> bool:
        """True if any step reports the clause that it follows."""
        return any(step.number for step in self.steps)

    def at(self, step: int) -> Followed:
        return self.steps[step - 1] if 0 < step <= len(self.steps) else Followed()

    def cut(self, instruction: str) -> list[tuple[str, tuple[int, ...]]]:
        """Cut the instruction into pieces, each with the numbers of its clauses; one piece if the
        clauses are not part of its text. Clauses that start at the same position share a piece."""
        places = [match.start() for match in _CHARACTER.finditer(instruction)]
        if not self.begins or self.begins[-1] >= len(places):
            return [(instruction, ())]
        starts = sorted(set(self.begins))
        ends = [0]
        # White space and marks that end a clause belong to the one before
        for start in starts[1:]:
            rest = instruction[places[start] :].lstrip(" \t\r\n.,;!")
            ends.append(len(instruction) - len(rest))
        return [
            (
                instruction[a:b],
                tuple(n for n, at in enumerate(self.begins, 1) if at == start),
            )
            for start, (a, b) in zip(
                starts, pairwise([*ends, len(instruction)]), strict=True
            )
        ]

    def starts(self, step: int) -> int:
        number = self.at(step).number
        return number if number != self.at(step - 1).number else 0


def _last(notes: Sequence[Note], kind: str) -> Mapping[str, Any]:
    details = next((note.details for note in reversed(notes) if note.kind == kind), {})
    return details if isinstance(details, Mapping) else {}  # a folder may hold anything


def _integers(value: Any) -> list[int]:
    items = value if isinstance(value, list | tuple) else ()
    return [each for each in items if type(each) is int and each >= 0]
