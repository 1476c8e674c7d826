"""Why an episode failed, by brute force from its record and its world.

Nothing here comes from the code that finds causes and mistakes for pages: the step that lost an
episode is searched from its end, one step at a time, by letting experts take over and scoring what
they leave; the cause is decided anew from the steps.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from wayword.agents.person import with_answerer
from wayword.core.action import Action, Decision, Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.game import Game
from wayword.core.trajectory import Step, Trajectory
from wayword.metrics import scoring
from wayword.runs.verify import recorded_answers
from wayword.worlds.household.goals import HouseholdReference

Answer = tuple[str, int]
"""The first cause, and the flagged step; 0 where the limit is below an expert's need."""


def truth(
    trajectory: Trajectory, dataset: Dataset, task: Task, limit: int | None
) -> Answer:
    """Return why a failed episode failed, and the step at which it was lost.

    0 where the limit is to blame, whatever else went wrong: even experts need more, or the last
    step met the last goal.
    """
    cause, step = _cause(trajectory, dataset, task)
    if trajectory.ended == "step_limit" and _met_from(trajectory, dataset, task) == len(
        trajectory.steps
    ):
        return cause, 0
    lost = _lost(trajectory, dataset, task, limit)
    if not lost and _fewest(trajectory, dataset, task, 0):
        return cause, 0
    return cause, step or lost


def _lost(
    trajectory: Trajectory, dataset: Dataset, task: Task, limit: int | None
) -> int:
    """Go back from the end until experts who take over would succeed; the next step lost it."""
    limit = _limit(trajectory, limit)
    for after in range(len(trajectory.steps) - 1, -1, -1):
        if _experts_succeed(trajectory, dataset, task, after, limit):
            return after + 1
    return 0


def _limit(trajectory: Trajectory, limit: int | None) -> int | None:
    """Return the most steps of an actor: those taken where they ran out."""
    if trajectory.ended == "step_limit":
        return max(Counter(step.actor for step in trajectory.steps).values())
    return limit


_MORE = 300
"""Steps beyond those taken up to which experts are let play."""


def _fewest(trajectory: Trajectory, dataset: Dataset, task: Task, after: int) -> int:
    """Return a limit of steps within which experts that take over succeed; 0 if there is none."""
    limit = len(trajectory.steps) + _MORE
    return limit * _experts_succeed(trajectory, dataset, task, after, limit)


def _replayed(trajectory: Trajectory, dataset: Dataset, task: Task) -> Any:
    """Yield the world before each step and after the last."""
    world = with_answerer(dataset.world(task.episode), recorded_answers(trajectory))
    game = Game(world, task.episode)
    yield world
    for step in trajectory.steps:
        game.act(step.actor, step.decision)
        yield world


def _met_from(trajectory: Trajectory, dataset: Dataset, task: Task) -> int | None:
    """Return the step from which on all goals of a household held to the end."""
    reference: Any = task.reference
    if not getattr(reference, "goals", ()):
        return None
    held = []
    for world in _replayed(trajectory, dataset, task):
        state = world.state()
        held.append(all(goal.met(state) == goal.parts for goal in reference.goals))
    if not held[-1]:
        return None
    return len(held) - held[::-1].index(False) if False in held else 0


def _experts_succeed(
    trajectory: Trajectory, dataset: Dataset, task: Task, after: int, limit: int | None
) -> bool:
    return _experts_finish(trajectory, dataset, task, after, limit)[0]


def _experts_finish(
    trajectory: Trajectory, dataset: Dataset, task: Task, after: int, limit: int | None
) -> tuple[bool, int]:
    """Let experts take over after some steps: their success, and the steps that they took."""
    world = with_answerer(dataset.world(task.episode), recorded_answers(trajectory))
    game = Game(world, task.episode, limit)
    for step in trajectory.steps[:after]:
        game.act(step.actor, step.decision)
    plans: dict[str, Any] = {}
    feedbacks: dict[str, Any] = {}
    for actor in game.turns():
        if actor not in plans:
            how = _solution(trajectory, dataset, actor)
            plans[actor] = dataset.plan(task, game.world, actor, how)
        try:
            action = plans[actor].send(feedbacks.get(actor))
        except Exception:  # noqa: BLE001 - an expert that cannot go on does not succeed
            break
        feedbacks[actor] = game.act(actor, Decision(action)).feedback
    finished = game.finished()
    (scores,) = scoring.score(dataset, [(task, finished)])
    succeeded = scores.get(_success(dataset), 0.0) > 0.5
    return succeeded, len(finished.steps) - after


