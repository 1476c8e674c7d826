"""Retold walks: from a recorded walk, a model writes an instruction and draws the places.

    wayword retell runs/navgpt --model openai:gpt-5-mini

The instruction is written from actions and observations, without the thoughts of the agent, which
repeat the original one. The drawing is made from all of the record: coordinates in meters, east and
north of the start, which are compared with the true ones. Observations are summaries of places, and
a walk that entered a place twice has it twice.

Source: NavGPT (Zhou et al. 2024), section 4.1 with figures 4 and 9, which draw one walk.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any

import numpy as np

from wayword.agents.answers import fields, replies
from wayword.agents.pages import Prompts
from wayword.core.action import Decision
from wayword.core.blocking import blocking
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.episode import JsonObject
from wayword.core.errors import BudgetExhausted, RecordingError, UsageError
from wayword.core.files import read_regular
from wayword.core.geometry import Point
from wayword.core.model import Model, Prompt, Sampling, Usage, user
from wayword.core.shapes import (
    Shapes,
    check_shape,
    parse_untrusted,
    with_defaults,
)
from wayword.core.trajectory import Trajectory
from wayword.core.visible import single_line
from wayword.metrics.intervals import mean_intervals
from wayword.models.middleware.budget import Account
from wayword.runs.diagnosis import replayed
from wayword.runs.json_lines import unusable, write_atomically
from wayword.runs.opening import dataset_of, open_models
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.verbalize.generic import compass
from wayword.verbalize.indoor import slope, walk_feedback
from wayword.worlds.indoor.world import IndoorWorld

FILE = "retold.json"
"""Name of the results in a run folder."""
SUMMARY_START = "The scene from the viewpoint is "  # of recorded summaries
MOST_TOKENS = 2_000  # of an answer: some hundred places
# Metres of a drawn place from the origin; buildings are far smaller
FARTHEST = 100_000.0
SHAPES: Shapes = {
    "episodes": [],
    "episodes.*": {},
    "episodes.*.episode": "",
    "episodes.*.scene": "",
    "episodes.*.original": "",
    "episodes.*.instruction": "",
    "episodes.*.true": [],
    "episodes.*.drawn": [],
    "episodes.*.error": 0.0,
    "episodes.*.end_error": 0.0,
    "episodes.*.share": 0.0,
    "episodes.*.problem": "",
    "episodes.*.prompt_tokens": 0,
    "episodes.*.completion_tokens": 0,
}
"""Every field of the results that is read, with an example of its type."""
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "thought": {"type": "string"},
        "places": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "number"}},
        },
    },
    "required": ["thought", "places"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Move:
    """A move of a walk: its turn in words, heading in words, length (meters), the place that it
    leads to, and the thought before it."""

    turn: str
    heading: str
    distance: float
    scene: str
    thought: str


@dataclass(frozen=True)
class Walk:
    """A recorded walk. ``places``: true coordinates in meters, east and north of the start, which
    is the first one."""

    facing: str
    scene: str
    moves: tuple[Move, ...]
    last_thought: str
    places: tuple[Point, ...]

    @property
    def length(self) -> float:
        """Meters along the floor plan."""
        pairs = zip(self.places, self.places[1:], strict=False)
        return sum(math.dist(start, end) for start, end in pairs)


@dataclass(frozen=True)
class Retold:
    """A walk in the words of a model.

    ``drawn`` and ``true`` are coordinates in meters, east and north of the start. ``error`` is the
    mean distance of the drawn places to the true ones, without the start, ``end_error`` that of the
    last one (meters), ``share`` the error in lengths of the walk. They are None without a drawing
    of as many places; ``problem`` then says why.
    """

    episode: str
    scene: str
    original: str
    instruction: str
    true: tuple[Point, ...]
    drawn: tuple[Point, ...] = ()
    error: float | None = None
    end_error: float | None = None
    share: float | None = None
    problem: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Retelling:
    """A run to tell again: its folder, the model with its settings, and ``episodes``, by default
    all. ``data`` is the folder of published data; ``max_tokens`` and ``max_dollars`` are the
    budget, ``prices`` a file of prices, as in runs."""

    run: Path
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    episodes: Sequence[str] = ()
    data: Path | None = None
    cache: Path | None = None
    max_tokens: int | None = None
    max_dollars: float | None = None
    prices: Path | None = None


def retell(
    plan: Retelling, on_episode: Callable[[Retold], None]
) -> tuple[list[Retold], list[str]]:
    """Tell walks again and write ``retold.json`` into the run folder after each walk.

    Walks that the model has retold are kept, and are retold only if ``episodes`` names them.
    ``on_episode`` is called with each new result. Returns all results, and a line on each episode
    that was left out; at the end of the budget, these are the remaining ones. Raises
    ``UsageError``, ``DataError``, ``ModelError`` or ``RecordingError``.
    """
    run = RunFolder.read(plan.run)
    dataset = dataset_of(run, plan.data)
    chosen = set(plan.episodes)
    known = {episode for episode, _ in run.scores()}
    if unknown := sorted(chosen - known):
        raise UsageError(f"{plan.run}: has no finished episode {unknown[0]!r}")
    kept = _earlier_walks(plan)
    for episode in chosen & kept.keys():
        del kept[episode]
    tasks = of_ids(dataset.tasks, (chosen or known) - kept.keys())
    walks: list[tuple[Task, Walk]] = []
    left_out: list[str] = []
    for record in run.records():
        if record.episode_id not in tasks:
            continue
        task = tasks[record.episode_id]
        walk = read_walk(record.trajectory, dataset, task)
        if walk is None:
            left_out.append(f"{record.episode_id}: cannot be replayed")
        elif not walk.moves:
            left_out.append(f"{record.episode_id}: has no move")
        else:
            walks.append((task, walk))
    results: list[Retold] = []

    # Each result was paid for, so it is kept even if a later call fails.
    def keep(result: Retold) -> None:
        results.append(result)
        _write(plan, [*kept.values(), *results])
        on_episode(result)

    try:
        blocking(_retell(plan, walks, keep))
    except BudgetExhausted as error:
        waiting = [task.episode.id for task, _ in walks[len(results) :]]
        left_out += [f"{episode}: {error}" for episode in waiting]
    return [*kept.values(), *results], left_out


def _earlier_walks(plan: Retelling) -> dict[str, Retold]:
    """Return the walks that the same model has retold; none if they cannot be read."""
    path = Path(plan.run) / FILE
    with suppress(OSError, ValueError, RecordingError):
        content = parse_untrusted(read_regular(path))
        if isinstance(content, dict) and content.get("model") == plan.model:
            return read_retold(Path(plan.run))
    return {}


def _write(plan: Retelling, retold: Sequence[Retold]) -> None:
    """Write the results so far to the run folder. Raises ``RecordingError``."""
    path = Path(plan.run) / FILE
    content = {"model": plan.model, "episodes": [asdict(each) for each in retold]}
    try:
        write_atomically(path, json.dumps(content, ensure_ascii=False).encode())
    except OSError as error:
        raise unusable(path, error, "copy the run to a writable folder") from error


async def _retell(
    plan: Retelling,
    walks: Sequence[tuple[Task, Walk]],
    on_episode: Callable[[Retold], None],
) -> None:
    """Let the model retell walks one after the other, and close it at the end.

    ``on_episode`` is called after each, so that an interrupt loses at most one. Raises
    ``BudgetExhausted`` before a walk that the rest of the budget would not finish.
    """
    options = Plan(
        "retell",
        "houses",
        plan.model,
        cache=plan.cache,
        prices=plan.prices,
        # Checked as those of a run: less than nothing is no budget.
        max_tokens=plan.max_tokens,
        max_dollars=plan.max_dollars,
    )
    account = Account(plan.max_tokens, plan.max_dollars)
    opened = open_models(
        options,
        {"main": (plan.model, plan.settings)},
        account,
    )
    teller = Teller(opened["main"])
    try:
        for task, walk in walks:
            account.begin()
            result = await teller.retell(task, walk)
            account.end(complete=True)
            on_episode(result)
    finally:
        await opened["main"].aclose()


def read_retold(run: Path) -> dict[str, Retold]:
    """The retold walks of a run folder by episode, empty if there are none. Raises
    ``RecordingError`` for a file of another form."""
    path = run / FILE
    try:
        content = parse_untrusted(read_regular(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RecordingError(
            f"{path}: cannot be read ({error}); retell again"
        ) from None
    if not isinstance(content, dict):
        raise RecordingError(f"{path}: must be a mapping; retell again")
    check_shape(path, content, SHAPES)
    retold = {}
    for row in content.get("episodes") or ():
        values = with_defaults(row, SHAPES, "episodes.*.")
        for key in ("true", "drawn"):
            values[key] = tuple(read_rows(values[key]))
        # A score that is no number is not shown.
        for key in ("error", "end_error", "share"):
            if not math.isfinite(row.get(key) or 0.0):
                values[key] = None
        # Unknown fields of a newer version are ignored.
        names = {each.name for each in dataclass_fields(Retold)}
        known = {key: value for key, value in values.items() if key in names}
        retold[known["episode"]] = Retold(**known)
    return retold


class Teller:
    """Asks a model for the instruction and the drawing of a walk."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._prompts = Prompts(__file__, page="retelling.jinja")

    async def retell(self, task: Task, walk: Walk) -> Retold:
        """Tell a walk again. Raises ``ModelError`` if the model cannot be asked."""
        # Thoughts repeat the instruction: with them, writing one would be copying.
        record = self._record(walk, with_thoughts=False)
        prompt = [user(self._prompts.fill("instruction", walk=record))]
        written, written_usage = await self._answer(prompt, None)
        record = self._record(walk, with_thoughts=True)
        count = len(walk.places)
        prompt = [user(self._prompts.fill("drawing", walk=record, count=count))]
        answer, drawn_usage = await self._answer(prompt, SCHEMA)
        retold = Retold(
            task.episode.id,
            task.episode.scene,
            task.episode.instruction,
            single_line(written),
            walk.places,
            prompt_tokens=written_usage.prompt + drawn_usage.prompt,
            completion_tokens=written_usage.completion + drawn_usage.completion,
        )
        return scored(retold, read_points(answer), walk.length)

    def _record(self, walk: Walk, with_thoughts: bool) -> str:
        """Return a walk as the text of a prompt, with or without the agent's thoughts."""
        moves = [asdict(move) for move in walk.moves]
        if not with_thoughts:
            moves = [{**move, "thought": ""} for move in moves]
        return self._prompts.fill(
            "walk",
            facing=walk.facing,
            scene=walk.scene,
            moves=moves,
            last_thought=walk.last_thought if with_thoughts else "",
        )

    async def _answer(
        self, prompt: Prompt, schema: JsonObject | None
    ) -> tuple[str, Usage]:
        sampling = Sampling(max_tokens=MOST_TOKENS, json_schema=schema)
        completion = await self._model.complete(prompt, sampling)
        # A text that is cut off stays as it is, and a drawing without its end has no places.
        return replies(completion, sampling)[0].text, completion.usage


