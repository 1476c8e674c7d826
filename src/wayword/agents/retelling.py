"""What a model can tell from a finished walk: its instruction, and its top-down drawing.

Source: NavGPT (Zhou et al. 2024), section 4.1 and appendix B. The history holds actions and
observations only, no thoughts, so that the instruction comes from the walk and not from the one
that was followed. The drawing is asked for as coordinates, and scored against the true layout.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wayword.agents.prompting import Prompts
from wayword.core.angles import relative
from wayword.core.decision import Rejection
from wayword.core.episode import Json
from wayword.core.model import Model, Sampling, user
from wayword.core.perceiver import Perceiver
from wayword.core.trajectory import Trajectory
from wayword.verbalize import indoor
from wayword.worlds.viewpoints import ViewpointGraph

Points = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Move:
    """One move: the turn before it (degrees, right positive) and its length (metres)."""

    turn: float
    length: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing and how far it is off.

    ``points`` (N, 2) metres in the frame of the start (facing +y); ``truth`` likewise.
    ``mean_error`` and ``end_error`` are metres. ``rejection`` says why there are no points.
    """

    points: Points | None
    truth: Points
    mean_error: float = float("nan")
    end_error: float = float("nan")
    rejection: Rejection | None = None


def walked(trajectory: Trajectory) -> list[tuple[str, float]]:
    """Viewpoints of a walk with the heading (degrees) faced at each, stays left out."""
    places: list[tuple[str, float]] = []
    for where in trajectory.visited("agent"):
        if not places or places[-1][0] != where["viewpoint"]:
            places.append((where["viewpoint"], where["heading"]))
    return places


def moves(trajectory: Trajectory, graph: ViewpointGraph) -> list[Move]:
    """Turns and lengths of the walk's moves, seen from above."""
    places = walked(trajectory)
    return [
        Move(relative(after, before), float(np.hypot(*_flat(graph, start, end))))
        for (start, before), (end, after) in pairwise(places)
    ]


def layout(trajectory: Trajectory, graph: ViewpointGraph) -> Points:
    """(N, 2): the walk's true positions in the frame of its start, facing +y."""
    places = walked(trajectory)
    facing = np.radians(places[0][1])
    offsets = np.array([_flat(graph, places[0][0], place) for place, _ in places])
    turned = np.array([[np.cos(facing), -np.sin(facing)], [np.sin(facing), np.cos(facing)]])
    return np.asarray(offsets @ turned.T, dtype=np.float64)


def history(trajectory: Trajectory, perceiver: Perceiver, scene: str) -> str:
    """Observations and actions of a walk in words, without the thoughts."""
    places = walked(trajectory)
    lines = ["Observation: The walk starts."]
    for number, (place, heading) in enumerate(places):
        summary = perceiver.perceive(scene, place).summary
        lines.append(summary)
        if number + 1 < len(places):
            lines.append("Action: go to the next viewpoint")
            lines.append(f"Observation: {indoor.turn(heading, places[number + 1][1])}")
    lines.append("Action: stop")
    return "\n".join(lines)


async def instruction(
    trajectory: Trajectory, perceiver: Perceiver, scene: str, model: Model, prompts: str = ""
) -> str:
    """An instruction for the walk, written by the model in one call."""
    told = history(trajectory, perceiver, scene)
    prompt = [user(Prompts("retelling", prompts).fill("instruction", history=told))]
    completion = await model.complete(prompt, Sampling(max_tokens=160))
    return " ".join(completion.text.split())


async def drawing(
    trajectory: Trajectory, graph: ViewpointGraph, model: Model, prompts: str = ""
) -> Drawing:
    """The walk drawn from its turns and distances by the model, in one call."""
    truth = layout(trajectory, graph)
    told = "\n".join(
        f"{number}. turn {move.turn:.2f} degrees, walk {move.length:.2f} m"
        for number, move in enumerate(moves(trajectory, graph), 1)
    )
    slots = {"moves": told or "(it stays where it is)", "count": str(len(truth))}
    prompt = [user(Prompts("retelling", prompts).fill("drawing", **slots))]
    sampling = Sampling(max_tokens=64 + 24 * len(truth), json_schema=_schema(len(truth)))
    completion = await model.complete(prompt, sampling)
    return judge(completion.text, truth)


def judge(text: str, truth: Points) -> Drawing:
    """Read the answer's points and measure how far they are from the true ones."""
    try:
        points = np.array(_pairs(json.loads(text)), dtype=np.float64)
    except (ValueError, TypeError, KeyError):
        rejection = Rejection("no_action", "the answer held no list of points", text[:500])
        return Drawing(None, truth, rejection=rejection)
    if points.shape != truth.shape or not np.isfinite(points).all():
        reason = f"{len(points)} points where {len(truth)} were asked for"
        return Drawing(None, truth, rejection=Rejection("no_action", reason, text[:500]))
    off = np.linalg.norm(points - truth, axis=1)
    return Drawing(points, truth, float(off.mean()), float(off[-1]))


def _pairs(value: Json) -> Sequence[Sequence[float]]:
    return [(point["x"], point["y"]) for point in value["points"]]


def _schema(count: int) -> Mapping[str, Json]:
    point = {
        "type": "object",
        "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
        "required": ["x", "y"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "points": {"type": "array", "items": point, "minItems": count, "maxItems": count}
        },
        "required": ["points"],
        "additionalProperties": False,
    }


def _flat(graph: ViewpointGraph, start: str, end: str) -> tuple[float, float]:
    x, y, _ = (graph.positions[graph.index[end]] - graph.positions[graph.index[start]]).tolist()
    return x, y