def _success(dataset: Dataset) -> str:
    return str(dataset.family.success)


def _solution(trajectory: Trajectory, dataset: Dataset, actor: str) -> str:
    kinds = [k for k in ("expert", "shortest", "gold") if k in dataset.solutions]
    runs_skills = any(a.name.startswith("go_") for a in trajectory.actions(actor))
    if kinds[0] == "expert" and "skills" in dataset.solutions:
        runs_skills |= any(a.name == "goto" for a in trajectory.actions(actor))
        return "skills" if runs_skills else "expert"
    return kinds[0]


def _cause(trajectory: Trajectory, dataset: Dataset, task: Task) -> Answer:
    """Return the first cause, and its step where that is not where the episode was lost."""
    steps = trajectory.steps
    if all(isinstance(step.decision, Rejection) for step in steps):
        return _habit(trajectory), 1
    family = dataset.family.name
    stopped = trajectory.ended == "stopped"
    cause = ""
    if family == "objectnav":
        cause = _search(trajectory, task)
    elif family in ("indoor", "street"):
        cause = "passed_goal" if _passed(trajectory, dataset, task) else ""
    elif family == "household":
        knew = _knew_alone(trajectory, task)
        if knew:
            turns = [n for n, step in enumerate(steps, 1) if step.actor == knew]
            return "order_not_sent", turns[-1]
        answers = [r.get("answer") for r in trajectory.state["actors"].values()]
        is_question = hasattr(task.reference, "answer")
        if is_question and any(answers):
            cause = "wrong_answer"
        elif is_question and stopped:
            cause = "no_answer"
        elif not is_question and _picked_unnamed(steps, task.episode.instruction):
            cause = "wrong_object"
    elif family == "two_phase" and stopped:
        last = steps[-1].decision
        chose = isinstance(last, Decision) and last.action.name == "go"
        cause = "wrong_object" if chose else ""
    if not cause and family == "babyai":
        named = _picked_unnamed(steps, task.episode.instruction)
        cause = "wrong_object" if named else ""
    if cause:
        return cause, 0
    return (_stop(trajectory, task) if stopped else _habit(trajectory)), 0


def _stop(trajectory: Trajectory, task: Task) -> str:
    """How a walk ended: by a dead end, off its path or turned back on it, or early."""
    if trajectory.steps[-1].feedback.status == "dead_end":
        return "dead_end"
    path = getattr(task.reference, "path", None)
    (actor, *_) = trajectory.start
    places = [_spot(pose) for pose in trajectory.visited(actor)]
    moves = len([1 for a, b in pairwise(places) if a != b])
    if path and moves:
        last = places[-1]
        farther = path[path.index(last) + 1 :] if last in path else ()
        if last not in path[1:] or {*farther} & {*places}:
            return "wrong_place"
    return "stopped_early"


def _search(trajectory: Trajectory, task: Task) -> str:
    targets = task.reference.targets  # type: ignore[attr-defined]
    in_view = False
    has_detector = False
    reports: list[bool] = []  # whether each was about a target in view
    # The last report before each place was first reached
    believed: dict[Any, bool] = {}
    gave_up = False
    for step in trajectory.steps:
        if any(note.kind == "went_back" for note in step.notes):
            reports.append(believed.get(at(trajectory.steps[-1]), reports[-1]))
        away = _away(step, targets)
        in_view |= bool(away)
        for note in step.notes:
            has_detector |= note.kind in ("turn", "gave_up", "grounded")
            gave_up |= note.kind == "gave_up"
            if note.kind == "grounded":
                reports.append(note.details.get("distance") in away)
        if reports:
            believed.setdefault(at(step), reports[-1])
    if not in_view:
        return "never_seen"
    if trajectory.ended == "stopped" and not gave_up and reports and not reports[-1]:
        return "false_alarm"
    return "detector_missed" if has_detector and not any(reports) else "seen_not_taken"


