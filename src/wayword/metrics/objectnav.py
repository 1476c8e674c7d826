"""Metrics of object-goal navigation: four definitions of success, and bounds for them.

* ``success_grounded``: the definition in LGX's text (Dorbala et al. 2024, section III-B). A target
  is truly in view when the agent stops because it believes that it found one; an agent that gives
  up (note ``gave_up``) never succeeds.
* ``success_visible``: a target is in view when the agent stops, also when it gives up.
* ``success_challenge``: RoboTHOR's. The agent stops with a target in view within 1 m (Deitke et al.
  2020), measured along the floor to the nearest point of the target's box.
* ``success_released``: the rule of LGX's released code (``check_goal`` of its ``lgx-run.py``). The
  agent ends within 2 m of a target, even behind a wall and without a stop. Measured on the floor
  to the target's middle; the code measures from the camera.

SPL weights success with l / max(p, l), where p is the path length and l the published shortest
length, in metres (Anderson et al. 2018).

Three metrics bound the score of a path: ``ever_seen`` (a target was in view at any time: the limit
for a perfect detector), ``ever_grounded`` (the agent's own detector recognized a target in view:
the limit for a perfect stop), and ``chance`` (the share of views with a target in view: the score
of a random stop).

``sr_<type>`` is ``success_visible`` of the episodes that look for one of RoboTHOR's types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import suggest
from wayword.core.geometry import Point, exceeds, path_length
from wayword.core.metric import Metric
from wayword.core.trajectory import GAVE_UP, GROUNDED, TURN, Trajectory
from wayword.core.visible import spaced
from wayword.core.world import World
from wayword.metrics import definitions
from wayword.metrics.accounting import psr
from wayword.metrics.detector_reports import last_report, metres_left
from wayword.metrics.recorded import finite
from wayword.metrics.scoring import EpisodeScorer, Standing
from wayword.perception.detectors import same_name
from wayword.worlds.objectnav.observation import View
from wayword.worlds.objectnav.simulated import SimulatedBase
from wayword.worlds.objectnav.world import ObjectNavReference, ObjectNavWorld

GROUNDED_SCORES = {
    "success_visible": "success_grounded",
    "spl_visible": "spl_grounded",
}
"""Scores of a target in view, and their names in LGX's definition: 0 after giving up."""

RELEASED = 2.0
"""``TARGET_DIST`` of LGX's released code, metres."""
TYPES = (
    *("alarm clock", "apple", "baseball bat", "basketball", "bowl", "garbage can"),
    *(
        "house plant",
        "laptop",
        "mug",
        "remote control",
        "spray bottle",
        "television",
        "vase",
    ),
)
"""RoboTHOR's types of targets, in the words of instructions."""

METRICS = definitions.OBJECTNAV + tuple(
    Metric(f"sr_{name.replace(' ', '_')}", f"SR {name}", "rate", "higher",
           f"success_visible of episodes that look for a {name}")
    for name in TYPES
)  # fmt: skip


