"""VELMA: the walk so far as one growing text, the next action as its next word.

    wayword run velma --on towns --model local:smollm2

The prompt holds the task, the action space, solved examples, the instruction, and then each action
and each observation on a line of its own; it ends in the number of the next action. Nothing that
was written is ever rewritten, so a model that keeps its prefix reads every token once an episode.

Departures from the released code, on purpose: an action that the street did not let the agent do
is written down as what was carried out instead; an answer that is no action still becomes
``forward``, but the decision holds what was said and why it does not count.

Source: Schumann et al. 2024, "VELMA: Verbalization Embodiment of LLM Agents for Vision and
Language Navigation in Street View", section 5, figure 7.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from wayword.agents.answers import Reply, fields, items, replies
from wayword.agents.clauses import NO, YES, Clause, if_done, note_clauses, note_followed
from wayword.agents.legal import Refusal, pick
from wayword.agents.prompting import Prompts, TokenRate, context_tokens, quotable
from wayword.agents.velma.legs import RouteProgress, legs
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection, RejectionKind
from wayword.core.agent import Agent, Demonstration, SharedKey, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.model import Sampling
from wayword.core.perceiver import Perceiver
from wayword.core.trajectory import EXAMPLES_DROPPED
from wayword.core.world import Feedback
from wayword.perception.landmarks import TAU, visible
from wayword.perception.opening import neural_scorer, recorded_scorer
from wayword.verbalize import street
from wayword.worlds.street.moves import WORDS
from wayword.worlds.street.world import StreetObservation

FALLBACK = Action("forward")
"""What the paper's recipe does when an answer is no action."""

RESERVE = 55 * 45
"""Characters kept free for the walk itself when examples are counted: 55 steps, 45 each."""

AHEAD = street.VIEWS.index(0)
BESIDE = (0, len(street.VIEWS) - 1)
"""Numbers of the views ahead and straight to the sides."""

STOPS = ("\nThere is", "\nYou see", "\nNavigation")
"""Where a completion goes on to invent what it would see, or another example."""


# Landmarks: recorded lists, or a model's; tidied, and no name ever shortened, as a scorer would
# look for something else. Source: VELMA, section 5.1 and appendix C.

LONGEST = 100
"""Characters of a landmark. The longest of the 20,065 recorded for Map2seq has 66."""

MOST = 20
"""Landmarks of one instruction; the recorded lists hold at most 9."""

