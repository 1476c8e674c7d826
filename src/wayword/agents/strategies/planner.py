"""planner: plans the whole task in one answer, follows the plan, and replans if a step fails.

    wayword run planner --on household --model openai:gpt-5-mini

Each prompt contains the task, the known part of the house as a scene graph in text (rooms and the
objects seen in them), the steps so far with their results, and the reason for a new plan. The steps
of a plan are the world's actions and ``find[object, place, ...]``, which explores rooms and opens
containers until the object is seen.

With ``eyes=pictures`` there is no graph and no ``find``, which name what is in view: plans name
objects by the numbers in the pictures, and end where the next object has none yet.

Source: LLM-Planner (Song et al. 2023), sections 3.2 and 3.4 (plans and replanning);
SayPlan (Rana et al. 2023), sections 3.2 and 3.3 (a graph that collapses and verifies plans).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast

from wayword.agents.answers import AnswerForm, Field, pattern
from wayword.agents.legal import Legal, Refusal
from wayword.agents.marked import verbs_on_objects
from wayword.agents.prompting import NotNegative, PromptSettings, joined
from wayword.agents.strategies.briefing import catalog_of, instruction
from wayword.agents.strategies.strategy import AnyWorldAgent
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.world import SLIPPED, Feedback
from wayword.verbalize import generic
from wayword.verbalize.household import spot_words, verbalizer
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.verbs import VERBS
from wayword.worlds.household.world import HouseholdActions

FIND = "find"
# They reveal objects not seen yet
SEEING = frozenset({FIND, "go_explore", "go_check", "open"})
MOST_PLACES = 8  # named in one search
MOST_REVISIONS = 2  # new plans within a turn, before the answer costs a step
MOST_EXAMPLES = 5  # actions that are possible instead, in a reason
OPENED_DOORS = "Closed doors on the path of a step are found and opened for you."
# of an answer, in the prompt
EXAMPLE = "mug_1 is in the kitchen; the desk must be in a bedroom."
EXAMPLE_PLAN = ["go_grab[mug_1]", "find[desk_1, bedroom]", "go_put[desk_1]", "stop"]
SEEN_EXAMPLE = (
    "The mug with the number 7 is on the table; the desk must be in a bedroom."
)
SEEN_PLAN = ["go_grab[7]", "go_explore[bedroom]"]
NAME = "[A-Za-z0-9_ -]{1,40}"  # matches any name
TEXT = "[^]]{1,200}"  # matches any words


class SceneGraph:
    """The part of a house that one actor has seen: rooms, objects in them, and their holders.

    The ``rooms`` seen last are written in full, the others with only the number of their objects.
    """

    def __init__(self) -> None:
        self.explored: set[str] = set()
        self.names: set[str] = set()
        self.here = ""  # the room seen last
        self._visited: dict[str, None] = {}  # rooms, the latest last
        self._room: dict[str, str] = {}
        self._holder: dict[str, str] = {}
        self._states: dict[str, tuple[str, ...]] = {}
        self._doors: dict[str, str] = {}

    @property
    def closed(self) -> list[str]:
        """Names of the closed objects."""
        return [name for name, states in self._states.items() if "closed" in states]

    def see(self, view: HouseholdObservation) -> None:
        """Record a view: rooms, places and states of what is visible, and held objects."""
        self._visit(view.room)
        # A held object is in no room and on no holder until it is put down.
        for held in view.holding:
            self._room.pop(held.name, None)
            self._holder.pop(held.name, None)
        for item in view.objects:
            states = [*item.attributes]
            if item.spot:
                states.append(spot_words(item.spot))
            self._states[item.name] = tuple(states)
            self._room.setdefault(item.name, view.room)
            if item.container:
                self._holder[item.name] = item.container
        for door in view.doors:
            state = "open" if door.open else "closed"
            self._doors[door.name] = f"{door.name} ({state}, {' to '.join(door.rooms)})"
        others = (
            *(held.name for held in view.holding),
            *(other.name for other in view.others),
        )
        self.names |= {*self._room, *self._doors, *others}

    def learn(self, feedback: Feedback) -> None:
        """Record what an action has shown beyond the view: the objects of explored rooms."""
        details = feedback.details
        if feedback.ok and details.get("action") == "go_explore":
            room = str(details["room"])
            self.explored.add(room)
            self._visit(room)
            self.names.update(details["seen"])
            for name in details["seen"]:
                is_closed = name in details["closed"]
                if name.startswith("door_"):
                    state = "closed" if is_closed else "open"
                    self._doors.setdefault(name, f"{name} ({state}, {room})")
                    continue
                # Seeing an object tells more than the list of a search.
                states = ("closed",) if is_closed else ()
                self._states.setdefault(name, states)
                self._room[name] = room
            self._holder |= {
                name: place[1] for name, place in details["places"].items()
            }

    def text(self, rooms: Collection[str], here: str, full: int) -> str:
        """Return a paragraph for each room, then the doors. ``full`` rooms are written in full."""
        visited = list(self._visited)
        latest = visited[max(0, len(visited) - full) :]
        lines = []
        words = {}
        for name in self._room:
            states = ", ".join(self._states.get(name, ()))
            words[name] = f"{name} ({states})" if states else name
        for room in rooms:
            inside = [name for name, where in self._room.items() if where == room]
            state = "explored" if room in self.explored else "not explored"
            if room == here:
                state += ", you are here"
            title = f"{room} ({state})"
            if not inside:
                lines.append(title)
                continue
            # Only the latest rooms are written in full, to keep the text short.
            if room not in latest:
                lines.append(f"{title}: {len(inside)} objects")
                continue
            lines.append(f"{title}:")
            # What stands alone first, then what each holder has.
            held: dict[str, list[str]] = {}
            for name in inside:
                held.setdefault(self._holder.get(name, ""), []).append(words[name])
            alone = [
                words[name] for name in inside if name not in {*held, *self._holder}
            ]
            if alone:
                lines.append(f"  {', '.join(alone)}")
            held.pop("", None)
            for holder, names in held.items():
                if holder in inside:  # with its state, as it was seen here
                    holder = words[holder]
                lines.append(f"  in or on {holder}: {', '.join(names)}")
        if self._doors:
            lines.append(f"doors: {', '.join(self._doors.values())}")
        return "\n".join(lines)

    def _visit(self, room: str) -> None:
        """Note the present room as the latest one."""
        self._visited.pop(room, None)  # the latest one stands last
        self._visited[room] = None
        self.here = room


@dataclass(frozen=True)
class PlannerSettings(PromptSettings):
    """Settings of the planner, in addition to those of all prompts. Turning one off is an ablation.

    ``decoding``: ``constrained`` (a JSON answer whose steps have the form of actions) or ``free``
    (labeled lines). ``menu``: the steps of a constrained answer name ``any`` objects, or, by
    default with a small local model, only ``seen`` ones, ``find`` excepted. ``graph``: the scene
    graph is shown, its latest ``rooms`` in full (0: as many as fit), the others as a number of
    objects. ``search``: plans may contain ``find``, and closed doors on the path are opened without
    a new plan. ``check``: plans, and each step before it is taken, are checked against the scene
    graph and revised without taking a step. ``replan``: a failed step leads to a new plan;
    otherwise it is skipped, and the end of the one plan is the end of the episode. An answer may
    take 600 tokens by default. ``eyes=pictures`` needs ``replan``, and turns ``graph`` and
    ``search`` off.
    """

    decoding: Literal["constrained", "free"] = "constrained"
    menu: Literal["any", "seen"] = "any"
    graph: bool = True
    rooms: NotNegative = 0
    search: bool = True
    check: bool = True
    replan: bool = True


class PlannerAgent(AnyWorldAgent):
    """Plans the whole task in one answer, and again if a step fails (LLM-Planner, SayPlan)."""

    Settings = PlannerSettings
    families = frozenset({"household"})
    answer_tokens = 600
    page = "planner.jinja"
    small_model: ClassVar[Mapping[str, Json]] = {"menu": "seen", "thought_length": 200}
    has_eyes = True

    def __init__(self, settings: PlannerSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        if self._sees_only_pictures:
            if not settings.replan:
                # A plan cannot name what no picture has shown yet.
                raise UsageError("eyes=pictures needs replan=true; remove one of them")
            settings = replace(settings, graph=False, search=False)
            self._settings = settings
        self._verbalizer = verbalizer
        self._graph = SceneGraph()
        self._plan: list[Action] = []
        # Places searched and doors opened for the current plan
        self._tried: set[str] = set()
        # Those of them that a search could not get to
        self._unreached: set[str] = set()
        self._has_planned = False
        self._thought = self._reason = ""

    async def act(
        self, observation: HouseholdObservation, space: ActionSpace
    ) -> Decision | Rejection:
        """Return the next action of the plan; ask for a plan when it is used up.

        A plan that cannot be followed is revised up to ``MOST_REVISIONS`` times in a
        turn, then the last rejection is returned.
        """
        actions = cast("HouseholdActions", space)
        self._actor = observation.actor
        self._graph.see(observation)
        # A message may make the plan obsolete.
        if observation.messages and self._settings.replan:
            self._plan = []
            self._reason = ""
        rejection = Rejection("illegal", "no step of the last plans is possible")
        for _ in range(1 + MOST_REVISIONS):
            if not self._plan:
                if self._has_planned and not self._settings.replan:
                    return Decision(STOP)
                refused = await self._make_plan(observation, actions)
                if refused == rejection:
                    break  # the same prompt would get the same answer
                if refused is not None:
                    rejection = refused
                    self._reason = self._prompts.fill(
                        "plan_rejected", reason=refused.reason
                    )
            while self._plan:
                step = self._next(actions)
                if isinstance(step, Action):
                    thought = self._thought
                    self._thought = ""
                    return Decision(step, thought)
                if step and self._settings.replan:
                    self._plan = []
                    self._reason = self._prompts.fill("plan_failed", reason=step)
        return rejection

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Add the result to the history; a failure ends the plan.

        Closed doors in the way are opened first, and an action that slipped is
        repeated, without a new plan.
        """
        self._steps.taken += 1
        self._graph.learn(feedback)
        shown = feedback
        if self._sees_only_pictures:
            shown = verbalizer.without_sight(feedback)
        marks = self._marks
        words = marks.text(generic.feedback(shown, verbalizer))
        if isinstance(decision, Rejection):
            self._history.add(f"{self._steps.taken}. {words}")
            return
        explored = feedback.ok and feedback.details.get("action") == "go_explore"
        result = words
        if explored and self._settings.graph:
            result = "done"  # the graph says what was seen
        written = marks.to_numbers(decision.action)
        self._history.add(f"{self._steps.taken}. {written}: {result}")
        is_search = bool(self._plan) and self._plan[0].name == FIND
        if feedback.ok:
            if is_search:  # what was out of reach may no longer be
                self._tried -= self._unreached
                self._unreached.clear()
            return
        path = list[Action]()
        doors: Sequence[str] = ()
        if self._settings.search:
            doors = feedback.details.get("doors", ())
        closed = [d for d in doors if d in self._graph.names and d not in self._tried]
        if closed:
            path = [Action("goto", (closed[0],)), Action("open", (closed[0],))]
            self._tried.add(closed[0])
        elif doors and self._graph.here not in self._graph.explored | self._tried:
            # To look for a door that was not seen
            path = [Action("go_explore", (self._graph.here,))]
            self._tried.add(self._graph.here)
        if feedback.status == SLIPPED or path:
            self._plan[:0] = *path, decision.action
        elif is_search:
            self._unreached.update(decision.action.arguments)
        elif self._settings.replan:
            self._reason = self._prompts.fill(
                "plan_failed", reason=f"{written}: {words}"
            )
            self._plan = []

    def _next(self, space: HouseholdActions) -> Action | str:
        """Take the next step of the plan.

        Returns why it is not possible, or an empty text if a search has ended. A search
        that goes on stays in the plan, after the action that looks into its next place.
        """
        step = self._plan.pop(0)
        if step.name != FIND:
            is_free = step.name in space.open_verbs or not step.arguments
            is_free = is_free or step.arguments[0] in space.rooms
            is_possible = is_free or Action(step.name, _objects(step)) in space.listed
            if is_possible or not self._settings.check:
                return step
            others = [str(other) for other in space.listed if other.name == step.name]
            instead = ""
            # What is possible would tell what the pictures show.
            if others and not self._sees_only_pictures:
                instead = f"; possible: {', '.join(others[:MOST_EXAMPLES])}"
            written = self._marks.to_numbers(step)
            return f"{written} is not possible now, as far as you know{instead}"
        name, *places = step.arguments
        if name in self._graph.names:
            return ""
        for place in (*places, *space.rooms, *self._graph.closed):
            if place not in self._tried | self._graph.explored:
                self._tried.add(place)
                if place in space.rooms:
                    self._plan.insert(0, step)
                    return Action("go_explore", (place,))
                if place in self._graph.names:
                    self._plan.insert(0, step)
                    return Action("go_check", (place,))
        return f"{step}: it is in no room and no container that you can get to"

    async def _make_plan(
        self, view: HouseholdObservation, space: HouseholdActions
    ) -> Rejection | None:
        """Ask for a plan. Return the rejection of an answer without a plan that can be followed.

        A plan is checked from its start: a step on an unknown object is allowed only
        after one that may reveal it.
        """
        can_search = self._settings.search and "go_explore" in space.body.actions
        marks = self._marks
        verbs = verbs_on_objects(catalog_of(self._prompts, verbalizer, space), space)
        steps = _pattern(space, can_search, self._settings.menu)
        described = self._prompts["plan_steps"]
        example: dict[str, Any] = {"thought": EXAMPLE, "plan": EXAMPLE_PLAN}
        state = verbalizer.self_state(view)[1]
        around = verbalizer.around(view, None)
        # Names would reveal what the pictures show, so marks replace them.
        if self._sees_only_pictures:
            marked = marks.schema_space(marks.space(space, verbs), verbs)
            forms = [rf"{verb}\[{TEXT}\]" for verb in marked.open_verbs]
            steps = pattern(ActionSpace(marked.listed, forms=(*marked.forms, *forms)))
            described = self._prompts["plan_steps_seen"]
            example = {"thought": SEEN_EXAMPLE, "plan": SEEN_PLAN}
            state = marks.text(state)
            around = verbalizer.unpictured(view, None)
        form = AnswerForm(
            Field("Thought", self._prompts["plan_thought"]),
            Field("Plan", described, pattern=steps, many=True, least=1),
        )
        search_slots = {}
        if can_search:
            search_slots["doors"] = OPENED_DOORS
        fixed = self._system_text(
            space,
            searches=can_search,
            **search_slots,
            form=form.request(self._constrained, **example),
        )
        now = joined(state, around, gap="\n")
        slots: dict[str, object] = {
            "view": now,
            "reason": self._reason,
            "left": self._steps.left(),
        }
        task = instruction(self._episode, view.actor)
        # Filled without the graph first, to measure the room that is left for it.
        rest = self._prompts.fill(
            "user", instruction=task, graph="", steps="", count=0, looks="", **slots
        )
        graph = self._graph_text(view, space, len(fixed + rest))
        reply = await self._fill_in(form, fixed, (), graph=graph, **slots)
        if (unreadable := reply.unreadable()) is not None:
            return unreadable
        answer = form.read(reply.text) or {"thought": "", "plan": []}
        thought = str(answer["thought"])
        plan = list[Action]()
        known = {*self._graph.names, *space.rooms}
        # True from a step on that may reveal objects whose names are not known yet.
        may_be_seen = False

        def accepts(action: Action) -> bool:
            """True for a legal action, and for a search where the body can search."""
            return action in space or (
                can_search and action.name == FIND and any(action.arguments)
            )

        legal = Legal(ActionSpace(space.listed, space.open_verbs, accepts))
        if self._sees_only_pictures:
            legal = Legal(marks.space(space, verbs))
        for number, text in enumerate(answer["plan"], 1):
            step = legal.read(text)
            if isinstance(step, Refusal):
                return reply.reject(step.kind, f"step {number}: {step.reason}", thought)
            if self._sees_only_pictures:
                step = marks.to_names(step)
            elif step.name not in space.open_verbs:
                step = _spelled(step, known)
                unseen = [word for word in _objects(step) if word not in known]
                may_be_seen |= step.name in SEEING
                if unseen and self._settings.check and not may_be_seen:
                    reason = self._prompts.fill(
                        "plan_unseen", step=str(step), object=unseen[0]
                    )
                    return reply.reject("illegal", reason, thought)
            plan.append(step)
        if not plan:
            return reply.reject("no_action", "the answer contains no plan", thought)
        # Assigned only now: a rejected plan must leave the state as it was.
        self._plan = plan
        self._reason = self._prompts["plan_ended"]
        self._tried.clear()
        self._has_planned = True
        self._thought = joined(thought, f"Plan: {'; '.join(map(str, plan))}", gap=" ")
        return None

    def _graph_text(
        self, view: HouseholdObservation, space: HouseholdActions, rest: int
    ) -> str:
        """Return the scene graph; as many rooms in full as fit next to the ``rest`` of a prompt.

        ``rest`` is in characters. Empty with ``graph=false``.
        """
        if not self._settings.graph:
            return ""
        tokens = self._budget.context - self._budget.answer
        room = tokens * self._budget.characters_per_token
        full = self._settings.rooms or len(space.rooms)
        graph = self._graph.text(space.rooms, view.room, full)
        while full > 0 and len(graph) + rest >= room:
            full -= 1
            graph = self._graph.text(space.rooms, view.room, full)
        return graph


