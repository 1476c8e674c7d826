"""How actors behaved in an episode in which its objects never came into view: headings, rooms,
failed actions, the walk, messages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from itertools import chain, pairwise, takewhile
from typing import Any

from wayword.core.action import STOP, Decision
from wayword.core.geometry import bearing, relative
from wayword.core.trajectory import Step, Trajectory
from wayword.core.visible import spaced
from wayword.core.world import Feedback
from wayword.metrics.conditions import Sought
from wayword.metrics.mistakes.facts import EpisodeFacts, action_words
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.recorded import (
    SPOKEN,
    WAITING,
    as_mapping,
    finite,
    place_of,
    point_of,
    room_of,
    wind,
)
from wayword.worlds.household.world import UNSEEN_DOOR

Points = Sequence[tuple[float, float]]
_FACED = 45.0  # degrees between a heading and a target up to which an actor faces it


def behavior(
    evidence: EpisodeFacts,
    targets: Points,
    unseen: Sequence[Sought] = (),
) -> list[Fact]:
    """Return facts on all actors, the best explanation first.

    Who never faced any of the ``targets`` (points in metres), rooms that were never
    left, failures, walks, silence. ``unseen`` are the objects that never came into view.
    """
    trajectory = evidence.trajectory
    several = len(trajectory.start) > 1
    headings: list[Fact] = []
    rooms: list[Fact] = []
    walks: list[Fact] = []
    for actor in trajectory.start:
        name = actor if several else ""
        visited = rooms_of(trajectory, actor)
        side = never_faced(trajectory, actor, targets)
        kinds = [about.kind for about in unseen if visited == [about.room]]
        in_this_room = [*dict.fromkeys(kinds)]
        # A heading explains nothing where walls are between.
        if (
            unseen
            and visited
            and all(each.room not in ("", *visited) for each in unseen)
        ):
            side = ""
        if side and in_this_room:
            headings.append(Fact("in_the_room", actor=name, room=visited[0], side=side))
        elif side and not several:
            headings.append(Fact("never_faced", actor=name, side=side))
        if len(visited) == 1 and not (side and in_this_room):
            rooms.append(Fact("stayed", actor=name, room=visited[0]))
            if in_this_room:
                rooms.append(Fact("never_saw", actor=name, objects=in_this_room))
        elif not visited:
            walks += walk_of(trajectory, actor, name)
    doors = closed_doors(evidence, {about.room for about in unseen})
    facts = [*headings, *doors, *rooms]
    facts += [*failures(trajectory, evidence.last / 4), *walks]
    if several and not has_spoken(trajectory):
        facts.append(Fact("silent"))
    return facts


# What an actor did again and again is the course of an episode if it did so at least three times,
# in at least half of its steps from the first time to the last, and if those are at least half of
# all its steps.
_LEAST = 3
_HALF = 2
# The share of failed actions from which one kind of them stands for all
_MOST = 0.75
# Places of a circle, at most: longer ones are not seen as circles
_CIRCLE = 8

_Turns = Sequence[tuple[int, Step]]
"""An actor's steps with their numbers (from 1)."""


def find_course(trajectory: Trajectory) -> Fact | None:
    """Return what an actor did for most of an episode that ran out of steps or was given up: an
    action that always failed, a circle, one action again and again. None if it did none of these.

    Of several, the kind named first wins, whichever actor did it; of one kind, what was done most
    often.
    """
    # Given up: the last steps but for stops failed, of whichever actors.
    stuck = [step for step in trajectory.steps if not _is_stop(step)][-_LEAST:]
    gave_up = len(stuck) == _LEAST and not any(step.feedback.ok for step in stuck)
    if trajectory.ended != "step_limit" and not gave_up:
        return None
    several = len(trajectory.start) > 1
    found: list[tuple[int, int, Fact]] = []
    for actor in trajectory.start:
        numbered = enumerate(trajectory.steps, 1)
        turns = [(n, step) for n, step in numbered if step.actor == actor]
        name = actor if several else ""
        poses = trajectory.visited(actor)
        kinds = (
            _failing(turns, name),
            _circle(poses, name),
            _repeated(poses, turns, name, several),
        )
        for rank, facts in enumerate(kinds):
            for indices, did in facts:
                if not _is_course(indices, len(turns)):
                    continue
                first = turns[indices[0]][0]
                last = turns[indices[-1]][0]
                # A sentence such as "failed 7 of 9 times" needs the actor's turns in between, too.
                if "of" in did:
                    did["of"] = indices[-1] - indices[0] + 1
                fact = Fact("steps", step=first, end=last, did=did)
                found.append((rank, -len(indices), fact))
    if not found:
        return None
    return min(found, key=lambda each: each[:2])[2]