def at(step: Step) -> Any:
    return step.pose.get("x"), step.pose.get("y")


def vars_of(item: Any) -> dict[str, Any]:
    return {"id": item.id, "away": item.away}


def _passed(trajectory: Trajectory, dataset: Any, task: Task) -> bool:
    """True if the walk would have succeeded with an end at an earlier step."""
    for number in range(len(trajectory.steps)):
        part = Trajectory(
            trajectory.episode_id, trajectory.start, trajectory.steps[:number], ended="stopped"
        )  # fmt: skip
        (scores,) = scoring.score(dataset, [(task, part)])
        if scores[_success(dataset)] > 0.5:
            return True
    return False


def _knew_alone(trajectory: Trajectory, task: Task) -> str:
    """Return the actor whose own instruction alone names an unmet goal, if it never said so."""
    texts = task.episode.extra.get("instructions") or {}
    reference: Any = task.reference
    words: set[str] = set()
    for goal in reference.goals:
        if goal.met(trajectory.state) < goal.parts:
            for ids in _lacking(goal, trajectory.state):
                kinds = [re.split(r"[|_]\d", each)[0] for each in ids]
                words |= {kind.replace("_", " ").lower() for kind in kinds}

    def names(text: str) -> bool:
        spaced = text.lower().replace("_", " ")  # lettuce_1 names a lettuce
        return any(
            re.search(rf"\b({'|'.join(_forms(word))})\b", spaced) for word in words
        )

    knew = [actor for actor, text in texts.items() if names(text)]
    if len(knew) != 1 or names(task.episode.instruction):
        return ""
    for step in trajectory.of(knew[0]):
        action = getattr(step.decision, "action", None)
        if (
            action
            and action.name in ("chat", "ask")
            and names(" ".join(action.arguments))
        ):
            return ""
    return knew[0]


def _lacking(goal: Any, state: Any) -> list[Sequence[str]]:
    """Return the objects of an unmet goal; of a meal those that are not as required."""
    if not hasattr(goal, "dishes"):
        ids = [*getattr(goal, "objects", ()), *getattr(goal, "lamps", ())]
        return [[*ids, goal.object] if getattr(goal, "object", "") else ids]
    objects = state["objects"]

    def inside(item: str) -> set[str]:
        found: set[str] = set()
        while objects[item]["in"] and objects[item]["in"] not in found:
            item = objects[item]["in"]
            found.add(item)
        return found

    def has(item: str, traits: Any) -> bool:
        return all(objects[item][name] == value for name, value in traits)

    lacking: list[Sequence[str]] = []
    for dish in goal.dishes:
        lacking += [
            dish.objects
            for trait in dish.traits
            if not any(has(each, [trait]) for each in dish.objects)
        ]
        for portion in dish.load:
            on = Counter(
                holder
                for each in portion.objects
                if has(each, portion.traits)
                for holder in inside(each) & {*dish.objects}
            )
            if max(on.values(), default=0) < portion.count:
                lacking.append(portion.objects)
        if dish.at and not any(inside(each) & {*dish.at} for each in dish.objects):
            lacking.append(dish.objects)
    return lacking or [each.objects for each in goal.dishes]


def _picked_unnamed(steps: Sequence[Step], instruction: str) -> bool:
    named = set(re.findall(r"[a-z]+", instruction.lower()))
    tools = {step.feedback.details.get("tool") for step in steps if step.feedback.ok}
    for step in steps:
        action = getattr(step.decision, "action", None)
        if action is None or not step.feedback.ok or not action.arguments:
            continue
        used = action.arguments[0] in tools
        if action.name in ("pick_up", "pickup", "pick", "grab") and not used:
            words = re.findall(r"[a-z]+", action.arguments[0].lower())
            words += ["".join(words)] if len(words) > 1 else []
            if words and not any(named & _forms(word) for word in words):
                return True
    return False


def _forms(word: str) -> set[str]:
    """Return a noun, and its plural by any rule of English: one of them is right."""
    stem = re.sub("(y|fe?)$", "", word)
    return {word, f"{word}s", f"{word}es", f"{stem}ies", f"{stem}ves"}


