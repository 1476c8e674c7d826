"""NavGPT: explicit reasoning on a viewpoint graph (Zhou et al. 2024, sections 3.3 and 3.4).

    wayword run navgpt --on houses --model local:smollm2

At each step the prompt shows the system principle, the instruction, the history (per step: a
one-sentence summary, the thought and the action) and the full current viewpoint. The model answers
with a thought and either the ID of a neighboring viewpoint or the end of the walk. Each prompt
extends the last one up to the current observation.

Small local models get a shorter form by default (``decoding=numbered``): a chat in which each
message numbers the exits, and each answer is a short thought and a number. Messages are never
changed later, so a prefix cache evaluates every token of an episode once.

Deliberate differences from the released code: only current neighbors are legal moves; if the
history exceeds its token budget, whole steps are dropped, with a note in the trajectory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

from wayword.agents import answers
from wayword.agents.clauses import named_part, note_followed
from wayword.agents.prompting import (
    Conversation,
    PromptAgent,
    PromptSettings,
    ask_both,
)
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode, Json
from wayword.core.errors import UsageError
from wayword.core.model import Message, Sampling, system, user
from wayword.core.perceiver import Percept, need
from wayword.core.trajectory import CLAUSES
from wayword.core.visible import single_line
from wayword.core.world import Feedback
from wayword.verbalize import indoor
from wayword.worlds.indoor.world import IndoorObservation, ObjectsObservation

SUMMARY_START = "The scene from the viewpoint is"
"""The first words of all summaries, recorded or written online; an article follows."""
_LEAD = re.compile(rf"^{SUMMARY_START}(?: an?\b)?")
_ARTICLE = re.compile(r"(?:an?|the)\s", re.IGNORECASE)
# Limit of a summary written online. Ours, as the paper states none; half of the recorded ones have
# at most 25 words.
SUMMARY_TOKENS = 80
SHORT_THOUGHT = 50  # characters with numbered exits: a second of a small model
_SENTENCE = re.compile(r"(?<!\bSt)[.!?](?= [A-Z])")
START_EVENT = "The navigation starts; no action has been taken yet."


@dataclass(frozen=True)
class NavGPTSettings(PromptSettings):
    """Settings of NavGPT, in addition to those of all prompts.

    ``decoding``: ``constrained`` (a JSON answer: a thought, arrived or not, and a legal ID),
    ``free`` (Thought / Action / Action Input as in the paper; an answer without a legal action is
    rejected) or ``numbered`` (a chat with numbered exits, the default with a small local model;
    ``summaries`` then has no effect). ``summaries`` describes past viewpoints by the ``recorded``
    sentence, or by one that the model of the role ``summary`` writes ``online``. ``captions``,
    ``objects``, ``distances``: parts of descriptions; turning them off gives the ablations of
    Table 3. ``slopes``: say which exits lead up or down; the paper and its code do not.
    ``history``: show the steps so far; if off, only the result of the last step. ``max_tokens`` is
    400 by default, ``thought_length`` 50 with numbered exits. ``endings``: a ``Final Answer:`` ends
    the walk only if it says that the agent has arrived (``arrived``; "not there yet" is rejected),
    or always, as in the released code (``any``).
    """

    decoding: Literal["constrained", "free", "numbered"] = "constrained"
    summaries: Literal["recorded", "online"] = "recorded"
    captions: bool = True
    objects: bool = True
    distances: bool = True
    slopes: bool = True
    history: bool = True
    endings: Literal["arrived", "any"] = "arrived"


class NavGPT(PromptAgent):
    """NavGPT: reasons in words at every viewpoint and names the next one (Zhou et al. 2024)."""

    Settings = NavGPTSettings
    families = frozenset({"indoor"})
    source_file = __file__
    has_eyes = True
    roles = ("summary",)
    small_model: ClassVar[Mapping[str, Json]] = {"decoding": "numbered"}

    def __init__(self, settings: NavGPTSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._perceiver = need(toolkit.perceiver, "perceive", "navgpt")
        if self._eyes is not None and settings.decoding == "numbered":
            raise UsageError(
                "navgpt: decoding=numbered shows no pictures; set decoding=constrained"
            )
        # With pictures alone, words must not describe what the pictures show.
        tells_sight = self._sight != "pictures"
        self._detail = indoor.Detail(
            settings.captions and tells_sight,
            settings.objects and tells_sight,
            settings.distances,
            slopes=settings.slopes,
        )
        self._chat: Conversation | None = None
        self._known_viewpoints: set[str] = set()
        self._visited: set[str] = set()
        self._event = START_EVENT
        self._is_refused = False
        self._has_moved = False
        self._goal_kind = "route"
        self._instruction = self._opening = ""
        self._message_text = self._answer = ""
        self._viewpoint = self._summary = self._scene = ""
        self._sub_instructions: tuple[str, ...] = ()
        self._part_noted = False

    async def begin(self, episode: Episode) -> None:
        """Prepare the parts of the instruction."""
        self._part_noted = False
        self._sub_instructions = parts = tuple(
            map(str, episode.extra.get("sub_instructions", ()))
        )
        if parts:
            self._toolkit.note(CLAUSES, texts=list(parts), begins=[])
        listed = "".join(f"\n{number}. {part}" for number, part in enumerate(parts, 1))
        self._instruction = f"{episode.instruction}{listed}"
        self._opening = self._prompts.fill("begin", instruction=self._instruction)

    async def act(
        self,
        observation: IndoorObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Describe the viewpoint, ask the model, and read its action.

        In object navigation, a stop also names the target object, which takes another
        call.
        """
        if isinstance(observation, ObjectsObservation):
            self._goal_kind = "object"
        else:
            self._goal_kind = "route"
        percept = self._perceiver.perceive(observation.scene, observation.viewpoint)
        is_numbered = self._settings.decoding == "numbered"
        answer_method = self._answer_by_number if is_numbered else self._answer_by_id
        answer = await answer_method(observation, percept, _legal_viewpoints(space))
        if isinstance(answer, Rejection):
            return answer
        # Once a thought has named a sub-instruction, a thought that names none is noted as 0.
        number = named_part(answer.thought, self._sub_instructions)
        if number or self._part_noted:
            note_followed(self._toolkit.note, number, ())
        self._part_noted = self._part_noted or number > 0
        if answer.choice is not None:
            return Decision(Action("goto", (answer.choice,)), answer.thought)
        if not isinstance(observation, ObjectsObservation) or not observation.objects:
            return Decision(STOP, answer.thought)
        # Stop and name the target object; without one if the answer names none of the listed.
        listed = indoor.objects(observation)
        question = user(
            self._prompts.fill("object", opening=self._opening, objects=listed)
        )
        names = [each.id for each in observation.objects]
        if self._settings.decoding == "free":
            decoding: answers.Decoding = "free"
        else:
            decoding = "constrained"
        picked = answers.read_pick(
            await answers.ask(self._toolkit.model(), [question], names, decoding, 24),
            names,
        )
        if isinstance(picked, Rejection):
            return Decision(STOP, answer.thought, fallback_for=picked)
        return Decision(Action("stop", (picked,)), answer.thought)

    async def _answer_by_id(
        self,
        observation: IndoorObservation,
        percept: Percept,
        legal: Sequence[str],
    ) -> answers.NamedAnswer | Rejection:
        """Ask with a prompt that contains the history and every direction; exits have IDs.

        ``legal`` are the viewpoints that can be moved to. The summary for the history
        is requested at the same time.
        """
        write = partial(self._prompts.fill, "direction")
        description = indoor.observation(observation, percept, write, self._detail)
        messages = self._messages(observation, description)
        # Compared before it is overwritten: a place is summarized only on arrival.
        has_moved = observation.viewpoint != self._viewpoint
        self._viewpoint = observation.viewpoint
        summary = self._summarize(observation, percept, has_moved)
        reply, self._summary = await ask_both(self._ask(messages, legal), summary)
        self._scene = self._describe_scene(percept)
        self._answer = reply.text
        any_ending = self._settings.endings == "any"
        answer = answers.read_choice(
            reply,
            legal,
            self._known_viewpoints,
            any_ending=any_ending,
        )
        self._known_viewpoints.update(legal, [observation.viewpoint])
        return answer

    async def _answer_by_number(
        self,
        observation: IndoorObservation,
        percept: Percept,
        legal: Sequence[str],
    ) -> answers.NamedAnswer | Rejection:
        """Ask with the next message of the chat; exits have numbers, from 1."""
        chat, exits = self._write_message(observation, percept, legal)
        self._budget.fit(
            chat.history,
            chat.length(self._message_text),
            self._budget.answer,
        )
        numbers = [str(number) for number in range(1, len(exits) + 1)]
        gap_text = chat.history.gap_text(self._prompts)
        reply = await self._ask(chat.messages(self._message_text, gap_text), numbers)
        # The chat contains the exact answer: any change would end the cached prefix.
        self._answer = reply.text
        answer = answers.read_choice(
            reply,
            numbers,
            (),
            "number of an exit",
            "a number of the list",
        )
        if isinstance(answer, Rejection) or answer.choice is None:
            return answer
        return replace(answer, choice=exits[int(answer.choice) - 1])

    def _write_message(
        self,
        view: IndoorObservation,
        percept: Percept,
        legal: Collection[str],
    ) -> tuple[Conversation, list[str]]:
        """Write the message about a viewpoint; return the chat and its numbered exits, in order."""
        # One chat per episode: each prompt extends the last, which servers cache.
        if self._chat is None:
            fixed = self._prompts.fill(
                "system_numbered",
                goal=self._goal_kind,
                limit=self._steps.limit,
                needs_stop=self._steps.needs_stop,
            )
            self._chat = Conversation(fixed, self._opening)
        self._visited.add(view.viewpoint)
        exits = [
            exit_ for exit_ in indoor.sort_clockwise(view) if exit_.viewpoint in legal
        ]
        listed = indoor.numbered_exits(
            exits,
            view.heading,
            percept,
            self._detail,
            self._visited,
            frozenset(re.findall(r"\w+", self._instruction.lower())),
        )
        self._message_text = self._prompts.fill(
            "now_numbered",
            event=self._event,
            exits=listed,
            left=self._steps.left(),
        )
        return self._chat, [exit_.viewpoint for exit_ in exits]

    async def recall(
        self,
        observation: IndoorObservation,
        space: ActionSpace,
        decision: Decision | Rejection,
    ) -> None:
        """Add a recorded step, so that a resumed episode has the same history."""
        percept = self._perceiver.perceive(observation.scene, observation.viewpoint)
        legal = _legal_viewpoints(space)
        if self._settings.decoding == "numbered":
            _, exits = self._write_message(observation, percept, legal)
            if isinstance(decision, Rejection):
                self._answer = decision.said
            else:  # as the JSON answer of a constrained model
                moves = decision.action.name == "goto"
                viewpoint = decision.action.arguments[0] if moves else ""
                # An exit that is not listed becomes 1: the answer needs a number.
                number = exits.index(viewpoint) + 1 if viewpoint in exits else 1
                answer = {
                    "thought": decision.thought,
                    "arrived": not moves,
                    "action": str(number),
                }
                compact = (",", ":")
                self._answer = json.dumps(
                    answer, ensure_ascii=False, separators=compact
                )
        elif isinstance(decision, Rejection):
            self._answer = decision.said
        else:
            action = _past_action(decision, self._settings.decoding)
            self._answer = f"{decision.thought}\n{action}"
        self._known_viewpoints.update(legal, [observation.viewpoint])
        self._viewpoint = observation.viewpoint
        self._summary = one_sentence(percept.summary)
        self._scene = self._describe_scene(percept)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Add the result of a decision to the history."""
        self._steps.taken += 1
        # With numbered answers, the history is the chat itself, not blocks of text.
        if self._chat is not None and self._settings.history:
            self._chat.add(self._message_text, self._answer)
        elif self._settings.history:
            block = self._prompts.fill(
                "past_first" if self._event == START_EVENT else "past",
                event=self._event,
                viewpoint=self._viewpoint,
                summary=self._summary,
                scene=self._scene,
                sight=self._sight,
                thought=decision.thought,
                action=_past_action(decision, self._settings.decoding),
                answer=self._answer,
            )
            self._history.add(block)
        self._is_refused = isinstance(decision, Rejection)
        if isinstance(decision, Rejection):
            self._event = f"That was no legal move: {decision.reason}."
        elif "heading" in feedback.details:
            headings = feedback.details["heading_before"], feedback.details["heading"]
            self._event = self._prompts.fill(
                "turned",
                walked=indoor.walk_feedback(*headings),
                **indoor.turn_slots(*headings, is_first=not self._has_moved),
            )
            self._has_moved = True

    def _messages(self, view: IndoorObservation, description: str) -> list[Message]:
        """Return the messages of a turn; the oldest steps are dropped to fit the context."""
        principle = self._prompts.fill(
            "system",
            goal=self._goal_kind,
            objects=self._detail.objects,
            sight=self._sight,
            slopes=self._settings.slopes,
            decoding=self._settings.decoding,
            limit=self._steps.limit,
            needs_stop=self._steps.needs_stop,
        )

        looks_text, looks = self._pictures_around()

        def walk(steps: Sequence[str]) -> str:
            """Return the user's message with as many past steps as fit."""
            return self._prompts.fill(
                "user",
                looks=looks_text,
                instruction=self._instruction,
                count=self._history.dropped,
                steps=steps,
                is_first=self._event == START_EVENT,
                is_refused=self._is_refused,
                event=self._event,
                viewpoint=view.viewpoint,
                description=description,
                left=self._steps.left(),
                decoding=self._settings.decoding,
            )

        reserve = self._budget.look_tokens(self._eyes)
        self._budget.fit(self._history, len(principle) + len(walk([])), reserve)
        message = Message("user", walk(self._history.blocks), looks)
        # The released code sends everything as one text.
        return [system(principle), message] if principle else [message]

    async def _ask(
        self,
        messages: list[Message],
        legal: Collection[str],
    ) -> answers.Reply:
        """Ask the model, with a schema if decoding is constrained."""
        settings = self._settings
        schema = None
        if settings.decoding != "free":
            # At two characters per token, an answer of full length is within the token limit.
            by_number = settings.decoding == "numbered"
            length = SHORT_THOUGHT if by_number else 2 * self._budget.answer
            schema = answers.choice_schema(
                "action",
                legal,
                settings.thought_length or length,
            )
        stop = () if schema else ("\nObservation:", "\n\tObservation:")
        return (await self._budget.ask(messages, schema, settings.temperature, stop))[0]

    async def _summarize(
        self,
        observation: IndoorObservation,
        percept: Percept,
        has_moved: bool,
    ) -> str:
        """Return the summary of the viewpoint for the history: recorded, or written by the model.

        The earlier summary if the agent has not moved (its answer was rejected) or keeps no
        history; empty if pictures show the scene, or if the model wrote none, which is noted.
        """
        if not has_moved or not self._settings.history:
            return self._summary
        if self._sight == "pictures":
            return ""
        if self._settings.summaries == "recorded":
            if not percept.summary:
                raise UsageError(
                    "this dataset records no summaries; set summaries=online"
                )
            return one_sentence(percept.summary)
        # Without exits: a summary is of the place, not of moves from it.
        write = partial(self._prompts.fill, "direction")
        detail = replace(self._detail, neighbors=False)
        scene = indoor.observation(observation, percept, write, detail)
        prompt = [user(self._prompts.fill("summary", description=scene))]
        # No stop at a line's end: it would leave nothing of an answer that begins with one.
        sampling = Sampling(max_tokens=SUMMARY_TOKENS)
        completion = await self._toolkit.model("summary").complete(prompt, sampling)
        reply = answers.replies(
            completion,
            sampling,
            "the token limit of the role 'summary'",
        )[0]
        text = reply.text.strip().partition("\n")[0]
        if not text:
            reason = reply.cut_off or "the answer is empty"
            self._toolkit.note("summary_empty", reason=reason)
            return ""
        return one_sentence(begin_summary(text))

    def _describe_scene(self, percept: Percept) -> str:
        """Return the full summary without its first words, as the released prompts have it."""
        is_recorded = self._settings.summaries == "recorded"
        summary = percept.summary if is_recorded else self._summary
        return _LEAD.sub("", summary, count=1).lstrip()


