"""The household expert: turns goals into skills of an actor that knows the house.

Goals determine the objects to handle. Each object gives a chain of sub-tasks (slice, fetch, treat,
put); the expert carries out the chain with the fewest steps on foot.

Source: the expert of LangSuitE (Jia et al. 2024), section 3.3, "Gold Trajectories Generation".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from wayword.core.action import STOP, Action, Decision
from wayword.core.agent import Demonstration
from wayword.core.dataset import Dataset, Task, capable_actors, listed
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, Game, PlanningFailed, ReasonedPlan
from wayword.core.world import World
from wayword.worlds.household import goals as g
from wayword.worlds.household.goals import (
    GoalCondition,
    HouseholdReference,
    Ids,
    Restored,
    Trait,
)
from wayword.worlds.household.skills import (
    ANSWER_THOUGHT,
    REQUIRED_HIGH_LEVEL,
    TOOLS,
    HighLevelSkills,
    PlannedReference,
    Skills,
    cheapest,
)
from wayword.worlds.household.verbs import LOW_LEVEL, VERBS
from wayword.worlds.household.world import HouseholdWorld

# Waiting helps no plan, and only some tasks need a knife.
REQUIRED_VERBS = tuple(verb for verb in LOW_LEVEL if verb not in ("wait", "slice"))
"""Verbs that low-level plans need; bodies can slice if their task needs it."""
MAX_ROUNDS = 3  # passes over the goals, because reaching one goal may undo another


def solve(
    world: HouseholdWorld,
    actor: str,
    reference: HouseholdReference,
    high_level: bool = False,
) -> ActionPlan:
    """Return all actions up to the stop with their reasons, low-level only unless ``high_level``.

    The plan reads the world as it goes on, so the caller has to carry out each action
    before requesting the next. It raises ``PlanningFailed`` for a goal it cannot reach.
    """
    # A house to restore is left as it was found: what was opened is closed again.
    tidy = any(isinstance(goal, Restored) for goal in reference.goals)
    kind = HighLevelSkills if high_level else Skills
    skills = kind(world, actor, tidy)
    if isinstance(reference, g.AnswerReference):
        plan = _answer(skills, reference)
    elif isinstance(reference, PlannedReference):
        plan = _follow_orders(skills, reference)
    else:
        plan = _reach_goals(skills, reference)
    return ReasonedPlan(plan, lambda: skills.thought)


def _answer(skills: Skills, reference: g.AnswerReference) -> ActionPlan:
    """Look at enough of the objects that reveal the answer, the nearest first, and give it."""
    # Nearest first, computed again after each look, since the body has moved.
    unseen = list(reference.look)
    # All have to be seen unless the reference says how many are enough.
    may_stay_unseen = 0
    if reference.enough:
        may_stay_unseen = len(reference.look) - reference.enough
    while len(unseen) > may_stay_unseen:
        nearest = cheapest(skills.world, skills.actor, [unseen])
        if nearest is None:
            raise PlanningFailed(f"no path to any of {', '.join(unseen)}")
        unseen.remove(nearest[0])
        yield from skills.look_at(nearest[0])
    # The reason stays on the list, so that it is the thought of the stop.
    skills.reasons.append(ANSWER_THOUGHT)
    yield Action("stop", (reference.answer,))


def _follow_orders(skills: Skills, reference: PlannedReference) -> ActionPlan:
    """Carry out the orders of a plan; only its worker does."""
    # Helpers have nothing to plan; they only stop.
    orders = reference.plan if skills.actor == reference.worker else ()
    for order in orders:
        if order.kind == "bring":
            yield from skills.put(order.object, order.other)
        elif order.kind == "slice":
            yield from skills.slice(order.object, order.other)
        elif order.kind in ("on", "off"):
            yield from skills.toggle(order.object, order.kind == "on")
        else:
            yield from skills.open_or_close(order.object, order.kind == "open")
    # Ends the episode also if an order had no effect: the judge decides, not the plan.
    yield STOP


def _reach_goals(skills: Skills, reference: HouseholdReference) -> ActionPlan:
    """Reach one goal after another, in several rounds."""
    for _ in range(MAX_ROUNDS):
        # The state is read again in every round, as a later goal may undo an earlier
        # one.
        state = skills.world.now()
        remaining = [goal for goal in reference.goals if goal.met(state) < goal.parts]
        if not remaining:
            break
        while remaining:
            goal = _next_goal(skills, remaining)
            remaining.remove(goal)
            # Once per part: a goal of two objects needs two deliveries.
            for _ in range(goal.parts):
                if goal.met(skills.world.now()) == goal.parts:
                    break
                yield from PLANS[type(goal)](skills, goal)
    yield STOP


def with_able_bodies(episode: Episode, actors: Sequence[str]) -> Episode:
    """Return the episode with bodies that give these actors all actions and no step limit.

    Their other fields stay those of the episode.
    """
    bodies = dict(episode.start.get("bodies", {}))
    # L* is measured with a full body, so that it does not depend on the dataset's
    # limits.
    for actor in actors:
        able = {"actions": list(VERBS), "step_limit": 0}
        bodies[actor] = {**bodies.get(actor, {}), **able}
    return replace(episode, start={**episode.start, "bodies": bodies})


def has_skills(world: HouseholdWorld, actor: str) -> bool:
    """True if a body runs the high-level skills of plans."""
    return set(REQUIRED_HIGH_LEVEL) <= set(world.house.actors[actor].body.actions)


def needs_high_level(world: HouseholdWorld, actor: str) -> bool:
    """True if a body runs high-level skills and cannot be steered step by step."""
    verbs = set(world.house.actors[actor].body.actions)
    return has_skills(world, actor) and not set(REQUIRED_VERBS) <= verbs


def solving_decisions(
    world: World,
    task: Task,
    high_level: bool = False,
    at_most: int | None = None,
) -> list[Decision]:
    """Return the expert's decisions in a new world, including the stop.

    ``at_most`` ends long ones early. Raises ``PlanningFailed`` if they do not meet the
    goals or exceed ``at_most``, ``UsageError`` for a task without household goals.
    """
    reference = task.reference
    episode = task.episode
    if not isinstance(reference, HouseholdReference) or not isinstance(
        world,
        HouseholdWorld,
    ):
        raise UsageError(f"episode {episode.id} has no household goals")
    # A plan names its worker; in other tasks every body can do everything, so the first
    # one does.
    if isinstance(reference, PlannedReference):
        actor = reference.worker
    else:
        actor = episode.actors[0]
    if not high_level:
        episode = with_able_bodies(episode, [actor])
    world.reset(episode)
    decisions = []
    plan = solve(world, actor, reference, high_level)
    for turn, _ in Game(world).follow(actor, plan):
        if isinstance(turn, Decision):
            decisions.append(turn)
        # Stopped early: a draw that is too long is thrown away anyway.
        if at_most is not None and len(decisions) > at_most:
            raise PlanningFailed(f"the expert needs more than {at_most} actions")
    # Checked by the judge's own rule, not by the expert's belief.
    if reference.met(world.now()) < reference.parts():
        raise PlanningFailed("the expert's actions do not reach all goals")
    return decisions


class SolvableHousehold(Dataset):
    """Household tasks with a solution.

    ``expert`` meets the goals with low-level actions if the body has them, else with
    high-level skills. L* counts low-level actions of a body that has every action;
    examples use only the actions of the dataset's own bodies.
    """

    needs_stop = True

    solutions = ("expert", "skills")

    def make_plan(
        self,
        task: Task,
        world: World,
        actor: str,
        kind: str,
    ) -> ActionPlan:
        """Return a plan of skills or motions, as the body allows.

        An actor that cannot contribute gets a stop. Raises ``UsageError`` for a task
        without household goals.
        """
        reference = task.reference
        if not isinstance(reference, HouseholdReference) or not isinstance(
            world,
            HouseholdWorld,
        ):
            raise UsageError(
                f"episode {task.episode.id} has no household goals; try `oracle`"
            )
        # Explicit skills, or a body that has nothing else.
        if kind == "skills" or needs_high_level(world, actor):
            return solve(
                world,
                actor,
                reference,
                high_level=True,
            )
        verbs_by_actor = {
            body.name: body.body.actions for body in world.house.actors.values()
        }
        # Two workers on one house would undo each other: then only skilled ones work.
        others_work = any(needs_high_level(world, name) for name in verbs_by_actor)
        capable = capable_actors(
            verbs_by_actor,
            REQUIRED_VERBS,
            "all",
        )
        if not others_work and actor in capable:
            return solve(world, actor, reference)
        return listed(lambda: [STOP])  # this body cannot contribute, others do the task

    def solve(self, task: Task, kind: str = "") -> tuple[Action, ...]:
        """Return the expert's actions, high-level ones for ``kind="skills"``."""
        decisions = solving_decisions(
            self.world(task.episode),
            task,
            kind == "skills",
        )
        return tuple(decision.action for decision in decisions)

    def demonstration(self, task: Task) -> Demonstration | None:
        """Return a task and a solution in its body's actions, with skills if it has them.

        None if there is no solution. Raises ``UsageError`` for a task for several
        actors.
        """
        if len(task.episode.actors) > 1:
            problem = f"episode {task.episode.id} has several actors, so only a team can solve it"
            raise UsageError(
                f"{problem}: use wayword.runs.demonstrations, or set shots=0"
            )
        world = self.world(task.episode)
        world.reset(task.episode)
        actor = task.episode.actors[0]
        skilled = isinstance(world, HouseholdWorld) and has_skills(world, actor)
        # Tried once: a failed solution gives no example, but no error either.
        # An example with skills is a tenth as long as one with single motions.
        try:
            decisions = solving_decisions(
                self.world(task.episode),
                task,
                skilled,
            )
        except PlanningFailed:
            return None
        actions = tuple(decision.action for decision in decisions)
        why = tuple(decision.thought for decision in decisions)
        return Demonstration(
            task.episode, actions, lambda: self.world(task.episode), thoughts=why
        )

    def _length(self, task: Task) -> int | None:
        """Return the stored length of the expert's solution, else compute it."""
        # Stored lengths save solving: they were computed when the dataset was made.
        length = getattr(task.reference, "expert_length", None)
        return super()._length(task) if length is None else int(length)