def _habit(trajectory: Trajectory) -> str:
    """Return the first cause of an episode that ran out of steps: its habits."""
    steps = trajectory.steps
    actors = list(dict.fromkeys(step.actor for step in steps))
    for actor in actors:
        poses = trajectory.visited(actor)
        seen: Counter[Any] = Counter()
        for pose, step in zip(poses, trajectory.of(actor), strict=False):
            action = getattr(step.decision, "action", None)
            is_idle = action and action.name in ("turn_left", "turn_right", "wait")
            waits = len(actors) > 1 and is_idle
            if action is not None and pose and not waits:
                seen[repr(sorted(pose.items())), str(action)] += 1
        if seen and max(seen.values()) >= 3:
            return "looped"
    for actor in actors:
        places = [_spot(pose) for pose in trajectory.visited(actor)]
        moved = [b for a, b in pairwise(places) if a != b and b is not None]
        if len(moved) >= 10:
            if 3 * (len(moved) - len(set(moved))) >= len(moved):
                return "wandered"
            if all(isinstance(place, tuple) for place in places):
                length = sum(math.dist(a, b) for a, b in pairwise(places))
                if length > 3 * math.dist(places[0], places[-1]):
                    return "wandered"
    rejected = sum(isinstance(step.decision, Rejection) for step in steps)
    if rejected and 4 * rejected >= len(steps):
        return "rejected"
    speakers = set()
    for actor in actors:
        if {action.name for action in trajectory.actions(actor)} & {"chat", "ask"}:
            speakers.add(actor)
    if len(actors) > 1 and speakers != set(actors):
        return "partner_silent"
    return "ran_out"


def _spot(pose: Any) -> Any:
    if isinstance(pose.get("x"), int | float):
        return round(pose["x"], 2), round(pose["y"], 2)
    return pose.get("viewpoint") or pose.get("panorama")


# What a page says, against its record.

_STEPS = r"(\d[\d,]*) (?:step|round)s?"
_QUOTED = r"“([^”]*)”"
VERBS = {
    "go_grab": "pick",
    "go_check": "look inside",
    "goto": "go to",
    "toggle_on": "switch on",
    "toggle_off": "switch off",
}
"""Verbs of homes that pages say in other words."""


def untrue(
    page: Any, trajectory: Trajectory, dataset: Dataset, task: Task, limit: int | None
) -> list[str]:
    """Return the statements of an episode's page that its record and its world refute."""
    mistake = page["mistake"] or {"text": "", "step": 0, "lost": 0, "limit": False}
    text = page["solved"] or mistake["text"]
    found = [
        *_needs(mistake, trajectory, dataset, task, limit),
        *_counts(text, page, trajectory),
        *_messages(mistake, trajectory),
        *_repeats(text, trajectory),
        *_same_step(mistake, page),
        *_right_steps(mistake, trajectory, dataset, task),
        *_false_reports(mistake, trajectory, task),
        *_left_path(text, trajectory, task),
    ]
    if page["solved"]:
        found += _endings(page["solved"], trajectory, dataset, task)
    if re.search(r"\b1 steps|\bIt [a-z_\d]+ (ran|took|stopped)|\bdid \w", text):
        found.append(f"no English: {text}")
    return found


def _needs(
    mistake: Any,
    trajectory: Trajectory,
    dataset: Dataset,
    task: Task,
    limit: int | None,
) -> list[str]:
    """The experts' steps: enough at a limit of so many, and one less is too few."""
    text = mistake["text"]
    after = 0
    if match := re.search(
        rf"an expert needed {_STEPS}, and {_STEPS} (?:was|were) left", text
    ):
        after = mistake["lost"]
        needed, left = (int(each.replace(",", "")) for each in match.groups())
        most = _limit(trajectory, limit) or 0
        taken = Counter(step.actor for step in trajectory.steps[:after])
        if left not in {max(0, most - taken[actor]) for actor in trajectory.start}:
            return [f"{left} steps were left after step {after}: {text}"]
        enough = most + needed - left
    elif match := re.search(
        rf"(?:An expert needs|needs at least) {_STEPS}; the limit was (\d+)", text
    ):
        enough = int(match[1].replace(",", ""))
        most = _limit(trajectory, limit) or 0
        if int(match[2]) != most:
            return [f"the limit was {most}: {text}"]
    else:
        return []
    if enough <= most:
        return [f"as many steps were left as needed: {text}"]
    at_limit = [
        _experts_succeed(trajectory, dataset, task, after, each)
        for each in (enough - 1, enough)
    ]
    if at_limit != [False, True]:
        return [f"experts succeed at {enough - 1} and {enough}: {at_limit}; {text}"]
    return []


