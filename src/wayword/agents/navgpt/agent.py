"""NavGPT: explicit reasoning on a viewpoint graph (Zhou et al. 2024, sections 3.3 and 3.4).

    wayword run navgpt --on houses --model local:smollm2

Each step the model is shown the system principle, the instruction, the history (a one-sentence
summary, thought and action a step) and the current viewpoint in full, and answers with a thought
and either a neighbouring viewpoint's ID or the end. The prompt is laid out so that each one extends
the last up to the current observation.

Small local models get a shorter form by default (``decoding=numbered``): a chat in which each
message lists the exits by number, and the answer is a short thought and a number. Nothing that was
sent is rewritten, so a prefix cache evaluates every token of an episode once.

Departures from the released code, on purpose: only current neighbours are legal moves; history is
budgeted in tokens and loses whole steps, with a note in the trajectory, never characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from wayword.agents.answers import (
    AskedFields,
    Decoding,
    NamedAnswer,
    Reply,
    ask,
    choice_schema,
    read_choice,
    read_pick,
    replies,
)
from wayword.agents.clauses import named, note_followed
from wayword.agents.prompting import (
    Conversation,
    History,
    Prompts,
    TokenRate,
    answer_tokens,
    both,
    context_tokens,
)
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode, Json
from wayword.core.errors import UsageError
from wayword.core.model import Message, Sampling, system, user
from wayword.core.perceiver import Percept, need
from wayword.core.trajectory import CLAUSES, HISTORY_DROPPED
from wayword.core.world import Feedback
from wayword.verbalize import indoor
from wayword.worlds.indoor.world import IndoorObservation, ObjectsObservation

# A map in words: the places visited and seen so far, and what joins them, growing with the walk.
#
# Source: the topological map of MapGPT (Chen et al. 2024), section 3.2.


class WalkMap:
    """The part of a graph that one walk has seen: nothing that was not offered as a way.

    >>> known = WalkMap()
    >>> known.arrive("hall", ["lobby", "stairs"])
    >>> known.arrive("lobby", ["hall", "lab"])
    >>> print(known.text())
    Walked so far: hall, lobby
    hall (visited) leads to: lobby, stairs
    lobby (here) leads to: hall, lab
    Seen but not visited: stairs, lab
    """

    def __init__(self) -> None:
        self._ways: dict[str, tuple[str, ...]] = {}
        self._walk: list[str] = []

    def arrive(self, place: str, ways: Iterable[str]) -> None:
        """Stand at a place and see its ways. Standing still adds nothing."""
        if not self._walk or self._walk[-1] != place:
            self._walk.append(place)
        self._ways[place] = tuple(ways)

    def text(self) -> str:
        """The map, a line a visited place, in the order in which they were first visited."""
        if not self._walk:
            return "Nothing is known of the building yet."
        here = self._walk[-1]
        lines = [f"Walked so far: {', '.join(self._walk)}"]
        lines += [
            f"{place} ({'here' if place == here else 'visited'}) leads to: {', '.join(ways)}"
            for place, ways in self._ways.items()
        ]
        seen = dict.fromkeys(way for ways in self._ways.values() for way in ways)
        left = [place for place in seen if place not in self._ways]
        return "\n".join([*lines, f"Seen but not visited: {', '.join(left) or 'none'}"])


OPENING = "The scene from the viewpoint is a"
"""What an online summary completes, as the recorded ones do."""
VIEW = 60.0
"""Degrees across the picture of a way."""
SHORT_THOUGHT = 50
"""Characters of a thought with numbered exits: about a second of a small model on one core."""
BY_NUMBER = AskedFields("number of an exit", "a number of the list")
_SENTENCE = re.compile(r"(?<!\bSt)[.!?](?= [A-Z])")
START = "The navigation starts; no action has been taken yet."


@dataclass(frozen=True, slots=True)
class NavGPTSettings:
    """How NavGPT asks and is answered.

    ``decoding``: ``constrained`` (a JSON answer: a thought, arrived or not, and one of the legal
    IDs), ``free`` (Thought / Action / Action Input as in the paper; what is not an action is
    rejected) or ``numbered`` (a chat with numbered exits: the default with a small local model;
    earlier messages stay as they were, so ``summaries`` has no effect).
    ``summaries``: past viewpoints told by the ``recorded`` sentence, or one written ``online`` by
    the model of the role ``summary``. ``captions``, ``objects``, ``distances``: the ablations of
    Table 3. ``context``: tokens that a prompt may take before old steps are dropped;
    0 for what the model holds.
    ``pictures``: show a picture of every way, where the dataset has pictures and the model takes
    them; ``map``: tell a map in words that grows with the walk (both as in MapGPT).
    ``thought_length``: characters of a constrained thought; 0 for as many as leave the answer
    within ``max_tokens``, or 50 with numbered exits. ``max_tokens``: of an answer; 0 for 400, or
    up to 2,000 with a model of a large window. ``prompts``: a folder of texts to use instead of
    the shipped ones.
    """

    decoding: Literal["constrained", "free", "numbered"] = "constrained"
    summaries: Literal["recorded", "online"] = "recorded"
    captions: bool = True
    objects: bool = True
    distances: bool = True
    pictures: bool = False
    map: bool = False
    context: int = 0
    thought_length: int = 0
    max_tokens: int = 0
    temperature: float = 0.0
    prompts: str = ""

    def __post_init__(self) -> None:
        if self.context < 0 or self.thought_length < 0 or 0 != self.max_tokens < 8:
            raise UsageError(
                "navgpt: context and thought_length are at least 0, max_tokens 8, or 0"
            )
        if not 0.0 <= self.temperature <= 10.0:
            raise UsageError(f"navgpt: temperature lies between 0 and 10, not {self.temperature}")
        if self.decoding == "numbered" and (self.pictures or self.map):
            raise UsageError(
                "navgpt: pictures and map name viewpoints by ID, which decoding=numbered (the "
                "default with a small local model) does not show; add decoding=constrained"
            )


class NavGPT(Agent):
    """NavGPT: reasons in words at every viewpoint, and names the next (Zhou et al. 2024)."""

    Settings: ClassVar[type[NavGPTSettings]] = NavGPTSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor"})
    needs_model: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = ("summary",)
    small_model: ClassVar[Mapping[str, Json]] = {"decoding": "numbered"}

    def __init__(self, settings: NavGPTSettings, toolkit: Toolkit) -> None:
        self._settings, self._toolkit = settings, toolkit
        self._perceiver = perceiver = need(toolkit.perceiver, "perceive", "navgpt")
        self._context = context_tokens(settings.context, toolkit)
        self._answer = answer_tokens(settings.max_tokens, toolkit, 400)
        self._prompts = Prompts(__file__, settings.prompts)
        self._telling = indoor.Telling(settings.captions, settings.objects, settings.distances)
        self._history, self._rate = History(), TokenRate()
        self._map = WalkMap()
        self._camera = need(perceiver, "picture", "pictures=true") if settings.pictures else None
        self._chat: Conversation | None = None
        self._now = self._said = ""
        self._known: set[str] = set()
        self._visited: set[str] = set()
        self._event = START
        self._opening, self._sought = "", "route"
        self._viewpoint = self._summary = ""
        self._parts: tuple[str, ...] = ()
        self._marked = False

    async def begin(self, episode: Episode) -> None:
        self._marked = False
        self._parts = parts = tuple(map(str, episode.extra.get("sub_instructions", ())))
        listed = "".join(f"\n{number}. {part}" for number, part in enumerate(parts, 1))
        if parts:
            self._toolkit.note(CLAUSES, texts=list(parts), begins=[])
        self._opening = self._prompts.fill("begin", instruction=f"{episode.instruction}{listed}")

    async def act(self, observation: IndoorObservation, space: ActionSpace) -> Decision | Rejection:
        self._sought = "object" if isinstance(observation, ObjectsObservation) else "route"
        percept = self._perceiver.perceive(observation.scene, observation.viewpoint)
        legal = [action.arguments[0] for action in space.listed if action.name == "goto"]
        if self._settings.decoding == "numbered":
            answer = await self._by_number(observation, percept, legal)
        else:
            answer = await self._by_id(observation, percept, legal)
        if isinstance(answer, Rejection):
            return answer
        # The sub-instruction that a thought names; none again where the next does not say.
        number = named(answer.thought, self._parts)
        if number or self._marked:
            note_followed(self._toolkit.note, number, ())
        self._marked = self._marked or number > 0
        if answer.choice is not None:
            return Decision(Action("goto", (answer.choice,)), answer.thought)
        if not isinstance(observation, ObjectsObservation) or not observation.objects:
            return Decision(STOP, answer.thought)
        # Stop, and name the object that is meant; none where the answer names none.
        told = indoor.objects(observation)
        asked = user(self._prompts.fill("object", opening=self._opening, objects=told))
        names = [thing.id for thing in observation.objects]
        how: Decoding = "free" if self._settings.decoding == "free" else "constrained"
        reply = await ask(self._toolkit.model(), [asked], names, how, 24)
        picked = read_pick(reply, names)
        if isinstance(picked, Rejection):
            return Decision(STOP, answer.thought, fallback_for=picked)
        return Decision(Action("stop", (picked,)), answer.thought)

    async def _by_id(
        self, observation: IndoorObservation, percept: Percept, legal: Sequence[str]
    ) -> NamedAnswer | Rejection:
        """The answer to one prompt with the history and every direction; exits have their IDs."""
        description = indoor.observation(observation, percept, self._telling)
        self._map.arrive(observation.viewpoint, legal)
        messages = self._shown(observation, self._messages(observation.viewpoint, description))
        moved = observation.viewpoint != self._viewpoint
        self._viewpoint = observation.viewpoint
        asked = self._ask(messages, legal)
        described = indoor.observation(observation, percept, replace(self._telling, ways=False))
        reply, self._summary = await both(asked, self._summarise(percept, described, moved))
        answer = read_choice(reply, legal, self._known)
        self._known.update(legal, [observation.viewpoint])
        return answer

    async def _by_number(
        self, observation: IndoorObservation, percept: Percept, legal: Sequence[str]
    ) -> NamedAnswer | Rejection:
        """The answer to one more message of a chat; exits have numbers, from 1."""
        chat, exits = self._message(observation, percept, legal)
        room = int((self._context - self._answer) * self._rate.characters_per_token)
        if gone := chat.fit(room, self._now):
            self._toolkit.note(HISTORY_DROPPED, steps=gone, context=self._context)
        gap = self._prompts.fill("dropped", count=str(chat.dropped)) if chat.dropped else ""
        numbers = [str(number) for number in range(1, len(exits) + 1)]
        reply = await self._ask(chat.messages(self._now, gap), numbers)
        # The chat repeats the answer to the letter: other words would end the cached prefix.
        self._said = reply.text
        answer = read_choice(reply, numbers, asked=BY_NUMBER)
        if isinstance(answer, Rejection) or answer.choice is None:
            return answer
        return replace(answer, choice=exits[int(answer.choice) - 1])

    def _message(
        self, seen: IndoorObservation, percept: Percept, legal: Collection[str]
    ) -> tuple[Conversation, list[str]]:
        """Write the next message of the chat: the event and the exits, whose IDs are returned."""
        if self._chat is None:
            told = self._prompts[f"told_{self._sought}"]
            success = self._prompts.fill(f"success_{self._sought}", closer="")
            fixed = self._prompts.fill("principle_numbered", told=told, success=success)
            self._chat = Conversation(fixed, self._opening)
        self._visited.add(seen.viewpoint)
        exits = [way for way in indoor.clockwise(seen) if way.viewpoint in legal]
        listed = indoor.numbered(exits, seen.heading, percept, self._telling, self._visited)
        self._now = self._prompts.fill("now_numbered", event=self._event, exits=listed)
        return self._chat, [way.viewpoint for way in exits]

    async def recall(
        self, observation: IndoorObservation, space: ActionSpace, decision: Decision | Rejection
    ) -> None:
        """Add a step that another agent took to the history."""
        percept = self._perceiver.perceive(observation.scene, observation.viewpoint)
        legal = [action.arguments[0] for action in space.listed if action.name == "goto"]
        if self._settings.decoding == "numbered":
            _, exits = self._message(observation, percept, legal)
            self._said = _by_number(decision, exits)
        self._map.arrive(observation.viewpoint, legal)
        self._known.update(legal, [observation.viewpoint])
        self._viewpoint, self._summary = observation.viewpoint, one_sentence(percept.summary)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Append the step to the history; its result opens the next observation."""
        if self._chat is not None:
            self._chat.add(self._now, self._said)
        else:
            block = self._prompts.fill(
                "past",
                event=self._event,
                viewpoint=self._viewpoint,
                summary=self._summary,
                thought=decision.thought,
                action=_said(decision, self._settings.decoding),
            )
            self._history.add(block)
        if isinstance(decision, Rejection):
            self._event = f"That was no legal move: {decision.reason}."
        elif "heading" in feedback.details:
            details = feedback.details
            turned = indoor.turn if self._chat is None else indoor.walked
            self._event = turned(details["heading_before"], details["heading"])

    def _messages(self, viewpoint: str, description: str) -> list[Message]:
        form = self._settings.decoding
        seen = "objects" if self._settings.objects else "plain"
        around, closer = (self._prompts[f"{name}_{seen}"] for name in ("around", "closer"))
        success = self._prompts.fill(f"success_{self._sought}", closer=closer)
        told = self._prompts[f"told_{self._sought}"]
        slots = {"around": around, "closer": closer, "told": told, "success": success}
        rules = self._prompts.fill("principle", **slots)
        principle = f"{rules}\n\n{self._prompts[f'format_{form}']}"
        now = self._prompts.fill(
            "now", event=self._event, viewpoint=viewpoint, description=description
        )
        if self._settings.map:
            now = f"{now}\n\n{self._prompts.fill('map', map=self._map.text())}"
        cue = self._prompts[f"cue_{form}"]
        fixed = len(principle) + len(self._opening) + len(now)
        room = int(self._context * self._rate.characters_per_token) - fixed
        if gone := self._history.fit(max(0, room)):
            self._toolkit.note(HISTORY_DROPPED, steps=gone, context=self._context)
        past = self._history.blocks
        if self._history.dropped:
            past = [self._prompts.fill("dropped", count=str(self._history.dropped)), *past]
        return [system(principle), user("\n\n".join([self._opening, *past, now, cue]))]

    def _shown(self, seen: IndoorObservation, messages: list[Message]) -> list[Message]:
        """The messages, with a picture towards each way, in the order of the ways."""
        if self._camera is None:
            return messages
        ways = [way.viewpoint for way in seen.neighbors]
        images = tuple(
            self._camera.picture(seen.scene, seen.viewpoint, way.heading, VIEW, way.elevation)
            for way in seen.neighbors
        )
        listed = "; ".join(f"picture {n}: {place}" for n, place in enumerate(ways, 1))
        told = f"{messages[-1].content}\n\n{self._prompts.fill('pictures', listed=listed)}"
        return [*messages[:-1], Message("user", told, images)]

    @property
    def _longest(self) -> int:
        """Characters of a constrained thought: at two a token the answer still ends."""
        usual = SHORT_THOUGHT if self._settings.decoding == "numbered" else 2 * self._answer
        return self._settings.thought_length or usual

    async def _ask(self, messages: list[Message], legal: Collection[str]) -> Reply:
        constrained = self._settings.decoding != "free"
        sampling = Sampling(
            temperature=self._settings.temperature,
            max_tokens=self._answer,
            stop=() if constrained else ("\nObservation:",),
            json_schema=choice_schema("action", legal, self._longest) if constrained else None,
            seed=self._toolkit.rng.getrandbits(31) if self._settings.temperature > 0 else None,
        )
        completion = await self._toolkit.model().complete(messages, sampling)
        if self._camera is None:  # tokens of pictures say nothing about those of text
            written = sum(len(message.content) for message in messages)
            self._rate.learn(written, completion.usage.prompt)
        return replies(completion, sampling)[0]

    async def _summarise(self, percept: Percept, description: str, moved: bool) -> str:
        if not moved:
            return self._summary  # a rejected answer leaves the agent where it was
        if self._settings.summaries == "recorded":
            if not percept.summary:
                raise UsageError("this dataset records no summaries; set summaries=online")
            return one_sentence(percept.summary)
        prompt = [user(self._prompts.fill("summary", description=description))]
        sampling = Sampling(max_tokens=80, stop=("\n",))
        written = await self._toolkit.model("summary").complete(prompt, sampling)
        reply = replies(written, sampling, "the token limit of the role 'summary'")[0]
        if reply.cut_off and not reply.text.strip():
            self._toolkit.note("summary_cut_off", reason=reply.cut_off)
        said = reply.text.strip()
        return one_sentence(said if said.startswith(OPENING) else f"{OPENING} {said}")


