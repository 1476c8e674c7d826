"""Views: how an environment presents a game to a policy, and how it reads the policy's answers.

``text`` words the task and the feedback as strategies do; ``structured`` gives the observation's
fields; an agent's name gives that agent's prompts, call by call.
"""

from __future__ import annotations

import asyncio
import copy
import random
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal, parse_exact, pick
from wayword.agents.pages import Prompts
from wayword.agents.prompting import picture_labels
from wayword.agents.strategies import strategy
from wayword.agents.strategies.briefing import (
    catalog_of,
    instruction,
    lists_actions,
    possible_actions,
    system_text,
)
from wayword.agents.strategies.strategy import LONGEST_REMEMBERED, Strategy
from wayword.core import registry
from wayword.core.action import Action, Decision, Rejection
from wayword.core.agent import check_family
from wayword.core.blame import CodeError, describe
from wayword.core.dataset import Dataset
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.recording import Log
from wayword.core.rollout import Setup, actor_seed, begin_episode, decide, seat
from wayword.core.trajectory import Step
from wayword.envs.game import TaskGame
from wayword.runs.codec import plain
from wayword.runs.demonstrations import demonstrations
from wayword.settings import make
from wayword.verbalize import generic
from wayword.verbalize.generic import Verbalizer

Actions = Literal["text", "menu"]
"""Form of an action: words, or words and the number of a menu that observations then show."""
Answer = str | int


class ActorView(ABC):
    """An actor's side of a game: observations out, answers in. Each episode has its own."""

    @abstractmethod
    def begin(self, game: TaskGame) -> None:
        """Attach to a new game."""

    @abstractmethod
    def observe(self) -> Json:
        """The policy's current observation."""

    @abstractmethod
    def read(self, answer: Answer) -> Decision | Rejection | None:
        """Return the decision; None if the view has another question first."""

    def decided(self) -> Decision | Rejection | None:
        """A decision that needed no answer, if there is one."""
        return None

    @abstractmethod
    def on_step(self, step: Step) -> None:
        """Record a turn of the actor."""

    def rules(self) -> str:
        """Return the rules, the actions and the answer format, if prompts do not contain them."""
        return ""

    def extra(self) -> dict[str, Json]:
        """The view's own keys of ``info``."""
        return {}

    def leave(self) -> None:  # noqa: B027
        """Cancel unfinished work."""

    def clone(self, game: TaskGame) -> ActorView | None:
        """An independent view of a cloned game; None if the answers must be played again."""
        return None