def _right_steps(
    mistake: Any, trajectory: Trajectory, dataset: Dataset, task: Task
) -> list[str]:
    """On a walk, the step to blame was worse than the expert's and did not follow the gold path."""
    gold = getattr(task.reference, "path", ())
    text = mistake["text"]
    blamed = re.match(r"Step (\d+):", text)
    number = int(blamed[1]) if blamed else 0
    # A search has a path as well. Its sentences blame what was reported at a step, not its motion.
    if not gold or dataset.family.name == "objectnav":
        return []
    if number in (0, len(trajectory.steps)):
        return []  # the end is to blame, or what was done again and again
    most = len(trajectory.steps) + _MORE
    (before, needed), (after, still) = (
        _experts_finish(trajectory, dataset, task, steps, most)
        for steps in (number - 1, number)
    )
    if before and after and still < needed:
        return [f"step {number} left {still} steps of {needed}: {text}"]
    (actor,) = trajectory.start
    here, there = (
        _spot(pose) for pose in trajectory.visited(actor)[number - 1 : number + 1]
    )
    onward = gold[gold.index(here) + 1 :][:1] if here in gold else ()
    if onward and here != there and there == onward[0]:
        return [f"step {number} went to {there}, as the path: {text}"]
    if (
        onward
        and here == there
        and isinstance(trajectory.steps[number - 1].decision, Decision)
    ):
        turns = [
            _moves_to(trajectory, dataset, task, each, onward[0])
            for each in (number - 1, number)
        ]
        if turns[1] < turns[0]:
            return [f"step {number} turned to {onward[0]}, as the path: {text}"]
    return []


def _left_path(text: str, trajectory: Trajectory, task: Task) -> list[str]:
    """A walk leaves its path once, by a move or a turn on it that leads to a place off it."""
    steps = re.findall(r"left the path at step (\d+)", text)
    found = []
    if len(steps) > 1:
        found.append(f"it left the path {len(steps)} times: {text}")
    for number in map(int, steps):
        (actor,) = trajectory.start
        before, *later = [
            _spot(pose) for pose in trajectory.visited(actor)[number - 1 :]
        ]
        onward = next((place for place in later if place != before), None)
        path = task.reference.path  # type: ignore[attr-defined]
        if before not in path or onward is None or onward in path:
            found.append(f"step {number} led from {before} to {onward}: {text}")
    return found


def _false_reports(mistake: Any, trajectory: Trajectory, task: Task) -> list[str]:
    """In a search, a report to blame is in the record, and no target in view was that far."""
    text = mistake["text"]
    blamed = re.match(
        r"Step (\d+): the detector reported the .*? (?:([\d.]+) m away )?where it was not", text
    )  # fmt: skip
    if not blamed:
        return []
    step = trajectory.steps[int(blamed[1]) - 1]
    reports = [note.details for note in step.notes if note.kind == "grounded"]
    distances = [report.get("distance") for report in reports]
    if not distances:
        return [f"no report at the step: {text}"]
    targets = task.reference.targets  # type: ignore[attr-defined]
    found = []
    if {*distances} & {*_away(step, targets)}:
        found.append(f"the report was of a target in view: {text}")
    if blamed[2] and blamed[2] != f"{distances[-1]:.1f}":
        found.append(f"it was reported {distances[-1]} m away: {text}")
    return found


def _away(step: Step, targets: frozenset[str]) -> list[float]:
    """Return the distances of the targets in view of a step."""
    shown = getattr(step.observation, "shown", None)
    if shown is None and isinstance(step.observation, dict):
        shown = step.observation.get("shown")
    away = []
    for each in shown or ():
        fields = each if isinstance(each, dict) else vars_of(each)
        if fields["id"] in targets:
            away.append(fields["away"])
    return away


