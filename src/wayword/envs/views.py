"""Views: what an environment shows of a game, and how it reads what is said to it.

``text`` tells the task and what happens in the words that strategies use; ``structured`` gives the
observation's own fields; the name of an agent gives that agent's prompts, call by call, so that
what is trained here is asked the same by ``wayword run``.
"""

from __future__ import annotations

import asyncio
import random
import threading
import weakref
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal, pick, written_out
from wayword.agents.prompting import Prompts
from wayword.agents.strategies import strategy
from wayword.agents.strategies.strategy import REMEMBERED, instruction, system_text
from wayword.core import registry
from wayword.core.action import Action, Decision, Rejection
from wayword.core.agent import Agent, check_family
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.recording import Log
from wayword.core.rollout import Setup, actor_seed, seat
from wayword.core.trajectory import Step
from wayword.envs.game import TaskGame
from wayword.runs.active import demonstrations
from wayword.runs.codec import plain
from wayword.settings import make
from wayword.verbalize import generic
from wayword.verbalize.generic import Verbalizer

Actions = Literal["text", "menu"]
"""How actions are given: as words, or as a number of the menu, which is then shown."""
Said = str | int
NO_ITEM = "there is no number {number} on the menu; they go from 0 to {last}"


class ActorView(Protocol):
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

    def clone(self, game: TaskGame) -> ActorView | None:
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

    def clone(self, game: TaskGame) -> ActorView | None:
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

    def clone(self, game: TaskGame) -> ActorView | None:
        other = super().clone(game)
        if isinstance(other, Structured):
            other._last = dict(self._last)
        return other


# An agent's prompts as a view: the policy is asked what the agent would ask its model.
#
# The agent runs as it does in a rollout, against a model that hands every question to the policy
# and waits. So a policy trained here is asked the same words, byte for byte, by ``wayword run``
# with that agent. An agent may ask several questions before it decides, and decide several times
# without asking.
#
# Agents are coroutines. They run in an event loop on a thread of their own, so that an environment
# can be stepped from anywhere, also where a loop is running (notebooks, servers).

T = TypeVar("T")
FAR = -1e9
"""The log-probability of an option that the policy did not take."""


@dataclass(slots=True)
class Question:
    """One question to the policy: ``options`` where it is to choose among some."""

    prompt: Prompt
    sampling: Sampling | None
    options: Sequence[str]
    answer: asyncio.Future[str]
    role: str = "main"

    def shown(self) -> Json:
        """The prompt: one text, or messages as chat formats have them."""
        if isinstance(self.prompt, str):
            return self.prompt
        return [{"role": one.role, "content": one.content} for one in self.prompt]


class AskedPolicy(Model):
    """The model that an agent asks: every question waits for :attr:`Question.answer`."""

    name = "policy"

    def __init__(self, asked: asyncio.Queue[Question], window: int, role: str = "main") -> None:
        self._asked, self._role = asked, role
        self.window: int = window

    def as_role(self, role: str) -> AskedPolicy:
        """The same policy, asked in another role."""
        return AskedPolicy(self._asked, self.window, role)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        said = [await self._ask(prompt, sampling) for _ in range(sampling.n)]
        return Completion(tuple(said), ("stop",) * len(said))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        said = await self._ask(prompt, None, options)
        return Choice(tuple(options), tuple(0.0 if one == said else FAR for one in options))

    async def _ask(
        self, prompt: Prompt, sampling: Sampling | None, options: Sequence[str] = ()
    ) -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        kept = prompt if isinstance(prompt, str) else tuple(prompt)
        await self._asked.put(Question(kept, sampling, tuple(options), answer, self._role))
        return await answer


