"""How walks on viewpoint graphs and streets fail: stopped elsewhere, walked past the goal, or left
the path for good."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.action import Decision
from wayword.core.geometry import Point, bearing, relative
from wayword.metrics.mistakes.behavior import find_course
from wayword.metrics.mistakes.facts import EpisodeFacts, Explanation
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.recorded import finite, listed, place_of, wind

_TURNS = {
    "left": "turned left",
    "right": "turned right",
    "turn_around": "turned around",
}
_AHEAD = 45.0  # degrees from the heading up to which a path goes straight on
_BACK = 135.0  # and from which it goes back
_STOREY = 1.5  # metres from which a goal is on another level than the end
_JOINED = re.compile(
    r"(?:[ .,;]+(?:and|then|next|finally|after that|from there|once there))+[ .,;]*$",
    re.IGNORECASE,
)
"""Words at the end of a part of an instruction that begin its next part."""


def explain(evidence: EpisodeFacts, gold: Sequence[str]) -> Explanation:
    """Explain a failed walk by its end, its last departure from the path and the instruction.

    ``gold`` is the path of the reference, by places.
    """
    walk = _GraphWalk(evidence, gold)
    lost = evidence.lost
    stopped = evidence.trajectory.ended == "stopped"
    turns = walk.wrong_turns()
    departed = turns.departed
    away = turns.away
    more = []
    # The cause is the step that left the goal, one after the last from which a stop would have
    # succeeded. Without a dataset, 0: only the scores tell that the goal was reached.
    passed = evidence.causes.get("passed_goal")
    if passed == 0:
        more.append(Fact("was_at_goal"))
    elif passed is not None and passed > 1:
        more.append(Fact("passed_goal", reached=passed - 1))
    # The departure leads. The caller says when it was too late, or where the walk stopped. Where
    # the limit is to blame, no step leads.
    leads = departed > 0 and (lost is None or lost.step > 0)
    if turns.left_well:
        more.append(walk.turn_off(turns.left_well))
    if departed and not leads:
        more.append(walk.turn_off(departed))
    if away > departed and (lost is None or away != lost.step):
        more.append(Fact("turned_away", step=away, did=walk.did(away)))
    if not (departed or turns.left_well) and (strayed := walk.strayed()):
        more.append(strayed)
    # The instruction is quoted for the place where the walk went wrong, else for its end.
    place = walk.places[-1]
    if wrong := departed or turns.wrong:
        place = walk.places[wrong - 1]
    if text := clause(evidence, gold, place):
        more.append(Fact("clause", text=text))

    if stopped and (choice := chosen_object(evidence)):
        more.append(choice)

    # The step that lost the episode, and the end.
    did = None
    turn_off = None
    if departed:
        turn_off = walk.turn_off(departed)
    elif lost and lost.step:
        did = walk.did(lost.step)
    if stopped:
        end = walk.stop()
        return Explanation(end, more, did, turn_off=turn_off, was_right=turns.was_right)
    end = Fact("ran_out_at", end=evidence.end(), place=walk.end())
    how = ""
    if not departed and {*filter(None, walk.places)} <= {*gold}:
        how = "On the path throughout"
    return Explanation(
        end, more, did, how, turn_off=turn_off, was_right=turns.was_right
    )


@dataclass(frozen=True)
class _WrongTurns:
    """The steps at which a walk went wrong; 0 for none.

    ``departed`` left the path for good, ``away`` turned away from the goal for the last time, and
    ``wrong`` is where it went wrong, but for the end. ``left_well`` left the path by a step as good
    as the expert's; ``was_right`` is True if the step that lost it was as good."""

    departed: int
    away: int
    wrong: int
    left_well: int
    was_right: bool


