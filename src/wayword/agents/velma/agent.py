"""VELMA: the walk so far is one growing text, the next action is its next word.

    wayword run velma --on towns --model local:smollm2

The prompt contains the task, the action space, solved examples, the instruction, and then one line
per action and observation; it ends in the number of the next action. Text is only appended, so a
model with a prefix cache reads every token once per episode.

Deliberate differences from the released code: if the street does not allow an action, the text
contains the action carried out instead; an answer without an action becomes ``forward`` as there,
but the decision records the rejected answer.

Source: Schumann et al. 2024, "VELMA: Verbalization Embodiment of LLM Agents for Vision and
Language Navigation in Street View", section 5, figure 7.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from wayword.agents import clauses
from wayword.agents.answers import (
    FENCE,
    Reply,
    StrategyRecipe,
    fields,
    items,
    replies,
)
from wayword.agents.legal import Legal, Refusal, pick
from wayword.agents.pages import Prompts
from wayword.agents.prompting import (
    NotNegative,
    PromptBudget,
    Temperature,
    pictures_around,
    quote_safe,
)
from wayword.agents.velma.legs import RouteProgress, legs
from wayword.core.action import (
    STOP,
    Action,
    ActionSpace,
    Decision,
    Rejection,
    RejectionKind,
)
from wayword.core.agent import Agent, Demonstration, SharedKey, Toolkit
from wayword.core.episode import Episode, Json
from wayword.core.errors import UsageError
from wayword.core.model import Image, Message, Sampling
from wayword.core.perceiver import Perceiver
from wayword.core.sight import Mode, WordlessPerceiver
from wayword.core.trajectory import EXAMPLES_DROPPED
from wayword.core.visible import single_line
from wayword.core.world import Feedback
from wayword.perception.landmarks import TAU, recorded_scorer, visible
from wayword.verbalize import street
from wayword.worlds.street.moves import WORDS
from wayword.worlds.street.world import StreetObservation

FALLBACK = Action("forward")  # the paper's recipe for an answer without an action

# Maximum tokens of an answer by decoding; a list of words to choose from needs fewer
ANSWER_TOKENS = {"choose": 80, "complete": 80, "reasoned": 400}

WALK_RESERVE = 55 * 45  # characters left for the walk by examples: 55 steps of 45

AHEAD_VIEW = street.VIEWS.index(0)
# Numbers of the views ahead and straight to the sides
SIDE_VIEWS = (
    0,
    len(street.VIEWS) - 1,
)

STOPS = ("\nThere is", "\nYou see", "\nNavigation")
"""Stop sequences: the beginnings of observations or examples that a completion would invent."""


# Landmarks: recorded, or listed by a model. Names are cleaned but never shortened, since a scorer
# looks for the exact words. Source: VELMA, section 5.1 and appendix C.

# characters; the longest of the 20,065 recorded for Map2seq has 66
LONGEST_LANDMARK = 100

MOST_LANDMARKS = 20  # landmarks of one instruction; the recorded lists hold at most 9

_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.I)
_NOTHING = frozenset({"none", "n/a", "no landmarks"})
_BOLD = re.compile(r"^\*\*(.+?)\*\*.*")
"""A name in bold, which a remark follows."""
_WRAPPING = ' \t"“”*'


@dataclass(frozen=True)
class Landmarks:
    """Names to look for.

    ``ignored``: number of names dropped as too long or too many. ``cut_off``: the
    reason if the model's list ended at its token limit.
    """

    names: tuple[str, ...] = ()
    ignored: int = 0
    cut_off: str = ""


def tidy_landmarks(read_landmarks: Iterable[object]) -> Landmarks:
    """Return landmarks without empty, repeated and overlong entries, in their order.

    Names that differ in case or article alone are the same.
    """
    names: dict[str, str] = {}
    ignored = 0
    for entry in read_landmarks:
        # Names keep their words, but not the quotes around them.
        name = _BOLD.sub(r"\1", single_line(entry)).strip(_WRAPPING)
        key = _ARTICLE.sub("", name).casefold()
        # The article does not tell two landmarks apart.
        if not name or key in _NOTHING or key in names:
            continue
        if len(name) > LONGEST_LANDMARK or len(names) == MOST_LANDMARKS:
            ignored += 1
            continue
        names[key] = name
    return Landmarks(tuple(names.values()), ignored)


JUNCTION_WORDS = ("intersection", "side street")
COMMON_LANDMARKS = frozenset(
    {"traffic lights", "double lights", "a building", "a large building"}
)
"""Landmarks that the released code ignores (``vln/landmarks.py``, five shots): these, which are in
every view, and those that contain the words above."""


def read_landmarks(answer: str | Reply) -> Landmarks:
    """Return the landmarks in a numbered, bulleted or JSON list; text around it is skipped."""
    reply = Reply.of(answer)
    return replace(tidy_landmarks(items(reply.text)), cut_off=reply.cut_off)


# A completion that continues a walk: the next actions, one per numbered line.

_NUMBERED = re.compile(r"[\s*_`]*(?:(\d+)\s*[.):][*_`]*\s*)?(.*)", re.DOTALL)
_LABELS = ("action", "actions", "next_action", "next_actions", "answer")


def read_actions(answer: str | Reply, number: int) -> list[str] | Rejection:
    """Return the actions at the start of a completion that begins with action ``number``.

    The first line is an action, with or without its number; the following ones count as
    long as they are numbered in sequence. Nothing follows a stop. Fences, emphasis and
    labels are ignored; a list of all five actions is rejected.
    """
    reply = Reply.of(answer)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    values: list[Any] = []
    # A list counts as its entries, a text as one.
    for given in fields(reply.text, _LABELS).values.values():
        for value in given:
            if isinstance(value, list):
                values += value
            else:
                values.append(value)
    lines: list[str] = []
    for text in values or [FENCE.sub("", reply.text)]:
        # Without a label, the full text is read.
        lines += filter(str.strip, str(text).strip().splitlines())
    numbers = [_NUMBERED.match(line).groups() for line in lines]  # type: ignore[union-attr]  # matches any
    named = {pick(word, WORDS) for _, word in numbers}
    if len(numbers) == len(WORDS) and named == set(WORDS):
        reason = "the answer lists all actions; give only the next"
        return reply.reject("several_actions", reason)
    words: list[str] = []
    for stated, word in numbers:
        # A line counts with the number that is due; the first one also without a number.
        due = str(number + len(words))
        if stated != due and (stated or words):
            break
        picked = pick(word, WORDS)
        if not isinstance(picked, str) or "stop" in words:
            break
        words.append(picked)
    # No line is numbered: the answer may name one action in prose.
    if not words and not any(stated for stated, _ in numbers):
        answer_word = pick("\n".join(lines), WORDS)
        if isinstance(answer_word, str):
            words = [answer_word]
    if words:
        return words
    # The first line tells what was meant.
    first = next(iter(lines), "")
    refusal = pick(first, WORDS)
    if isinstance(refusal, Refusal) and refusal.kind == "several_actions":
        reason = f"{first[:60]!r} names several actions; give one per line"
        return reply.reject(refusal.kind, reason)
    # A word or two were meant as an action; more are prose.
    kind: RejectionKind = "unknown" if len(first.split()) <= 2 else "no_action"
    return reply.reject(kind, f"{first[:60]!r} must be one of: {', '.join(WORDS)}")


# The agent.


@dataclass(frozen=True)
class VelmaSettings:
    """Settings of VELMA.

    ``shots``: number of solved training episodes shown as examples. They are drawn with the seed
    ``examples``, for each ``episode`` as in the released code, or once per ``run`` (``draw``), so
    that a model reads them once. ``landmarks``: the ``recorded`` lists, lists by a ``model`` (role
    ``landmarks``), or ``none``; those that the released code drops, such as intersections, are
    dropped.

    ``scores``: the source of landmark visibility: the ``dataset`` (only towns; published datasets
    have no pictures, the paper's "no image"), ``recorded`` scores in ``scores_file``, a ``neural``
    model (``clip``) on the panoramas in ``images``, standardized on the seen area of ``nodes`` (a
    graph's nodes.txt), or ``none``. ``tau``: threshold on standardized scores. ``traffic``:
    describe the traffic flow at the start if the agent must turn first and the scorer knows it.
    ``observations``: a line for each sentence (``lines``), or one line for all that is new at a
    step, with the landmarks of a view in one sentence, as in the released code (``joined``).

    ``decoding``: ``choose`` ranks the five action words; ``complete`` lets the model write, also
    several actions, which are taken until something new is seen; ``reasoned`` asks for a thought
    and an action, as a JSON object (the default with a chat model). ``max_tokens`` and
    ``temperature`` are those of written answers; by default 80 tokens; if ``reasoned``, 400 to
    2,000, by the model's window. ``step_limit``: the prompt states the maximum number of steps, and
    what is not described. ``context``: maximum tokens of a prompt; examples are dropped to stay
    below. 0: as many as fit the model's context window. ``follow``: also ask if
    the current leg is done (needs ``shots=0`` and ``decoding=choose``). ``glosses``: explain each
    action, as the released prompt does; always if ``reasoned``. Pictures (``eyes``) need
    ``reasoned``, and examples, whose observations are words, are left out with
    ``eyes=pictures``. ``prompts``: a folder of texts that
    replace the shipped ones, also the sentences ``junction``, ``landmark``, ``flow_with`` and
    ``flow_against``.
    """

    shots: NotNegative = 2
    examples: int = 0
    draw: Literal["episode", "run"] = "episode"
    landmarks: Literal["recorded", "model", "none"] = "recorded"
    scores: Literal["dataset", "recorded", "neural", "none"] = "dataset"
    scores_file: str = ""
    images: str = ""
    nodes: str = ""
    clip: str = "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k"
    tau: float = TAU
    traffic: bool = True
    observations: Literal["lines", "joined"] = "lines"
    decoding: Literal["choose", "complete", "reasoned"] = "choose"
    step_limit: Literal["stated", "hidden"] = "stated"
    max_tokens: NotNegative = 0
    temperature: Temperature = 0.0
    context: NotNegative = 0
    follow: bool = False
    glosses: bool = False
    prompts: str = ""

    def __post_init__(self) -> None:
        # The follower asks about legs, for which examples have no answers.
        if self.follow and (self.shots or self.decoding != "choose"):
            raise UsageError("velma: follow=true needs shots=0 and decoding=choose")
        # Ranking is deterministic.
        if self.temperature and self.decoding == "choose":
            raise UsageError("velma: temperature has no effect with decoding=choose")


_LANDMARKS = SharedKey[dict[str, Landmarks]]("landmarks by episode")
_REQUESTS = SharedKey[asyncio.Lock]("requests of landmarks by episode")


class Velma(Agent):
    """VELMA: the walk is one growing text, the action its next word (Schumann et al. 2024).

    With ``follow=true`` the class builds a :class:`RouteFollower`.
    """

    Settings = VelmaSettings
    families = frozenset({"street"})
    needs_model = True
    has_eyes = True
    roles = ("landmarks",)
    # A small model that reads of a limit writes one action at a time.
    small_model: ClassVar[Mapping[str, Json]] = {"step_limit": "hidden"}
    chat_model: ClassVar[Mapping[str, Json]] = {"decoding": "reasoned"}

    @classmethod
    def caveats(cls, settings: Any, perceiver: Perceiver | None) -> tuple[str, ...]:
        """Warn if the agent sees no landmarks."""
        silent = perceiver is None or "score" not in perceiver.capabilities
        unscored = settings.scores == "none" or (
            settings.scores == "dataset" and silent
        )
        if isinstance(perceiver, WordlessPerceiver):
            return ()  # it looks for landmarks in pictures
        if unscored or settings.landmarks == "none":
            return ('velma sees no landmarks (the paper\'s "no image")',)
        return ()

    def __new__(cls, settings: VelmaSettings, toolkit: Toolkit) -> Velma:
        return object.__new__(RouteFollower if settings.follow else cls)

    def __init__(self, settings: VelmaSettings, toolkit: Toolkit) -> None:
        self._settings = settings
        self._toolkit = toolkit
        self._eyes = toolkit.eyes
        self._sight: Mode = "words"
        if self._eyes is not None:
            self._sight = self._eyes.settings.eyes
            if settings.decoding != "reasoned":
                raise UsageError(
                    f"velma: eyes={self._sight} needs decoding=reasoned, and "
                    f"decoding={settings.decoding} asks for a word of the text"
                )
        tokens = ANSWER_TOKENS[settings.decoding]
        answer = settings.max_tokens
        # A thought may be as long as the model's window allows; actions alone are short.
        if settings.decoding != "reasoned":
            answer = answer or tokens
        self._budget = PromptBudget(
            toolkit,
            settings.context,
            answer,
            tokens,
            default_context=8192,
        )
        # SmolLM2: 2.6 for the walk, 3 and more over all
        self._budget.characters_per_token = 2.2
        self._prompts = Prompts(__file__, settings.prompts)
        self._sentences = street.Sentences(
            junction=self._prompts.fill("junction", ways="{ways}"),
            landmark=self._prompts.fill(
                "landmark",
                landmark="{landmark}",
                direction="{direction}",
            ),
            flow_with=self._prompts["flow_with"],
            flow_against=self._prompts["flow_against"],
        )
        self._scorer = _scorer(settings, toolkit)
        # Lists of landmarks cost calls, so they need something that uses them.
        if self._scorer is None and settings.landmarks == "model":
            raise UsageError(
                "velma: landmarks=model has no effect without visibility scores; set "
                "scores=recorded or scores=neural, or remove landmarks=model"
            )
        # The prompt says that the agent sees no landmarks, unless the limit is hidden.
        sees_nothing = self._scorer is None or settings.landmarks == "none"
        self._is_blind = sees_nothing and settings.step_limit == "stated"
        if self._sight == "pictures":
            self._is_blind = False
        self._examples: list[str] = []
        self._landmarks: tuple[str, ...] = ()
        self._opening_moves: list[str] = []
        self._next_actions: list[str] = []
        self._walk = ""
        self._number = 1
        self._cue_written = False
        self._is_turned = False
        self._noted_no_scores = False
        # Weights that follow the legs of a route are trained without a limit.
        self._limit = 0
        if settings.step_limit == "stated" and not settings.follow:
            self._limit = toolkit.max_steps

    async def begin(self, episode: Episode) -> None:
        """Find the landmarks of the instruction, and prepare the opening and the examples."""
        is_told_nothing = self._scorer is None and self._settings.scores == "dataset"
        if is_told_nothing and self._sight == "words":
            self._toolkit.note("no_image", reason="the dataset has no landmark scores")
        self._landmarks = await self._find_landmarks(episode)
        self._opening_moves = [str(word) for word in episode.extra.get("opening", ())]
        self._is_turned = bool(self._opening_moves)
        self._walk = self._route_text(episode)
        # Examples of an episode depend on its id, as in the released code. Their
        # observations are words, so that agents that see pictures get none.
        if self._settings.shots and self._sight != "pictures":
            seed = self._settings.examples
            if self._settings.draw == "episode":
                seed = zlib.crc32(f"{seed}/{episode.id}".encode())
            demonstrations = self._toolkit.demonstrations(self._settings.shots, seed)
            self._examples = [
                await self._render_example(example) for example in demonstrations
            ]
        self._fit(WALK_RESERVE)

    async def act(
        self,
        observation: StreetObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Append the view to the walk and ask for the next action.

        Actions of the dataset's opening come first, then those that the last answer
        named beyond its first, until something new is seen.
        """
        # Before any planned move as well: the walk is a full record, and what is new in the view
        # drops the plan.
        self._append_view(observation)
        if self._opening_moves:
            return Decision(Action(self._opening_moves.pop(0)))
        if self._next_actions:
            return Decision(Action(self._next_actions.pop(0)))
        if self._settings.decoding == "choose":
            return await self._choose()
        if self._settings.decoding == "reasoned":
            return await self._reason()
        self._fit()
        temperature = self._settings.temperature
        reply = (await self._budget.ask(self.prompt, None, temperature, STOPS))[0]
        words = read_actions(reply, self._number)
        if isinstance(words, list):
            self._next_actions = words[1:]
        return self._decide(words)

    async def recall(
        self,
        view: StreetObservation,
        space: ActionSpace,
        decided: object,
    ) -> None:
        """Append a recorded view, so that the walk continues as it was."""
        self._append_view(view)
        self._opening_moves = self._opening_moves[1:]

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Append the executed action to the walk."""
        if isinstance(decision, Rejection):
            return
        # What the world did may differ from what was decided.
        executed = _executed_action(decision, feedback)
        self._walk += f" {executed}\n"
        self._number = self._number + 1
        self._cue_written = False
        # A replaced action makes the planned ones worthless.
        if executed != decision.action.name:
            self._next_actions.clear()

    @property
    def prompt(self) -> str:
        """The prompt: examples, instruction and the walk so far."""
        return self._prompts.fill(
            "walk",
            # A chat model does not know from the names alone that left and right only turn.
            glosses=self._settings.glosses or self._settings.decoding == "reasoned",
            examples=self._examples,
            walk=self._walk,
            limit=self._limit,
            is_blind=self._is_blind,
            sight=self._sight,
        )

    def _append_view(self, view: StreetObservation) -> None:
        """Append what is new in a view, and the next action's number.

        Once per step: after a rejected answer, the prompt has not changed.
        """
        if self._cue_written:
            return  # the last answer was rejected, so the prompt has not changed
        lines = self._lines(view, self._landmarks, faced=self._is_turned)
        # Something new is in view, so planned actions are dropped.
        if lines:
            self._next_actions.clear()
        self._walk += "".join(f"{line}\n" for line in lines)
        self._walk += self._cue()
        self._cue_written = True

    def _cue(self) -> str:
        """Return the beginning of the line that the next answer completes."""
        return street.action_number(self._number)

    def _lines(
        self,
        view: StreetObservation,
        landmarks: Sequence[str],
        faced: bool,
    ) -> list[str]:
        """Return the lines of an observation. ``faced``: the start needs no turn.

        Empty if pictures show the view.
        """
        if self._sight == "pictures":
            return []
        flow = None
        sightings = self._sightings(view, landmarks)
        if (
            self._scorer is not None
            and self._settings.traffic
            and view.step == 0
            and not faced
        ):
            flow = self._scorer.flow(view.scene, view.panorama, view.heading)
        describe = street.observation
        if self._settings.observations == "joined":
            describe = street.joined_observation
        return describe(view.exits, view.changed, sightings, flow, self._sentences)

    def _sightings(
        self,
        view: StreetObservation,
        landmarks: Sequence[str],
    ) -> list[tuple[str, int]]:
        """Return the landmarks in view with their directions, as numbers of ``street.VIEWS``.

        Empty without a scorer.
        """
        if self._scorer is None or not landmarks:
            return []
        headings = [(view.heading + side) % 360 for side in street.VIEWS]
        scores = self._scorer.score(view.scene, view.panorama, headings, landmarks)
        # Noted once: a panorama without scores is unusual.
        if np.isnan(scores).all() and not self._noted_no_scores:
            self._noted_no_scores = True
            self._toolkit.note(
                "no_landmark_scores",
                panorama=view.panorama,
                heading=view.heading,
            )
        return [
            (landmarks[row], side) for row, side in visible(scores, self._settings.tau)
        ]

    async def _choose(self) -> Decision:
        """Rank the words of the menu; another text is read as an answer."""
        self._fit()
        choice = await self._toolkit.model().choose(self.prompt, WORDS)
        self._budget.learn(len(self.prompt), choice.usage)
        if not choice.other_text:
            return Decision(Action(choice.best))
        return self._decide(read_actions(choice.other_text, self._number))

    async def _reason(self) -> Decision:
        """Ask for a thought and the next action; the walk keeps the action alone."""
        self._fit()
        form = StrategyRecipe(self._prompts["form"], "velma")
        example = {"thought": "Two lights are behind me; at the next one I turn."}
        question = self._prompts.fill(
            "reasoned",
            number=self._number,
            form=form.request(True, **example, action="forward"),
        )
        text = f"{self.prompt}\n\n{question}"
        images: tuple[Image, ...] = ()
        if self._eyes is not None:
            labels, images = pictures_around(self._eyes)
            looks = self._prompts.fill("looks", labels=labels)
            text = f"{self.prompt}\n\n{looks}\n{question}"
        messages = [Message("user", text, images)]
        space = ActionSpace(tuple(Action(word) for word in WORDS))
        # At two characters per token, an answer of full length is within the token limit.
        schema = form.schema_for(space, 2 * self._budget.answer)
        temperature = self._settings.temperature
        reply = (await self._budget.ask(messages, schema, temperature))[0]
        outcome = form.decision(reply, Legal(space)).outcome
        # An answer that cannot be read must not end the walk.
        if isinstance(outcome, Rejection):
            return Decision(FALLBACK, fallback_for=outcome)
        return outcome

    def _decide(self, words: list[str] | Rejection) -> Decision:
        """Return a decision for an answer; the fallback if it names no action."""
        if isinstance(words, Rejection):
            return Decision(FALLBACK, fallback_for=words)
        return Decision(Action(words[0]))

    async def _find_landmarks(self, episode: Episode) -> tuple[str, ...]:
        """Return the landmarks to look for, without those that every junction has.

        Empty without a scorer, which alone could find them, and with ``landmarks=none``. A list by
        the model is cached by episode id for the run; one that was shortened or cut off is noted in
        each episode that uses it.
        """
        settings = self._settings
        note = self._toolkit.note
        landmarks = Landmarks()
        if self._scorer is None or settings.landmarks == "none":
            return ()
        if settings.landmarks == "model":
            landmarks = await self._request_landmarks(episode)
        elif "landmarks" in episode.extra:
            landmarks = tidy_landmarks(episode.extra["landmarks"])
        else:
            note("no_recorded_landmarks", episode=episode.id)
        if landmarks.ignored:
            note("landmarks_ignored", episode=episode.id, count=landmarks.ignored)
        if landmarks.cut_off:
            note("landmarks_cut_off", episode=episode.id, reason=landmarks.cut_off)
        return tuple(
            name
            for name in landmarks.names
            if name not in COMMON_LANDMARKS
            and not any(word in name for word in JUNCTION_WORDS)
        )

    async def _request_landmarks(self, episode: Episode) -> Landmarks:
        """Return the model's list of an instruction, requested once per run: examples stand in the
        prompts of many episodes, which may begin at the same time."""
        shared = self._toolkit.shared
        cached = shared.once(_LANDMARKS, None, dict)
        async with shared.once(_REQUESTS, episode.id, asyncio.Lock):
            if episode.id not in cached:
                instruction = quote_safe(episode.instruction)
                prompt = self._prompts.fill("landmarks", instruction=instruction)
                # Recorded lists have at most 9 names of at most 66 characters, 600 in all; in the
                # prompt, an empty line ends each list.
                sampling = Sampling(max_tokens=256, stop=("\n\n",))
                model = self._toolkit.model("landmarks")
                answer = await model.complete(prompt, sampling)
                setting = "the token limit of the role 'landmarks'"
                reply = replies(answer, sampling, setting)[0]
                cached[episode.id] = read_landmarks(reply)
        return cached[episode.id]

    def _route_text(self, episode: Episode) -> str:
        """Return the instruction as the route text of the prompt."""
        return (
            self._prompts.fill("route", instruction=quote_safe(episode.instruction))
            + "\n"
        )

    async def _render_example(self, example: Demonstration) -> str:
        """Return a solved example as the text of its walk."""
        landmarks = await self._find_landmarks(example.episode)
        is_turned = bool(example.episode.extra.get("opening"))
        lines = []
        game = example.game()
        last_view: StreetObservation | None = None
        for number, (actor, decision) in enumerate(example.decisions(), 1):
            observation = game.observation(actor)
            if isinstance(observation, StreetObservation):
                last_view = observation
                lines += self._lines(observation, landmarks, is_turned)
            lines.append(street.action(number, decision.action.name))
            game.carry_out(actor, decision)
        # The released code describes the last view again, after the stop.
        if self._settings.observations == "joined" and last_view is not None:
            again = replace(last_view, changed=False, step=last_view.step + 1)
            lines += self._lines(again, landmarks, is_turned)
        return self._route_text(example.episode) + "\n".join(lines)

    def _fit(self, reserve: int = 0) -> None:
        """Drop the first examples until the prompt and ``reserve`` characters fit the context."""
        budget = self._budget
        drawn = len(self._examples)
        seen = budget.look_tokens(self._eyes)
        tokens = budget.context - budget.answer - seen
        room = tokens * budget.characters_per_token
        while self._examples and len(self.prompt) + reserve > room:
            del self._examples[0]
        if dropped := drawn - (left := len(self._examples)):
            self._toolkit.note(
                EXAMPLES_DROPPED,
                count=dropped,
                left=left,
                context=budget.context,
            )


class RouteFollower(Velma):
    """VELMA for small trained models (not in the paper): also asks if the current leg is done.

    The prompt lists the legs of the instruction; each ends in a turn, the last one in a stop. At
    places where the leg may end, the text states the counts so far and asks whether the leg is
    done. Actions are requested only at intersections. Training reads ``clauses``, ``followed`` (the
    number of the current one) and ``answers``.
    """

    def __init__(self, settings: VelmaSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self.clauses: tuple[clauses.Clause, ...] = ()
        self.answers: dict[Action, str] = {}
        self._refused: Rejection | None = None  # the answer that was neither yes nor no
        self._asks_done = False

    @property
    def followed(self) -> int:
        """Number of clauses followed so far."""
        return self._progress.followed

    async def act(
        self,
        observation: StreetObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Return the next action for the clause at hand."""
        self._append_view(observation)
        progress = self._progress
        # The dataset gives the first moves: no question is asked before them.
        if self._opening_moves:
            clauses.note_followed(self._toolkit.note, progress.followed, ())
            return Decision(Action(self._opening_moves.pop(0)))
        self._refused = None
        done = False
        if self._asks_done:
            # Append the leg's counts, ask if it is done here, and append the answer.
            self._walk += self._prompts.fill("since", **progress.slots())
            self.answers = clauses.done_answers(
                progress.followed,
                len(progress.legs),
                STOP,
            )
            margin, self._refused = await clauses.ask_yes(
                self._toolkit.model(),
                self.prompt,
            )
            progress.leg_done = done = margin > 0
            self._walk += f" {clauses.YES if done else clauses.NO}\n"
            self.answers = {}
            self._asks_done = False
            if not (done and progress.is_last):
                self._walk += super()._cue()
        clauses.note_followed(
            self._toolkit.note,
            progress.followed,
            range(1, progress.followed + done),
        )
        if done and progress.is_last:
            return Decision(STOP)
        if done or progress.at_junction:
            decision = await self._choose()
            return replace(
                decision,
                fallback_for=decision.fallback_for or self._refused,
            )
        return Decision(FALLBACK, fallback_for=self._refused)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        super().on_feedback(decision, feedback)
        if isinstance(decision, Decision):
            self._progress.take(_executed_action(decision, feedback))

    def _route_text(self, episode: Episode) -> str:
        """Return the instruction with its clauses, and start the progress along them.

        Asked once an episode: examples, which have routes too, are refused with ``follow``.
        """
        route = legs(quote_safe(episode.instruction))
        self._progress = RouteProgress(route, self._scorer is not None)
        self.clauses = tuple(leg.clause for leg in route)
        clauses.note_clauses(self._toolkit.note, self.clauses)
        lines = (self._prompts.fill("clause", clause=one.text) for one in self.clauses)
        return self._prompts.fill("clauses", clauses="\n".join(lines)) + "\n"

    def _sightings(
        self,
        view: StreetObservation,
        landmarks: Sequence[str],
    ) -> list[tuple[str, int]]:
        """Return the landmarks in view, and count what is seen for the progress."""
        sightings = super()._sightings(view, landmarks)
        light_ahead = any(
            "light" in name and side == AHEAD_VIEW for name, side in sightings
        )
        beside = [
            (name, street.DIRECTIONS[side])
            for name, side in sightings
            if side in SIDE_VIEWS
        ]
        exits = 0  # after a turn on the spot
        if view.changed:
            exits = view.exits
        self._progress.see(exits, light_ahead=light_ahead, landmarks=beside)
        return sightings

    def _cue(self) -> str:
        self._asks_done = not self._opening_moves and self._progress.leg_may_end()
        line = ""
        if not self._opening_moves and self._progress.announce_leg():
            line = self._prompts.fill("now", leg=self._progress.leg.text) + "\n"
        if self._asks_done:
            return line
        return line + super()._cue()


def _executed_action(decision: Decision, feedback: Feedback) -> str:
    """Return the action that the world carried out; it may differ from the decision."""
    return str(feedback.details.get("executed", decision.action.name))


def _scorer(settings: VelmaSettings, toolkit: Toolkit) -> Perceiver | None:
    if settings.scores == "recorded":
        return recorded_scorer(settings.scores_file)
    if settings.scores == "neural":
        from wayword.perception.networks.matching import neural_scorer

        return neural_scorer(settings.clip, settings.images, settings.nodes)
    perceiver = toolkit.perceiver
    if settings.scores != "dataset" or perceiver is None:
        return None
    if "score" not in perceiver.capabilities:
        return None
    return perceiver


agent = Velma