def _is_stop(step: Step) -> bool:
    """True for an actor's last step, by which it stops."""
    return (
        isinstance(step.decision, Decision) and step.decision.action.name == STOP.name
    )


def _is_course(indices: Sequence[int], turns: int) -> bool:
    """True if an actor did something in enough of its ``turns``, by their indices."""
    if len(indices) < _LEAST:
        return False
    span = indices[-1] - indices[0] + 1
    return _HALF * len(indices) >= span and _HALF * span >= turns


FAILING = ("walked_into", "failing", "failed_all")
"""Kinds of courses of failed actions."""

_Found = Iterator[tuple[Sequence[int], Fact]]
"""Indices of an actor's turns, and what it did in them."""


def _failing(turns: _Turns, name: str) -> _Found:
    """Yield actions that failed in the same way, and all that failed in several ways."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for index, (_, step) in enumerate(turns):
        if step.feedback.ok or not isinstance(step.decision, Decision):
            continue
        by = spaced(step.feedback.details.get("by") or "")
        key = action_words(step.decision.action), step.feedback.status, by
        groups.setdefault(key, []).append(index)
    for (action, _, by), at in groups.items():
        times = len(at)
        if by:
            did = Fact("walked_into", actor=name, action=action, by=by)
            yield at, Fact(**did, times=times, of=times)
        else:
            yield at, failing(name, action, times, turns[at[-1]][1].feedback)
    every = sorted(chain.from_iterable(groups.values()))
    # One kind says more than all, if it is most of them.
    if every and max(map(len, groups.values())) < _MOST * len(every):
        actions = [*dict.fromkeys(action for action, *_ in groups)]
        number = len(every)
        yield (
            every,
            Fact("failed_all", actor=name, times=number, of=number, actions=actions),
        )


def closed_doors(evidence: EpisodeFacts, rooms: Set[str]) -> list[Fact]:
    """Return the last way into one of ``rooms`` that failed at closed doors, for each actor that
    never opened them."""
    trajectory = evidence.trajectory
    facts = []
    for actor in trajectory.start:
        opened: set[str] = set()
        blocked: Fact | None = None
        for number, step in enumerate(trajectory.steps, 1):
            if step.actor != actor or not isinstance(step.decision, Decision):
                continue
            action = step.decision.action
            if action.name == "open" and step.feedback.ok:
                opened.update(action.arguments)
            room = spaced(step.feedback.details.get("place") or "")
            # A door that the actor has not seen has no name.
            closed = step.feedback.details.get("doors") or ()
            doors = [str(door) for door in closed if door != UNSEEN_DOOR]
            if not step.feedback.ok and doors and room in rooms:
                did = evidence.acted(number)
                blocked = Fact("never_opened", doors=doors, step=number, action=did)
        if blocked is None or not opened.isdisjoint(blocked["doors"]):
            continue
        names = [spaced(door) for door in blocked["doors"]]
        name = actor if len(trajectory.start) > 1 else ""
        facts.append(Fact(**{**blocked, "actor": name, "doors": names}))
    return facts


def failing(name: str, action: str, times: int, feedback: Feedback) -> Fact:
    """Return an action that failed again and again, and why: ``no path, a closed door``."""
    doors = feedback.details.get("doors") or ()
    why = [spaced(feedback.status), *map(spaced, doors)]
    return Fact("failing", actor=name, action=action, times=times, why=why)


def _circle(poses: Sequence[Any], name: str) -> _Found:
    """Yield the circle at the end of a walk on a graph: the same places in the same order."""
    places = [place_of(pose) for pose in poses]
    # Moves alone: an actor may turn in place.
    moved = [at for at, (a, b) in enumerate(pairwise(places)) if a != b]
    walk = [places[at + 1] for at in moved]
    backwards = walk[::-1]
    for length in range(2, _CIRCLE + 1):
        # Moves, from the end, to the same place as one round earlier.
        pairs = zip(backwards, backwards[length:], strict=False)
        repeated = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
        rounds = 1 + repeated // length
        if rounds >= _LEAST:
            first = len(walk) - rounds * length
            circle = walk[first : first + length]
            kind = "went_between" if length == 2 else "circled"
            yield moved[first:], Fact(kind, actor=name, places=circle, times=rounds)
            return


def _repeated(poses: Sequence[Any], turns: _Turns, name: str, several: bool) -> _Found:
    """Yield actions that were chosen again: anywhere with arguments, else in the same pose."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, (pose, (_, step)) in enumerate(zip(poses, turns, strict=False)):
        if not isinstance(step.decision, Decision):
            continue
        action = step.decision.action
        # In a team, an actor that waits for others repeats itself for a reason.
        if action.name in SPOKEN or (several and action.name in WAITING):
            continue
        where = "" if action.arguments else repr(pose)
        groups.setdefault((action_words(action), where), []).append(index)
    for (words, where), at in groups.items():
        place = "in the same pose" if where else ""
        yield at, Fact("repeated", actor=name, action=words, times=len(at), where=place)