class Words(ActorView):
    """The view ``text``: the task and the first observation, then the result of each
    answer and the new observation.

    Answers are parsed as in the strategy ``act``. With ``actions="menu"``, a number of
    the menu is an answer, too. With ``eyes``, the text lists the pictures that come with
    it; ``has_fields``: observations name all that is in view.
    """

    has_fields: ClassVar[bool] = False

    def __init__(self, actor: str, actions: Actions = "text") -> None:
        self._actor = actor
        self._has_menu = actions == "menu"
        self._prompts = Prompts(strategy.__file__, page=Strategy.page)
        self._recipe = StrategyRecipe(self._prompts["act"], "act")
        self._earlier_actions: set[Action] = set()
        self._last: Step | None = None
        self._rules = ""

    def begin(self, game: TaskGame) -> None:
        """Take in the game."""
        self._game = game
        self._perceiver = game.dataset.perceiver()
        self._eyes = game.eyes(self._actor)
        self._sees_only_pictures = False
        if self._eyes is not None:
            self._sees_only_pictures = not self._eyes.reads_words
        self._verbalizer: Verbalizer = generic.verbalizer(game.observation(self._actor))
        self._lists_actions = lists_actions(self._prompts, self._verbalizer)

    def observe(self) -> Json:
        """Return the task or the last result, the surroundings and, if there is one, the menu."""
        observation = self._game.observation(self._actor)
        verbalizer = self._verbalizer
        texts = [verbalizer.self_state(observation)[1]]
        if self._sees_only_pictures:
            texts.append(verbalizer.unpictured(observation, self._perceiver))
        else:
            texts.append(verbalizer.around(observation, self._perceiver))
        if self._eyes is not None:
            labels = picture_labels(self._eyes.views())
            texts.append(self._prompts.fill("looks", labels=labels))
        if self._last is None:
            text = instruction(self._game.task.episode, self._actor)
            texts.insert(0, self._prompts.fill("task", instruction=text))
        else:
            feedback = self._last.feedback
            # Feedback names objects, which only the pictures may show.
            if self._sees_only_pictures:
                feedback = verbalizer.without_sight(feedback)
            texts.insert(0, generic.feedback(feedback, verbalizer))
        if self._lists_actions and not self._game.over(self._actor):
            space = self._game.space(self._actor)
            if self._has_menu:  # it lists all but those that take a text
                space = replace(space, listed=())
            if space.open_verbs or not self._has_menu:
                texts.append(possible_actions(self._prompts, verbalizer, space))
        if self._has_menu:
            texts += [f"{n}: {action}" for n, action in enumerate(self._menu())]
        return "\n".join(filter(None, texts))

    def read(self, answer: Answer) -> Decision | Rejection | None:
        """Return the action of an answer: a number of the menu, an exact action, or one
        in a text.
        """
        space = self._game.space(self._actor)
        if self._has_menu and isinstance(answer, int):
            menu = self._menu()
            if 0 <= answer < len(menu):
                return Decision(menu[answer])
            reason = f"there is no number {answer} on the menu; they go from 0 to {len(menu) - 1}"
            return Rejection("unknown", reason, str(answer))

        # An exact action, else whatever the strategy ``act`` reads in the text.
        text = str(answer)
        exact = parse_exact(text, space)
        if exact is not None:
            return Decision(exact)
        outcome = self._recipe.decision(
            text, Legal(space, self._earlier_actions)
        ).outcome
        if len(space) <= LONGEST_REMEMBERED:  # parsed as in the strategy ``act``
            self._earlier_actions.update(space.listed)
        has_digit = any(map(str.isdigit, text))
        # Models answer with the number as a text. "The second" could count from 0 or from 1.
        if self._has_menu and isinstance(outcome, Rejection) and has_digit:
            menu = self._menu()
            number = pick(text, [str(n) for n in range(len(menu))])
            if isinstance(number, str):
                return Decision(menu[int(number)])
        return outcome

    def on_step(self, step: Step) -> None:
        """Keep the turn for the next observation."""
        self._last = step

    def rules(self) -> str:
        """Return the system prompt of the strategy ``act``, made once."""
        if not self._rules:
            game = self._game
            if self._last:  # the rules name the actions that are legal at the start
                game = TaskGame(game.dataset, game.task, 1)
            space = game.space(self._actor)
            episode = game.task.episode.for_actor(self._actor)
            self._rules = system_text(
                self._prompts,
                self._verbalizer,
                episode,
                self._actor,
                space,
                actions=catalog_of(self._prompts, self._verbalizer, space),
                decoding="free",
                form=self._recipe.text,
                limit=self._game.max_steps or 0,
                needs_stop=self._game.dataset.needs_stop,
                shots=False,
                tells_changes=False,
                sight="words" if self._eyes is None else self._eyes.settings.eyes,
            )
        return self._rules

    def clone(self, game: TaskGame) -> ActorView | None:
        """Return the view of a cloned game, which has seen the same actions."""
        other = copy.copy(self)
        other._earlier_actions = set(self._earlier_actions)
        other.begin(game)
        return other

    def _menu(self) -> list[Action]:
        """Return the listed actions of the actor; none after the end."""
        over = self._game.over(self._actor)
        return [] if over else list(self._game.space(self._actor).listed)


class Structured(Words):
    """The view ``structured``: the fields of the observation and the feedback as JSON values."""

    has_fields = True

    def observe(self) -> Json:
        """Return task, observation and feedback, and with a menu its actions."""
        last = self._last
        episode = self._game.task.episode.for_actor(self._actor)
        feedback: Json = {}
        if last:
            details = plain(dict(last.feedback.details))
            feedback = {"status": last.feedback.status, "details": details}
        fields: dict[str, Any] = {
            "task": instruction(episode, self._actor),
            "observation": plain(self._game.observation(self._actor)),
            "feedback": feedback,
        }
        if self._has_menu:
            return {**fields, "actions": list(map(str, self._menu()))}
        return fields


