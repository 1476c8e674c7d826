"""The household expert's actions, carried out: what tests of tasks and worlds play."""

from __future__ import annotations

from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.core.game import Game
from wayword.worlds.household.expert import solve, with_able_bodies
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.skills import PlannedReference
from wayword.worlds.household.world import HouseholdWorld


def play(
    world: HouseholdWorld, actor: str, reference: HouseholdReference, high: bool = False
) -> list[Action]:
    """The expert's actions, the stop included, carried out in a world that was reset."""
    return list(Game(world).actions(actor, solve(world, actor, reference, high)))


def rehearse(
    world: HouseholdWorld,
    episode: Episode,
    reference: HouseholdReference,
    high: bool = False,
) -> list[Action]:
    """The expert's actions for an episode, with a body that is able to do all there is to do, or
    with its own where that walks by ``high``-level actions."""
    if isinstance(reference, PlannedReference):
        actor = reference.worker
    else:
        actor = episode.actors[0]
    world.reset(episode if high else with_able_bodies(episode, [actor]))
    return play(world, actor, reference, high)