def _next_goal(skills: Skills, remaining: Sequence[GoalCondition]) -> GoalCondition:
    """Return the goal of lowest rank whose object is nearest."""
    lowest_rank = min(map(_goal_rank, remaining))
    goals = [goal for goal in remaining if _goal_rank(goal) == lowest_rank]
    # No distance to compare.
    if len(goals) == 1:
        return goals[0]
    # Object -> its goal. In reverse, so that of two goals of an object the first one counts.
    goal_of: dict[str, GoalCondition] = {}
    for goal in reversed(goals):
        # Goals name their objects in different fields.
        objects: Ids = getattr(goal, "objects", ())
        if isinstance(goal, g.Lit):
            objects = goal.lamps
        elif isinstance(goal, Restored):
            objects = (goal.object,)
        goal_of |= dict.fromkeys(objects, goal)
    nearest = cheapest(
        skills.world,
        skills.actor,
        [list(goal_of)],
    )
    # Without any path, the first goal gives the error.
    return goal_of[nearest[0]] if nearest else goals[0]


def _goal_rank(goal: GoalCondition) -> tuple[int, int]:
    """Return a sort key: goals that help others come first, those that others undo last.

    Receptacles are opened before objects are put in, and closed afterwards.
    """
    # The order of the table is the order of execution.
    kinds = list(PLANS)
    if type(goal) not in kinds:
        raise PlanningFailed(f"the expert has no plan for a goal {type(goal).__name__}")
    rank = kinds.index(type(goal))
    if isinstance(goal, Restored):
        # Open first, put things in next, close last.
        if goal.open:
            return rank, 0
        return rank, 1 if goal.receptacle else 2
    # Among equals: more traits first, for treating moves objects; then more parts.
    traits = getattr(goal, "traits", ())
    return rank, -len(traits) - goal.parts