class _GraphWalk:
    """A walk as places: ``places[n]`` is the place after step n, ``places[0]`` the start."""

    def __init__(self, evidence: EpisodeFacts, gold: Sequence[str]) -> None:
        self._evidence = evidence
        self._gold = gold
        trajectory = evidence.trajectory
        start = next(iter(trajectory.start.values()), {})
        self._poses = [start, *(step.pose for step in trajectory.steps)]
        self.places = [place_of(pose) for pose in self._poses]

    def wrong_turns(self) -> _WrongTurns:
        """Return the steps at which the walk went wrong."""
        last = self._evidence.last
        lost = self._evidence.lost
        stopped = self._evidence.trajectory.ended == "stopped"
        was_right = self.lost_by_a_right_step()
        # The stop itself leads nowhere.
        away = self.departure(last - 1 if stopped else last)
        # A stop elsewhere is the end of a walk alone.
        wrong = away
        lost_by_stop = stopped and lost is not None and lost.step == last
        if not away and lost is not None and not was_right and not lost_by_stop:
            wrong = lost.step
        # Where it turned away from the goal off the path, it had gone wrong when it left the path,
        # unless that was as good as what the expert did.
        off = self.first_turn(self.off_path(wrong))
        departed = off or away
        left_well = 0
        if off and off != away and not self.is_worse(off):
            left_well = off
            departed = away
        # A walk that went around and around left the path for good when it did so first.
        if not departed and find_course(self._evidence.trajectory) is not None:
            departed = self.left_first()
        # An earlier step took too long; an actor that stopped by itself did not lack any steps.
        if was_right and not departed and not stopped:
            departed = self.first_worse()
        return _WrongTurns(departed, away, wrong, left_well, was_right)

    def departure(self, last: int) -> int:
        """Return the step up to ``last`` that left the path for good; 0 if there is none.

        It is the first one worse than the expert's after the walk was nearest to the
        goal for the last time.
        """
        nearest = self._last_nearest()
        if nearest is None or nearest >= last:
            return 0
        step = nearest + 1
        if self._evidence.worse is not None:
            step = self._evidence.worse(step)
        # No step is the cause of what was out of reach before it.
        lost = self._evidence.lost
        if step > last or (lost is not None and 0 < lost.step < step):
            return 0
        return self.first_turn(step)

    def first_turn(self, step: int) -> int:
        """Return the turn that led to the move of a step: the first one at its place that was worse
        than the expert's; the step itself if it does not follow such a turn."""
        worse = self._evidence.worse
        first = step
        while first > 1 and self.places[first - 2] == self.places[first - 1]:
            first -= 1
        if worse is None or first == step:
            return step
        # Turns that were undone led nowhere: the walk faced along the path, or as at first again.
        along = [
            n for n in range(first, step) if self._heading(n) == self._path_heading(n)
        ]
        facing = self._heading(first - 1)
        undone = along or [n for n in range(first, step) if self._heading(n) == facing]
        first = max(undone, default=first - 1) + 1
        if first == step:
            return step
        turn = worse(first)
        return turn if first <= turn < step else step

    def turn_off(self, step: int) -> Fact:
        """Return that a step left the path, or that it turned away from the goal: off the path, or
        back along it."""
        before = self.places[step - 1]
        onward = [place for place in self.places[step:] if place != before]
        kind = "turned_away"
        if before in self._gold and onward and onward[0] not in self._gold:
            kind = "departed"
        return Fact(kind, step=step, did=self.did(step))

    def _heading(self, after: int) -> float | None:
        """Return the heading after a step; None if it is unknown."""
        return finite(self._poses[after].get("heading"))

    def _path_heading(self, after: int) -> float:
        """Return the heading of the exit along the gold path after a step; NaN if it is unknown."""
        place = self.places[after]
        onward = self._onward(place)
        graph = _graph(self._evidence)
        if not onward or not hasattr(graph, "exits") or place not in graph.index:
            return math.nan
        exits = graph.exits(graph.index[place])
        target = graph.index.get(onward)
        return next((float(way) for way, to in exits if to == target), math.nan)

    def left_first(self) -> int:
        """Return the first step off the path after the walk was farthest along it; 0 if it ended on
        the path, or if success was out of reach before."""
        order = {place: number for number, place in enumerate(self._gold)}
        positions = [order.get(place, -1) for place in self.places]
        if positions[-1] >= 0 or max(positions) < 0:
            return 0
        step = positions.index(-1, positions.index(max(positions)))
        lost = self._evidence.lost
        if lost is not None and 0 < lost.step < step:
            return 0
        return step

    def lost_by_a_right_step(self) -> bool:
        """True if the step that lost the episode was as good as the expert's, or along the path.

        The path need not be the shortest way: a step along it may leave too few steps.
        """
        lost = self._evidence.lost
        return lost is not None and lost.step > 0 and not self.is_worse(lost.step)

    def first_worse(self) -> int:
        """Return the first step worse than the expert's before the one that lost the episode."""
        lost = self._evidence.lost
        worse = self._evidence.worse
        if lost is None or worse is None:
            return 0
        step = worse(1)
        return step if step < lost.step else 0

    def is_worse(self, step: int) -> bool:
        """True if a step was worse than the expert's, or if that is not known."""
        worse = self._evidence.worse
        return worse is None or worse(step) == step

    def _last_nearest(self) -> int | None:
        """Return the last step after which the goal was nearest.

        By the distance left, else by the position on the gold path; None if it never
        was on the path.
        """
        values = self._evidence.progress.values
        if values and not self._evidence.progress.conditions:
            return len(values) - 1 - values[::-1].index(min(values))
        order: dict[str, int] = {}
        for number, place in enumerate(self._gold):
            order.setdefault(place, number)  # a path may cross itself
        positions = [order.get(place, -1) for place in self.places]
        farthest = max(positions)
        if farthest < 0:
            return None
        return len(positions) - 1 - positions[::-1].index(farthest)

    def off_path(self, departed: int) -> int:
        """Return the step that left the gold path before step ``departed``; 0 if it was on it."""
        for after in range(departed - 1, -1, -1):
            if self.places[after] in self._gold:
                return 0 if after == departed - 1 else after + 1
        return 0

    def strayed(self) -> Fact | None:
        """Return the last way off the path from which the walk came back, or a way on which it came
        nearer to the goal and ended; None if there is none."""
        if (left := self.left_first()) and self._evidence.trajectory.ended == "stopped":
            return Fact("departed", step=left, did=self.did(left))
        on_path = [place in self._gold for place in self.places]
        if all(on_path) or not (on_path[0] and on_path[-1]):
            return None
        last_off = len(on_path) - 1 - on_path[::-1].index(False)
        return Fact("strayed", step=self.off_path(last_off + 1), back=last_off + 1)

    def stop(self) -> Fact:
        """Return where a walk stopped, or was stopped by its world, and how far from its goal."""
        action = forced(self._evidence)
        return Fact(
            "forced_at" if action else "stopped_at",
            action=action,
            place=self.places[-1],
            away=self._evidence.progress.left,
            goal=self._gold[-1],
            level=self._level(),
        )

    def end(self) -> Fact:
        """Return where a walk ended; a reached goal is said so."""
        place = self.places[-1]
        if place == self._gold[-1]:
            return Fact("at_goal")
        return Fact(
            "ended_at",
            place=place,
            away=self._evidence.progress.left,
            goal=self._gold[-1],
            level=self._level(),
        )

    def _level(self) -> Fact | None:
        """Return how much higher or lower the goal is than the end; None on the same floor."""
        graph = _graph(self._evidence)
        points = getattr(graph, "positions", None)
        ends = self.places[-1], self._gold[-1]
        # Streets have no third coordinate.
        if points is None or points.shape[1:] != (3,):
            return None
        if not all(place in graph.index for place in ends):
            return None
        end, goal = (float(points[graph.index[place]][2]) for place in ends)
        if abs(goal - end) < _STOREY:
            return None
        kind = "higher" if goal > end else "lower"
        return Fact(kind, metres=abs(goal - end))

    def did(self, step: int) -> Fact:
        """Describe a step, and where the path goes from its place."""
        before = self.places[step - 1]
        after = self.places[step]
        if before == self._gold[-1]:
            if after == before:
                return Fact("no_stop")
            return Fact("left_goal", goal=before)
        done = self._act(step)
        onward = self._onward(before)
        if not onward:
            return done
        ahead = self._bearing(before, onward)
        facing = finite(self._poses[step - 1].get("heading"))
        if ahead is not None and facing is not None and after == before:
            side = _side(relative(ahead, facing))
            return Fact("path_side", did=done, side=side, heading=ahead)
        return Fact("path_on", did=done, place=onward, heading=ahead)

    def _act(self, step: int) -> Fact:
        """Return what a step did: a move, a turn, a stop or nothing."""
        before = self.places[step - 1]
        after = self.places[step]
        taken = self._evidence.trajectory.steps[step - 1]
        decision = taken.decision
        if after != before:
            back = ""
            if after in self.places[:step]:
                back = "back"
            heading = self._bearing(before, after)
            return Fact("went", back=back, start=before, to=after, heading=heading)
        if not isinstance(decision, Decision):
            return Fact("no_action", start=before)
        action = decision.action.name
        if action in _TURNS and taken.feedback.ok:
            heading = self._heading(step)
            onward = self._direction_left(step)
            # Further turns may lead elsewhere than the first one.
            if heading is None or onward is None or wind(heading) == wind(onward):
                onward = None
            turn = _TURNS[action]
            return Fact(
                "turned", turn=turn, heading=heading, start=before, onward=onward
            )
        return Fact("chose", action=action, start=before)

    def _direction_left(self, step: int) -> float | None:
        """Return the heading in which a walk left its place after a step; None if it stayed."""
        for after in range(step + 1, len(self.places)):
            if self.places[after] != self.places[step]:
                return self._heading(after - 1)
        return None

    def _onward(self, place: str) -> str:
        """Return the place that follows on the gold path; empty at its end, or off it."""
        if place not in self._gold[:-1]:
            return ""
        return self._gold[self._gold.index(place) + 1]

    def _bearing(self, start: str, end: str) -> float | None:
        """Return the direction between two places (degrees); None if it is unknown."""
        points = positions(self._evidence)
        if start not in points or end not in points:
            return None
        return bearing(points[start], points[end])