def retold_lines(retold: Retold) -> list[str]:
    """Lines on one episode: both instructions, and the errors of the drawing."""
    drawing = retold.problem
    if retold.error is not None and retold.end_error is not None:
        drawing = (
            f"{retold.error:.2f} m off on average, {retold.end_error:.2f} m at the end, "
            f"{retold.share:.0%} of the walk's length"
        )
    return [
        f"{retold.episode}, {len(retold.true)} places",
        f"  original: {retold.original}",
        f"  retold:   {retold.instruction}",
        f"  drawing:  {drawing}",
    ]


def summary_lines(retold: Sequence[Retold], left_out: Sequence[str]) -> list[str]:
    """Means over all drawings, the interval of the share, and the episodes left out."""
    drawn = [each for each in retold if each.error is not None]
    lines = [f"left out: {line}" for line in left_out]
    tokens = sum(each.prompt_tokens + each.completion_tokens for each in retold)
    lines.append(
        f"{len(retold)} walks retold, {len(drawn)} drawn with all places, {tokens:,} tokens"
    )
    if not drawn:
        return lines
    rows = [[each.error, each.end_error, each.share] for each in drawn]
    values = np.array(rows, np.float64)
    error, end_error, share = values.mean(axis=0)
    interval = ""
    # Walks in one scene are not independent of each other.
    scenes = [each.scene for each in drawn]
    limits = mean_intervals(values[:, 2:], [(0.0, math.inf)], scenes)[0]
    if math.isfinite(limits.low) and math.isfinite(limits.high):
        interval = f" [{limits.low:.0%}, {limits.high:.0%}]"
    lines.append(
        f"drawings: {error:.2f} m off on average, {end_error:.2f} m at the end, {share:.0%}"
        f"{interval} of the walk's length"
    )
    return lines