def _reach_inside(skills: Skills, goal: g.Inside) -> ActionPlan:
    """Put one more object into the receptacle that contains most of them already."""
    # What has the traits already and lies in a receptacle counts there.
    ready = [
        obj for obj in goal.objects if not _missing_traits(skills, obj, goal.traits)
    ]
    contents: dict[str, set[str]] = {}
    for receptacle in goal.receptacles:
        contents[receptacle] = {t for t in ready if skills.within(t, receptacle)}
    # The fullest receptacle needs the fewest deliveries.
    most = max(map(len, contents.values()))
    places = [r for r, objects in contents.items() if len(objects) == most]
    delivered = set[str]().union(*(contents[place] for place in places))
    # Everything delivered but not enough: take any again.
    remaining = [t for t in goal.objects if t not in delivered] or list(goal.objects)
    # Nearest object, then tools, then one of the receptacles, as one chain.
    chain = _cheapest_chain(
        skills,
        remaining,
        goal.traits,
        [places],
    )
    yield from _treat_first(skills, chain, goal.traits)
    yield from skills.put(chain[0], chain[-1])


def _reach_stacked(skills: Skills, goal: g.Stacked) -> ActionPlan:
    """Put an object into a movable one, and that into its receptacle."""
    chain = _cheapest_chain(
        skills,
        goal.objects,
        goal.traits,
        [goal.movables, goal.receptacles],
    )
    # The last two stops are the movable and the receptacle; tools may come between.
    obj = chain[0]
    movable = chain[-2]
    receptacle = chain[-1]
    # In this order: a bowl on the table no longer has to be lifted with its contents.
    if not skills.within(obj, movable):
        yield from _treat_first(skills, chain, goal.traits)
        yield from skills.put(obj, movable)
    if not skills.within(movable, receptacle):
        yield from skills.put(movable, receptacle)