def rooms_of(trajectory: Trajectory, actor: str) -> list[str]:
    """Return the rooms that an actor was in, in order."""
    rooms = [room_of(pose) for pose in trajectory.visited(actor)]
    return [*dict.fromkeys(room for room in rooms if room)]


def walk_of(trajectory: Trajectory, actor: str, name: str = "") -> Iterator[Fact]:
    """Yield an actor's walk by coordinates: ``turned 4 times, moved 0.25 m``."""
    # Worlds of viewpoints and of named rooms have no coordinates.
    poses = [as_mapping(pose) for pose in trajectory.visited(actor)]
    if len(poses) < 2 or "x" not in poses[0]:
        return
    points = [point_of(pose) or (0.0, 0.0) for pose in poses]
    moved = sum(math.dist(a, b) for a, b in pairwise(points))
    turned = _turns(trajectory, actor)
    if moved:
        turns = f"turned {turned} times"
        if turned == 1:
            turns = "turned once"
        if not turned:
            turns = ""
        yield Fact("moved", actor=name, turns=turns, metres=round(moved, 2))
    else:
        yield Fact("only_turned" if turned else "never_left", actor=name)


def _turns(trajectory: Trajectory, actor: str) -> int:
    """Count the turns of an actor: steps that changed its heading and not its place.

    An actor that goes somewhere arrives with another heading, which is no turn.
    """
    poses = [as_mapping(pose) for pose in trajectory.visited(actor)]
    return sum(
        point_of(a) == point_of(b) and a.get("heading") != b.get("heading")
        for a, b in pairwise(poses)
    )


def failures(trajectory: Trajectory, least: float) -> list[Fact]:
    """Return a fact on the steps that failed, if at least ``least`` did: ``3 of 6 steps were
    blocked``.

    Empty if the episode's course is a row of failures, as it says the same.
    """
    course = find_course(trajectory)
    if course is not None and course["did"]["kind"] in FAILING:
        return []
    # Steps count from 1.
    steps = enumerate(trajectory.steps, 1)
    failed = [(number, step) for number, step in steps if not step.feedback.ok]
    if not failed or len(failed) < least:
        return []
    blocked = all(step.feedback.status == "blocked" for _, step in failed)
    if len(failed) == 1:
        ((number, step),) = failed
        words = "the action"  # of an answer without one
        if isinstance(step.decision, Decision):
            words = action_words(step.decision.action)
        what = "was blocked" if blocked else "failed"
        return [Fact("step_failed", action=words, step=number, what=what)]
    what = "were blocked" if blocked else "failed"
    count = len(trajectory.steps)
    return [Fact("steps_failed", failed=len(failed), count=count, what=what)]


def has_spoken(trajectory: Trajectory) -> bool:
    """True if any actor sent a message."""
    decisions = [step.decision for step in trajectory.steps]
    actions = [each.action for each in decisions if isinstance(each, Decision)]
    return any(action.name in SPOKEN for action in actions)


def never_faced(trajectory: Trajectory, actor: str, targets: Points) -> str:
    """Return the direction of the nearest target from the end of a walk that faced none of them.

    Empty if the actor faced one, or if that is unknown.
    """
    poses = [as_mapping(pose) for pose in trajectory.visited(actor)]
    if not targets:
        return ""
    for pose in poses:
        point = point_of(pose)
        heading = finite(pose.get("heading"))
        if point is None or heading is None:
            return ""
        turns = [relative(bearing(point, target), heading) for target in targets]
        if any(abs(turn) <= _FACED for turn in turns):
            return ""
    end = point_of(poses[-1])
    if end is None:
        return ""
    nearest = min(targets, key=lambda target: math.dist(target, end))
    return wind(bearing(end, nearest))
