"""The grid world: BabyAI levels from the package ``minigrid``, as text.

    >>> from wayword.core.action import Action
    >>> from wayword.core.episode import Episode
    >>> world = BabyAIWorld("GoToObj")
    >>> world.reset(Episode("1", "go to the green key", "GoToObj", {"seed": 0}))
    >>> [(seen.name, seen.ahead, seen.right) for seen in world.observe("agent").objects]
    [('green_key_1', 2, 1)]
    >>> world.step("agent", Action("pick_up")).status
    'nothing_there'

Rules, instructions, step limits and success come from the package. ``low`` has the package's
actions, each one step; ``high`` has skills over the squares seen so far. Every motion takes time,
even if it fails; a failed motion changes nothing else. A skill is planned before its first step, so
a failed skill changes nothing and takes no time.

Source: BabyAI (Chevalier-Boisvert et al. 2019, arXiv:1810.08272); as a task for language agents,
LangSuitE (Jia et al. 2024, arXiv:2406.16294), "instruction grounding" and Table 2. The skills are
this project's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from wayword.core.action import STOP, Action, ActionSpace, LazyActions
from wayword.core.episode import Episode, Json, JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.world import Feedback, World
from wayword.worlds.babyai import level as lv
from wayword.worlds.babyai.level import (
    BabyAIObservation,
    IsGoal,
    Level,
    LevelNames,
    Square,
)

CODES = {
    "move_ahead": lv.FORWARD,
    "turn_left": lv.LEFT,
    "turn_right": lv.RIGHT,
    "pick_up": lv.PICK_UP,
    "drop": lv.DROP,
    "toggle": lv.TOGGLE,
}
"""Verb -> the package's action code."""
LOW_LEVEL = (*CODES, "stop")

Details = dict[str, Json]
Outcome = tuple[str, Details]
"""A status, with a sentence for each failure in ``sentences.toml``, and its details."""


def predict_outcome(
    level: Level,
    names: LevelNames,
    verb: str,
) -> Outcome:
    """Return the outcome of a motion that is about to be carried out.

    The package reports none, so it has to be known from the state before.
    """
    # A turn always works.
    if verb.startswith("turn"):
        return "ok", {}
    # Read before the package acts, since it reports neither success nor cause.
    held = level.carried
    front = level.at(*level.env.front_pos)
    name = ""
    if front is not None:
        name = names.name_of(front)
    if verb == "move_ahead":
        if front is None or front.can_overlap():
            return ("ok", {})
        return ("blocked", {"by": name})
    if verb == "drop" and held is None:
        return "hands_empty", {}
    # The package drops only on an empty square.
    if verb == "drop":
        if front:
            return ("taken", {"by": name})
        return ("ok", {"object": names.name_of(held)})
    if front is None:
        return "nothing_there", {}
    if verb == "pick_up":
        return pick_up_failure(level, names, front) or ("ok", {"object": name})
    if failure := open_failure(level, names, front):
        return failure
    # A box is destroyed by opening; a door toggles.
    opens = front.type == "box" or not getattr(front, "is_open", False)
    return "ok", {"object": name, "opens": opens}


def pick_up_failure(
    level: Level,
    names: LevelNames,
    obj: Any,
) -> Outcome | None:
    """Return the failure of picking an object up; None if it succeeds."""
    if not obj.can_pickup():
        return "not_pickupable", {"object": names.name_of(obj)}
    # One hand.
    if level.carried is not None:
        return "hands_full", {"holding": names.name_of(level.carried)}
    return None


def open_failure(
    level: Level,
    names: LevelNames,
    obj: Any,
) -> Outcome | None:
    """Return the failure of opening an object; None if it succeeds."""
    if obj.type not in ("door", "box"):
        return "not_openable", {"object": names.name_of(obj)}
    if obj.type == "door" and obj.is_locked:
        # Only the key of the same color opens a lock.
        held = level.carried
        if held is None or held.type != "key" or held.color != obj.color:
            return "locked", {"object": names.name_of(obj), "key": f"{obj.color} key"}
    return None