def scored(retold: Retold, drawn: Sequence[Point], length: float) -> Retold:
    """Compare drawn places with the true ones; ``length`` of the walk in meters."""
    if len(drawn) != len(retold.true):
        problem = f"drew {len(drawn)} of {len(retold.true)} places"
        return replace(retold, problem=problem)
    # The model may have drawn the start elsewhere: only positions relative to it are compared.
    x0, y0 = drawn[0]
    placed = tuple((x - x0, y - y0) for x, y in drawn)
    pairs = zip(placed[1:], retold.true[1:], strict=True)
    errors = [math.dist(mine, true) for mine, true in pairs]
    mean = math.fsum(errors) / len(errors)
    return replace(
        retold, drawn=placed, error=mean, end_error=errors[-1], share=mean / length
    )


def read_points(answer: str) -> list[Point]:
    """Read the coordinates of an answer, empty if it has none.

    >>> read_points('{"places": [[0, 0], [1.4, 1.4]]}')
    [(0.0, 0.0), (1.4, 1.4)]
    """
    listed = fields(answer, ["places"]).all("places")
    # The last object counts: a model may try again.
    return read_rows(listed[-1] if listed else [])


def read_rows(rows: Any) -> list[Point]:
    """Read a list of pairs of coordinates, empty if any of them is none."""
    if not isinstance(rows, list):
        return []
    points = [_point(row) for row in rows]
    read = [point for point in points if point is not None]
    return read if len(read) == len(points) else []