def _reach_traits(skills: Skills, goal: g.Has) -> ActionPlan:
    """Give one object the traits, and then switch or open it."""
    # Switching and opening come last, as treating may close or switch off.
    switched = [trait for trait in goal.traits if trait[0] in ("on", "open")]
    traits = tuple(trait for trait in goal.traits if trait not in switched)
    chain = _cheapest_chain(
        skills,
        goal.objects,
        traits,
        [],
    )
    yield from _treat_first(skills, chain, traits)
    for name, value in switched:
        if name == "on":
            yield from skills.toggle(chain[0], bool(value))
        else:
            yield from skills.open_or_close(chain[0], bool(value))


def _reach_next_to(skills: Skills, goal: g.NextTo) -> ActionPlan:
    """Put an object where one of the others is."""
    # The innermost holder of each other object.
    places: dict[str, str] = {}
    for other in goal.others:
        if holders := skills.entities.holders(skills.number(other)):
            places[other] = skills.world.layout.ids[holders[0]]
    if not places:
        raise PlanningFailed(f"no receptacle contains any of {', '.join(goal.others)}")
    objects = goal.objects
    if not places.keys().isdisjoint(objects):
        # No object is next to itself: one stays where it is, and another goes there.
        stays, place = next(iter(places.items()))
        places = {stays: place}
        objects = tuple(each for each in objects if each != stays)
    yield from _reach_inside(
        skills, g.Inside(objects, tuple(dict.fromkeys(places.values())))
    )


def _reach_lit(skills: Skills, goal: g.Lit) -> ActionPlan:
    """Go near a lamp and switch it on."""
    (lamp,) = _cheapest_chain(skills, goal.lamps, (), [])
    # A body's reach may exceed this distance.
    yield from skills.reach(lamp, goal.distance)
    yield from skills.toggle(lamp, True)


def _reach_restored(skills: Skills, goal: Restored) -> ActionPlan:
    """Put an object back, and open or close it."""
    entities = skills.entities
    i = skills.number(goal.object)
    # Only what can be carried may be in the wrong place.
    if "pickupable" in entities.specs[i].affordances:
        if goal.receptacle and goal.at is not None:
            is_near = goal.is_near_target(*entities.point(i))
            # Both must hold: the receptacle, and the point on it.
            is_inside = int(entities.inside[i]) == skills.number(goal.receptacle)
            if not is_inside or not is_near:
                yield from skills.put_near(
                    goal.object,
                    goal.receptacle,
                    goal.at,
                    goal.within,
                )
        elif goal.receptacle:
            yield from skills.put(goal.object, goal.receptacle)
        else:
            # On the floor: wherever the body stands, as no point is required.
            yield from skills.take(goal.object)
            yield from skills.do("drop", goal.object)
    yield from skills.open_or_close(goal.object, goal.open)


def _reach_held(skills: Skills, goal: g.Held) -> ActionPlan:
    """Pick up the nearest of the objects."""
    (obj,) = _cheapest_chain(skills, goal.objects, (), [])
    yield from skills.take(obj)


def _reach_near(skills: Skills, goal: g.Near) -> ActionPlan:
    """Go near the nearest of the objects, uncovering it."""
    (obj,) = _cheapest_chain(skills, goal.objects, (), [])
    yield from skills.uncover(obj, goal.distance)


PLANS: dict[type, Callable[[Skills, Any], ActionPlan]] = {
    g.Stacked: _reach_stacked,
    g.Inside: _reach_inside,
    g.NextTo: _reach_next_to,
    Restored: _reach_restored,
    g.Has: _reach_traits,
    g.Held: _reach_held,
    g.Lit: _reach_lit,
    g.Near: _reach_near,
}
"""Goal type -> its plan, in the order of execution."""