class SkillFailed(Exception):
    """Raised when a skill cannot be run; has a status and details."""

    def __init__(self, status: str, details: Details) -> None:
        super().__init__(status)
        self.status = status
        self.details = details


ON_OBJECT = ("goto", "go_grab", "go_open", "go_put")  # skills with an object argument
HIGH_LEVEL = (
    *ON_OBJECT,
    "go_explore",
    "turn_left",
    "turn_right",
    "drop",
    "stop",
)


class LevelWalker:
    """An actor that runs skills and remembers explored squares. Skills raise ``SkillFailed``."""

    def __init__(
        self,
        level: Level,
        names: LevelNames,
        on_step: Callable[[], None],
    ) -> None:
        self.level = level
        self.object_names = names
        # What is in view at the start counts as explored.
        self.explored: set[Square] = set(lv.visible_squares(level))
        self._on_step = on_step

    def remember(self) -> None:
        """Add the visible squares to the explored ones."""
        self.explored.update(lv.visible_squares(self.level))
        self._on_step()

    def goto(self, name: str) -> Details:
        """Walk up to an object and face it."""
        return self._go(name)

    def go_grab(self, name: str) -> Details:
        """Go to an object and pick it up."""
        obj, _ = self._locate(name)
        # Tested before the walk: a failed skill takes no time.
        if failure := pick_up_failure(self.level, self.object_names, obj):
            raise SkillFailed(*failure)
        return self._go(name, lv.PICK_UP)

    def go_open(self, name: str) -> Details:
        """Go to a door or a box and open it."""
        obj, _ = self._locate(name)
        if failure := open_failure(self.level, self.object_names, obj):
            raise SkillFailed(*failure)
        if obj.type == "door" and obj.is_open:
            raise SkillFailed("already_open", {"object": name})
        return self._go(name, lv.TOGGLE)

    def go_put(self, name: str) -> Details:
        """Go to an object and put the held object on a free square next to it."""
        _, place = self._locate(name)
        held = self.level.carried
        if held is None:
            raise SkillFailed("hands_empty", {})

        def is_goal(_: Square, front: Square) -> bool:
            """True in front of a free, explored square next to the object."""
            # The square in front must be empty, seen, and next to the object.
            is_free = front in self.explored and self.level.at(*front) is None
            return is_free and abs(front[0] - place[0]) + abs(front[1] - place[1]) == 1

        self._walk(is_goal, SkillFailed("no_path", {"place": name}), lv.DROP)
        return {"object": self.object_names.name_of(held), "place": name}

    def go_explore(self) -> Details:
        """Walk towards the nearest unexplored square until it or a new object is seen."""
        # Off the grid there is nothing to explore.
        width = self.level.env.width
        height = self.level.env.height
        # The search calls this for each state, so the last call holds the square that
        # was found.
        goal: list[Square] = []

        def is_unseen(_: Square, front: Square) -> bool:
            """True in front of an unexplored square of the grid."""
            goal[:] = [front]
            return (
                0 <= front[0] < width
                and 0 <= front[1] < height
                and front not in self.explored
            )

        # A new object ends the walk early: the actor may want it.
        name_count = len(self.object_names.objects)
        self._walk(
            is_unseen,
            SkillFailed("nothing_unseen", {}),
            is_done=lambda: (
                len(self.object_names.objects) > name_count or goal[0] in self.explored
            ),
        )
        return {"seen": list(self.object_names.objects)[name_count:]}

    def _locate(self, name: str) -> tuple[Any, Square]:
        """Return an object and its square. Raises ``SkillFailed`` if it is nowhere or held."""
        # Unknown names and destroyed boxes are the same to the actor.
        obj = self.object_names.objects.get(name)
        if obj is None:
            raise SkillFailed("no_such_object", {"object": name})
        if obj is self.level.carried:
            raise SkillFailed("already_held", {"object": name})
        place = self.level.find(obj)
        if place is None:
            raise SkillFailed("no_such_object", {"object": name})
        return obj, place

    def _go(self, name: str, *final_codes: int) -> Details:
        """Walk until an object is right ahead, then carry out ``final_codes``."""
        _, place = self._locate(name)
        failure = SkillFailed("no_path", {"place": name})
        self._walk(lambda _, front: front == place, failure, *final_codes)
        return {"object": name}

    def _walk(
        self,
        is_goal: IsGoal,
        failure: SkillFailed,
        *final_codes: int,
        is_done: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take the shortest path over explored squares, then carry out ``final_codes``."""
        # Only over squares that the actor has seen: skills know no more than it does.
        codes = lv.route(self.level, is_goal, self.explored)
        if codes is None:
            raise failure
        for code in (*codes, *final_codes):
            # The level may end on the way, by success or by its limit.
            if not self.level.over:
                self.level.act(code)
                self.remember()
                if is_done():
                    return


class SkillMenu:
    """The action choices of an actor that runs skills.

    *Listed* are the skills that apply to objects it has seen and that still exist. *Accepted* is
    every well-formed skill; it may fail.
    """

    def __init__(self, level: Level, names: LevelNames) -> None:
        self._level = level
        self._names = names
        # Objects named later are not listed, as the menu belongs to an observation.
        self._count = len(names.objects)

    def accepts(self, action: Action) -> bool:
        """True for a skill with the right number of arguments."""
        words = action.arguments
        # Skills take one object or nothing.
        expected = 1 if action.name in ON_OBJECT else 0
        return action.name in HIGH_LEVEL and len(words) == expected and all(words)

    def knows(self, action: Action) -> bool:
        """True if it is well-formed and uses exact names of objects."""
        known_names = self._names.objects.keys()
        return self.accepts(action) and set(action.arguments) <= known_names

    def listed(self) -> list[Action]:
        """Return the skills on objects that still exist, then those without an object."""
        objects = list(self._names.objects.items())[: self._count]
        # A box that was opened no longer exists.
        present = [(name, obj) for name, obj in objects if self._level.find(obj)]
        suits_verb: dict[str, Callable[[Any], bool]] = {
            "goto": lambda obj: True,
            "go_grab": lambda obj: bool(obj.can_pickup()),
            "go_open": lambda obj: obj.type in ("door", "box"),
            "go_put": lambda obj: self._level.carried is not None,
        }
        actions: list[Action] = []
        for verb, suits in suits_verb.items():
            actions += [Action(verb, (name,)) for name, obj in present if suits(obj)]
        # Verbs without an object are always possible.
        actions += [Action(verb) for verb in HIGH_LEVEL if verb not in ON_OBJECT]
        return actions


Actions = Literal["low", "high"]
LOW_LEVEL_MENU = tuple(Action(verb) for verb in LOW_LEVEL)


class BabyAIWorld(World):
    """A BabyAI level with one actor; family ``"babyai"``. ``Episode.scene`` names the level, and
    ``Episode.start["seed"]`` generates it. Raises ``UsageError`` for an unknown level."""

    actors: tuple[str, ...] = ("agent",)

    def __init__(self, level: str, actions: Actions = "low") -> None:
        if actions not in ("low", "high"):
            raise UsageError(f"actions must be 'low' or 'high', got {actions!r}")
        self.level = Level(level)
        self._runs_skills = actions == "high"
        self._started = False

    @property
    def verbs(self) -> tuple[str, ...]:
        """Verbs of the action set."""
        return HIGH_LEVEL if self._runs_skills else LOW_LEVEL

    def reset(self, episode: Episode) -> None:
        """Start an episode. Raises ``DataError`` for another level or an invalid seed."""
        where = f"episode {episode.id}"
        if episode.scene != self.level.name:
            problem = f"must be {self.level.name!r}, this world's level, got {episode.scene!r}"
            raise DataError(where, "field 'scene'", problem)
        seed = episode.start.get("seed")
        if not isinstance(seed, int) or seed < 0:
            raise DataError(
                where,
                "field 'seed'",
                f"must be an integer >= 0, got {seed!r}",
            )
        self.level.start(seed)
        self._actor = episode.actors[0]
        # After the level: an invalid seed leaves the world as it was.
        self._started = True
        self._stopped = False
        self._idle = 0
        self.actors = episode.actors[:1]
        self.names = LevelNames()
        self._update_view()
        self._walker: LevelWalker | None = None
        if self._runs_skills:
            self._walker = LevelWalker(
                self.level,
                self.names,
                self._update_view,
            )

    def observe(self, actor: str) -> BabyAIObservation:
        """Return the current view."""
        self._check(actor)
        return self._view

    def action_space(self, actor: str) -> ActionSpace:
        """Return the fixed menu of motions, or the skills on objects seen so far."""
        self._check(actor)
        if self._walker is None:
            return ActionSpace(LOW_LEVEL_MENU)
        menu = SkillMenu(self.level, self.names)
        return ActionSpace(
            LazyActions(menu.listed),
            accepts=menu.accepts,
            named=menu.knows,
        )

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out an action of the menu; others raise ``ValueError``."""
        if self.done(actor) or action not in self.action_space(actor):
            raise ValueError(f"{action} is not on the menu of {actor}")
        level = self.level
        verb = action.name
        # Compared afterwards, to count actions that took no time.
        before = self.level.steps
        # The package's own "done" ends levels that ask for it.
        if verb == STOP.name:
            status = "ok"
            details = dict[str, Json]()
            level.act(lv.DONE)
            self._stopped = True
        elif self._walker is not None and verb not in CODES:
            try:
                # Skills are methods of the walker, by name; the menu has checked the
                # name.
                status = "ok"
                details = getattr(self._walker, verb)(*action.arguments)
            except SkillFailed as failure:
                status = failure.status
                details = failure.details
        else:
            # The outcome is predicted, because the package tells none.
            status, details = predict_outcome(level, self.names, verb)
            level.act(CODES[verb])
            if self._walker:
                self._walker.remember()  # which updates the view too
            else:
                self._update_view()
        # Failed skills and a stop at the end are free; many in a row mean a confused
        # agent.
        if level.steps == before:
            self._idle += 1
        if level.over:
            details["succeeded"] = level.reward > 0
        return Feedback(status, {"action": verb, **details})

    def done(self, actor: str) -> bool:
        """True once the level has ended or the actor has stopped."""
        self._check(actor)
        return self._stopped or self.level.over

    def pose(self, actor: str) -> JsonObject:
        """Return x (east) and y (south) in squares, and the heading in degrees."""
        self._check(actor)
        x, y = self.level.place
        return {
            "x": x,
            "y": y,
            "heading": lv.HEADINGS[self.level.facing],
        }

    def state(self) -> JsonObject:
        """Return the full grid and the level's status.

        ``walls`` are rows from the north, ``#`` for a wall; ``things`` are all other objects (the
        bench's checksums contain these keys). ``idle`` counts actions that took no step.
        """
        level = self.level
        grid = self.level.env.grid
        held = self.level.carried
        rows = []
        objects = []
        # From north to south, as the grid is drawn.
        for y in range(grid.height):
            row = ""
            for x in range(grid.width):
                obj = level.at(x, y)
                is_wall = getattr(obj, "type", "") == "wall"
                row += "#" if is_wall else "."
                if obj is not None and not is_wall:
                    record = {
                        "kind": obj.type,
                        "colour": obj.color,
                        "state": lv.door_state(obj),
                        "x": x,
                        "y": y,
                    }
                    objects.append(record)
            rows.append(row)
        return {
            "level": level.name,
            "mission": level.mission,
            "success": level.reward > 0,
            "reward": level.reward,
            "over": level.over,
            "steps": level.steps,
            "idle": self._idle,
            "most_steps": int(level.env.max_steps),
            "actor": {
                **self.pose(self._actor),
                "holding": held and f"{held.color} {held.type}",
            },
            "walls": rows,
            "things": objects,
        }

    def _update_view(self) -> None:
        """Read the view of the level; new objects get names."""
        self._view = lv.observe_level(self.level, self.names, self._actor)

    def _check(self, actor: str) -> None:
        """Raise ``ValueError`` before the first reset, and for another actor."""
        if not self._started:
            raise ValueError("the world has no episode: call reset() first")
        if actor != self._actor:
            raise ValueError(f"unknown actor {actor!r}")


world = BabyAIWorld