class Background:
    """An event loop on a thread of its own. It ends when closed, or with its owner."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        thread.start()
        self.close = weakref.finalize(self, _end, self.loop, thread)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Drop what is still going on, then stop the loop."""
    asyncio.run_coroutine_threadsafe(_drop(asyncio.all_tasks(loop)), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def _drop(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class AgentPrompts:
    """The prompts of one agent for one actor. ``settings`` are the agent's own."""

    def __init__(
        self, agent: str, actor: str, settings: Mapping[str, Any], seed: int, loop: Background
    ) -> None:
        self._cls, self._actor, self._seed, self._loop = _asks(agent), actor, seed, loop
        self._settings = make(self._cls.Settings, settings, agent)
        self._name = agent
        self._window = int(getattr(self._settings, "context", 0))

    def begin(self, game: TaskGame) -> None:
        family = game.dataset.family.name
        check_family(self._cls, family, "this dataset", f"view={self._name}")
        self._game, self._log = game, Log()
        self._questions: asyncio.Queue[Question] = asyncio.Queue()
        self._question: Question | None = None
        self._ready: Decision | Rejection | None = None
        policy = AskedPolicy(self._questions, self._window)
        draw = demonstrations(game.dataset)
        models = {"main": policy}
        setup = Setup(game.dataset, self._made, models, self._seed, demonstrations=draw)
        rng = random.Random(actor_seed(self._seed, game.task, self._actor))
        self._agent = seat(game.task, setup, game.world, self._actor, rng, self._log)
        self._loop.run(self._start(self._begin()))

    def decided(self) -> Decision | Rejection | None:
        """A decision that the agent made without a question, or None while it waits."""
        found, self._ready = self._ready, None
        return found

    def observe(self) -> Json:
        return self._question.shown() if self._question else ""

    def read(self, said: Said) -> Decision | Rejection | None:
        question = self._question
        if question is None:
            raise UsageError("the episode is over; call reset() before the next step()")
        words = str(said)
        if question.options:
            found = words if words in question.options else pick(words, question.options)
            if not isinstance(found, str):  # nothing was chosen, so it is asked again
                return Rejection(found.kind, found.reason, words[:500])
            words = found
        self._loop.run(self._answer(question, words))
        return self.decided()

    def told(self, step: Step) -> None:
        calls, notes = self._log.drain()
        step.calls.extend(calls)
        step.notes.extend(notes)
        if self._question is not None:
            return  # a choice was refused here, before the agent heard of it
        self._agent.on_feedback(step.decision, step.feedback)
        if self._game.active(self._actor):
            self._loop.run(self._start(self._act()))

    def leave(self) -> None:
        """Drop the agent's unfinished thought."""
        self._loop.run(_drop([self._thinking]))

    def rules(self) -> str:
        return ""  # they are part of the prompts

    def extra(self) -> dict[str, Json]:
        question = self._question
        if question is None:
            return {}
        found: dict[str, Json] = {"role": question.role, "options": list(question.options)}
        if question.sampling is not None and question.sampling.json_schema is not None:
            found["json_schema"] = question.sampling.json_schema
        return found

    def clone(self, game: TaskGame) -> ActorView | None:
        return None  # an agent is in the middle of its thought

    def _made(self, toolkit: Any, actor: str) -> Agent:
        made: Agent = self._cls(self._settings, toolkit)
        return made

    async def _begin(self) -> Decision | Rejection:
        await self._agent.begin(self._game.task.episode.as_told(self._actor))
        self._game.trajectory.opening_calls, self._game.trajectory.opening_notes = self._log.drain()
        return await self._act()

    async def _act(self) -> Decision | Rejection:
        game, actor = self._game, self._actor
        return await self._agent.act(game.observation(actor), game.space(actor))

    async def _start(self, thinking: Coroutine[Any, Any, Decision | Rejection]) -> None:
        self._thinking = asyncio.create_task(thinking)
        await self._wait()

    async def _answer(self, question: Question, words: str) -> None:
        self._question = None
        question.answer.set_result(words)
        await self._wait()

    async def _wait(self) -> None:
        """Until the agent asks, or has decided."""
        asked = asyncio.ensure_future(self._questions.get())
        await asyncio.wait({asked, self._thinking}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            self._question = asked.result()
            return
        asked.cancel()
        self._ready = self._thinking.result()


def _asks(agent: str) -> Any:
    cls = registry.load("agent", agent)
    if not cls.needs_model:
        raise UsageError(f"view={agent}: this agent asks no model, so it has no prompts to show")
    return cls
