"""Instructions and drawings from a finished run (NavGPT, section 4.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.agents.parts.answers import Reply, fields, replies
from wayword.agents.parts.prompting import Prompts, both
from wayword.core.action import Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.geometry import relative
from wayword.core.model import Model, Sampling, user
from wayword.core.perceiver import Perceiver
from wayword.core.trajectory import Trajectory
from wayword.runs.active import open_models
from wayword.runs.parts import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RecordedRun, RunFolder
from wayword.verbalize import indoor
from wayword.worlds.indoor.graph import ViewpointGraph

# What a model can tell from a finished walk: its instruction, and its top-down drawing.
#
# Source: NavGPT (Zhou et al. 2024), section 4.1 and appendix B. The history holds actions and
# observations only, no thoughts, so that the instruction comes from the walk and not from the one
# that was followed. The drawing is asked for as coordinates, and scored against the true layout.

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
    sampling = Sampling(max_tokens=160)
    written = replies(await model.complete(prompt, sampling), sampling)[0]
    return " ".join(written.text.split())


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
    return judge(replies(completion, sampling, "its token limit")[0], truth)


def judge(said: str | Reply, truth: Points) -> Drawing:
    """Read the answer's points and measure how far they are from the true ones."""
    reply = Reply.of(said)
    try:
        (listed,) = fields(reply.text, ["points"]).all("points")
        points = np.array([(point["x"], point["y"]) for point in listed], dtype=np.float64)
    except (ValueError, TypeError, KeyError):
        rejection = reply.reject("no_action", "the answer held no list of points")
        return Drawing(None, truth, rejection=rejection)
    if points.shape != truth.shape or not np.isfinite(points).all():
        reason = f"{len(points)} points where {len(truth)} were asked for"
        return Drawing(None, truth, rejection=reply.reject("no_action", reason))
    off = np.linalg.norm(points - truth, axis=1)
    return Drawing(points, truth, float(off.mean()), float(off[-1]))


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


@dataclass(frozen=True, slots=True)
class Retold:
    """One episode told again: the instruction followed, the one written, and the drawing."""

    episode: str
    followed: str
    written: str
    drawing: Drawing

    def as_json(self) -> dict[str, Any]:
        """For JSON lines: points in metres, errors null where the answer held no drawing."""
        drawn = self.drawing
        return {
            "episode": self.episode,
            "instruction": self.followed,
            "generated": self.written,
            "points": None if drawn.points is None else drawn.points.round(3).tolist(),
            "truth": drawn.truth.round(3).tolist(),
            "mean_error_m": None if drawn.rejection else drawn.mean_error,
            "end_error_m": None if drawn.rejection else drawn.end_error,
            "rejected": drawn.rejection.reason if drawn.rejection else None,
        }


def retell(
    run: Path, model: str, limit: int, on_each: Callable[[Retold], None], data: Path | None = None
) -> None:
    """Retell the first ``limit`` finished episodes of an indoor run, each to ``on_each``."""
    if limit < 1:
        raise UsageError(f"limit must be at least 1, not {limit}")
    recorded = RunFolder.read(run)
    identity = recorded.config["identity"]
    settings = {"dataset": identity["dataset_settings"]}
    plan = Plan("retell", identity["dataset"], model, settings, data=data)
    dataset = open_dataset(plan)
    if dataset.family.name != "indoor":
        raise UsageError(f"{run}: retelling is for indoor worlds, not {dataset.family.name}")
    asyncio.run(_retell_all(recorded, dataset, plan, limit, on_each))


async def _retell_all(
    run: RecordedRun, dataset: Dataset, plan: Plan, limit: int, on_each: Callable[[Retold], None]
) -> None:
    tasks = {task.episode.id: task for task in dataset.tasks}
    model = open_models(plan, {"main": (plan.model, {})})["main"]
    try:
        for record in islice(run.records(), limit):
            on_each(await _retell(tasks[record.episode_id], record.trajectory, dataset, model))
    finally:
        await model.aclose()


async def _retell(task: Task, trajectory: Trajectory, dataset: Dataset, model: Model) -> Retold:
    perceiver, scene = dataset.perceiver(), task.episode.scene
    if perceiver is None:
        raise UsageError("this dataset does not say what its viewpoints look like")
    graph = dataset.graph(scene)  # type: ignore[attr-defined]  # indoor datasets have graphs
    told = instruction(trajectory, perceiver, scene, model)
    written, drawn = await both(told, drawing(trajectory, graph, model))
    return Retold(task.episode.id, task.episode.instruction, written, drawn)