def begin_summary(answer: str) -> str:
    """Return the summary that an answer continues: models may repeat its first words or the "a".

    >>> begin_summary("hall."), begin_summary("An attic.")
    ('The scene from the viewpoint is a hall.', 'The scene from the viewpoint is an attic.')
    """
    if answer.startswith(SUMMARY_START):
        return answer
    if not _ARTICLE.match(answer):
        answer = f"a {answer}"
    return f"{SUMMARY_START} {answer[0].lower()}{answer[1:]}"


def one_sentence(summary: str) -> str:
    """Return the first sentence of a summary, to keep the history short.

    >>> one_sentence("The scene is a hall. It has a door.")
    'The scene is a hall.'
    """
    words = single_line(summary)
    end = _SENTENCE.search(words)
    return words[: end.start() + 1] if end else words


def _legal_viewpoints(space: ActionSpace) -> list[str]:
    """Return the viewpoints that can be moved to, in menu order."""
    return [action.arguments[0] for action in space.listed if action.name == "goto"]


def _past_action(decision: Decision | Rejection, decoding: str) -> str:
    """Return a decision as a line of the history; rejected answers are shortened."""
    if isinstance(decision, Rejection):
        said = single_line(decision.said, 200)
        return f"Action Input: {said}" if decoding == "free" else f"Answer: {said}"
    if decoding == "constrained":
        is_stop = decision.action == STOP
        return "Arrived" if is_stop else f'Moved to: "{decision.action.arguments[0]}"'
    if decision.action == STOP:
        return "Final Answer: Finished!"
    return f'Action: action_maker\nAction Input: "{decision.action.arguments[0]}"'


agent = NavGPT