_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_NOTHING = frozenset({"none", "n/a", "no landmarks"})
_WRAPPING = ' \t"“”*'


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Names to look for, how many were too long or too many, and whether the list was cut off."""

    names: tuple[str, ...] = ()
    ignored: int = 0
    cut_off: str = ""


def tidy(listed: Iterable[object]) -> Landmarks:
    """A list without empty, repeated and over-long entries.

    >>> tidy(["a park", "The Park", "", "Staples"])
    Landmarks(names=('a park', 'Staples'), ignored=0, cut_off='')
    """
    names: dict[str, str] = {}
    ignored = 0
    for entry in listed:
        name = " ".join(str(entry).split()).strip(_WRAPPING)
        key = _ARTICLE.sub("", name).casefold()
        if not name or key in _NOTHING or key in names:
            continue
        if len(name) > LONGEST or len(names) == MOST:
            ignored += 1
            continue
        names[key] = name
    return Landmarks(tuple(names.values()), ignored)


IN_THE_WAY = ("intersection", "side street")
"""Words of landmarks that the released code does not look for, wherever they stand."""
COMMON = frozenset({"traffic lights", "double lights", "a building", "a large building"})
"""Landmarks that it does not look for: there are some in every view."""


def released(names: Iterable[str]) -> tuple[str, ...]:
    """The landmarks that VELMA's released code keeps (``vln/landmarks.py``, five-shot lists).

    >>> released(["a park", "the next intersection", "traffic lights"])
    ('a park',)
    """
    kept = (name for name in names if name not in COMMON)
    return tuple(name for name in kept if not any(word in name for word in IN_THE_WAY))


def listed(said: str | Reply) -> Landmarks:
    """The landmarks of a list, numbered, bulleted or JSON; what stands around it is skipped.

    >>> listed("1. a park\\n2. Staples\\n\\nGo on").names
    ('a park', 'Staples')
    """
    reply = Reply.of(said)
    return replace(tidy(items(reply.text)), cut_off=reply.cut_off)


# A completion that goes on with a walk: the next actions, one a numbered line.

_NUMBERED = re.compile(r"\s*(?:(\d+)\s*[.):]\s*)?(.*)", re.DOTALL)


def read_actions(said: str | Reply, number: int) -> list[str] | Rejection:
    """The actions at the head of a completion that begins at the action of that number.

        >>> read_actions(" forward\\n6. forward\\n7. left\\nThen I see", 5)
        ['forward', 'forward', 'left']

    The first line is an action, with or without its number; the following ones count as long as
    they are numbered in sequence. Nothing follows a stop.
    """
    reply = Reply.of(said)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    given = [v for vs in fields(reply.text, ("action", "actions")).given.values() for v in vs]
    flat = [item for value in given for item in (value if isinstance(value, list) else [value])]
    texts = map(str, flat or [reply.text])
    lines = [line for text in texts for line in text.strip().splitlines()]
    words: list[str] = []
    for line in lines:
        stated, word = _NUMBERED.match(line).groups()  # type: ignore[union-attr]  # matches any
        due = str(number + len(words))
        picked = pick(word, WORDS) if stated == due or not (stated or words) else None
        if not isinstance(picked, str) or "stop" in words:
            break
        words.append(picked)
    if not words and not any(_NUMBERED.match(line).group(1) for line in lines):  # type: ignore[union-attr]
        alone = pick("\n".join(lines), WORDS)
        words = [alone] if isinstance(alone, str) else []
    if words:
        return words
    first = lines[0] if lines else ""
    refused = pick(first, WORDS)
    if isinstance(refused, Refusal) and refused.kind == "several_actions":
        return reply.reject(refused.kind, f"{first[:60]!r} names several actions; give one a line")
    kind: RejectionKind = "unknown" if len(first.split()) <= 2 else "no_action"
    return reply.reject(kind, f"{first[:60]!r} is none of: {', '.join(WORDS)}")


# The agent.


@dataclass(frozen=True, slots=True)
class VelmaSettings:
    """How VELMA sees, asks and is answered.

    ``shots``: solved examples of a training split, drawn by ``examples`` (a seed) for each
    ``episode`` anew, as the released code does, or once a ``run`` (``draw``), so that a model can
    reuse what it has read of them. ``landmarks``: the ``recorded`` lists, or a list by the
    ``model`` (role ``landmarks``, where it has a model of its own), or ``none``. ``scores``:
    which landmarks are in view is told by the ``dataset`` itself (towns; published ones have no
    pictures, the paper's "no image"), by ``recorded`` scores (``scores_file``), by a ``neural``
    model (``clip``) on the panoramas in ``images``, standardised on the seen area of ``nodes`` (a
    graph's nodes.txt), or by ``none``.
    ``landmark_filter``: leave out what the ``released`` code does, intersections and the like.
    ``tau``: the threshold on standardised scores. ``traffic``: tell the flow of traffic at starts
    that must be turned first, where the scorer can. ``decoding``: ``choose`` ranks the five words;
    ``complete`` takes what the model writes, several actions at once as long as nothing new is
    seen. ``context``: tokens that a prompt may take before whole examples are dropped; 0 for what
    the model holds. ``follow``: ask whether the leg is done, too (needs ``shots`` 0).
    ``prompts``: a folder of texts to use instead of the shipped ones, the sentences of observations
    (``junction``, ``landmark``, ``flow_with``, ``flow_against``) among them.
    """

    shots: int = 2
    examples: int = 0
    draw: Literal["episode", "run"] = "episode"
    landmarks: Literal["recorded", "model", "none"] = "recorded"
    landmark_filter: Literal["released", "none"] = "released"
    scores: Literal["dataset", "recorded", "neural", "none"] = "dataset"
    scores_file: str = ""
    images: str = ""
    nodes: str = ""
    clip: str = "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k"
    tau: float = TAU
    traffic: bool = True
    decoding: Literal["choose", "complete"] = "choose"
    max_tokens: int = 80
    temperature: float = 0.0
    context: int = 0
    follow: bool = False
    prompts: str = ""

    def __post_init__(self) -> None:
        if self.shots < 0 or self.max_tokens < 4 or self.context < 0:
            raise UsageError("velma: shots is at least 0, context 0 and max_tokens 4")
        if self.follow and (self.shots or self.decoding != "choose"):
            raise UsageError("velma: follow=true needs shots=0 and decoding=choose")
        if self.temperature and self.decoding == "choose":
            raise UsageError("velma: decoding=choose takes the likeliest word; temperature is void")


_LISTED = SharedKey[dict[str, Landmarks]]("landmarks by episode")


class Velma(Agent):
    """VELMA: the walk as one growing text, the action its next word (Schumann et al. 2024).

    With ``follow`` it is a :class:`RouteFollower`.
    """

    Settings: ClassVar[type[VelmaSettings]] = VelmaSettings
    families: ClassVar[frozenset[str]] = frozenset({"street"})
    needs_model: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = ("landmarks",)

    def __new__(cls, settings: VelmaSettings, toolkit: Toolkit) -> Velma:
        return object.__new__(RouteFollower if settings.follow else cls)

    def __init__(self, settings: VelmaSettings, toolkit: Toolkit) -> None:
        self._settings, self._toolkit = settings, toolkit
        self._context = context_tokens(settings.context, toolkit, 8192)
        self._prompts = Prompts(__file__, settings.prompts)
        told = self._prompts
        self._sentences = street.Sentences(
            told["junction"], told["landmark"], told["flow_with"], told["flow_against"]
        )
        self._scorer = _scorer(settings, toolkit)
        if self._scorer is None and settings.landmarks == "model":
            raise UsageError(
                "velma: nothing here sees landmarks, so a list of them is void; set "
                "scores=recorded or scores=neural, or leave out landmarks=model"
            )
        self._rate = TokenRate()
        self._rate.characters_per_token = 2.2  # SmolLM2 takes 2.6 for the walk, 3 and more over all
        self._examples: list[str] = []
        self._walk = ""
        self._landmarks: tuple[str, ...] = ()
        self._forced: list[str] = []
        self._planned: list[str] = []
        self._number = 1
        self._asked = self._oriented = self._blind = False

    async def begin(self, episode: Episode) -> None:
        """Read the instruction, list its landmarks, and replay the examples."""
        if self._scorer is None and self._settings.scores == "dataset":
            self._toolkit.note("no_image", told="nothing says which landmarks are in view")
        self._landmarks = await self._listed(episode)
        self._forced = [str(word) for word in episode.extra.get("opening", ())]
        self._oriented = bool(self._forced)
        self._walk = self._route(episode)
        if self._settings.shots:
            seed = self._settings.examples
            if self._settings.draw == "episode":
                seed = zlib.crc32(f"{seed}/{episode.id}".encode())
            drawn = self._toolkit.demonstrations(self._settings.shots, seed)
            self._examples = [await self._solved(example) for example in drawn]
        self._fit(RESERVE)

    async def act(self, observation: StreetObservation, space: ActionSpace) -> Decision | Rejection:
        self._look(observation)
        if self._forced:
            return Decision(Action(self._forced.pop(0)))
        if self._planned:
            return Decision(Action(self._planned.pop(0)))
        if self._settings.decoding == "choose":
            return await self._chosen()
        self._fit()
        prompt, settings = self.prompt, self._settings
        seed = self._toolkit.rng.getrandbits(31) if settings.temperature > 0 else None
        sampling = Sampling(settings.temperature, 1.0, settings.max_tokens, STOPS, seed=seed)
        answer = await self._toolkit.model().complete(prompt, sampling)
        self._rate.learn(len(prompt), answer.usage.prompt)
        read = read_actions(replies(answer, sampling)[0], self._number)
        if isinstance(read, Rejection):
            return Decision(FALLBACK, fallback_for=read)
        self._planned = read[1:]
        return Decision(Action(read[0]))

    async def recall(self, seen: StreetObservation, space: ActionSpace, decided: object) -> None:
        self._look(seen)
        self._forced = self._forced[1:]

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if isinstance(decision, Rejection):
            return
        executed = _executed(decision, feedback)
        self._walk += f" {executed}\n"
        self._number, self._asked = self._number + 1, False
        if executed != decision.action.name:
            self._planned.clear()

    @property
    def prompt(self) -> str:
        return "\n\n".join([self._prompts["task"], *self._examples, self._walk])

    def _look(self, seen: StreetObservation) -> None:
        """Append what is new to see, and the next action's number."""
        if self._asked:
            return  # the last answer changed nothing, and the prompt stands as it is
        lines = self._lines(seen, self._landmarks, turned=self._oriented)
        if lines:
            self._planned.clear()
        self._walk += "".join(f"{line}\n" for line in lines)
        self._walk += self._cue()
        self._asked = True

    def _cue(self) -> str:
        """The beginning of the line that the next answer ends."""
        return street.cue(self._number)

    def _lines(self, seen: StreetObservation, landmarks: Sequence[str], turned: bool) -> list[str]:
        flow, told = None, self._sightings(seen, landmarks)
        if self._scorer is not None and self._settings.traffic and seen.step == 0 and not turned:
            flow = self._scorer.flow(seen.scene, seen.panorama, seen.heading)
        return street.observation(seen.exits, seen.changed, told, flow, self._sentences)

    def _sightings(
        self, seen: StreetObservation, landmarks: Sequence[str]
    ) -> list[tuple[str, int]]:
        """The landmarks in view, each with the number of its view."""
        if self._scorer is None or not landmarks:
            return []
        headings = [(seen.heading + view) % 360 for view in street.VIEWS]
        scores = self._scorer.score(seen.scene, seen.panorama, headings, landmarks)
        if np.isnan(scores).all() and not self._blind:
            self._blind = True
            self._toolkit.note("no_landmark_scores", panorama=seen.panorama, heading=seen.heading)
        return [(landmarks[row], view) for row, view in visible(scores, self._settings.tau)]

    async def _chosen(self) -> Decision:
        self._fit()
        choice = await self._toolkit.model().choose(self.prompt, WORDS)
        self._rate.learn(len(self.prompt), choice.usage.prompt)
        return Decision(Action(choice.best))

    async def _listed(self, episode: Episode) -> tuple[str, ...]:
        """The landmarks to look for; none where nothing could see them."""
        found = Landmarks()
        if self._scorer is None or self._settings.landmarks == "none":
            return ()
        if self._settings.landmarks == "model":
            # An example's list is asked for once a run, not once an episode.
            known = self._toolkit.shared.once(_LISTED, None, dict)
            if episode.id not in known:
                prompt = self._prompts.fill("landmarks", instruction=quotable(episode.instruction))
                sampling = Sampling(max_tokens=256, stop=("\n\n",))
                answer = await self._toolkit.model("landmarks").complete(prompt, sampling)
                limit = "the token limit of the role 'landmarks'"
                known[episode.id] = listed(replies(answer, sampling, limit)[0])
            found = known[episode.id]
        elif "landmarks" in episode.extra:
            found = tidy(episode.extra["landmarks"])
        else:
            self._toolkit.note("no_recorded_landmarks", episode=episode.id)
        if found.ignored:
            self._toolkit.note("landmarks_ignored", episode=episode.id, count=found.ignored)
        if found.cut_off:
            self._toolkit.note("landmarks_cut_off", episode=episode.id, reason=found.cut_off)
        return released(found.names) if self._settings.landmark_filter != "none" else found.names

    def _route(self, episode: Episode) -> str:
        return self._prompts.fill("route", instruction=quotable(episode.instruction)) + "\n"

    async def _solved(self, example: Demonstration) -> str:
        """A demonstration as the finished text of its walk."""
        landmarks = await self._listed(example.episode)
        turned = bool(example.episode.extra.get("opening"))
        lines = []
        game = example.game()
        for number, (actor, decision) in enumerate(example.decisions(), 1):
            observation = game.observation(actor)
            if isinstance(observation, StreetObservation):
                lines += self._lines(observation, landmarks, turned)
            lines.append(street.action(number, decision.action.name))
            game.carry_out(actor, decision)
        return self._route(example.episode) + "\n".join(lines)

    def _fit(self, reserve: int = 0) -> None:
        """Drop whole examples, the first ones first, until the prompt fits the context."""
        room = self._context - self._settings.max_tokens
        before = len(self._examples)
        while self._examples and (
            len(self.prompt) + reserve > room * self._rate.characters_per_token
        ):
            del self._examples[0]
        if gone := before - (left := len(self._examples)):
            self._toolkit.note(EXAMPLES_DROPPED, count=gone, left=left, context=self._context)


class RouteFollower(Velma):
    """VELMA for small trained models (not the paper's): a question where a leg may be done.

    The instruction is listed by legs, each of which ends in a turn, the last one where to stop.
    Where one may end, the prompt states what was counted and what of it agrees, and asks whether
    it is done. The action is asked for at intersections alone. Training reads ``clauses``, the
    number of the one that is ``followed``, and ``answers``.
    """

    def __init__(self, settings: VelmaSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self.clauses: tuple[Clause, ...] = ()
        self.answers: dict[Action, str] = {}

    @property
    def followed(self) -> int:
        return self._course.followed

    async def act(self, observation: StreetObservation, space: ActionSpace) -> Decision | Rejection:
        self._look(observation)
        course = self._course
        if self._forced:
            note_followed(self._toolkit.note, course.followed, ())
            return Decision(Action(self._forced.pop(0)))
        done = self._due and await self._done(course)
        note_followed(self._toolkit.note, course.followed, range(1, course.followed + done))
        if done and course.last:
            return Decision(STOP)
        return await self._chosen() if done or course.junction else Decision(FALLBACK)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        super().on_feedback(decision, feedback)
        if isinstance(decision, Decision):
            self._course.took(_executed(decision, feedback))

    def _route(self, episode: Episode) -> str:
        route = legs(quotable(episode.instruction))
        self._course = RouteProgress(route, self._scorer is not None)
        self.clauses = tuple(leg.clause for leg in route)
        note_clauses(self._toolkit.note, self.clauses)
        told = (self._prompts.fill("clause", clause=one.text) for one in self.clauses)
        return self._prompts.fill("clauses", clauses="\n".join(told)) + "\n"

    def _sightings(
        self, seen: StreetObservation, landmarks: Sequence[str]
    ) -> list[tuple[str, int]]:
        told = super()._sightings(seen, landmarks)
        lit = any("light" in name and view == AHEAD for name, view in told)
        beside = [(name, street.DIRECTIONS[view]) for name, view in told if view in BESIDE]
        self._course.see(seen.exits if seen.changed else 0, lit=lit, beside=beside)
        return told

    def _cue(self) -> str:
        self._due = not self._forced and self._course.decisive()
        begins = not self._forced and self._course.begins()
        now = self._prompts.fill("now", leg=self._course.leg.text) + "\n" if begins else ""
        return now if self._due else now + super()._cue()

    async def _done(self, course: RouteProgress) -> bool:
        """Append what was counted, and whether the leg that is followed is done."""
        self._walk += self._prompts.fill("since", **course.words())
        self.answers = if_done(course.followed, len(course.legs), STOP)
        choice = await self._toolkit.model().choose(self.prompt, [NO, YES])
        course.done = choice.best == YES
        self._walk += f" {YES if course.done else NO}\n"
        self.answers, self._due = {}, False
        if not (course.done and course.last):
            self._walk += super()._cue()
        return course.done


def _executed(decision: Decision, feedback: Feedback) -> str:
    """The action that was carried out, which need not be the one decided on."""
    return str(feedback.details.get("executed", decision.action.name))


def _scorer(settings: VelmaSettings, toolkit: Toolkit) -> Perceiver | None:
    if settings.scores == "recorded":
        return recorded_scorer(settings.scores_file)
    if settings.scores == "neural":
        return neural_scorer(settings.clip, settings.images, settings.nodes)
    own = toolkit.perceiver
    if settings.scores != "dataset" or own is None:
        return None
    return own if "score" in own.capabilities else None


agent = Velma
