r"""Strategy: the agent that plays any world by one recipe.

Each message contains the result of the last action, the agent's state and its observation; the
answer has the recipe's form. Both are appended to a growing chat. A subclass with a recipe is a
complete strategy:

    class Check(Strategy):
        recipe = "Doubt: what could go wrong\nAction: exactly one action"

Source: LangSuitE (Jia et al. 2024), sections 4 and 5; ReAct (Yao et al. 2022).
"""

from __future__ import annotations

import itertools
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

from wayword.agents import prompting
from wayword.agents.answers import (
    ARGUMENT,
    MOST_LISTED,
    AnswerForm,
    Reply,
    StrategyAnswer,
    StrategyRecipe,
)
from wayword.agents.legal import Legal, Refusal
from wayword.agents.marked import MarkedNames, verbs_on_objects
from wayword.agents.strategies import examples
from wayword.agents.strategies.briefing import (
    catalog_of,
    instruction,
    offered,
    possible_actions,
    system_text,
)
from wayword.agents.strategies.examples import FACING, HOLDING, PLACE, parse_state
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Demonstration, SharedKey, Toolkit
from wayword.core.episode import Episode, Json, JsonObject
from wayword.core.errors import UsageError
from wayword.core.model import Image, Message, Tool, ToolCall, system
from wayword.core.trajectory import STATE
from wayword.core.visible import single_line
from wayword.core.world import Feedback, Observation
from wayword.models.parts.decoding import json_values
from wayword.verbalize import generic

# Most legal actions kept, to reject later "was possible earlier"
LONGEST_REMEMBERED = 200
ECHO_LENGTH = 300  # characters of a rejected answer that the chat shows


def with_look(space: ActionSpace) -> ActionSpace:
    """Return a space that also has the action ``look``."""
    return replace(
        space,
        listed=(*space.listed, LOOK),
        accepts=lambda action: action == LOOK or action in space,
        named=lambda action: action == LOOK or space.knows(action),
    )


FULL_VIEW_TURNS = 10  # turns between full views
LOOK = Action("look")  # answered by a full view, without a step
STOP_SEQUENCES = ("\nObservation:",)
"""A free answer that goes on with this label invents the next observation."""


SEVERAL_CALLS = "several_calls"
"""Note on an answer with ``count`` tool calls, some of them after ``taken``, which acted."""
IN_WORDS = "tool_calls_in_words"
"""Note on an episode whose model has no tool calls: it is asked for them in words."""
ACTING = ("act", "stop")  # functions that take the turn
NO_CALL = "the answer called no function; call act"
NO_MORE_CALLS = "no more calls can ask for information in this turn; call act or stop"
NOT_CARRIED_OUT = "Not carried out: only one action is taken at a time."


def json_object(text: str) -> dict[str, Json] | None:
    """Return the object that a JSON text is, None for any other text.

    An empty text is an empty object: some servers send no arguments for a function that
    needs none. Quotes and a code fence around it are ignored, and so is what a model
    writes after it.
    """
    found = list(json_values(text or "{}", "{", lambda value: True))
    # A repeated object is one; two that differ are none.
    if not found or any(value != found[0][0] for value, _, _ in found):
        return None
    first: dict[str, Json] = found[0][0]
    return first if not text[: found[0][1]].strip("\"'` \njson") else None