class ObjectNavScorer(EpisodeScorer):
    """Scores searches by the objects that were truly in view at the end.

    >>> from wayword.metrics.scoring import scorer
    >>> [metric.key for metric in scorer("objectnav").metrics][:3]
    ['success_grounded', 'success_visible', 'success_released']

    Agents that ask a model write a note ``asked`` per answer, with ``valid`` true or false.
    """

    metrics = METRICS

    def score_episode(
        self,
        dataset: Any,
        task: Task,
        trajectory: Trajectory,
    ) -> dict[str, float]:
        """Return the scores of a search: the last trial counts.

        ``success_*`` and ``spl_*`` need the target in view at the stop: ``visible`` from anywhere,
        ``challenge`` within ``reference.within`` metres, ``grounded`` without giving up.
        ``success_released`` is by distance alone. SPL needs a published shortest path. Without a
        known target nothing is judged; of a robot, :func:`reported` is all there is.
        """
        # The last trial, and only its notes.
        trajectory = replace(trajectory, earlier=[])
        reference = task.reference
        state = trajectory.state or {}
        if not isinstance(reference, ObjectNavReference):
            is_robot = getattr(dataset, "live", False)
            return reported(task, trajectory) | psr(trajectory) if is_robot else {}
        traveled = float(state.get("metres", 0.0))
        # Targets in view, and the path to them.
        scores: dict[str, float] = {}
        for name, max_distance in (
            ("visible", math.inf),
            ("challenge", reference.within),
        ):
            success = float(stopped_at(state, reference.targets, max_distance))
            scores[f"success_{name}"] = success
            if reference.shortest is not None:
                best = reference.shortest
                # Where the start is the goal, any movement is a detour.
                share = best / max(traveled, best) if best > 0 else float(not traveled)
                scores[f"spl_{name}"] = success * share
        # In LGX's definition, an agent that gives up has found nothing.
        gave_up = bool(trajectory.noted(GAVE_UP))
        for seen, grounded in GROUNDED_SCORES.items():
            if seen in scores:
                scores[grounded] = 0.0 if gave_up else scores[seen]

        # The distance to a target, in view or not; infinite for a state without a position.
        if reference.middles:
            end = (float(state.get("x", math.inf)), float(state.get("y", math.inf)))
            # The released code measures in a straight line to the object's middle.
            near = min(math.dist(end, middle) for middle in reference.middles)
            scores["success_released"] = float(near <= RELEASED)
        words = str(task.episode.extra.get("kind", ""))
        if words in TYPES:
            scores[f"sr_{words.replace(' ', '_')}"] = scores["success_visible"]
        scores |= bounds(trajectory, reference.targets)
        scores |= {
            "tl": traveled,
            "motions": float(state.get("moves", 0) + state.get("turns", 0)),
            "turns": float(len(trajectory.noted(TURN))),
        }
        return scores | psr(trajectory)

    def task_problem(self, dataset: Dataset, task: Task) -> str:
        """Return what is wrong with the goal of a search in a simulated home; empty if nothing is.

        The targets must be in the home and within reach, the searched name must be that of one,
        and ``shortest`` the length of the path.
        """
        reference = task.reference
        if not isinstance(reference, ObjectNavReference):
            return ""
        shortest = reference.shortest
        if shortest is not None and not 0 <= shortest < math.inf:
            return f"shortest must be metres of a path, or None, got {shortest!r}"
        world = dataset.world(task.episode)
        if not isinstance(world, ObjectNavWorld):
            return ""
        if not isinstance(world.base, SimulatedBase):
            return ""
        place = world.base.place
        by_id = place.scene.by_id()
        for target in sorted(reference.targets):
            if target not in by_id:
                known = suggest(target, list(by_id))
                return f"the target {target!r} is not in scene {place.scene.name!r}; {known}"
        names = [
            place.words.get(target, spaced(by_id[target].type))
            for target in sorted(reference.targets)
        ]
        types = [by_id[target].type for target in reference.targets]
        wanted = task.episode.extra.get("target")
        remedy = f"set extra={{'target': {names[0]!r}}}" if names else "name a target"
        if not wanted:
            return f"extra has no 'target', the name that detectors look for; {remedy}"
        if not any(same_name(str(wanted), name) for name in (*names, *types)):
            return f"no target is called {wanted!r}, as extra says; {remedy}"
        return _path_problem(world, task.episode, reference)

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Return success (a stop with a target in view), and the straight distance to the nearest
        target in metres."""
        reference = task.reference
        pose = world.pose("agent")
        if not isinstance(reference, ObjectNavReference):
            return None
        position = pose["x"], pose["y"]
        away = min(
            (math.dist(position, middle) for middle in reference.middles),
            default=None,
        )
        success = world.done("agent") and stopped_at(
            world.state(),
            reference.targets,
            math.inf,
        )
        return Standing(success, int(success), 1, away, straight=True)


_UNSOLVABLE = {
    "no_way": (
        "the target cannot be reached from the start: no free floor leads from it to where the "
        "target is in view within {:g} m; is a door missing, or furniture in the way?"
    ),
    "out_of_sight": (
        "the target cannot be seen from any free floor within {:g} m of it; is it inside or "
        "behind something?"
    ),
}
"""Problem of a path -> the mistake in the home."""


def _path_problem(
    world: ObjectNavWorld, episode: Episode, reference: ObjectNavReference
) -> str:
    """Return that there is no path, or that ``shortest`` differs from its length; empty if neither.

    SPL would be wrong. Without a published path, the world has its own.
    """
    shortest = reference.shortest
    corners: Sequence[Point] = reference.path
    source = "the path of its reference"
    if not corners:
        world.reset(episode)
        within = reference.within
        # Without a path's length, a target that is only seen from afar is found, too.
        if shortest is None and isinstance(world.base, SimulatedBase):
            within = max(within, world.base.camera.sight)
        corners, problem = world.path_to(reference.targets, within)
        source = "the shortest path of its world"
        if problem in _UNSOLVABLE:
            return _UNSOLVABLE[problem].format(within)
    if shortest is None:
        return ""
    length = path_length(corners)
    if not exceeds(shortest, length) and not exceeds(length, shortest):
        return ""
    return (
        f"shortest is {shortest:g} m, but {source} is {length:.2f} m long; SPL would be wrong: "
        f"set shortest={length:.2f}"
    )


def reported(task: Task, trajectory: Trajectory) -> dict[str, float]:
    """Return what a robot reports of a search, whose target has no known place."""
    motions = [step.feedback.status for step in trajectory.steps]
    scores = {
        "blocked": float(motions.count("blocked")),
        "lost": float(motions.count("lost")),
    }
    metres = finite((trajectory.state or {}).get("metres"))
    if metres is not None:
        scores["metres"] = metres
    if task.episode.extra.get("target"):
        report = last_report(trajectory)
        is_found = report is not None and report.confirmed
        scores["found"] = float(is_found)
        left = metres_left(trajectory)
        if is_found and left is not None:
            scores["found_from"] = left
    return scores


def bounds(trajectory: Trajectory, targets: frozenset[str]) -> dict[str, float]:
    """Return ``ever_seen``, ``ever_grounded`` and ``chance``; empty without views."""
    views = [
        (s, s.observation) for s in trajectory.steps if isinstance(s.observation, View)
    ]
    if not views:
        return {}
    in_view = grounded = 0
    for step, view in views:
        # Grounding notes have no object id; the exact distance identifies the target.
        metres = [obj.away for obj in view.shown or () if obj.id in targets]
        in_view += bool(metres)
        grounded += any(
            note.kind == GROUNDED and note.details.get("distance") in metres
            for note in step.notes
        )
    scores = {"ever_seen": float(in_view > 0), "chance": in_view / len(views)}
    # Only agents with a detector write such notes; others cannot ground anything.
    if any(note.kind in (GROUNDED, TURN, GAVE_UP) for note in trajectory.notes()):
        scores["ever_grounded"] = float(grounded > 0)
    return scores


def stopped_at(
    state: JsonObject,
    targets: frozenset[str],
    max_distance: float,
) -> bool:
    """True if the agent stopped with a target in view within ``max_distance`` metres.

    ``state`` is the final one, ``targets`` are ids of objects.
    """
    visible = state.get("in_view", ()) if state.get("stopped") else ()
    limit = max_distance + 1e-6  # tolerates rounding of distances
    return any(obj["id"] in targets and obj["distance"] <= limit for obj in visible)


scorer = ObjectNavScorer()
