r"""Strategy: the agent that plays any world by one recipe.

Each turn it is told what came of its last action, what it knows of itself and what it sees; it
answers in the recipe's form. What it was told and what it said is appended to a chat that only
grows. A subclass names a recipe and is a strategy:

    class Check(Strategy):
        recipe = "Doubt: what could go wrong\nAction: exactly one action"

Source: LangSuitE (Jia et al. 2024), sections 4 and 5; ReAct (Yao et al. 2022).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from wayword.agents.answers import Reply, StrategyRecipe, one_line, replies
from wayword.agents.legal import Legal
from wayword.agents.prompting import (
    Conversation,
    Prompts,
    TokenRate,
    Turn,
    answer_tokens,
    context_tokens,
    window_known,
)
from wayword.agents.strategies import examples
from wayword.agents.strategies.examples import FACING, HOLDING, PLACE, stated
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Demonstration, SharedKey, Toolkit
from wayword.core.episode import Episode, Json
from wayword.core.errors import UsageError
from wayword.core.model import Message, Sampling
from wayword.core.trajectory import HISTORY_DROPPED, STATE
from wayword.core.world import Feedback, Observation
from wayword.verbalize import generic
from wayword.verbalize.generic import SelfState, Verbalizer

_SIGNATURE = re.compile(r"([a-z_]+)(?:\[([^\]]*)\])?")


def system_text(
    prompts: Prompts, voice: Verbalizer, form: str, episode: Episode, actor: str, space: ActionSpace
) -> str:
    """What stays the same for an episode: who the agent is, the world's rules, the task's own, the
    actions, the form of an answer. Rules and actions are files named for the world's family."""
    told = voice.briefing(space)
    blocks = [prompts["agent"], prompts.fill(f"rules_{voice.name}", **told)]
    others = [name for name in episode.actors if name != actor]
    if others:
        blocks.append(prompts.fill("actors", actor=actor, others=", ".join(others)))
    blocks += [task_rules(episode, actor) or prompts.get(f"goal_{voice.name}")]
    catalogue = prompts.fill(f"actions_{voice.name}", **told)
    blocks += [prompts.fill("actions", actions=actions(catalogue, space)), form]
    return "\n\n".join(block for block in blocks if block.strip())


def instruction(episode: Episode, actor: str) -> str:
    """What an actor is asked to do: its own ``episode.extra["instructions"]``, else everybody's."""
    return str(episode.extra.get("instructions", {}).get(actor, episode.instruction))


def task_rules(episode: Episode, actor: str) -> str:
    """The rules of an episode's own task: ``episode.extra["rules"]``, one text or one an actor."""
    given = episode.extra.get("rules", "")
    return str(given.get(actor, "") if isinstance(given, Mapping) else given).strip()


def actions(catalogue: str, space: ActionSpace) -> str:
    """The catalogue's lines for the verbs this body has, then bare verbs it does not describe.

    A line reads ``put[object, receptacle]: put down what you hold``.
    """
    shapes = {(action.name, bool(action.arguments)) for action in space.listed}
    told: list[str] = []
    described: set[str] = set()
    for line in catalogue.splitlines():
        if (match := _SIGNATURE.match(line)) is None:
            continue
        verb, slots = match.groups()
        count = len(slots.split(",")) if slots else 0
        if verb in space.open_verbs:  # it wants words: who is asked a question does not just stop
            usable = count > 0
        else:
            taken = (Action(verb, (word,) * count) in space for word in ("x", "0"))  # or a number
            usable = (verb, count > 0) in shapes or any(taken)
        if usable:
            told.append(line)
            described.add(verb)
    verbs = dict.fromkeys([*(action.name for action in space.listed), *space.open_verbs])
    return "\n".join([*told, *(verb for verb in verbs if verb not in described)])