def chosen_object(evidence: EpisodeFacts) -> Fact | None:
    """Return which object a stop chose and which one was asked for; None where a walk has no
    object, or the choice was right."""
    right = getattr(evidence.reference, "object_id", "")
    final = evidence.trajectory.steps[-1].decision
    if not right or not isinstance(final, Decision):
        return None
    # The names of objects, as far as the walk has seen them.
    names: dict[str, str] = {}
    for step in evidence.trajectory.steps:
        for each in listed(step.observation, "objects"):
            names[str(each.get("id"))] = f"the {each.get('name')} ({each.get('id')})"
    asked = names.get(right, f"object {right}")
    if not final.action.arguments:
        return Fact("chose_none", right=asked)
    chosen = final.action.arguments[0]
    if chosen == right:
        return None
    return Fact(
        "chose_object", chosen=names.get(chosen, f"object {chosen}"), right=asked
    )


def forced(evidence: EpisodeFacts) -> str:
    """Return the action that the world replaced by a stop, at a dead end; empty if none was."""
    final = evidence.trajectory.steps[-1]
    return evidence.acted(evidence.last) if final.feedback.status == "dead_end" else ""


def _side(turn: float) -> str:
    """The side to which a path goes, by degrees to the right of the heading."""
    if abs(turn) < _AHEAD:
        return "straight on"
    if abs(turn) > _BACK:
        return "back"
    if turn > 0:
        return "right"
    return "left"


