"""Home tasks as one growing text of questions that are answered by yes or no.

    wayword run act --on household:valid_seen --model local:act

At every turn a line says what is held and what the request comes to, read by plain rules
(:mod:`~wayword.agents.household.chores`). Then each high-level action that can matter has a line
that ends in signs and a question mark; the action with the most probable yes is taken, and a line
says what came of it. Text is only ever appended: a model with a prefix cache reads every token
once, and the last prompt of an episode is a training example. A text that has grown too long is
begun anew: the request stands in it again, and the signs say what has been seen and done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wayword.agents.clauses import NO, YES
from wayword.agents.household.chores import (
    CARRIERS,
    KNIVES,
    LAMPS,
    AskedChore,
    Belief,
    Lexicon,
    kind,
)
from wayword.agents.prompting import Prompts
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.world import Feedback, Observation
from wayword.worlds.household.observation import HouseholdObservation

# What a request leaves to be done, by what is known: the actions worth weighing.

SURFACES = ("counter_top", "dining_table", "side_table", "coffee_table", "desk", "dresser", "shelf")
"""Where a thing that is in the way is put down."""
DOWN = "put down"
"""Sign of a way to get rid of what is held."""
WAYS_DOWN = 3
"""Surfaces among which it is chosen."""
OFTEN = 3
"""Times that an action is offered in an episode, so that no walk goes round in circles for ever."""
ALIKE = 2
"""Things of one type with the same signs that are listed."""
PLACES = 3
"""Pieces of the furniture that is asked for among which it is chosen."""
SEARCHED = 5
"""Types of receptacles, one piece of each, that a search may look into next."""
LAMP_NEAR = 1.5
"""Metres from which something is seen in a lamp's light: the rules of the task say so."""
TREATING = {"heat": ("microwave",), "cool": ("fridge",), "clean": ("sink_basin", "bathtub_basin")}


@dataclass(frozen=True, slots=True)
class Option:
    """An action worth weighing; ``signs`` end its line."""

    action: Action
    signs: tuple[str, ...]


