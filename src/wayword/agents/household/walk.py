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

from collections.abc import Mapping, Sequence

from wayword.agents.clauses import NO, YES
from wayword.agents.household.chores import AskedChore, Belief, Lexicon, kind
from wayword.agents.household.housework import DOWN, ChoreState, Option
from wayword.agents.prompting import Prompts
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.world import Feedback, Observation
from wayword.worlds.household.observation import HouseholdObservation

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
