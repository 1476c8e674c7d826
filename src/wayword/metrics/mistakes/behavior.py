"""How actors behaved in an episode in which its objects never came into view: headings, rooms,
failed actions, the walk, messages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from wayword.core.action import Decision
from wayword.core.geometry import bearing, relative
from wayword.core.trajectory import Trajectory
from wayword.core.visible import spaced
from wayword.metrics.conditions import Sought
from wayword.metrics.mistakes.facts import EpisodeFacts
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.recorded import SPOKEN, as_mapping, finite, point_of, room_of, wind

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
    facts = [*headings, *rooms, *failures(trajectory, evidence.last / 4), *walks]
    if several and not has_spoken(trajectory):
        facts.append(Fact("silent"))
    return facts


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
    """Count the steps that failed, if at least ``least`` did: ``3 of 6 steps were blocked``."""
    steps = trajectory.steps
    failed = [n for n, step in enumerate(steps) if step.feedback.status != "ok"]
    if not failed or len(failed) < least:
        return []
    blocked = {steps[n].feedback.status for n in failed} == {"blocked"}
    if len(failed) == 1:
        action = getattr(steps[failed[0]].decision, "action", "the action")
        what = "was blocked" if blocked else "failed"
        words = spaced(action)
        return [Fact("step_failed", action=words, step=failed[0] + 1, what=what)]
    what = "were blocked" if blocked else "failed"
    return [Fact("steps_failed", failed=len(failed), count=len(steps), what=what)]


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