def _pattern(space: HouseholdActions, can_search: bool, menu: str) -> str:
    """Return a regular expression for the steps of a plan: every verb of the body, any names."""
    forms = []
    if can_search:
        forms.append(rf"{FIND}\[{NAME}(, {NAME}){{0,{MOST_PLACES}}}\]")
    forms += [rf"{verb}\[{TEXT}\]" for verb in space.open_verbs]
    if menu == "seen":
        return pattern(ActionSpace(space.listed, forms=tuple(forms)))
    for verb in VERBS.values():
        count = len(verb.slots)
        if "text" not in verb.slots and Action(verb.name, ("x",) * count) in space:
            form = verb.name
            if count:
                form += rf"\[{', '.join([NAME] * count)}\]"
            forms.append(form)
    return pattern(ActionSpace((), forms=tuple(forms)))


def _objects(step: Action) -> tuple[str, ...]:
    """Return the arguments of a step, without a spot on furniture, which is not a name."""
    if step.name == FIND:
        return step.arguments
    return step.arguments[: len(VERBS[step.name].slots)]


def _spelled(step: Action, known: Collection[str]) -> Action:
    """Return a step with unknown names as the world spells them.

    ``find[Egg]`` is ``find[egg_1]``: names are lower case, with a number.
    """
    objects = _objects(step)
    words = []
    for word in objects:
        if word not in known:
            word = re.sub(r"[\s\-]+", "_", word.lower())
        words.append(word)
    if step.name == FIND and not words[0][-1:].isdigit():
        words[0] += "_1"
    return Action(step.name, (*words, *step.arguments[len(objects) :]))


agent = PlannerAgent