# An agent's prompts as a view: the policy is asked what the agent would ask its model.
#
# The agent runs as it does in a rollout, with a model that passes every question to the policy and
# waits. So ``wayword run`` with that agent asks a policy trained here the same words, byte for
# byte. An agent may ask several questions before it decides, and decide several times without
# asking.
#
# Agents are coroutines. They run in an event loop on a thread of their own, so that an environment
# can be stepped where a loop is running already (notebooks, servers).

T = TypeVar("T")
REJECTED_LOGPROB = -1e9
"""Log-probability of the options that the policy did not choose."""


@dataclass
class PolicyQuestion:
    """A question to the policy; ``options`` to choose from, if any."""

    prompt: Prompt
    sampling: Sampling | None
    options: Sequence[str]
    answer: asyncio.Future[str]
    role: str = "main"


class PolicyModel(Model):
    """The model that an agent asks: every question waits for :attr:`PolicyQuestion.answer`."""

    name = "policy"

    def __init__(
        self, questions: asyncio.Queue[PolicyQuestion], window: int, role: str = "main"
    ) -> None:
        self._questions = questions
        self._role = role
        self.window: int = window

    def as_role(self, role: str) -> PolicyModel:
        """Return the model of another role, whose questions name it."""
        return PolicyModel(self._questions, self.window, role)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Return the policy's answers, one question after the other."""
        answers = [await self._ask(prompt, sampling) for _ in range(sampling.n)]
        return Completion(tuple(answers), ("stop",) * len(answers))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return the policy's choice; all other options are as good as impossible."""
        answer = await self._ask(prompt, None, options)
        logprob_of = dict.fromkeys(options, REJECTED_LOGPROB) | {answer: 0.0}
        return Choice(tuple(options), tuple(logprob_of[option] for option in options))

    async def _ask(
        self, prompt: Prompt, sampling: Sampling | None, options: Sequence[str] = ()
    ) -> str:
        """Pass a question to the policy outside, and wait for its answer."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        frozen = prompt if isinstance(prompt, str) else tuple(prompt)
        await self._questions.put(
            PolicyQuestion(frozen, sampling, tuple(options), answer, self._role)
        )
        return await answer


class Background:
    """An event loop on its own thread, which ends when closed or garbage-collected."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(_quiet_task)
        thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        thread.start()
        self.close = weakref.finalize(self, _stop_loop, self.loop, thread)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop, and return its result; the calling thread waits."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()


def _quiet_task(
    loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
) -> asyncio.Task[Any]:
    """Return a task that may be dropped within a turn, with its environment, which is no error."""
    task: Any = asyncio.Task(coroutine, loop=loop, **options)
    task._log_destroy_pending = False
    return task  # type: ignore[no-any-return]


