"""Views: what an environment shows of a game, and how it reads what is said to it.

``text`` tells the task and what happens in the words that strategies use; ``structured`` gives the
observation's own fields; the name of an agent gives that agent's prompts, call by call, so that
what is trained here is asked the same by ``wayword run`` (see :mod:`wayword.envs.prompts`).
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal, written_out
from wayword.agents.prompting import Prompts
from wayword.agents.strategies import strategy
from wayword.agents.strategies.strategy import REMEMBERED, instruction, system_text
from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json
from wayword.core.trajectory import Step
from wayword.envs.game import TaskGame
from wayword.runs.codec import plain
from wayword.verbalize import generic
from wayword.verbalize.generic import Verbalizer

Actions = Literal["text", "menu"]
"""How actions are given: as words, or as a number of the menu, which is then shown."""
Said = str | int
NO_ITEM = "there is no number {number} on the menu; they go from 0 to {last}"


class View(Protocol):
    """How one actor's side of a game is shown and read. A new one begins each episode."""

    def begin(self, game: TaskGame) -> None:
        """Take a game that has just begun."""
        ...

    def observe(self) -> Json:
        """What the policy is shown now."""
        ...

    def read(self, said: Said) -> Decision | Rejection | None:
        """What was decided; None where the view asks further before it decides."""
        ...

    def told(self, step: Step) -> None:
        """The actor's own turn was carried out."""
        ...

    def rules(self) -> str:
        """What a policy is told once: who it is, the rules, the actions, the form of an answer."""
        ...

    def extra(self) -> dict[str, Json]:
        """What the view adds to ``info``."""
        ...

    def clone(self, game: TaskGame) -> View | None:
        """An independent view on a cloned game; None where only playing again gives one."""
        ...


class Words:
    """The view ``text``: the task and the first observation, then what came of each answer and
    what is seen now. Answers are read as those of the strategy ``act`` are."""

    def __init__(self, actor: str, actions: Actions = "text") -> None:
        self._actor, self._menu = actor, actions == "menu"
        self._prompts = Prompts(strategy.__file__)
        self._recipe = StrategyRecipe(self._prompts["act"], "act")
        self._earlier: set[Action] = set()
        self._feedback = ""
        self._begun = False
        self._rules = ""

    def begin(self, game: TaskGame) -> None:
        self._game = game
        self._perceiver = game.dataset.perceiver()
        self._verbalizer: Verbalizer = generic.verbalizer(game.observation(self._actor))

    def observe(self) -> Json:
        seen, voice = self._game.observation(self._actor), self._verbalizer
        told = (self._feedback, voice.own(seen)[1], voice.around(seen, self._perceiver))
        lines = [line for line in told if line]
        if not self._begun:
            lines.insert(0, self.task())
        if self._menu:
            lines += [f"{n}: {action}" for n, action in enumerate(self._listed())]
        return "\n".join(lines)

    def task(self) -> str:
        """What the actor is asked to do."""
        told = instruction(self._game.task.episode, self._actor)
        return self._prompts.fill("task", instruction=told)

    def read(self, said: Said) -> Decision | Rejection | None:
        space = self._game.space(self._actor)
        if self._menu and isinstance(said, int):
            listed = self._listed()
            if 0 <= said < len(listed):
                return Decision(listed[said])
            reason = NO_ITEM.format(number=said, last=len(listed) - 1)
            return Rejection("unknown", reason, str(said))
        words = str(said)
        exact = written_out(words, space)
        if exact is not None:
            return Decision(exact)
        found = self._recipe.decision(words, Legal(space, self._earlier)).outcome
        if len(space) <= REMEMBERED:  # by now they are listed anyway
            self._earlier.update(space.listed)
        return found

    def told(self, step: Step) -> None:
        self._begun = True
        self._feedback = generic.feedback(step.feedback, self._verbalizer)

    def rules(self) -> str:
        if not self._rules:
            self._rules = self._system()
        return self._rules

    def extra(self) -> dict[str, Json]:
        return {}

    def clone(self, game: TaskGame) -> View | None:
        other = type(self)(self._actor, "menu" if self._menu else "text")
        other._begun, other._feedback, other._rules = self._begun, self._feedback, self._rules
        other._earlier = set(self._earlier)
        other.begin(game)
        return other

    def _listed(self) -> list[Action]:
        over = self._game.over(self._actor)
        return [] if over else list(self._game.space(self._actor).listed)

    def _system(self) -> str:
        game = self._game
        if self._begun:  # the rules are those of the start, whenever they are asked for
            game = TaskGame(game.dataset, game.task, 1)
        space, episode = game.space(self._actor), game.task.episode.as_told(self._actor)
        form = self._prompts.fill("answer_free", form=self._recipe.text)
        return system_text(self._prompts, self._verbalizer, form, episode, self._actor, space)


class Structured(Words):
    """The view ``structured``: the observation's fields as JSON values, the feedback's beside."""

    def __init__(self, actor: str, actions: Actions = "text") -> None:
        super().__init__(actor, actions)
        self._last: dict[str, Json] = {}

    def observe(self) -> Json:
        episode = self._game.task.episode.as_told(self._actor)
        found: dict[str, Any] = {
            "task": instruction(episode, self._actor),
            "observation": plain(self._game.observation(self._actor)),
            "feedback": self._last,
        }
        return {**found, "actions": list(map(str, self._listed()))} if self._menu else found

    def told(self, step: Step) -> None:
        super().told(step)
        self._last = {"status": step.feedback.status, "details": plain(dict(step.feedback.details))}

    def clone(self, game: TaskGame) -> View | None:
        other = super().clone(game)
        if isinstance(other, Structured):
            other._last = dict(self._last)
        return other