def _moves_to(
    trajectory: Trajectory, dataset: Dataset, task: Task, after: int, goal: str
) -> int:
    """Return the fewest actions to a place from where a walk was after some steps; at most 4."""
    (actor,) = trajectory.start
    game = Game(dataset.world(task.episode), task.episode)
    for step in trajectory.steps[:after]:
        game.act(step.actor, step.decision)
    reached = [game]
    for moves in range(4):
        if any(_spot(each.world.pose(actor)) == goal for each in reached):
            return moves
        farther = []
        for each in reached:
            for name in ("forward", "left", "right", "turn_around"):
                farther.append(each.clone())
                farther[-1].act(actor, Decision(Action(name)))
        reached = farther
    return 4


def _counts(text: str, page: Any, trajectory: Trajectory) -> list[str]:
    """Conditions with their counts, and what a question's actor missed."""
    found = []
    for words, met, parts in page["conditions"]:
        if match := re.match(r"(\d+) of (\d+) ", words):
            if (int(match[1]), int(match[2])) != (met, parts):
                found.append(f"{met} of {parts} hold: {words}")
        elif match := re.match(r"saw (\d+) of (\d+) objects", words):
            missed = sum(int(each) for each in re.findall(r"missed (\d+):", words))
            kinds = words.partition("missed ")[2].partition(": ")[2]
            listed = [
                re.search(r"\((\d+)\)$", each) for each in kinds.split(", ") if each
            ]
            number = sum(int(each[1]) if each else 1 for each in listed)
            if int(match[1]) + missed != int(match[2]) or number != missed:
                found.append(f"what was seen and what was missed are all: {words}")
        elif parts > 1 and not words.endswith(f"({met} of {parts} parts)"):
            found.append(f"{parts} parts without their number: {words}")
    unmet = [words for words, met, parts in page["conditions"] if met < parts]
    if re.search(r"all (\d+) goals|both goals", text, re.IGNORECASE) and unmet:
        found.append(f"not all goals were met: {text}")
    return found


def _messages(mistake: Any, trajectory: Trajectory) -> list[str]:
    """Messages are quoted from before the step that lost the episode."""
    found = []
    last = len(trajectory.steps) if mistake["limit"] else mistake["lost"]
    for number, quoted in re.findall(
        rf"had said at step (\d+): {_QUOTED}", mistake["text"]
    ):
        action = getattr(trajectory.steps[int(number) - 1].decision, "action", None)
        sent = " ".join(action.arguments[-1].split()) if action else ""
        if int(number) > last or not sent.startswith(quoted.rstrip("…")):
            found.append(f"said after step {last}, or not at all: {quoted}")
    for actor, quoted, times in re.findall(
        rf"(\w+) said {_QUOTED} (\d+) times", mistake["text"]
    ):
        sent = [
            action.arguments[-1].rstrip(" .")
            for action in (
                step.decision.action
                for step in trajectory.steps[:last]
                if step.actor.lower() == actor.lower()
                and isinstance(step.decision, Decision)
            )
            if action.name in ("chat", "ask")
        ]
        if sent.count(quoted) != int(times):
            found.append(f"{actor} said {quoted!r} {sent.count(quoted)} times")
    return found


def _repeats(text: str, trajectory: Trajectory) -> list[str]:
    """Failed actions and circles, counted again; routes that failed twice are named."""
    found = []
    steps = trajectory.steps
    if match := re.search(
        r"Steps (\d+)–(\d+): (?:(\w+) )?walked into ([^,]+), (\d+) of", text
    ):
        first, last, actor, by, times = match.groups()
        ran = [
            step for step in steps[int(first) - 1 : int(last)]
            if str(step.feedback.details.get("by")).replace("_", " ") == by
            and not step.feedback.ok and (actor or step.actor).lower() == step.actor.lower()
        ]  # fmt: skip
        if len(ran) != int(times):
            found.append(f"{len(ran)} steps ended at {by}: {text}")
    for actor, action, times in re.findall(
        r"(?:(\w+)'s )?([a-z][\w ]*?) failed (\d+) times", text
    ):
        ran = [
            step for step in steps
            if not step.feedback.ok and _words(step) == action
            and (actor or step.actor).lower() == step.actor.lower()
        ]  # fmt: skip
        if len(ran) < int(times):
            found.append(f"{action} failed {len(ran)} times: {text}")
    if match := re.search(r"circled ([^ ]+(?:–[^ ]+)+) (\d+) times", text):
        circle = match[1].split("–") * int(match[2])
        walk = [_spot(step.pose) for step in steps]
        moved = [b for a, b in pairwise([None, *walk]) if a != b]
        if moved[-len(circle) :] != circle:
            found.append(f"the walk ended with {moved[-len(circle) :]}: {text}")
    return found