def _stop_loop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Cancel the tasks of a loop in another thread, end it, and wait for the thread."""
    asyncio.run_coroutine_threadsafe(_cancel(asyncio.all_tasks(loop)), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def check_player(agent: str, dataset: Dataset) -> None:
    """Raise ``UsageError`` for a view by an agent that has no prompts, or does not play a dataset
    or its pictures."""
    cls = registry.load("agent", agent)
    if not cls.needs_model:
        raise UsageError(
            f"view={agent}: this agent calls no model, so it has no prompts"
        )
    check_family(cls, dataset.family.name, "this dataset", f"view={agent}")
    if dataset.eyes is not None and not cls.has_eyes:
        raise UsageError(
            f"view={agent} plays in words alone; remove eyes, or use view=react, mapgpt or navgpt"
        )


class AgentPrompts(ActorView):
    """The prompts of one agent for one actor. ``settings`` are the agent's."""

    def __init__(
        self,
        agent: str,
        actor: str,
        settings: JsonObject,
        seed: int,
        loop: Background,
    ) -> None:
        self._cls: Any = registry.load("agent", agent)
        self._actor = actor
        self._seed = seed
        self._loop = loop
        self._settings = make(self._cls.Settings, settings, agent)
        self._name = agent
        self._window = int(getattr(self._settings, "context", 0))

    def begin(self, game: TaskGame) -> None:
        """Seat the agent in the game, and run it up to its first question or decision.

        Raises ``UsageError`` for a dataset that the agent does not play.
        """
        check_player(self._name, game.dataset)
        self._game = game
        # Questions of the last episode must not be answered in this one.
        self._log = Log()
        self._questions: asyncio.Queue[PolicyQuestion] = asyncio.Queue()
        self._question: PolicyQuestion | None = None
        self._decision: Decision | Rejection | None = None
        setup = Setup(
            game.dataset,
            lambda toolkit, actor: self._cls(self._settings, toolkit),
            {"main": PolicyModel(self._questions, self._window)},
            self._seed,
            game.max_steps or 0,
            demonstrations=demonstrations(game.dataset),
        )
        # Seeded as in a run, so that the agent draws the same numbers.
        rng = random.Random(actor_seed(self._seed, game.task, self._actor))
        self._agent = seat(game.task, setup, game.world, self._actor, rng, self._log)
        self._loop.run(self._start(self._turn(begin=True)))

    def decided(self) -> Decision | Rejection | None:
        """Return the agent's decision once; None while it waits for an answer."""
        decision = self._decision
        self._decision = None
        return decision

    def observe(self) -> Json:
        """Return the agent's question as text or messages; empty if it has none."""
        prompt = self._question.prompt if self._question else ""
        if isinstance(prompt, str):
            return prompt
        return [{"role": message.role, "content": message.parts} for message in prompt]

    def read(self, answer: Answer) -> Decision | Rejection | None:
        """Pass an answer to the agent, and return its decision; None if it asks again.

        A text that names none of the options is a rejection, and the question stays.
        Raises ``UsageError`` after the end.
        """
        question = self._question
        if question is None:
            raise UsageError("the episode is over; call reset() before the next step()")
        text = str(answer)
        if question.options:
            choice = text if text in question.options else pick(text, question.options)
            if not isinstance(choice, str):
                # No option was chosen, so the question stays. The log shows a part of the answer.
                return Rejection(choice.kind, choice.reason, text[:500])
            text = choice
        self._loop.run(self._answer(question, text))
        return self.decided()

    def on_step(self, step: Step) -> None:
        """Give the step to the agent with its calls and notes, and run it up to the
        next question.
        """
        calls, notes = self._log.drain()
        step.calls.extend(calls)
        step.notes.extend(notes)
        if self._question is not None:
            return  # a choice was rejected here, which the agent must not see
        self._agent.on_feedback(step.decision, step.feedback)
        if self._game.active(self._actor):
            self._loop.run(self._start(self._turn()))

    def leave(self) -> None:
        """Cancel the agent's unfinished turn."""
        self._loop.run(_cancel([self._agent_task]))

    def extra(self) -> dict[str, Json]:
        """Return the role of the question, its options, and the schema of its answer."""
        question = self._question
        if question is None:
            return {}
        info: dict[str, Json] = {
            "role": question.role,
            "options": list(question.options),
        }
        if question.sampling is not None and question.sampling.json_schema is not None:
            info["json_schema"] = question.sampling.json_schema
        return info

    async def _turn(self, begin: bool = False) -> Decision | Rejection:
        """Let the agent take a turn; at the beginning of an episode, begin it first."""
        game = self._game
        actor = self._actor
        try:
            if begin:
                await begin_episode(self._agent, game.task.episode.for_actor(actor))
                game.trajectory.opening_calls, game.trajectory.opening_notes = (
                    self._log.drain()
                )
            return await decide(self._agent, game.observation(actor), game.space(actor))
        except SystemExit as error:  # it would end the loop, which the caller waits for
            raise CodeError(describe(error)) from error

    async def _start(self, turn: Coroutine[Any, Any, Decision | Rejection]) -> None:
        """Start a turn, and wait for its first question or its decision."""
        self._agent_task = asyncio.create_task(turn)
        await self._wait()

    async def _answer(self, question: PolicyQuestion, text: str) -> None:
        """Answer a question, and run the agent up to the next one."""
        self._question = None
        question.answer.set_result(text)
        await self._wait()

    async def _wait(self) -> None:
        """Wait until the agent asks a question or has decided."""
        next_question = asyncio.ensure_future(self._questions.get())
        await asyncio.wait(
            {next_question, self._agent_task}, return_when=asyncio.FIRST_COMPLETED
        )
        if next_question.done():
            self._question = next_question.result()
            return
        next_question.cancel()
        self._decision = self._agent_task.result()
