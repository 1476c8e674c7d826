"""The page of one episode, and that of an episode under way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from wayword.core.action import Action, Decision
from wayword.core.metric import Metric
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics import accounting
from wayword.metrics.causes import label_of, meaning_of
from wayword.runs.record import EpisodeRecord
from wayword.viewer import maps
from wayword.viewer.data import Sources
from wayword.viewer.document import SPOKEN, Document, GoalProgress, expert_advice
from wayword.viewer.markup import Html, page, render
from wayword.viewer.steps import ENDINGS, Cards, label

_PATIENCE = 1.0
"""Seconds of looking for what an expert would have done, in a page that no server stands behind."""


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of the pages before and after, empty where there is none, and of the run's.

    ``ask`` is the query that names the episode to the server.
    """

    before: str = ""
    after: str = ""
    up: str = "../index.html"
    ask: str = ""


def episode_page(
    record: EpisodeRecord,
    metrics: Sequence[Metric],
    sources: Sources,
    run: str,
    links: Links,
    served: bool = False,
) -> str:
    """The whole document. ``run`` is what the run is called."""
    document = Document.of(record, sources)
    trajectory, scores = document.trajectory, record.scores
    advice = None
    if not served:
        advice = [*map(list, expert_advice(trajectory, sources, _PATIENCE))]
    first, others = _split_metrics(scores, metrics)
    main = render(
        "episode.html", document=document, trajectory=trajectory, scores=scores, endings=ENDINGS,
        cards=Cards(document.sources, trajectory), ask=links.ask if served else "",
        causes=[(label_of(c), meaning_of(c, scores), n) for c, n in document.causes.items()],
        actions=_actions(trajectory), first=first, others=others, usage=_usage(trajectory.steps),
        curve=curve_of(trajectory, document.progress), tall=CURVE, spoken=SPOKEN,
        private=sources.private_instructions(record.episode_id),
    )  # fmt: skip
    return page(
        "episode_page.html", "episode", served, name=record.episode_id, run=run, links=links,
        main=document.letters.over(main), advice=advice,
    )  # fmt: skip


_SCORES = 4
"""Measures of the family that are in view; others are folded away, as is most of the account."""
_ACCOUNT = ("steps", "rejections", "calls", "cost", "seconds")


def _split_metrics(
    scores: Mapping[str, float], metrics: Sequence[Metric]
) -> tuple[list[Metric], list[Metric]]:
    """The family's first measures and what the episode took; the rest."""
    present = [metric for metric in metrics if metric.key in scores]
    family = [metric for metric in present if metric not in accounting.METRICS]
    first = [*family[:_SCORES], *(metric for metric in present if metric.key in _ACCOUNT)]
    return first, [metric for metric in present if metric not in first]


_MOST_ACTIONS = 20
"""Actions in the line that lists all of them, an even number; repeated ones count as one."""


def _actions(trajectory: Trajectory) -> list[tuple[int, Step | None, int]]:
    """Every action in a line: its first step, how often it was repeated; the middle of many is
    left out, with their number in place of a step."""
    items: list[tuple[int, Step | None, int]] = []
    numbered = enumerate(trajectory.steps, 1)
    for _, same in groupby(numbered, lambda item: (item[1].actor, label(item[1]))):
        (number, step), *again = same
        items.append((number, step, 1 + len(again)))
    if (more := len(items) - _MOST_ACTIONS) > 0:
        half = _MOST_ACTIONS // 2
        items[half:-half] = [(0, None, more)]
    return items


CURVE = 34
"""Height of the curve in the drawing of time, which is 1000 units wide."""


def curve_of(trajectory: Trajectory, progress: GoalProgress) -> tuple[str, str]:
    """The corners of a curve of how far success was at each step, and what it shows; empty where
    that is not known."""
    if not progress.informative or len(progress.values) != len(trajectory.steps) + 1:
        return "", ""
    width = 1000 / len(trajectory.steps)
    values = [each if math.isfinite(each) else 0.0 for each in progress.values]
    most = progress.conditions or max(values) or 1.0
    points = [(n * width, 2 + CURVE * (1 - each / most)) for n, each in enumerate(values)]
    if progress.conditions:  # one comes to hold at the end of a step, not in its course
        points = [
            corner for (x, y), (_, after) in pairwise(points)
            for corner in ((x, y), (x + width, y), (x + width, after))
        ]  # fmt: skip
    words = "goal conditions that hold" if progress.conditions else "distance to go"
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points), f"{words}, up to {most:g}"


def _usage(steps: Sequence[Step]) -> list[tuple[int, float, str]]:
    """Each step with calls: its tokens as the height of a bar; tokens, cost and time in words."""
    rows = []
    for number, step in enumerate(steps, 1):
        answers = [call.answer for call in step.calls if call.answer is not None]
        tokens = sum(each.usage.prompt + each.usage.completion for each in answers)
        if tokens:
            costs = [each.cost for each in answers if each.cost is not None]
            price = f", ${sum(costs):.4f}" if len(costs) == len(answers) else ""
            took = sum(each.seconds for each in answers if math.isfinite(each.seconds))
            rows.append((number, tokens, f"{tokens:,} tokens{price}, {took:.1f} s"))
    most = max((tokens for _, tokens, _ in rows), default=1)
    return [(number, max(1.0, 16 * tokens / most), words) for number, tokens, words in rows]


# A running episode: its moves so far, as the run reports them, at the address at which its
# recorded steps are once it has ended.

_LATEST = 12  # latest moves that are listed


def running_page(now: Mapping[str, Any], sources: Sources, run: str) -> str:
    """The document of an episode under way; its script brings the moves up to date."""
    name = str(now.get("id", ""))
    return page(
        "running_page.html", "live", served=True, name=name, run=run,
        instruction=sources.instruction(name), moves=moves_part(now, sources),
    )  # fmt: skip


def moves_part(now: Mapping[str, Any], sources: Sources) -> Html:
    """The map with the moves so far, and the latest of them in words."""
    moves, walk, step = _moves(now), walk_of(now), now.get("step")
    first = step - len(moves) + 1 if isinstance(step, int) else 1
    latest = [*enumerate(moves, first)][: -_LATEST - 1 : -1]
    figure = maps.figure(maps.map_of(walk, sources))
    part = render("moves.html", step=step, of=now.get("of"), latest=latest, figure=figure)
    return maps.letters_of(sources, walk).over(part)


def _moves(now: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in now.get("moves", ()) if isinstance(each, Mapping)]


def walk_of(now: Mapping[str, Any]) -> Trajectory:
    """The trajectory so far of an episode under way, from where each actor's first move led."""
    start: dict[str, Any] = {}
    steps = []
    for move in _moves(now):
        actor, action, pose = str(move.get("actor", "")), move.get("action", ""), move.get("pose")
        if isinstance(pose, Mapping):
            start.setdefault(actor, pose)
            status = Feedback("ok" if move.get("ok") else "failed")
            steps.append(Step(actor, {}, Decision(Action(str(action))), status, pose))
    return Trajectory(str(now.get("id", "")), start, steps)