def knowable(asked: StrategyRecipe, own: SelfState, owner: type) -> StrategyRecipe:
    """The recipe without the states that an actor of this world cannot know: its place where places
    have no names, what it holds where bodies have no hands."""
    known = {PLACE: own.place, FACING: own.heading is not None, HOLDING: own.holding is not None}
    parts = {f"{name}:" for name, there in known.items() if not there}
    lines = asked.text.splitlines()
    kept = [line for line in lines if not (line[:1] == " " and line.split()[0] in parts)]
    return asked if kept == lines else StrategyRecipe("\n".join(kept), owner.__name__)


REMEMBERED = 200
"""Menus up to this long are remembered, to tell an impossible action from one of earlier."""
ECHOED, STOPS = 300, ("\nObservation:",)
"""Characters of a rejected answer that the agent is shown again, and where a free answer goes on to
invent what it would see."""


@dataclass(frozen=True, slots=True)
class StrategySettings:
    """How a strategy is told, asks and is answered.

    ``decoding``: ``constrained`` (a JSON answer with one of the legal actions, listed up to 200) or
    ``free`` (labelled lines; what is not exactly one legal action is rejected). ``own_state``: the
    agent's place, heading and holdings are told ``always``, or only at the ``start``, so that it
    has to keep track of them (as in most of LangSuitE's tasks). ``list_actions``: tell the legal
    actions at every step. ``shots``: solved examples of a training split, drawn by ``examples`` (a
    seed) once a ``run``, or for each ``episode`` anew (``draw``). They are told whole: one that
    does not fit its share of half the context is drawn again, and a run for which none fits is
    refused. ``thoughts``: drawn examples hold the expert's reasons, in homes and for one actor.
    ``examples_file``: examples of one's own instead, thoughts included, in the form of ``wayword
    export`` or as YAML. ``context``: tokens that a prompt may take before old steps are dropped, 0
    for what the model holds. ``thought_length``: characters of a constrained section or part of
    one, 0 for as many as leave the answer within ``max_tokens`` (0: 1,000, or up to 2,000 where the
    model's window is large). ``prompts``: a folder of texts to use instead.
    """

    decoding: Literal["constrained", "free"] = "constrained"
    own_state: Literal["always", "start"] = "always"
    list_actions: bool = False
    shots: int = 0
    examples: int = 0
    draw: Literal["run", "episode"] = "run"
    thoughts: bool = False
    examples_file: str = ""
    context: int = 0
    thought_length: int = 0
    max_tokens: int = 0
    temperature: float = 0.0
    prompts: str = ""

    def __post_init__(self) -> None:
        if min(self.shots, self.context, self.thought_length) < 0 or 0 != self.max_tokens < 8:
            raise UsageError(
                "strategies: shots, context and thought_length are at least 0, max_tokens 8, or 0"
            )
        if self.shots and self.examples_file:
            raise UsageError("strategies: examples are drawn (shots) or read (examples_file)")


_EXAMPLES = SharedKey[list[Turn]]("in-context examples")