def one_sentence(summary: str) -> str:
    """The first sentence of a summary, as a line of the history has room for one.

    >>> one_sentence("The scene is a hall. It has a door.")
    'The scene is a hall.'
    """
    words = " ".join(summary.split())
    end = _SENTENCE.search(words)
    return words[: end.start() + 1] if end else words


def _said(decision: Decision | Rejection, form: str) -> str:
    """The decision as the model wrote it, or would have: rejected answers are shown shortened.
    Only free answers have the tool's form."""
    if isinstance(decision, Rejection):
        shown = " ".join(decision.said.split())[:200]
        return f"Action Input: {shown}" if form == "free" else f"Answer: {shown}"
    if form == "constrained":
        stops = decision.action == STOP
        return "Arrived" if stops else f'Moved to: "{decision.action.arguments[0]}"'
    if decision.action == STOP:
        return "Final Answer: Finished!"
    return f'Action: action_maker\nAction Input: "{decision.action.arguments[0]}"'


def _by_number(decision: Decision | Rejection, exits: Sequence[str]) -> str:
    """The decision as a model would have written it, compact as constrained models write."""
    if isinstance(decision, Rejection):
        return decision.said
    goes = decision.action.arguments[0] if decision.action.name == "goto" else ""
    number = exits.index(goes) + 1 if goes in exits else 1
    answer = {"thought": decision.thought, "arrived": not goes, "action": str(number)}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


agent = NavGPT