def _missing_traits(
    skills: Skills,
    obj: str,
    traits: Sequence[Trait],
) -> tuple[Trait, ...]:
    """Return the traits that an object lacks."""
    return tuple(trait for trait in traits if not skills.has_trait(obj, trait))


def _cheapest_chain(
    skills: Skills,
    objects: Sequence[str],
    traits: Sequence[Trait],
    later_stops: Sequence[Sequence[str]],
) -> list[str]:
    """Return the cheapest chain of stops for one of the objects.

    The chain is an object with the fewest missing ``traits``, the tools for them in
    order, and one of each of the ``later_stops``. Raises ``PlanningFailed``.
    """
    # Objects that lack least cost least: an apple that is sliced already needs no
    # knife.
    lacking = {obj: _missing_traits(skills, obj, traits) for obj in objects}
    fewest = min(map(len, lacking.values()))
    groups = [missing for missing in lacking.values() if len(missing) == fewest]
    chains = []
    # One chain for each set of missing traits.
    for missing in dict.fromkeys(groups):
        # Objects that lack the same traits need the same tools; the first one stands for all.
        candidates = [obj for obj in objects if lacking[obj] == missing]
        example = candidates[0]
        stops: list[Sequence[str]] = [candidates]
        stops += [
            # Slicing has no place: it is done where the object lies.
            _usable_tools(skills, example, trait)
            for trait in missing
            if trait in TOOLS
        ]
        for places in later_stops:
            # If none has room, one is emptied later.
            stops.append(_with_room(skills, example, places) or places)
        chains.append(cheapest(skills.world, skills.actor, stops))
    # The first chain that exists, in the order of the objects.
    chain = next((chain for chain in chains if chain), None)
    if chain is None:
        raise PlanningFailed(
            f"no path to any of {', '.join(objects)} and the next stops"
        )
    return chain


def _with_room(
    skills: Skills,
    obj: str,
    receptacles: Sequence[str],
) -> list[str]:
    """Return the receptacles that have room for an object, or contain it already."""
    suitable = []
    for receptacle in receptacles:
        is_full = skills.entities.full(skills.number(receptacle))
        has_room = skills.takes(receptacle, obj) and not is_full
        if has_room or skills.within(obj, receptacle):
            suitable.append(receptacle)
    return suitable


def _usable_tools(
    skills: Skills,
    obj: str,
    trait: Trait,
) -> Ids:
    """Return the tools that can give ``obj`` a trait, with a switch if they need one.

    Those with room first. Raises ``PlanningFailed`` if none accepts it.
    """
    entities = skills.entities
    kind = TOOLS[trait]
    # Objects only: doors follow them in the list of ids.
    tools = []
    for tool in skills.world.layout.ids[: entities.object_count]:
        r = skills.number(tool)
        if not entities.has_affordance(r, kind) or not skills.takes(tool, obj):
            continue
        # A fridge cools without a switch, and only what is enclosed is heated.
        has_switch = entities.has_affordance(r, "toggleable") or r in entities.switches
        works = kind == "cooler" or has_switch
        if works and (trait != ("heated", True) or entities.encloses[r]):
            tools.append(tool)
    if not tools:
        raise PlanningFailed(f"no {kind} accepts {obj}")
    # Tools with room first; a full one is emptied if there is no other.
    return tuple(_with_room(skills, obj, tools) or tools)


def _treat_first(
    skills: Skills,
    chain: Sequence[str],
    traits: Sequence[Trait],
) -> ActionPlan:
    """Give the chain's first object its missing traits: slicing first, then tool by tool."""
    obj = chain[0]
    # Slicing first: ALFRED forgets heat and cold of a whole object that is sliced.
    missing = _missing_traits(skills, chain[0], traits)
    if ("sliced", True) in missing:
        ids = skills.world.layout.ids[: skills.entities.object_count]
        knives = [
            k
            for k in ids
            if skills.entities.has_affordance(skills.number(k), "slicer")
            # The nearest knife on the way to the object.
        ]
        nearest = cheapest(skills.world, skills.actor, [knives, [obj]])
        if nearest is None:
            raise PlanningFailed(f"no reachable knife for {obj}")
        yield from skills.slice(obj, nearest[0])
    # Tools follow the object in the chain, in the order of the missing traits.
    treated = [trait for trait in missing if trait in TOOLS]
    for trait, tool in zip(treated, chain[1:], strict=False):
        yield from skills.treat(obj, trait, tool)