class AnyWorldAgent(prompting.PromptAgent):
    """Base of the agents of this folder, which share its prompts: rules and actions of any world.

    A subclass sets ``_verbalizer`` and ``_actor`` at the first turn, before it fills a
    prompt.
    """

    source_file = __file__
    page = "strategy.jinja"
    answer_tokens = 1000

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._verbalizer = generic.PLAIN
        self._actor = ""

    @property
    def _sees_only_pictures(self) -> bool:
        return self._sight == "pictures"

    @property
    def _marks(self) -> MarkedNames:
        """The numbers that stand for objects; empty if the prompt names them in words."""
        return MarkedNames({} if self._eyes is None else self._eyes.marks)

    def _instruction(self, episode: Episode) -> str:
        """Return the actor's task, with numbers in place of names that pictures replace."""
        text = instruction(episode, self._actor)
        if self._sees_only_pictures:
            text = self._marks.text(text)
        return text

    def _system_text(self, space: ActionSpace, **slots: object) -> str:
        """Return the system message for the actor, with the page's usual slots and ``slots``."""
        slots = {
            "limit": self._steps.limit,
            "needs_stop": self._steps.needs_stop,
            "actions": catalog_of(self._prompts, self._verbalizer, space),
            "sight": self._sight,
            "picture_history": self._picture_history,
            **slots,
        }
        return system_text(
            self._prompts,
            self._verbalizer,
            self._episode,
            self._actor,
            space,
            **slots,
        )

    async def _fill_in(
        self,
        form: AnswerForm,
        fixed: str,
        tried: Sequence[str] = (),
        /,
        **slots: object,
    ) -> Reply:
        """Ask for an answer of a form, with the page's block ``user``.

        ``fixed`` is the system message. The prompt's steps are those so far, then those
        ``tried`` in copies; the oldest are dropped if the budget demands it.
        """
        slots["instruction"] = self._instruction(self._episode)
        labels, images = self._pictures_around()
        slots["looks"] = labels
        reserve = self._budget.answer + self._budget.look_tokens(self._eyes)

        def question(steps: Sequence[str]) -> str:
            count = self._history.dropped
            return self._prompts.fill(
                "user", steps="\n".join(steps), count=count, **slots
            )

        # Measured with the tried steps: the history gets what they leave.
        length = len(fixed) + len(question(tried))
        self._budget.fit(self._history, length, reserve)
        # Filled a second time, since fitting may have dropped the oldest steps.
        text = question([*self._history.blocks, *tried])
        length = self._settings.thought_length or self._budget.answer
        schema = None
        if self._constrained:
            schema = form.schema(length)
        messages = [system(fixed), Message("user", text, images)]
        return (await self._budget.ask(messages, schema, self._settings.temperature))[0]


@dataclass(frozen=True)
class StrategySettings(prompting.PromptSettings):
    """Settings of a strategy, in addition to those of all prompts.

    ``decoding``: ``constrained`` (a JSON answer with a legal action), ``free`` (labeled lines; an
    answer without exactly one legal action is rejected) or ``tools`` (a call of a function with the
    parts of the answer; models without tool calls write it as JSON). ``menu``: the actions in the
    schema of a constrained answer: ``all`` legal ones (the default with a small local model), or
    only those on objects ``in_view``, at most 200; names of others must then be recalled.
    ``own_state``: show the agent's place, heading and held objects ``always``, or only at the
    ``start``, as in most tasks of LangSuitE. ``view``: in homes, describe all that is in view at
    every turn (``full``), or only what has changed, and all of it every ten turns and when the
    model asks to ``look`` (``changes``; not without actions that find their own way).

    ``shots``: number of solved training episodes shown as examples. They are drawn with the seed
    ``examples``, once per ``run`` or for each ``episode`` (``draw``). Examples take at most half of
    the context; longer ones are drawn again, and ``UsageError`` is raised if too few fit.
    ``thoughts``: examples contain the expert's reasons (homes with one actor). ``max_tokens`` is
    1,000 by default, ``thought_length`` 200 with a small local model.
    """

    decoding: Literal["constrained", "free", "tools"] = "constrained"
    menu: Literal["in_view", "all"] = "in_view"
    own_state: Literal["always", "start"] = "always"
    view: Literal["changes", "full"] = "changes"
    shots: prompting.NotNegative = 0
    examples: int = 0
    draw: Literal["run", "episode"] = "run"
    thoughts: bool = True


_EXAMPLES = SharedKey[list[prompting.Turn]]("in-context examples")