def _graph(evidence: EpisodeFacts) -> Any:
    """Return the graph that was walked on; None if it is not known."""
    graph_of = getattr(evidence.dataset, "graph", None)
    scene = ""
    if evidence.task is not None:
        scene = evidence.task.episode.scene
    if not scene or not callable(graph_of):
        return None
    return graph_of(scene)


def positions(evidence: EpisodeFacts) -> Mapping[str, Point]:
    """Return the places of the graph in metres (east, north); empty without positions."""
    plane: Mapping[str, Point] = getattr(_graph(evidence), "plane", {})
    # A graph without positions may have all of its places at zero.
    return plane if any(map(any, plane.values())) else {}


def _is_street(evidence: EpisodeFacts) -> bool:
    """True for walks on street graphs, whose places are panoramas."""
    return evidence.dataset is not None and evidence.dataset.family.place == "panorama"


def clause(evidence: EpisodeFacts, gold: Sequence[str], place: str) -> str:
    """Return the part of the instruction for the gold path from a place on.

    Empty if the dataset does not know it, or off the gold path.
    """
    narrated = getattr(evidence.dataset, "narrated", None)
    if narrated is None or place not in gold:
        return ""
    parts = narrated(evidence.task)
    if not parts:
        return ""
    # On a street, a part ends with its turn; in a house, the next part begins there.
    at = gold.index(place)
    if not _is_street(evidence):
        at += 1
    begin = next((start for start, end in parts if end >= at), parts[-1][0])
    end = min((start for start, _ in parts if start > begin), default=None)
    # A part may end in the words that join it to the next one: "… to the hallway. Next".
    text = evidence.instruction[begin:end]
    return _JOINED.sub("", text.strip(" .,;"))