class ChoreState:
    """A chore against what is known: what is next, and what may be done."""

    def __init__(self, chore: AskedChore, belief: Belief, space: ActionSpace) -> None:
        self.chore, self.belief = chore, belief
        tried = belief.tried
        self.listed = [
            a for a in space.listed if a not in belief.failed and tried.get(a, 0) < OFTEN
        ]
        self.held = belief.held[-1] if belief.held else ""
        self.wanted, self.targets = self.next()

    def next(self) -> tuple[str, tuple[str, ...]]:
        """The next errand by plain rules: a verb, and the things (or types to look for) it is
        about."""
        chore = self.chore
        if chore.sliced and not self._cut():
            return self._to_slice()
        if self.held and kind(self.held) not in (*chore.things, *chore.carriers):
            return "down", ()
        if self.held:
            return self._with_held()
        full = self.belief.full
        if full:  # take something out of it
            inside = tuple(n for n in self.belief.things if self._container(n) in full)
            return ("go_grab", inside) if inside else ("go_check", tuple(full))
        places = [self._container(name) for name in self._there()]
        most = max((places.count(place) for place in places), default=0)
        if not chore.lit and most >= (2 if chore.two else 1):
            return "stop", ()
        loaded = tuple(n for n in self.belief.of(chore.carriers) if self._is_loaded(n))
        return ("go_grab", loaded) if loaded else self._get(self._raw(), chore.things)

    def _to_slice(self) -> tuple[str, tuple[str, ...]]:
        known = self.belief.best(self.chore.things)
        things = tuple(n for n in known if "sliced" not in self.belief.things[n].states)
        if kind(self.held) not in KNIVES:
            return ("down", ()) if self.held else self._get(self.belief.of(KNIVES), KNIVES)
        if not things:
            return "find", self.chore.things
        near = tuple(a.arguments[0] for a in self.listed if a.name == "slice")
        cut = tuple(name for name in near if name in things)
        return ("slice", cut) if cut else ("goto", things)

    def _with_held(self) -> tuple[str, tuple[str, ...]]:
        chore, held = self.chore, self.held
        if chore.lit:
            return self._to_lamp()
        carried = kind(held) in chore.carriers and (self._is_loaded(held) or not self._thing(held))
        if chore.treatment and held not in self.belief.treated and not carried:
            tools = TREATING[chore.treatment]
            return self._about(chore.treatment, self.belief.best(tools), tools)
        if chore.carriers and not carried:
            carriers = [name for name in self.belief.best(chore.carriers) if name != held]
            return self._about("go_put", carriers, chore.carriers)
        # The place where the first of two lies, where it does.
        places = self.belief.best(chore.places)
        first = [self._container(name) for name in self._there()] if chore.two else []
        places = [name for name in places if name in first] or places
        if places and set(places) <= self.belief.full:
            return "down", ()
        return self._about("go_put", places, chore.places)

    def _to_lamp(self) -> tuple[str, tuple[str, ...]]:
        belief = self.belief
        lamps = belief.best(self.chore.places) or belief.of(tuple(LAMPS))
        for lamp in lamps:
            near = belief.near.get(lamp, 99.0) <= LAMP_NEAR
            if near and "on" in belief.things[lamp].states:
                return "stop", ()
            if near and Action("toggle_on", (lamp,)) in self.listed:
                return "toggle_on", (lamp,)
        return self._about("goto", lamps, self.chore.places)

    def _about(
        self, verb: str, things: Sequence[str], types: Sequence[str]
    ) -> tuple[str, tuple[str, ...]]:
        return (verb, tuple(things)) if things else ("find", tuple(types))

    def _get(self, things: Sequence[str], types: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Grab one of the things; where they are shut in, look there first."""
        known = {name: self.belief.things[name] for name in things}
        free = [n for n, at in known.items() if not (at.within and self._shut(at.container))]
        if free:
            return "go_grab", tuple(free)
        return self._about("go_check", [self._container(name) for name in things], types)

    def _raw(self) -> list[str]:
        """Things that are asked for and not where they should be."""
        there, sliced = self._there(), self.chore.sliced
        things = [name for name in self.belief.best(self.chore.things) if name not in there]
        if self.chore.two and there:
            things = [name for name in things if kind(name) == kind(there[0])]
        cut = [name for name in things if "sliced" in self.belief.things[name].states]
        things = cut if sliced else things
        put_back = [name for name in things if kind(self._container(name)) in self.chore.places]
        return put_back or things if self.chore.treatment else things

    def _there(self) -> list[str]:
        """Things that are where they should be, and as they should be."""
        chore, belief = self.chore, self.belief
        found = []
        for name in belief.best(chore.things):
            box = self._container(name)
            if chore.carriers:
                box = self._container(box) if kind(box) in chore.carriers else ""
            right = kind(box) in chore.places and kind(box) in map(kind, belief.best(chore.places))
            done = not chore.treatment or name in belief.treated
            cut = not chore.sliced or "sliced" in belief.things[name].states
            if right and done and cut and name not in belief.held:
                found.append(name)
        return found

    def _is_loaded(self, carrier: str) -> bool:
        inside = {name for name in self.belief.things if self._container(name) == carrier}
        inside |= set(self.belief.inside) if carrier in self.belief.held else set()
        return any(self._thing(name) for name in inside)

    def _cut(self) -> bool:
        """Whether as many are sliced as are wanted."""
        things = self.belief.of(self.chore.things)
        sliced = [name for name in things if "sliced" in self.belief.things[name].states]
        return len(sliced) >= 1 + self.chore.two

    def _thing(self, name: str) -> bool:
        return kind(name) in self.chore.things

    def _container(self, name: str) -> str:
        known = self.belief.things.get(name)
        return known.container if known else ""

    def _shut(self, name: str) -> bool:
        known = self.belief.things.get(name)
        return known is not None and "closed" in known.states

    # The choices.

    def options(self) -> list[Option]:
        """The actions that can matter, with their signs; two of those that read alike."""
        found: list[Option] = []
        counted: dict[tuple[str, ...], int] = {}
        for option in (*self._hands(), *self._search()):
            key = (option.action.name, *map(kind, option.action.arguments[:1]), *option.signs)
            counted[key] = counted.get(key, 0) + 1
            if counted[key] <= ALIKE:
                found.append(option)
        left = {"stop": "all done", "find": "not found yet"}.get(self.wanted, "not done yet")
        found.append(self._option(STOP, left))
        return found

    def _hands(self) -> Iterator[Option]:
        grabs = [a for a in self.listed if a.name in ("go_grab", "slice")]
        for action in grabs:
            name = action.arguments[0]
            in_way = "in the way" * (self._container(name) in self.belief.full)
            if role := self._role(name) or in_way:
                yield self._option(action, role, "there" * (name in self._there()))
        tools = TREATING.get(self.chore.treatment, ())
        for action in self.listed:
            if action.name == self.chore.treatment and kind(action.arguments[1]) in tools:
                if not self._thing(action.arguments[0]):
                    continue
                done = "done before" * (action.arguments[0] in self.belief.treated)
                yield self._option(action, self._role(action.arguments[0]), done)
        yield from self._puts()
        yield from self._goes()

    def _puts(self) -> Iterator[Option]:
        puts = {a.arguments[0]: a for a in self.listed if a.name == "go_put"}
        with_first = {self._container(name) for name in self._there()} if self.chore.two else set()
        named = [] if self.chore.lit else self._sorted(puts, self.chore.places, with_first)
        named += [n for n in self._sorted(puts, self.chore.carriers, set()) if n not in named]
        for name in named:
            role = "carrier" if kind(name) in self.chore.carriers else "place"
            yield self._option(puts[name], role, "with the other" * (name in with_first))
        if self.wanted == "down":
            under = [self._container(name) for name in self.belief.best(self.chore.things)]
            around = sorted(self.belief.near, key=self.belief.near.__getitem__)
            flat = [name for name in around if kind(name) in SURFACES]
            flat += [name for name in puts if kind(name) in SURFACES]
            ways = [n for n in dict.fromkeys([*under, *flat]) if n in puts and n not in named]
            for name in ways[:WAYS_DOWN]:
                yield self._option(puts[name], DOWN)

    def _sorted(
        self, puts: Collection[str], types: Sequence[str], first: Collection[str]
    ) -> list[str]:
        """The places of the likeliest type, the nearest first, before them those in ``first``."""
        names = [name for name in self.belief.best(types) if name in puts]
        near = self.belief.near
        return sorted(names, key=lambda n: (n not in first, near.get(n, 99.0)))[:PLACES]

    def _goes(self) -> Iterator[Option]:
        lamps = self.chore.lit and self.held
        knife = self.chore.sliced and kind(self.held) in KNIVES
        for action in self.listed:
            name = action.arguments[0] if action.arguments else ""
            if action.name == "toggle_on" and lamps and kind(name) in LAMPS:
                yield self._option(action, "lamp")
            elif action.name == "goto" and lamps and kind(name) in LAMPS:
                near = self.belief.near.get(name, 99.0) <= LAMP_NEAR
                yield self._option(action, "lamp", "near" * near)
            elif action.name == "goto" and knife and self._thing(name):
                yield self._option(action, self._role(name))

    def _search(self) -> Iterator[Option]:
        """Where to look for what is missing; one piece of each type of receptacle."""
        sought = self.targets[0] if self.wanted == "find" and self.targets else ""
        for action in self.listed:
            if action.name == "go_explore" and action.arguments[0] not in self.belief.explored:
                yield self._option(action, f"find {sought}" if sought else "look around")
        if not sought and self.wanted != "go_check":
            return
        checks = {a.arguments[0]: a for a in self.listed if a.name == "go_check"}
        if self.wanted == "go_check":
            names = [name for name in checks if name in self.targets]
        else:
            seen = self.belief.checked
            names = [n for n in checks if n not in seen and kind(n) not in CARRIERS]
        near = self.belief.near
        names.sort(key=lambda name: (not self._shut(name), near.get(name, 99.0)))
        first: dict[str, str] = {}
        for name in names:
            first.setdefault(kind(name), name)
        for name in list(first.values())[:SEARCHED]:
            shut = "closed" if self._shut(name) else "open"
            told = f"find {sought}" if sought else "it is in there"
            yield self._option(checks[name], shut, told)

    def _option(self, action: Action, *signs: str) -> Option:
        wanted, targets, words = self.wanted, self.targets, action.arguments
        if wanted == "find":
            rooms = {a.arguments[0] for a in self.listed if a.name == "go_explore"}
            unseen = rooms - self.belief.explored
            due = action.name == ("go_explore" if unseen else "go_check")
        elif wanted == "down":
            due = action.name == "go_put"
        else:
            due = action.name == wanted and (not targets or words[-1] in targets)
        return Option(action, (*filter(None, signs), *(("next",) if due else ())))

    def _role(self, name: str) -> str:
        """Which part a thing plays in the request, and how surely."""
        chore = self.chore
        for role, types in (("thing", chore.things), ("carrier", chore.carriers)):
            if kind(name) in types:
                likeliest = name in self.belief.best(types)
                return role if likeliest else f"perhaps {role}"
        return "knife" if chore.sliced and kind(name) in KNIVES and not self._cut() else ""


# The text.

LONGEST = 7000
"""Characters behind which the text begins anew: shipped weights have learnt from texts of up to
4,096 tokens of some two characters."""

BEGUN_ANEW = "text_begun_anew"
"""Kind of the note that says so."""


class HomeWalk:
    """One actor's home task. ``answers`` maps each decision to its answer to the question that is
    asked; training reads it."""

    def __init__(self, toolkit: Toolkit, prompts: str = "") -> None:
        self._toolkit, self._prompts = toolkit, Prompts(__file__, prompts)
        self._request = self.prompt = ""
        self._turn: _Turn | None = None
        self._asked = Option(STOP, ())
        self._chore, self._belief = AskedChore(), Belief()

    @property
    def answers(self) -> Mapping[Action, str]:
        return self._turn.answers(self._asked) if self._turn else {}

    async def begin(self, episode: Episode) -> None:
        request = " ".join(episode.instruction.split())
        names = (self._prompts[each] for each in ("things", "places", "words"))
        self._chore = Lexicon.read(*names).chore(request)
        self._belief = Belief()
        self._request = self._prompts.fill("task", request=request) + "\n"
        self.prompt = self._request
        self._turn = None

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        self._look(observation)
        chosen = ChoreState(self._chore, self._belief, space).options()
        if len(self.prompt) > LONGEST:
            self.prompt = self._request
            self._toolkit.note(BEGUN_ANEW, characters=LONGEST)
        self.prompt += self._heading()
        self._turn = _Turn(chosen, space)
        likely: dict[Action, float] = {}
        for option in chosen:
            action = option.action
            known = self._belief.things.get(action.arguments[0] if action.arguments else "")
            where = known.container if known and action.name == "go_grab" else ""
            told = _spoken(action) + (f" from {where}" if where else "")
            signs = ", ".join(option.signs)
            self.prompt += "\n" + self._prompts.fill("option", action=told, signs=signs)
            self._asked = option
            choice = await self._toolkit.model().choose(self.prompt, [NO, YES])
            likely[option.action] = choice.logprobs[1] - choice.logprobs[0]
        return Decision(max(likely, key=likely.__getitem__))

    async def recall(
        self, observation: Observation, space: ActionSpace, decision: Decision | Rejection
    ) -> None:
        self._look(observation)
        if isinstance(decision, Decision):
            self.prompt += self._heading()

    def _look(self, observation: Observation) -> None:
        if not isinstance(observation, HouseholdObservation):
            raise UsageError("layout=walk is for homes; leave it out in other worlds")
        self._belief.see(observation)

    def _heading(self) -> str:
        states = dict.fromkeys(self._belief.held, "as found")
        states |= {name: "treated" for name in states if name in self._belief.treated}
        held = ", ".join(f"{name} ({state})" for name, state in states.items()) or "nothing"
        return self._prompts.fill("turn", held=held, chore=spoken(self._chore))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if isinstance(decision, Decision):
            self._belief.take(decision.action, feedback)
            outcome = "done" if feedback.ok else feedback.status.replace("_", " ")
            action = _spoken(decision.action)
            self.prompt += "\n" + self._prompts.fill("went", action=action, outcome=outcome) + "\n"


def spoken(chore: AskedChore) -> str:
    """A chore in a few words: ``two mug, heat, sliced, in bowl, to desk``."""
    parts = [("two " if chore.two else "") + " or ".join(chore.things[:2])]
    parts += ["sliced" * chore.sliced, chore.treatment]
    parts += [f"in {chore.carriers[0]}" if chore.carriers else ""]
    parts += [f"{'by' if chore.lit else 'to'} {chore.places[0]}" if chore.places else ""]
    return ", ".join(filter(None, parts))


def _spoken(action: Action) -> str:
    return " ".join([action.name, *action.arguments])


class _Turn:
    """The options of a turn, and which decisions come to the same."""

    def __init__(self, options: Sequence[Option], space: ActionSpace) -> None:
        self._keys = {option.action: _like(option) for option in options}
        known = set(self._keys.values())
        for action in space.listed:
            if action not in self._keys:
                as_down = _like(Option(action, (DOWN,)))
                self._keys[action] = as_down if as_down in known else (*_typed(action), None)

    def answers(self, option: Option) -> dict[Action, str]:
        """For each decision whether it is this option, or one that its line does not tell from it.
        A decision that has no line is the options of its verb and types."""
        own = self._keys[option.action]
        same = {
            action: key == own or (key[-1] is None and key[:-1] == own[:-1])
            for action, key in self._keys.items()
        }
        return {action: YES if yes else NO for action, yes in same.items()}


def _like(option: Option) -> tuple[object, ...]:
    """What an option shares with those that are as good: types instead of things, and its signs. A
    thing in the way may be put anywhere."""
    if option.action.name == "go_put" and DOWN in option.signs:
        return DOWN, ()
    return *_typed(option.action), option.signs


def _typed(action: Action) -> tuple[str, ...]:
    return action.name, *(kind(word) or word for word in action.arguments)