def _point(row: Any) -> Point | None:
    """A pair of coordinates within :data:`FARTHEST`, else None."""
    match row:
        case [int() | float() as x, int() | float() as y]:
            # False for NaN, and safe for integers that no float can hold
            if abs(x) <= FARTHEST and abs(y) <= FARTHEST:
                return float(x), float(y)
    return None


def read_walk(trajectory: Trajectory, dataset: Dataset, task: Task) -> Walk | None:
    """Return the walk of a recorded episode; None if it cannot be replayed. Raises ``UsageError``
    for other worlds than viewpoint graphs."""
    visits: list[tuple[str, float]] = []

    def watch(world: Any, number: int, actor: str) -> None:
        view = world.observe(actor)
        visits.append((view.viewpoint, view.heading))

    world = dataset.world(task.episode)
    perceiver = dataset.perceiver()
    if not isinstance(world, IndoorWorld) or perceiver is None:
        raise UsageError(
            "retell reads walks between viewpoints; give a run on houses, r2r, r4r, rxr, "
            "reverie or a tour"
        )
    if replayed(trajectory, dataset, task, watch) is None:
        return None
    graph = world.graph

    def scene(viewpoint: str) -> str:
        summary = perceiver.perceive(graph.scan, viewpoint).summary
        return summary.removeprefix(SUMMARY_START).strip()

    start = graph.positions[graph.index[visits[0][0]]]
    places: list[Point] = [(0.0, 0.0)]
    moves = []
    thoughts = []
    pairs = zip(trajectory.steps, visits, visits[1:], strict=False)
    for step, (before, facing), (after, heading) in pairs:
        if isinstance(step.decision, Decision):
            thoughts.append(step.decision.thought)
        # Thoughts of turns and rejected answers belong to the move that follows.
        if after == before:
            continue
        east, north = (graph.positions[graph.index[after]] - start)[:2].tolist()
        distance = math.dist(places[-1], (east, north))
        places.append((east, north))
        turn = walk_feedback(facing, heading)
        if slope_words := slope(graph.bearing(before, after)[1]):
            turn = f"{turn} The way leads {slope_words}°."
        thought = " ".join(thoughts)
        moves.append(
            Move(turn, compass(round(heading)), distance, scene(after), thought)
        )
        thoughts = []
    first, facing = visits[0]
    return Walk(
        compass(round(facing)),
        scene(first),
        tuple(moves),
        " ".join(thoughts),
        tuple(places),
    )