def blockers(page: Any, trajectory: Trajectory, task: Task) -> list[str]:
    """Routes that failed twice for the same actor of several before the episode was lost. Where all
    goals were met at the end, and no one stopped, no route is to blame."""
    goal = task.reference
    state = trajectory.state
    if (
        isinstance(goal, HouseholdReference)
        and state
        and goal.met(state) == goal.parts()
    ):
        return []
    mistake = page["mistake"]
    last = len(trajectory.steps) if mistake["limit"] else mistake["lost"]
    failed = Counter(
        (step.actor, _words(step))
        for step in trajectory.steps[:last]
        if step.feedback.status == "no_path"
    )
    unnamed = []
    for (actor, action), times in failed.items():
        named = f"{actor}'s {action} failed".lower() in mistake["text"].lower()
        if times > 1 and not named and len(trajectory.start) > 1:
            unnamed.append(
                f"{actor}'s {action} failed {times} times: {mistake['text']}"
            )
    return unnamed


def _words(step: Step) -> str:
    action = getattr(step.decision, "action", None)
    if action is None:
        return ""
    return f"{action.name} {', '.join(action.arguments)}".strip().replace("_", " ")


def _same_step(mistake: Any, page: Any) -> list[str]:
    """The first sentence, the page and the ring of the map name one step."""
    found = []
    head = re.match(r"(?:After step|Steps?) (\d+)", mistake["text"])
    if head and int(head[1]) != mistake["step"]:
        found.append(f"it opens at step {mistake['step']}: {mistake['text']}")
    rings = re.findall(r"<title>before step (\d+)</title>", page["map"] or "")
    if mistake["limit"] and rings:
        found.append(f"a ring at step {rings}, though the limit is to blame")
    if not mistake["limit"] and {*rings} - {str(mistake["step"])}:
        found.append(f"a ring at step {rings}: {mistake['text']}")
    return found


def _endings(
    solved: str, trajectory: Trajectory, dataset: Dataset, task: Task
) -> list[str]:
    """How a solved episode ended, and when it first was a success."""
    found = []
    is_cut = trajectory.ended == "step_limit"
    walks = dataset.family.name in ("indoor", "street")
    if walks and ("cut off by the step limit" in solved) != is_cut:
        found.append(f"it ended by {trajectory.ended}: {solved}")
    if match := re.search(r"near enough to the goal after step (\d+)", solved):
        first = _first_success(trajectory, dataset, task)
        if first != int(match[1]):
            found.append(f"not at step {first}: {solved}")
    if match := re.search(r"held from step (\d+) on \((?:(\w+): )?([^.]+)\)\.", solved):
        number = int(match[1])
        step = trajectory.steps[number - 1]
        since = _met_from(trajectory, dataset, task)
        action = getattr(step.decision, "action", None)
        arguments = action.arguments if action else ()
        named = all(each.replace("_", " ") in match[3] for each in arguments)
        if action is not None:
            verb = VERBS.get(action.name, action.name.removeprefix("go_"))
            named = named and verb.replace("_", " ") in match[3]
        if not arguments:
            named = _words(step) == match[3]
        if since not in (None, number) or not named:
            found.append(f"they held from step {since} on: {solved}")
    return found


def _first_success(trajectory: Trajectory, dataset: Dataset, task: Task) -> int:
    for number in range(len(trajectory.steps) + 1):
        part = Trajectory(
            trajectory.episode_id, trajectory.start, trajectory.steps[:number], ended="stopped"
        )  # fmt: skip
        (scores,) = scoring.score(dataset, [(task, part)])
        if scores[_success(dataset)] > 0.5:
            return number
    return -1