class Strategy(AnyWorldAgent):
    """Base of the strategies. ``recipe`` is the text of a recipe, or the name of a shipped one.

    A turn: ``act`` writes a message, asks and parses the answer; ``on_feedback`` adds
    both to the chat. Until then ``_message_text`` and ``_answer`` hold the open turn,
    and ``_exchange`` its tool calls.
    """

    recipe: ClassVar[str] = ""
    has_eyes = True
    keeps_looks = True
    Settings: ClassVar[type[StrategySettings]] = StrategySettings
    small_model: ClassVar[Mapping[str, Json]] = {
        "menu": "all",
        "thought_length": 200,
        "view": "full",
    }

    def __init__(self, settings: StrategySettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        if settings.decoding == "tools" and toolkit.eyes is not None:
            # Results of tools hold no pictures.
            raise UsageError("decoding=tools plays in words alone; remove eyes")
        if self._eyes is not None and settings.shots:
            raise UsageError(
                "shots shows solved episodes in words; set shots=0, or remove "
                f"eyes={self._sight}"
            )
        name = type(self).__name__
        recipe = self.recipe
        if ":" not in recipe:  # the name of a block, not the recipe itself
            recipe = self._prompts[recipe]
        self._recipe = StrategyRecipe(recipe, name)
        # The answer is a JSON object: as a text, or as the arguments of a call.
        self._in_json = settings.decoding in ("constrained", "tools")
        self._conversation: prompting.Conversation | None = None
        self._earlier_actions: set[Action] = set()
        self._opening_moves: list[str] = []
        self._message_text = ""
        self._answer = ""
        self._feedback = ""
        # Of the latest question: the labels of its pictures, and these
        self._latest_look: tuple[str, tuple[Image, ...]] = "", ()
        self._dropped = 0  # steps that were dropped at the last full view
        # Of what messages have described; None: views are full
        self._memory: Any = None
        self._in_view = ""
        self._verbs_on_objects: Mapping[str, int] = {}
        # Of the current turn, if it called tools
        self._exchange: prompting.Exchange | None = None
        self._tools: tuple[Tool, ...] = ()
        # Calls are requested as JSON in the text
        self._in_words = self._constrained

    async def begin(self, episode: Episode) -> None:
        """Reset for the episode. Opening actions given by the dataset are taken first."""
        await super().begin(episode)
        self._conversation = None
        self._earlier_actions.clear()
        self._message_text = ""
        self._answer = ""
        self._feedback = ""
        self._memory = None
        self._exchange = None
        self._tools = ()
        self._in_words = self._constrained
        self._opening_moves = [str(word) for word in episode.extra.get("opening", ())]

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        """Return the action that the model's answer names, or the rejection of the answer.

        Opening actions come first. A ``look`` takes no step: the full view is shown and
        the question asked again, once in a turn.
        """
        if self._opening_moves:
            return Decision(Action(self._opening_moves.pop(0)))
        chat = self._chat(observation, space)
        if self._memory is not None:
            space = with_look(space)
        marks = self._marks
        if self._sees_only_pictures:
            space = marks.space(space, self._verbs_on_objects)
        legal = Legal(space, self._earlier_actions)
        length = self._settings.thought_length
        if not length:
            # At two characters per token, an answer that fills all parts is within the
            # token limit. The action is one more text.
            texts = [len(section.parts) or 1 for section in self._recipe.sections]
            length = max(1, 2 * self._budget.answer // (sum(texts) + 1))
        shown = self._choices(space, marks)
        reply, answer = await self._answered(chat, shown, length, legal)
        # The released code answers a thought alone, once, and asks again.
        reminder = self._prompts["thought_only"]
        if reminder and _is_thought_alone(answer.outcome):
            chat.add(self._message_text, reply.text.strip(), self._exchange)
            self._message_text = reminder
            reply, answer = await self._answered(chat, shown, length, legal)
        if isinstance(answer.outcome, Decision) and answer.outcome.action == LOOK:
            # A look takes no action: the answer is the full view, and the question comes again.
            chat.add(self._message_text, reply.text.strip(), self._exchange)
            self._message_text = self._observation_text(view=self._in_view)
            reply, answer = await self._answered(chat, shown, length, legal)
            if isinstance(answer.outcome, Decision) and answer.outcome.action == LOOK:
                refused = reply.reject("no_action", "you have just looked")
                answer = replace(answer, outcome=refused)
        self._record_state(answer.parts, marks)
        if len(space) <= LONGEST_REMEMBERED:
            self._earlier_actions.update(space.listed)
        is_refused = isinstance(answer.outcome, Rejection)
        if is_refused:
            self._answer = single_line(reply.text, ECHO_LENGTH)
        else:
            self._answer = reply.text.strip()
        if isinstance(answer.outcome, Decision):
            action = marks.to_names(answer.outcome.action)
            return replace(answer.outcome, action=action)
        return answer.outcome

    def _choices(self, space: ActionSpace, marks: MarkedNames) -> ActionSpace:
        """Return the actions that the schema of a constrained answer offers.

        All legal ones remain legal; this is what a server's grammar lists.
        """
        if self._sees_only_pictures:
            return marks.schema_space(space, self._verbs_on_objects)
        if self._in_json and self._settings.menu == "in_view":
            # Named in the rules
            rooms = self._verbalizer.briefing(space).get("rooms", "")
            possible = self._possible(space)
            text = f"{self._in_view} {rooms} {possible}"
            return offered(space, text, MOST_LISTED)
        return space

    def _possible(self, space: ActionSpace) -> str:
        """Return the line that lists the actions, in worlds without a catalog of them."""
        return possible_actions(self._prompts, self._verbalizer, space, self._in_json)

    def _record_state(self, parts: Mapping[str, str], marks: MarkedNames) -> None:
        """Record the state that an answer states, if its recipe asks for one."""
        requested: set[str] = set()
        for section in self._recipe.sections:
            requested.update(name for name, _ in section.parts)
        # A state that is not stated counts as wrong.
        if not requested.isdisjoint({PLACE, FACING, HOLDING}):
            stated = dict(parts)
            if HOLDING in stated:
                stated[HOLDING] = marks.named_text(stated[HOLDING])
            self._toolkit.note(STATE, **parse_state(stated))

    async def _answered(
        self,
        chat: prompting.Conversation,
        shown: ActionSpace,
        length: int,
        legal: Legal,
    ) -> tuple[Reply, StrategyAnswer]:
        """Ask for an answer, and parse it.

        ``shown`` are the actions of the schema, ``length`` the most characters of each
        text in it, ``legal`` parses the action.
        """
        if self._settings.decoding == "tools":
            return await self._answered_by_calls(chat, shown, length, legal)
        schema = None
        stop: tuple[str, ...] = STOP_SEQUENCES
        if self._constrained:
            schema = self._recipe.schema_for(shown, length)
            stop = ()
        self._latest_look = self._pictures_around()
        reply = await self._ask(chat, schema, stop, pictures=self._latest_look)
        return reply, self._recipe.decision(reply, legal)

    # Answers as tool calls.

    # Calls that may ask for information before the turn is taken
    _most_calls = 0

    async def _answered_by_calls(
        self,
        chat: prompting.Conversation,
        shown: ActionSpace,
        length: int,
        legal: Legal,
    ) -> tuple[Reply, StrategyAnswer]:
        """Ask for a call, and parse it.

        If this shows that the server has no tool calls, an answer without a legal
        action comes again: in words, the legal actions are options.
        """
        knew = self._in_words
        reply, answer = await self._called(chat, shown, length, legal)
        if isinstance(answer.outcome, Rejection) and self._in_words and not knew:
            reply, answer = await self._called(chat, shown, length, legal)
        return reply, answer

    async def _called(
        self,
        chat: prompting.Conversation,
        shown: ActionSpace,
        length: int,
        legal: Legal,
    ) -> tuple[Reply, StrategyAnswer]:
        """Ask for a call that takes the turn, and parse it.

        Calls before it that only ask for information are answered, up to
        ``_most_calls``, and the question comes again. Of several calls that act, the
        first counts; the others get ``NOT_CARRIED_OUT``.
        """
        exchange = prompting.Exchange()
        self._exchange = exchange
        if not (self._in_words or self._toolkit.model("main").tools):
            self._in_words = True
            self._toolkit.note(IN_WORDS)
        tools = self._offered_tools(shown, length)
        names = [tool.name for tool in tools]
        asked = 0
        while True:
            # After a call for information, the model needs the call and its result.
            earlier = [*exchange.messages, *exchange.answered("")] if asked else []
            fixed = chat.length(self._message_text) + exchange.length
            self._budget.fit(chat.history, fixed, self._budget.answer)
            gap_text = chat.history.gap_text(self._prompts)
            messages = [*chat.messages(self._message_text, gap_text), *earlier]
            called = await self._budget.call(
                messages,
                tools,
                self._settings.temperature,
                parallel=self._most_calls > 0,
                words=self._in_words,
            )
            calls = called.calls
            reply = called.reply
            self._in_words = self._in_words or called.worded
            exchange.messages = [*earlier, called.message]
            exchange.results = []
            taken: ToolCall | None = None
            for call in calls:
                result = None
                # Every call gets a result, even one without effect: servers demand it.
                if taken is not None:
                    result = NOT_CARRIED_OUT
                elif asked < self._most_calls and call.name in names:
                    result = self._information(call)
                if result is None:
                    taken = call
                elif taken is None:
                    asked += 1
                    # The last result says so, or the model would go on asking.
                    if asked == self._most_calls:
                        result = f"{result}\n{self._prompts['calls_used']}"
                exchange.results.append((call, result))
            if taken is not None or not calls:
                break
        # No call: the text may still name an action in the recipe's form.
        if taken is None:
            answer = self._recipe.decision(reply, legal)
            outcome = answer.outcome
            if isinstance(outcome, Rejection) and outcome.kind == "no_action":
                refused = reply.reject("no_action", NO_CALL, outcome.thought)
                answer = replace(answer, outcome=refused)
            return reply, answer
        if exchange.results[-1][1] == NOT_CARRIED_OUT:
            self._toolkit.note(SEVERAL_CALLS, taken=taken.name, count=len(calls))
        return self._read_call(taken, reply, names, legal)

    def _information(self, call: ToolCall) -> str | None:
        """Return the result of a call that asks for information; None for those that act."""
        return None

    def _offered_tools(self, shown: ActionSpace, length: int) -> Sequence[Tool]:
        """Return the functions of this turn.

        A server reads them before the conversation: if their options changed with each
        turn, it could not reuse the prefix, so they are made once an episode. In words
        they only constrain the answer, and list legal actions.
        """
        if self._in_words:
            return self._functions(shown, length, True)
        if not self._tools:
            self._tools = tuple(self._functions(shown, length, False))
        return self._tools

    def _functions(
        self, shown: ActionSpace, length: int, constrained: bool
    ) -> list[Tool]:
        """Return the functions that a turn offers, ``act`` alone for most strategies.

        If ``constrained``, their parameters list the legal actions and limit the texts
        to ``length`` characters; else they are plain texts.
        """
        schema = self._recipe.schema_for(shown, length)
        properties: dict[str, Json] = {}
        described = {field.key: field.described for field in self._recipe.fields}
        described[ARGUMENT] = self._argument_text(shown)
        for name, form in schema["properties"].items():
            if not constrained and form["type"] == "string":
                form = {"type": "string"}
            properties[name] = {**form, "description": described[name]}
        parameters: dict[str, Json] = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
        }
        return [Tool("act", self._prompts["act_tool"], parameters)]

    def _read_call(
        self, call: ToolCall, reply: Reply, names: Sequence[str], legal: Legal
    ) -> tuple[Reply, StrategyAnswer]:
        """Parse a call that takes the turn, and return it as the answer and its meaning.

        A verb of the world that is called as a function is its action. Anything else is
        rejected with a reason that names the functions.
        """
        text = call.arguments
        # Still a request for information, after the last permitted one.
        if call.name in names and call.name not in ACTING:
            called = replace(reply, text=str(call))
            return called, StrategyAnswer(called.reject("no_action", NO_MORE_CALLS), {})
        # Many models call a verb of the world as if it were a function.
        if call.name not in names:
            values = json_object(text) or {}
            listed = ", ".join(str(value) for value in values.values())
            action = legal.read(f"{call.name}[{listed}]" if listed else call.name)
            if isinstance(action, Refusal):
                known = ", ".join(names)
                reason = f"there is no function {call.name[:60]!r}; the functions are: {known}"
                called = replace(reply, text=str(call))
                return called, StrategyAnswer(called.reject("unknown", reason), {})
            text = json.dumps({"action": str(action)})
        elif json_object(text) is None:
            called = replace(reply, text=str(call))
            reason = f"the arguments of {call.name} are not a JSON object"
            return called, StrategyAnswer(called.reject("no_action", reason), {})
        read = replace(reply, text=self._as_answer(call, text))
        return read, self._recipe.decision(read, legal)

    def _as_answer(self, call: ToolCall, arguments: str) -> str:
        """Return the arguments of a call as an answer of the recipe."""
        return arguments

    async def recall(
        self,
        observation: Observation,
        space: ActionSpace,
        decision: Decision | Rejection,
    ) -> None:
        """Continue the chat with a recorded turn, as if the model had answered so."""
        if self._opening_moves:
            self._opening_moves.pop(0)
            return
        self._chat(observation, space)
        if self._picture_history:
            self._latest_look = self._pictures_around()
        if len(space) <= LONGEST_REMEMBERED:
            self._earlier_actions.update(space.listed)
        if isinstance(decision, Rejection):
            self._answer = decision.said
        else:
            self._answer = self.answer(decision.action, observation, space)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Add the turn to the chat, and keep the result for the next message."""
        self._steps.taken += 1
        if self._conversation is not None:  # None during opening actions
            shown = feedback
            if self._sees_only_pictures:
                shown = self._verbalizer.without_sight(feedback)
            text = generic.feedback(shown, self._verbalizer)
            # Marks are those of the state after the action, which may have shown new objects.
            self._feedback = self._marks.text(text)
            if self._memory is not None:
                self._memory.hear(feedback)
            answer = self._answer or prompting.NO_ANSWER
            self._conversation.add(self._message_text, answer, self._exchange)
            self._exchange = None
            labels, images = self._latest_look
            if images:
                text = self._prompts.fill("looks", labels=labels)
                self._conversation.keep_look(text, images)

    def answer(
        self,
        action: Action,
        observation: Observation,
        space: ActionSpace,
        thought: str = "",
        episode: Episode | None = None,
    ) -> str:
        """Return the answer that takes this action, in the recipe's form.

        For in-context examples and training data: with true states and a recorded
        ``thought``, in the current episode unless ``episode`` is given. With pictures alone,
        numbers stand for the names of objects.
        """
        spoken = space.open_verbs if self._constrained else None
        labels = self.labels(action, observation, episode or self._episode)
        marks = self._marks
        text = examples.answer_text(
            marks.to_numbers(action), observation, self._recipe, spoken, thought, labels
        )
        return marks.text(text)

    def labels(
        self, action: Action, observation: Observation, episode: Episode | None
    ) -> Mapping[str, str]:
        """Return texts for sections of :meth:`answer` that a subclass knows, by their keys."""
        return {}

    @property
    def turns(self) -> Sequence[prompting.Turn]:
        """The turns so far: each message and its answer, without the examples."""
        if self._conversation is None:
            return ()
        return self._conversation.turns

    @property
    def unknown(self) -> list[str]:
        """Parts that :meth:`answer` omits because a replay does not know them (``state.seen``)."""
        checkable = (PLACE, FACING, HOLDING)
        unknown = []
        for section in self._recipe.sections:
            if not section.parts:
                unknown.append(section.key)
            unknown += [
                f"{section.key}.{name}"
                for name, _ in section.parts
                if name not in checkable
            ]
        return unknown

    def _chat(
        self, observation: Observation, space: ActionSpace
    ) -> prompting.Conversation:
        """Write the next message and return the chat.

        The chat is created at the first turn, when the actor and its space are known:
        states that the actor does not have are taken out of the recipe, and the
        examples are drawn.
        """
        if self._conversation is None:
            self._verbalizer = generic.verbalizer(observation)
            state, _ = self._verbalizer.self_state(observation)
            # Leave out states that the actor does not have: a named place, hands.
            has_heading = state.heading is not None
            has_hands = state.holding is not None
            available_state = {
                PLACE: state.place,
                FACING: has_heading,
                HOLDING: has_hands,
            }
            unknown = set()
            for name, present in available_state.items():
                if not present:
                    unknown.add(f"{name}:")
            # Parts of a section are its indented lines.
            stated = [
                line
                for line in self._recipe.text.splitlines()
                if line[:1] != " " or line.split()[0] not in unknown
            ]
            self._recipe = StrategyRecipe("\n".join(stated), type(self).__name__)
            self._actor = str(getattr(observation, "actor", self._episode.actors[0]))
            example_turns = self._examples()
            finds_its_way = any(action.name == "goto" for action in space.listed)
            states_itself = any(field.parts for field in self._recipe.fields)
            # Its own state is compared with the true one
            tells_changes = self._settings.view == "changes" and not states_itself
            if tells_changes and finds_its_way and not self._sees_only_pictures:
                self._memory = self._verbalizer.memory and self._verbalizer.memory()
            actions = catalog_of(self._prompts, self._verbalizer, space, self._in_json)
            self._verbs_on_objects = {}
            if self._eyes is not None and self._eyes.painter.has_marks:
                self._verbs_on_objects = verbs_on_objects(actions, space)
            limit = 0
            if self._steps.limit:
                # Opening moves of the dataset count as actions.
                limit = max(1, self._steps.limit - self._steps.taken)
            fixed = self._system_text(
                space,
                limit=limit,
                actions=actions,
                decoding=self._settings.decoding,
                form=self._form_text(space, actions),
                shots=bool(example_turns),
                omits_thoughts=self._omits_sections(example_turns),
                tells_changes=self._memory is not None,
            )
            if handshake := self._prompts["handshake"]:
                example_turns = [(fixed, handshake), *example_turns]
                fixed = ""
            self._conversation = prompting.Conversation(
                fixed,
                self._opening(self._episode),
                example_turns,
                self._first_message,
                self._picture_history,
            )
        turns = self._conversation.turns
        started = bool(turns)
        voice = self._verbalizer
        history = self._conversation.history
        self._in_view = voice.around(observation, self._toolkit.perceiver)
        # All that is in view, at times and after older descriptions were dropped.
        is_full = not len(turns) % FULL_VIEW_TURNS or history.dropped != self._dropped
        if voice.memory and self._memory is not None and is_full:
            self._memory = voice.memory()
            self._dropped = history.dropped
        self._message_text = self._message(
            observation, self._feedback, started, space, self._memory
        )
        return self._conversation

    def _form_text(self, space: ActionSpace, actions: str) -> str:
        """Return the form of an answer: labeled lines, or a JSON object with an example."""
        if self._settings.decoding == "tools":
            return self._prompts["answer_call"]
        if not self._constrained:
            return self._recipe.text
        argument = self._argument_text(space)
        # An example with actions of the prompt alone: it names none that the actor lacks.
        verbs = set(re.findall(r"^[a-z_]+", actions, re.MULTILINE))
        text = self._prompts.fill(
            f"example_{self._verbalizer.name}", verbs=verbs, sight=self._sight
        )
        thought, action = text.splitlines()
        examples = {
            "thought": thought,
            "plan": thought,
            self._recipe.action.key: action,
        }
        return self._recipe.request(True, argument, **examples)

    def _argument_text(self, space: ActionSpace) -> str:
        """Return what the field ``argument`` holds; empty without actions that take a text."""
        if not space.open_verbs:
            return ""
        verbs = " or ".join(space.open_verbs)
        return f'the text of {verbs}, "action" being the name alone; else empty'

    def _omits_sections(self, turns: Sequence[prompting.Turn]) -> bool:
        """True if answers of examples leave out sections, whose texts no solver has written."""
        answer = ""
        if turns:
            answer = turns[0][1].lower()
        return any(section.key not in answer for section in self._recipe.sections)

    def _task(self, episode: Episode) -> str:
        """Return the task as the first message states it."""
        return self._prompts.fill("task", instruction=self._instruction(episode))

    def _opening(self, episode: Episode) -> str:
        """Return the text before the first observation; it is kept when old steps are dropped."""
        return self._task(episode)

    def _first_message(self, opening: str, message: str) -> str:
        """Return the first message: the opening, then the observation."""
        return self._prompts.fill("first_message", opening=opening, message=message)

    def _examples(self) -> list[prompting.Turn]:
        """Return the turns of the examples, cached if they are the same for all episodes.

        Drawn examples take at most half of the context if its size is known. Raises
        ``UsageError`` if too few fit.
        """
        settings = self._settings
        budget = self._budget
        if not settings.shots:
            return []
        seed = settings.examples
        if settings.draw == "episode":
            seed = zlib.crc32(f"{seed}/{self._episode.id}".encode())

        def turns_of(example: Demonstration) -> list[prompting.Turn]:
            actor = self._actor
            if actor not in example.episode.actors:
                actor = ""  # the first one of the example
            return examples.example_turns(
                example,
                partial(self.answer, episode=example.episode),
                lambda view, feedback: self._message(
                    view, feedback, bool(feedback), None
                ),
                self._task(example.episode),
                actor,
                settings.thoughts,
            )

        def every_turn() -> list[prompting.Turn]:
            room = None
            if budget.is_limited:
                room = budget.context / 2 * budget.characters_per_token
            draw = self._toolkit.demonstrations
            try:
                drawn = examples.draw_fitting(
                    draw, turns_of, settings.shots, seed, room
                )
            except examples.Unshowable as why:
                most = f"they may take half of a prompt's {budget.context:,} tokens"
                raise UsageError(
                    f"{why}; {most}; raise context, or lower shots"
                ) from None
            return list(itertools.chain.from_iterable(drawn))

        # Drawn once for all episodes with equal settings: drawing replays games.
        key = type(self).__name__, settings, self._actor, seed
        turns = self._toolkit.shared.once(_EXAMPLES, key, every_turn)
        # Examples come on top of the usual context, whose size is only assumed.
        if not budget.is_limited:
            budget.context += int(
                examples.count_characters(turns) / budget.characters_per_token
            )
        return turns

    def _message(
        self,
        observation: Observation,
        feedback: str,
        started: bool,
        space: ActionSpace | None,
        memory: Any = None,
    ) -> str:
        """Return a message: the result of the last action, the state and the view.

        ``started`` is False for the first message. ``space`` is None in examples, whose
        messages state no steps left. ``memory`` is what earlier messages described;
        None describes all.
        """
        block = "first_observation"
        if started:
            block = "observation"
        left = 0
        possible = ""
        if space is not None:
            left = self._steps.left()
            possible = self._possible(space)
        voice = generic.verbalizer(observation)
        hides_state = started and self._settings.own_state == "start"
        own, state = voice.self_state(observation)
        if self._sees_only_pictures:
            marks = self._marks
            # Messages of other actors have names.
            view = marks.text(voice.unpictured(observation, self._toolkit.perceiver))
            state = marks.text(state)
        elif voice.changes and memory is not None:
            view = voice.changes(observation, memory)
            hides_state = hides_state or not memory.notice_self(own.place, own.holding)
        else:
            view = voice.around(observation, self._toolkit.perceiver)
        if hides_state:
            state = ""
        view = prompting.joined(view, possible, gap="\n")
        return self._observation_text(
            block, feedback=feedback, state=state, view=view, left=left
        )

    def _observation_text(
        self,
        block: str = "observation",
        *,
        view: str,
        feedback: str = "",
        state: str = "",
        left: int | None = None,
    ) -> str:
        """Fill a block of the page with an observation.

        ``observation`` in the page is all of its parts, a line each.
        """
        if left is None:
            left = self._steps.left()
        return self._prompts.fill(
            block,
            observation=prompting.joined(feedback, state, view, gap="\n"),
            left=left,
            feedback=feedback,
            state=state,
            view=view,
        )

    async def _ask(
        self,
        chat: prompting.Conversation,
        schema: JsonObject | None,
        stop: tuple[str, ...] = (),
        role: str = "main",
        pictures: tuple[str, tuple[Image, ...]] = ("", ()),
    ) -> Reply:
        """Ask with the latest message, and return the reply.

        ``pictures`` are the labels and images that come with it. ``role`` is that of the
        model.
        """
        reserve = self._budget.answer
        labels, images = pictures
        reserve += self._budget.look_tokens(self._eyes) * (1 + len(chat.looks))
        self._budget.fit(chat.history, chat.length(self._message_text), reserve)
        gap_text = chat.history.gap_text(self._prompts)
        messages = chat.messages(self._message_text, gap_text)
        if images:
            text = self._prompts.fill("looks", labels=labels)
            latest = prompting.joined(messages[-1].content, text, gap="\n")
            messages[-1] = Message(messages[-1].role, latest, images)
        temperature = self._settings.temperature
        return (await self._budget.ask(messages, schema, temperature, stop, role))[0]


def _is_thought_alone(outcome: Decision | Rejection) -> bool:
    """True if an answer has a thought and nothing that looks like an action."""
    return (
        isinstance(outcome, Rejection)
        and outcome.kind == "no_action"
        and bool(outcome.thought)
    )
