"""From goals to errands: what a body that knows the house does to bring a state about.

The things to handle are read off the goals, each becomes a chain of sub-tasks (slice, fetch, treat,
put), the cheapest of the chains is chosen by steps on foot, and its errands are carried out.

Source: the expert of LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from wayword.core.action import STOP, Action, Decision
from wayword.core.agent import Demonstration
from wayword.core.dataset import Dataset, Task, able, listed
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, Game, PlanningFailed, ReasonedPlan
from wayword.core.world import World
from wayword.worlds.household.errands import (
    ANSWERING,
    HIGH_NEEDED,
    TOOLS,
    Errands,
    HighErrands,
    PlannedReference,
    carry_out,
    cheapest,
)
from wayword.worlds.household.goals import (
    AnswerReference,
    Beside,
    GoalCondition,
    Has,
    Held,
    HouseholdReference,
    Ids,
    Inside,
    Lit,
    Near,
    Restored,
    Stacked,
    Trait,
)
from wayword.worlds.household.verbs import LOW_LEVEL, VERBS
from wayword.worlds.household.world import HouseholdWorld

RANKS: tuple[type, ...] = (Stacked, Inside, Beside, Restored, Has, Held, Lit, Near)
"""Kinds of goals in the order in which they are gone about."""
NEEDED = tuple(verb for verb in LOW_LEVEL if verb not in ("wait", "slice"))
"""Verbs it takes to act as planned; the tasks that want slices have bodies that slice."""
ROUNDS = 3
"""How often the goals are gone through: the second time for what was undone by another."""


def solve(
    world: HouseholdWorld, actor: str, reference: HouseholdReference, high: bool = False
) -> ActionPlan:
    """Every action up to the stop, low-level ones alone unless ``high``, with why it is taken.
    Raises ``PlanningFailed`` for a goal beyond it."""
    tidy = any(isinstance(goal, Restored) for goal in reference.goals)
    errands = (HighErrands if high else Errands)(world, actor, tidy)
    return ReasonedPlan(_solve(errands, reference), lambda: errands.thought)


def _solve(errands: Errands, reference: HouseholdReference) -> ActionPlan:
    if isinstance(reference, AnswerReference):
        yield from _look(errands, reference.look, reference.enough)
        errands.reasons.append(ANSWERING)
        yield Action("stop", (reference.answer,))
        return
    if isinstance(reference, PlannedReference):
        if errands.actor == reference.worker:
            yield from carry_out(errands, reference.plan)
        yield STOP
        return
    for _ in range(ROUNDS):
        state = errands.world.now()
        left = [goal for goal in reference.goals if goal.met(state) < goal.parts]
        if not left:
            break
        while left:
            goal = _next(errands, left)
            left.remove(goal)
            yield from _meet(errands, goal)
    yield STOP


def able_bodies(episode: Episode, actors: Sequence[str]) -> Episode:
    """The episode with bodies for these actors that do all there is to do, without a limit."""
    given = episode.start.get("bodies", {})
    more = {a: {**given.get(a, {}), "actions": list(VERBS), "step_limit": 0} for a in actors}
    return replace(episode, start={**episode.start, "bodies": {**given, **more}})


def walks_high(world: HouseholdWorld, actor: str) -> bool:
    """Whether a body runs whole errands and cannot be steered step by step."""
    own = world.house.actors[actor].body.actions
    return not set(NEEDED) <= set(own) and set(HIGH_NEEDED) <= set(own)


class SolvableHousehold(Dataset):
    """Household tasks: ``expert`` brings the goals about, by low-level actions where the body has
    them, else by whole errands.

    L* counts low-level actions, and is the reference's where it gives one. It is worked out with a
    body that has every action; examples show actions that the dataset's own bodies have.
    """

    solutions: ClassVar[tuple[str, ...]] = ("expert", "errands")

    def make_plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        reference = task.reference
        if not isinstance(reference, HouseholdReference) or not isinstance(world, HouseholdWorld):
            raise UsageError(f"episode {task.episode.id} has no goals in a house; try `oracle`")
        if how == "errands" or walks_high(world, actor):
            return solve(world, actor, reference, high=True)
        bodies = {each.name: each.body.actions for each in world.house.actors.values()}
        others_work = any(walks_high(world, name) for name in bodies)
        if not others_work and actor in able(bodies, NEEDED, "all"):
            return solve(world, actor, reference)
        return listed(lambda: [STOP])  # no hands to help with

    def solve(self, task: Task, how: str = "") -> tuple[Action, ...]:
        """The expert's actions, high-level ones for ``how="errands"``. Raises ``PlanningFailed``
        where they do not meet the goals."""
        return tuple(decision.action for decision in self._solved(task, how))

    def _solved(self, task: Task, how: str) -> list[Decision]:
        world, reference = self.world(task.episode), task.reference
        if not isinstance(reference, HouseholdReference) or not isinstance(world, HouseholdWorld):
            raise UsageError(f"episode {task.episode.id} has no goals in a house")
        high, episode = how == "errands", task.episode
        actor = episode.actors[0]
        if isinstance(reference, PlannedReference):
            actor = reference.worker
        world.reset(episode if high else able_bodies(episode, [actor]))
        turns = Game(world).follow(actor, solve(world, actor, reference, high))
        decisions = [decision for decision, _ in turns if isinstance(decision, Decision)]
        if reference.met(world.now()) < reference.parts():
            raise PlanningFailed("the expert's actions do not meet the goals")
        return decisions

    def demonstration(self, task: Task) -> Demonstration | None:
        """A task with the actions that solve it, such as its body has; None where none are known.

        Raises ``UsageError`` for a task for several actors, whose parts only a team plays.
        """
        if len(task.episode.actors) > 1:
            raise UsageError(
                f"episode {task.episode.id} is for several actors; their examples are played by "
                "the team (wayword.runs.active), or set shots=0"
            )
        world = self.world(task.episode)
        world.reset(task.episode)
        actor = task.episode.actors[0]
        high = isinstance(world, HouseholdWorld) and walks_high(world, actor)
        try:
            decisions = self._solved(task, "errands" if high else "expert")
        except PlanningFailed:
            return None
        actions = tuple(decision.action for decision in decisions)
        thoughts = tuple(decision.thought for decision in decisions)
        return Demonstration(
            task.episode, actions, lambda: self.world(task.episode), thoughts=thoughts
        )

    def _length(self, task: Task) -> int | None:
        known = getattr(task.reference, "expert_length", None)
        return super()._length(task) if known is None else int(known)


def _next(errands: Errands, left: Sequence[GoalCondition]) -> GoalCondition:
    """Of the goals that come first, the one whose thing is nearest."""
    first = min(map(_rank, left))
    goals = [goal for goal in left if _rank(goal) == first]
    if len(goals) == 1:
        return goals[0]
    owner = {thing: goal for goal in reversed(goals) for thing in _handled(goal)}
    nearest = cheapest(errands.world, errands.actor, [list(owner)])
    return owner[nearest[0]] if nearest else goals[0]


def _handled(goal: GoalCondition) -> Ids:
    """What a goal is about."""
    if isinstance(goal, Restored):
        return (goal.thing,)
    things: Ids = goal.lamps if isinstance(goal, Lit) else goal.things  # type: ignore[attr-defined]
    return things


def _rank(goal: GoalCondition) -> tuple[int, int]:
    """Goals that bring others about come first, those that a later errand would undo last.

    What should stand open is opened before things are put in it, the rest is shut after that.
    """
    if type(goal) not in RANKS:
        raise PlanningFailed(f"the expert knows no way to bring about {type(goal).__name__}")
    if isinstance(goal, Restored):
        return RANKS.index(Restored), 0 if goal.open else 1 if goal.receptacle else 2
    traits = getattr(goal, "traits", ())
    return RANKS.index(type(goal)), -len(traits) - goal.parts


def _meet(errands: Errands, goal: GoalCondition) -> ActionPlan:
    for _ in range(goal.parts):
        if goal.met(errands.world.now()) == goal.parts:
            return
        yield from _PLANS[type(goal)](errands, goal)


def _inside(errands: Errands, goal: Inside) -> ActionPlan:
    """One more of the things into the receptacle that has most of them already."""
    there = {
        r: [
            t for t in goal.things if errands.within(t, r) and _lacks(errands, t, goal.traits) == []
        ]
        for r in goal.receptacles
    }
    most = max(len(found) for found in there.values())
    places = [r for r, found in there.items() if len(found) == most]
    done = {t for r in places for t in there[r]}
    things = [t for t in goal.things if t not in done] or list(goal.things)
    chain = _chain(errands, things, goal.traits, [places])
    yield from _prepare(errands, chain, goal.traits)
    yield from errands.put(chain[0], chain[-1])


def _stacked(errands: Errands, goal: Stacked) -> ActionPlan:
    chain = _chain(errands, goal.things, goal.traits, [goal.movables, goal.receptacles])
    thing, movable, receptacle = chain[0], chain[-2], chain[-1]
    if not errands.within(thing, movable):
        yield from _prepare(errands, chain, goal.traits)
        yield from errands.put(thing, movable)
    if not errands.within(movable, receptacle):
        yield from errands.put(movable, receptacle)


def _has(errands: Errands, goal: Has) -> ActionPlan:
    switched = [trait for trait in goal.traits if trait[0] in ("on", "open")]
    traits = tuple(trait for trait in goal.traits if trait not in switched)
    chain = _chain(errands, goal.things, traits, [])
    yield from _prepare(errands, chain, traits)
    for name, value in switched:
        yield from (errands.turn if name == "on" else errands.swing)(chain[0], bool(value))


def _held(errands: Errands, goal: Held) -> ActionPlan:
    yield from errands.take(_chain(errands, goal.things, (), [])[0])


def _beside(errands: Errands, goal: Beside) -> ActionPlan:
    under = [errands.things.holders(errands.number(other)) for other in goal.others]
    places = dict.fromkeys(errands.world.layout.ids[holders[0]] for holders in under if holders)
    if not places:
        raise PlanningFailed(f"none of {', '.join(goal.others)} is in or on anything")
    yield from _inside(errands, Inside(goal.things, tuple(places)))


def _near(errands: Errands, goal: Near) -> ActionPlan:
    yield from errands.uncover(_chain(errands, goal.things, (), [])[0])


def _lit(errands: Errands, goal: Lit) -> ActionPlan:
    (lamp,) = _chain(errands, goal.lamps, (), [])
    yield from errands.reach(lamp)
    yield from errands.turn(lamp, True)


def _restored(errands: Errands, goal: Restored) -> ActionPlan:
    i = errands.number(goal.thing)
    if "pickupable" in errands.things.specs[i].affordances:
        if goal.receptacle and goal.at is not None:
            x, y = float(errands.things.x[i]), float(errands.things.y[i])
            under = errands.number(goal.receptacle)
            if int(errands.things.inside[i]) != under or not goal.lies(x, y):
                yield from errands.put_near(goal.thing, goal.receptacle, goal.at, goal.within)
        elif goal.receptacle:
            yield from errands.put(goal.thing, goal.receptacle)
        else:
            yield from errands.take(goal.thing)
            yield from errands.do("drop", goal.thing)
    yield from errands.swing(goal.thing, goal.open)


_PLANS: dict[type, Callable[[Errands, Any], ActionPlan]] = {
    Inside: _inside,
    Stacked: _stacked,
    Beside: _beside,
    Near: _near,
    Has: _has,
    Held: _held,
    Lit: _lit,
    Restored: _restored,
}


def _look(errands: Errands, things: Sequence[str], enough: int) -> ActionPlan:
    """See things and look into receptacles, the nearest first: all, or ``enough`` of them."""
    left = list(things)
    while len(left) > (len(things) - enough if enough else 0):
        nearest = cheapest(errands.world, errands.actor, [left])
        if nearest is None:
            raise PlanningFailed(f"no way leads to any of {', '.join(left)}")
        left.remove(nearest[0])
        yield from errands.look_at(nearest[0])


def _lacks(errands: Errands, thing: str, traits: Sequence[Trait]) -> list[Trait]:
    return [trait for trait in traits if not errands.has(thing, trait)]


def _chain(
    errands: Errands, things: Sequence[str], traits: Sequence[Trait], after: Sequence[Sequence[str]]
) -> list[str]:
    """The cheapest thing, tools for the traits it lacks in order, and places after that.

    The things that lack least are looked at alone. Raises ``PlanningFailed``.
    """
    least = min(len(_lacks(errands, thing, traits)) for thing in things)
    best = [t for t in things if len(_lacks(errands, t, traits)) == least]
    chains = []
    for lacking in {tuple(_lacks(errands, t, traits)) for t in best}:
        some = [t for t in best if tuple(_lacks(errands, t, traits)) == lacking]
        tools = [_tools(errands, some[0], t) for t in lacking if t in TOOLS]
        places = [[r for r in stop if _open_to(errands, some[0], r)] or stop for stop in after]
        chains.append(cheapest(errands.world, errands.actor, [some, *tools, *places]))
    found = next((chain for chain in chains if chain), None)
    if found is None:
        raise PlanningFailed(f"no way leads to any of {', '.join(things)} and on")
    return found


def _open_to(errands: Errands, thing: str, receptacle: str) -> bool:
    there = errands.within(thing, receptacle)
    return there or (errands.takes(receptacle, thing) and not errands.full(receptacle))


def _tools(errands: Errands, thing: str, trait: Trait) -> Ids:
    """What gives a trait to such a thing, and can be switched where it must."""
    things, kind = errands.things, TOOLS[trait]
    ids = errands.world.layout.ids[: things.objects]
    able = [r for r in ids if things.does(errands.number(r), kind) and errands.takes(r, thing)]
    if trait == ("heated", True):
        able = [r for r in able if things.encloses[errands.number(r)]]
    switched = [
        r
        for r in able
        if kind == "cooler"
        or things.does(errands.number(r), "toggleable")
        or errands.number(r) in things.switches
    ]
    if not switched:
        raise PlanningFailed(f"no {kind} takes {thing}")
    free = [r for r in switched if _open_to(errands, thing, r)]
    return tuple(free or switched)


def _prepare(errands: Errands, chain: Sequence[str], traits: Sequence[Trait]) -> ActionPlan:
    """Give the chain's thing the traits it lacks: slicing first, then tool after tool."""
    thing = chain[0]
    lacking = _lacks(errands, thing, traits)
    if ("sliced", True) in lacking:
        ids = errands.world.layout.ids[: errands.things.objects]
        knives = [k for k in ids if errands.things.does(errands.number(k), "slicer")]
        found = cheapest(errands.world, errands.actor, [knives, [thing]])
        if found is None:
            raise PlanningFailed(f"no knife for {thing}")
        yield from errands.slice(thing, found[0])
    for trait, tool in zip([t for t in lacking if t in TOOLS], chain[1:], strict=False):
        yield from errands.treat(thing, trait, tool)
