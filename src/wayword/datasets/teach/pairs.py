"""Pairs: an episode for a commander and a follower out of a task that was drawn.

The commander knows the task and where things are, floats, and touches nothing; the follower acts
and knows what it sees and is told. Everything has one name for both.

Source: TEACh (Padmakumar et al. 2022), section 3; LangSuitE (Jia et al. 2024), section 3.2, task V.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from wayword.core.dataset import Task
from wayword.core.episode import Episode, Json
from wayword.datasets.homes.orders import PlannedReference
from wayword.datasets.teach import telling
from wayword.datasets.teach.drawing import Drawn
from wayword.datasets.teach.props import Stage
from wayword.worlds.housework.body import Body
from wayword.worlds.housework.scene import Point
from wayword.worlds.rooms import RoomsWorld

COMMANDER, FOLLOWER = ACTORS = ("commander", "follower")
"""Their names, which are their roles, in turn order."""
LOOKING = ("move_ahead", "turn_left", "turn_right", "pan_left", "pan_right", "chat", "stop")
"""What the commander is able to do."""
APART = 1.0
"""Metres between the two at first, where there is room."""


@dataclass(frozen=True, eq=False)
class Pair:
    """An episode with all it takes to play it."""

    task: Task
    drawn: Drawn
    stage: Stage

    def world(self, body: Body) -> RoomsWorld:
        """A fresh world; what never moves is shared."""
        scene = self.drawn.scene
        return RoomsWorld(scene, body, named=True, layout=self.stage.layout(scene))

    def joined(self, followers: int) -> Task:
        """The episode with so many followers: ``follower``, ``follower_2`` …"""
        episode, reference = self.task.episode, self.task.reference
        if followers == 1 or not isinstance(reference, PlannedReference):
            return self.task
        more = tuple(f"{FOLLOWER}_{n}" for n in range(2, followers + 1))
        rng = random.Random(f"{episode.id}/followers")
        placed = dict(episode.start["poses"])
        for actor in more:
            placed[actor] = _beside(rng, self.stage.starts, placed.values())
        extra = {
            key: {**episode.extra[key], **dict.fromkeys(more, episode.extra[key][FOLLOWER])}
            for key in ("rules", "instructions")
        }
        extra["roles"] = {**episode.extra["roles"], **dict.fromkeys(more, FOLLOWER)}
        together = replace(
            episode,
            instruction=telling.MORE_TOGETHER,
            actors=(*episode.actors, *more),
            start={**episode.start, "poses": placed},
            extra=extra,
        )
        return Task(together, replace(reference, helpers=more))


def pair(rng: random.Random, name: str, drawn: Drawn, stage: Stage, start: dict[str, Json]) -> Pair:
    """The episode of that name; ``start`` says what its dataset needs to build it again."""
    told = {
        COMMANDER: telling.commander_task(drawn, stage.room_at),
        FOLLOWER: "Do what the commander asks of you.",
    }
    extra = {
        "roles": {actor: actor for actor in ACTORS},
        "rules": {COMMANDER: telling.COMMANDER, FOLLOWER: telling.FOLLOWER},
        "instructions": told,
    }
    begin = {
        **start,
        "poses": poses(rng, stage.starts),
        "bodies": {COMMANDER: {"actions": list(LOOKING), "radius": 0.0}},
    }
    episode = Episode(name, telling.TOGETHER, drawn.scene.name, begin, ACTORS, extra)
    reference = PlannedReference(
        name, drawn.definition.name, drawn.compiled.goals, plan=drawn.plan, worker=FOLLOWER
    )
    return Pair(Task(episode, reference), drawn, stage)


def _beside(
    rng: random.Random, places: Sequence[Point], taken: Iterable[Mapping[str, float]]
) -> dict[str, float]:
    """A free place apart from those that are taken, and one of twelve headings."""
    there = [(pose["x"], pose["y"]) for pose in taken]
    away = [p for p in places if all(math.dist(p, other) >= APART for other in there)]
    x, y = rng.choice(away or list(places))
    return {"x": x, "y": y, "heading": 30.0 * rng.randrange(12)}


def poses(rng: random.Random, places: Sequence[Point]) -> dict[str, dict[str, float]]:
    """A free place for each, apart from the other's, and one of twelve headings."""
    one = rng.choice(places)
    away = [p for p in places if (p[0] - one[0]) ** 2 + (p[1] - one[1]) ** 2 >= APART**2]
    other = rng.choice(away or list(places))
    return {
        actor: {"x": x, "y": y, "heading": 30.0 * rng.randrange(12)}
        for actor, (x, y) in ((COMMANDER, one), (FOLLOWER, other))
    }
