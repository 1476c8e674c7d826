"""How searches for an object fail: it never came into view, the detector missed it or reported
something else, or it was in view and not taken."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.trajectory import GAVE_UP, GROUNDED, WENT_BACK
from wayword.core.visible import spaced
from wayword.metrics.mistakes.behavior import behavior
from wayword.metrics.mistakes.facts import EpisodeFacts, Explanation
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.recorded import finite, listed, point_of
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import Scene

_SOUGHT = re.compile(r"find (?:the|an?) (.+?)[.!]?", re.IGNORECASE)


def explain(evidence: EpisodeFacts, targets: frozenset[str]) -> Explanation | None:
    """Explain a failed search by what was in view, and by what the agent's detector reported.

    ``targets`` are the ids of the objects that count as found. Distances are in metres. A false
    alarm explains the end before anything that the detector missed.
    """
    # Each view of a target: its distance, its step (from 1), and the record of the object.
    steps = evidence.trajectory.steps
    views: list[tuple[float, int, JsonObject]] = []
    for number, step in enumerate(steps, 1):
        for each in listed(step.observation, "shown"):
            if each.get("id") in targets:
                away = finite(each.get("away"))
                if away is None:  # unknown, so any known distance is nearer
                    away = math.inf
                views.append((away, number, each))
    if not views:
        return _never_seen(evidence)

    # The nearest view, the first of several; the views are counted by steps.
    nearest, seen, shown = min(views, key=lambda view: view[:2])
    target = str(shown.get("words") or shown.get("kind"))
    near = nearest if nearest < math.inf else None
    end = _end(evidence, target)
    in_view = len({number for _, number, _ in views})
    missed = [spaced(shown.get("kind"))]
    was_seen = Fact("seen", target=target, views=in_view, seen=seen, near=near)
    if alarm := evidence.causes.get("false_alarm", 0):
        more = []
        if "detector_missed" in evidence.causes:
            more.append(Fact("unreported", seen=was_seen))
        return _false_alarm(evidence, end, alarm, more, missed)
    if "detector_missed" in evidence.causes:
        end = Fact("detector_missed", what=end)
        return Explanation(end, [was_seen], missed=missed)
    end = Fact("was_in_view", what=end, seen=seen, near=near)
    return Explanation(end, missed=missed)


def target_at(observation: Any, targets: frozenset[str]) -> Fact | None:
    """Return the target in an observation and its distance; None if none is in view."""
    shown = [each for each in listed(observation, "shown") if each.get("id") in targets]
    if not shown:
        return None
    # The success rules measure to the nearest point of a target.
    edges = [finite(each.get("distance")) for each in shown]
    near = [edge if edge is not None else math.inf for edge in edges]
    at = near.index(min(near))
    target = str(shown[at].get("words") or shown[at].get("kind"))
    return Fact("solved_search", target=target, edge=edges[at])


def _end(evidence: EpisodeFacts, target: str) -> Fact:
    """Describe the end by its distance from the target."""
    end = evidence.end()
    if evidence.trajectory.ended == "stopped" and evidence.trajectory.noted(GAVE_UP):
        end = "gave up"
    away = evidence.progress.left
    if not away:
        return Fact("without_any", end=end, target=target)
    return Fact("without", end=end, away=away, target=target)


def _false_alarm(
    evidence: EpisodeFacts,
    end: Fact,
    alarm: int,
    more: Sequence[Fact] = (),
    missed: Sequence[str] = (),
) -> Explanation:
    """Return why a stop was wrong: the target was believed to be in view. The report leads."""
    notes = evidence.trajectory.steps[alarm - 1].notes
    details = [note.details for note in notes if note.kind == GROUNDED]
    near = None
    if details:
        near = finite(details[-1].get("distance"))
    # An agent may go on and return to its best report at the end.
    back = []
    for number, step in enumerate(evidence.trajectory.steps, 1):
        if any(note.kind == WENT_BACK for note in step.notes):
            back = [Fact("went_back", step=number, alarm=alarm)]
    report = Fact("false_report", target=end["target"], near=near)
    lead = Fact("lost", step=alarm, did=report)
    return Explanation(end, [*back, *more], missed=missed, lead=lead)


_UNSEEN = ("never_faced", "never_left_room", "never_entered")
"""Kinds of facts by which a target cannot have been in view."""


def _in_other_rooms(
    evidence: EpisodeFacts, targets: Sequence[tuple[float, float]]
) -> Fact | None:
    """Return the rooms of the targets if the walk never entered one; None if it did, or if the
    rooms are not known."""
    place = getattr(getattr(evidence.world, "base", None), "place", None)
    scene = getattr(place, "scene", None)
    # The only room of a scene is the box of its walls.
    if not isinstance(scene, Scene) or len(scene.rooms) < 2 or not targets:
        return None
    layout = Layout(scene)
    (actor,) = evidence.trajectory.start
    walked = map(point_of, evidence.trajectory.visited(actor))
    visited = {layout.room_at(*point): None for point in walked if point}
    rooms = [*dict.fromkeys(layout.room_at(*point) for point in targets)]
    if not visited or not visited.keys().isdisjoint(rooms):
        return None
    if len(visited) == 1:
        return Fact("never_left_room", room=next(iter(visited)), rooms=rooms)
    return Fact("never_entered", rooms=rooms)


def _never_seen(evidence: EpisodeFacts) -> Explanation | None:
    """Return why the target was not found; None if it was seen."""
    sought = _SOUGHT.fullmatch(evidence.instruction.strip())
    if not sought or "never_seen" not in evidence.causes:
        return None
    end = _end(evidence, sought[1])
    if alarm := evidence.causes.get("false_alarm", 0):
        return _false_alarm(evidence, end, alarm)
    targets = getattr(evidence.reference, "middles", None) or ()
    points = [(float(x), float(y)) for x, y in targets]
    facts = behavior(evidence, points)
    # A heading explains nothing where walls are between.
    if elsewhere := _in_other_rooms(evidence, points):
        facts = [fact for fact in facts if fact["kind"] != "never_faced"]
        facts.insert(0, elsewhere)
    never = "never in view"
    if facts and facts[0]["kind"] in _UNSEEN:
        never = ""  # the fact implies it
    fact = next(iter(facts), None)
    return Explanation(Fact("never_seen", what=end, never=never, fact=fact), facts[1:])
