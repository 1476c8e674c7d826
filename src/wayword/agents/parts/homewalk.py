"""Home tasks as one growing text of questions that are answered by yes or no.

    wayword run act --on household:valid_seen --model local:act

At every turn a line says what is held and what the request comes to, read by plain rules
(:mod:`~wayword.agents.parts.chores`). Then each high-level action that can matter has a line that
ends in signs and a question mark; the action with the most probable yes is taken, and a line says
what came of it. Text is only ever appended: a model with a prefix cache reads every token once, and
the last prompt of an episode is a training example.
"""

from __future__ import annotations

from collections.abc import Sequence

from wayword.agents.parts.asking import Prompts
from wayword.agents.parts.chores import Chore, read
from wayword.agents.parts.clauses import NO, YES
from wayword.agents.parts.housework import Belief, Option, Situation, kind
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.world import Feedback, Observation
from wayword.worlds.household.observation import HouseholdObservation


class HomeWalk:
    """One actor's home task. ``answers`` maps each decision to its answer to the question that is
    asked; training reads it."""

    def __init__(self, toolkit: Toolkit, prompts: str = "") -> None:
        self._toolkit, self._prompts = toolkit, Prompts("homes", prompts)
        self.prompt = ""
        self.answers: dict[Action, str] = {}
        self._chore, self._belief = Chore(), Belief()

    async def begin(self, episode: Episode) -> None:
        """Read the request and write it down."""
        request = " ".join(episode.instruction.split())
        self._chore = read(request, self._prompts["things"], self._prompts["places"])
        self._belief = Belief()
        self.prompt = self._prompts.fill("task", request=request) + "\n"
        self.answers = {}

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        """Weigh the actions that can matter, one by one."""
        if not isinstance(observation, HouseholdObservation):
            raise UsageError("layout=walk is for homes; leave it out in other worlds")
        self._belief.see(observation)
        situation = Situation(self._chore, self._belief, space)
        chosen = situation.options()
        held = ", ".join(self._told(name) for name in self._belief.held) or "nothing"
        self.prompt += self._prompts.fill("turn", held=held, chore=spoken(self._chore))
        likely: dict[Action, float] = {}
        for option in chosen:
            self.prompt += "\n" + self._line(option)
            self.answers = _answers(option, chosen, space)
            choice = await self._toolkit.model().choose(self.prompt, [NO, YES])
            likely[option.action] = choice.logprobs[1] - choice.logprobs[0]
        return Decision(max(likely, key=likely.__getitem__))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Append the action, and what came of it."""
        if isinstance(decision, Decision):
            self._belief.take(decision.action, feedback)
            outcome = "done" if feedback.ok else feedback.status.replace("_", " ")
            action = _spoken(decision.action)
            self.prompt += "\n" + self._prompts.fill("went", action=action, outcome=outcome) + "\n"

    def _line(self, option: Option) -> str:
        action = option.action
        about = action.arguments[0] if action.arguments else ""
        where = self._belief.things[about].container if about in self._belief.things else ""
        told = _spoken(action) + (f" from {where}" if where and action.name == "go_grab" else "")
        return self._prompts.fill("option", action=told, signs=", ".join(option.signs))

    def _told(self, name: str) -> str:
        return f"{name} ({'treated' if name in self._belief.treated else 'as found'})"


def spoken(chore: Chore) -> str:
    """A chore in a few words: ``two mug, heat, sliced, in bowl, to desk``."""
    parts = [("two " if chore.two else "") + " or ".join(chore.things[:2])]
    parts += ["sliced" * chore.sliced, chore.treatment]
    parts += [f"in {chore.carriers[0]}" if chore.carriers else ""]
    parts += [f"{'by' if chore.lit else 'to'} {chore.places[0]}" if chore.places else ""]
    return ", ".join(filter(None, parts))


def _spoken(action: Action) -> str:
    return " ".join([action.name, *action.arguments])


def _answers(option: Option, options: Sequence[Option], space: ActionSpace) -> dict[Action, str]:
    """For each decision whether it is this option, or one that its line does not tell from it."""
    own = _like(option)
    alike = {other.action for other in options if _like(other) == own}
    listed = {other.action for other in options}
    return {
        action: YES
        if action in alike or (action not in listed and _as(action) == _as(option.action))
        else NO
        for action in [*listed, *space.listed]
    }


def _like(option: Option) -> tuple[object, ...]:
    return _as(option.action), option.signs


def _as(action: Action) -> tuple[str, ...]:
    """An action with types instead of things."""
    return action.name, *(kind(name) or name for name in action.arguments)