class Strategy(Agent):
    """One actor's episode by one recipe. ``recipe`` is a recipe's text, or a shipped one's name."""

    recipe: ClassVar[str] = ""
    Settings: ClassVar[type[StrategySettings]] = StrategySettings
    needs_model: ClassVar[bool] = True

    def __init__(self, settings: StrategySettings, toolkit: Toolkit) -> None:
        self._settings, self._toolkit = settings, toolkit
        self._context = context_tokens(settings.context, toolkit)
        self._answer = answer_tokens(settings.max_tokens, toolkit, 1000)
        self._prompts = Prompts(__file__, settings.prompts)
        name, inline = type(self).__name__, ":" in self.recipe
        self._recipe = StrategyRecipe(self.recipe if inline else self._prompts[self.recipe], name)
        self._episode: Episode | None = None
        self._actor = ""
        self._conversation: Conversation | None = None
        self._verbalizer = generic.PLAIN
        self._rate = TokenRate()
        self._earlier: set[Action] = set()
        self._given: list[str] = []
        self._now = self._said = self._feedback = ""

    async def begin(self, episode: Episode) -> None:
        """Read the episode. Actions that the dataset gives away at the start are taken first."""
        self._episode, self._conversation = episode, None
        self._earlier.clear()
        self._now = self._said = self._feedback = ""
        self._given = [str(word) for word in episode.extra.get("opening", ())]

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        if self._given:
            return Decision(Action(self._given.pop(0)))
        chat = self._chat(observation, space)
        legal = Legal(space, self._earlier)
        self._now = self._told(observation, self._feedback, bool(chat.turns), space)
        # A model that fills all sections and parts, at two characters a token, still ends.
        texts = sum(len(section.parts) or 1 for section in self._recipe.sections) + 1
        length = self._settings.thought_length or max(1, 2 * self._answer // texts)
        schema = self._recipe.schema_for(space, length) if self._constrained else None
        stop = () if self._constrained else STOPS
        reply = await self._complete(self._fitted(chat), schema, stop)
        answer = self._recipe.decision(reply, legal)
        asked = {name for section in self._recipe.sections for name, _ in section.parts}
        if asked & {PLACE, FACING, HOLDING}:  # also where nothing was: silence is no right answer
            self._toolkit.note(STATE, **stated(answer.parts))
        if len(space) <= REMEMBERED:
            self._earlier.update(space.listed)
        refused = isinstance(answer.outcome, Rejection)
        self._said = one_line(reply.text, ECHOED) if refused else reply.text.strip()
        return answer.outcome

    async def recall(
        self, observation: Observation, space: ActionSpace, decision: Decision | Rejection
    ) -> None:
        """Tell what was seen, and take the decision, without a thought, for an own answer."""
        if self._given:
            self._given.pop(0)
            return
        chat = self._chat(observation, space)
        self._now = self._told(observation, self._feedback, bool(chat.turns), space)
        self._earlier.update(space.listed if len(space) <= REMEMBERED else ())
        if isinstance(decision, Rejection):
            self._said = decision.said
        else:
            self._said = self.answer(decision.action, observation, space)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if self._conversation is not None:  # else the step was given away, and nothing was asked
            self._feedback = generic.feedback(feedback, self._verbalizer)
            self._conversation.add(self._now, self._said or "(no answer)")

    def answer(
        self, action: Action, seen: Observation, space: ActionSpace, thought: str = ""
    ) -> str:
        """The answer that takes this action, with the sections whose truth is known, and a
        ``thought`` that was recorded: used by in-context examples and training data."""
        spoken = space.open_verbs if self._constrained else None
        return examples.answer(action, seen, self._recipe, spoken, thought)

    @property
    def turns(self) -> Sequence[Turn]:
        """What it was told and what it said, all of it, the task and examples left out."""
        return self._conversation.turns if self._conversation is not None else ()

    @property
    def unknown(self) -> list[str]:
        """What :meth:`answer` leaves out of an answer's form, as no replay can know it: thoughts,
        plans."""
        return examples.unknown(self._recipe)

    @property
    def _constrained(self) -> bool:
        return self._settings.decoding == "constrained"

    def _chat(self, observation: Observation, space: ActionSpace) -> Conversation:
        """The conversation, begun at the first turn: only then are world and actor known."""
        if self._conversation is None:
            if self._episode is None:
                raise UsageError("an agent must begin an episode before it acts")
            self._verbalizer = generic.verbalizer(observation)
            self._recipe = knowable(self._recipe, self._verbalizer.own(observation)[0], type(self))
            self._actor = str(getattr(observation, "actor", self._episode.actors[0]))
            shown = self._examples()
            form = self._prompts.fill(f"answer_{self._settings.decoding}", form=self._recipe.text)
            if self._constrained and space.open_verbs:
                form += "\n" + self._prompts.fill("argument", verbs=" or ".join(space.open_verbs))
            fixed = system_text(
                self._prompts, self._verbalizer, form, self._episode, self._actor, space
            )
            if shown:
                whose = "examples_file" if self._settings.examples_file else "examples"
                fixed += "\n\n" + self._prompts[whose]
            self._conversation = Conversation(fixed, self._opening(self._episode), shown)
        return self._conversation

    def _task(self, episode: Episode) -> str:
        return self._prompts.fill("task", instruction=instruction(episode, self._actor))

    def _opening(self, episode: Episode) -> str:
        """What is said before the first observation, and stays when old steps are dropped."""
        return self._task(episode)

    def _examples(self) -> list[Turn]:
        """The examples' turns, read or drawn once a run where they are the same for all episodes.
        Drawn ones take at most half of a context that is known."""
        settings, own = self._settings, self._settings.examples_file
        if not (settings.shots or own):
            return []
        seed = examples.drawn_by(settings.examples, settings.draw, self._episode)
        known = window_known(settings.context, self._toolkit)

        def shown(example: Demonstration) -> list[Turn]:
            return examples.turns(
                example,
                self._recipe,
                lambda seen, feedback: self._told(seen, feedback, bool(feedback), None),
                self._task(example.episode),
                self._constrained,
                self._actor if self._actor in example.episode.actors else "",
                settings.thoughts,
            )

        def every_turn() -> list[Turn]:
            room = self._context / 2 * self._rate.characters_per_token if known else None
            draw = self._toolkit.demonstrations
            try:
                drawn = (
                    examples.from_file(Path(own)) if own
                    else examples.fitting(draw, shown, settings.shots, seed, room)
                )  # fmt: skip
            except examples.Unshowable as why:
                context = f"half of a prompt's {self._context:,} tokens"
                raise UsageError(f"{why} in {context}; raise context, or lower shots") from None
            return [turn for example in drawn for turn in example]

        key = type(self).__name__, settings, self._actor, seed
        turns = self._toolkit.shared.once(_EXAMPLES, key, every_turn)
        if not known:
            self._context += int(examples.letters(turns) / self._rate.characters_per_token)
        return turns

    def _told(
        self, observation: Observation, feedback: str, begun: bool, space: ActionSpace | None
    ) -> str:
        voice = generic.verbalizer(observation)
        own = "" if begun and self._settings.own_state == "start" else voice.own(observation)[1]
        seen = voice.around(observation, self._toolkit.perceiver)
        lines = [line for line in (feedback, own, seen) if line]
        if self._settings.list_actions and space is not None:
            lines.append(self._prompts.fill("now_possible", actions=generic.actions(space)))
        return self._prompts.fill("observation", observation="\n".join(lines))

    def _fitted(self, chat: Conversation) -> list[Message]:
        """The messages within the budget; what is dropped is noted."""
        budget = self._context - self._answer
        room = int(max(1, budget) * self._rate.characters_per_token)
        if gone := chat.fit(room, self._now):
            self._toolkit.note(HISTORY_DROPPED, steps=gone, context=self._context)
        gap = self._prompts.fill("dropped", count=str(chat.dropped)) if chat.dropped else ""
        return chat.messages(self._now, gap)

    async def _complete(
        self,
        messages: list[Message],
        schema: Mapping[str, Json] | None,
        stop: tuple[str, ...] = (),
        role: str = "main",
    ) -> Reply:
        settings = self._settings
        sampling = Sampling(
            temperature=settings.temperature,
            max_tokens=self._answer,
            stop=stop,
            json_schema=schema,
            seed=self._toolkit.rng.getrandbits(31) if settings.temperature > 0 else None,
        )
        completion = await self._toolkit.model(role).complete(messages, sampling)
        written = sum(len(message.content) for message in messages)
        self._rate.learn(written, completion.usage.prompt)
        return replies(completion, sampling)[0]
