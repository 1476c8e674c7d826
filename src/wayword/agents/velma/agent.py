"""VELMA: the walk so far as one growing text, the next action as its next word.

    wayword run velma --on towns --model local:smollm2

The prompt holds the task, the action space, solved examples, the instruction, and then each action
and each observation on a line of its own; it ends in the number of the next action. Nothing that
was written is ever rewritten, so a model that keeps its prefix reads every token once an episode.

Departures from the released code, on purpose: an action that the street did not let the agent do
is written down as what was carried out instead; an answer that is no action still becomes
``forward``, but the decision holds what was said and why it does not count.

With ``follow`` (not the paper's) the instruction is listed by legs, each of which ends in a turn,
the last one where to stop. Where one may end, the prompt tells what was counted and what of it
agrees, and asks whether it is done. The action is asked for as ever at intersections alone.

Source: Schumann et al. 2024, "VELMA: Verbalization Embodiment of LLM Agents for Vision and
Language Navigation in Street View", section 5, figure 7.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from wayword.agents.answers import replies
from wayword.agents.clauses import NO, YES, Clause, if_done, note_clauses, note_followed
from wayword.agents.prompting import Prompts, TokenRate, context_tokens, quotable
from wayword.agents.velma.answers import Landmarks, extract, read_actions, released, tidy
from wayword.agents.velma.legs import RouteProgress, legs
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Demonstration, SharedKey, Toolkit
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


class Velma:
    """VELMA: the walk as one growing text, the action its next word (Schumann et al. 2024)."""

    Settings: ClassVar[type[VelmaSettings]] = VelmaSettings
    families: ClassVar[frozenset[str]] = frozenset({"street"})
    needs_model: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = ("landmarks",)

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
        self._course: RouteProgress | None = None
        self.clauses = tuple[Clause, ...]()
        self.answers: dict[Action, str] = {}

    async def begin(self, episode: Episode) -> None:
        """Read the instruction, list its landmarks, and replay the examples."""
        if self._scorer is None and self._settings.scores == "dataset":
            self._toolkit.note("no_image", told="nothing says which landmarks are in view")
        self._landmarks = await self._listed(episode)
        self._forced = [str(word) for word in episode.extra.get("opening", ())]
        self._oriented = bool(self._forced)
        if self._settings.follow:
            self._course = RouteProgress(
                legs(quotable(episode.instruction)), self._scorer is not None
            )
            self.clauses = tuple(leg.clause for leg in self._course.legs)
            note_clauses(self._toolkit.note, self.clauses)
        self._walk = self._route(episode)
        if self._settings.shots:
            drawn = self._toolkit.demonstrations(self._settings.shots, self._seed(episode))
            self._examples = [await self._solved(example) for example in drawn]
        self._fit(RESERVE)

    async def act(self, observation: StreetObservation, space: ActionSpace) -> Decision | Rejection:
        self._look(observation)
        if self._forced:
            if self._course is not None:
                note_followed(self._toolkit.note, self.followed, ())
            return Decision(Action(self._forced.pop(0)))
        if self._planned:
            return Decision(Action(self._planned.pop(0)))
        if self._course is not None:
            return await self._followed(self._course)
        return await (self._chosen() if self._settings.decoding == "choose" else self._written())

    async def recall(self, seen: StreetObservation, space: ActionSpace, decided: object) -> None:
        """Append an observation whose action another agent chose."""
        self._look(seen)
        self._forced = self._forced[1:]

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Append the executed action; drop a plan made for another one."""
        if isinstance(decision, Rejection):
            return
        executed = str(feedback.details.get("executed", decision.action.name))
        self._walk += f" {executed}\n"
        if self._course is not None:
            self._course.took(executed)
        self._number, self._asked = self._number + 1, False
        if executed != decision.action.name:
            self._planned.clear()

    @property
    def followed(self) -> int:
        """The number of the clause that is followed, from 1."""
        return self._course.followed if self._course is not None else 1

    @property
    def prompt(self) -> str:
        """The whole text that the next action is asked with."""
        return "\n\n".join([self._prompts["task"], *self._examples, self._walk])

    def _look(self, seen: StreetObservation) -> None:
        """Append what is new to see, and the next action's number."""
        if self._asked:
            return  # the last answer changed nothing, and the prompt stands as it is
        lines = self._lines(seen, self._landmarks, turned=self._oriented)
        if lines:
            self._planned.clear()
        self._walk += "".join(f"{line}\n" for line in lines)
        self._due = self._course is not None and not self._forced and self._course.decisive()
        if self._course is not None and not self._forced and self._course.begins():
            self._walk += self._prompts.fill("now", leg=self._course.leg.text) + "\n"
        self._walk += "" if self._due else street.cue(self._number)
        self._asked = True

    def _lines(self, seen: StreetObservation, landmarks: Sequence[str], turned: bool) -> list[str]:
        flow = None
        told: list[tuple[str, int]] = []
        if self._scorer is not None:
            told = self._sightings(self._scorer, seen, landmarks) if landmarks else []
            if self._settings.traffic and seen.step == 0 and not turned:
                flow = self._scorer.flow(seen.scene, seen.panorama, seen.heading)
        if self._course is not None:
            lit = any("light" in name and view == AHEAD for name, view in told)
            beside = [(name, street.DIRECTIONS[view]) for name, view in told if view in BESIDE]
            self._course.see(seen.exits if seen.changed else 0, lit=lit, beside=beside)
        return street.observation(seen.exits, seen.changed, told, flow, self._sentences)

    def _sightings(
        self, scorer: Perceiver, seen: StreetObservation, landmarks: Sequence[str]
    ) -> list[tuple[str, int]]:
        headings = [(seen.heading + view) % 360 for view in street.VIEWS]
        scores = scorer.score(seen.scene, seen.panorama, headings, landmarks)
        if np.isnan(scores).all() and not self._blind:
            self._blind = True
            self._toolkit.note("no_landmark_scores", panorama=seen.panorama, heading=seen.heading)
        return [(landmarks[row], view) for row, view in visible(scores, self._settings.tau)]

    async def _followed(self, course: RouteProgress) -> Decision:
        """The action where one may turn or the leg is done; onward everywhere else."""
        done = self._due and await self._done(course)
        note_followed(self._toolkit.note, course.followed, range(1, course.followed + done))
        if done and course.last:
            return Decision(STOP)
        return await self._chosen() if done or course.junction else Decision(Action("forward"))

    async def _done(self, course: RouteProgress) -> bool:
        """Append what was counted, and whether the leg that is followed is done."""
        self._walk += self._prompts.fill("since", **course.words())
        self.answers = if_done(course.followed, len(course.legs), STOP)
        choice = await self._toolkit.model().choose(self.prompt, [NO, YES])
        course.done = choice.best == YES
        self._walk += f" {YES if course.done else NO}\n"
        self.answers, self._due = {}, False
        if not (course.done and course.last):
            self._walk += street.cue(self._number)
        return course.done

    async def _chosen(self) -> Decision:
        self._fit()
        choice = await self._toolkit.model().choose(self.prompt, WORDS)
        self._rate.learn(len(self.prompt), choice.usage.prompt)
        return Decision(Action(choice.best))

    async def _written(self) -> Decision:
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

    async def _listed(self, episode: Episode) -> tuple[str, ...]:
        """The landmarks to look for; none where nothing could see them."""
        found = Landmarks()
        if self._scorer is None or self._settings.landmarks == "none":
            return ()
        if self._settings.landmarks == "model":
            found = await self._extracted(episode)
        elif "landmarks" in episode.extra:
            found = tidy(episode.extra["landmarks"])
        else:
            self._toolkit.note("no_recorded_landmarks", episode=episode.id)
        if found.ignored:
            self._toolkit.note("landmarks_ignored", episode=episode.id, count=found.ignored)
        if found.cut_off:
            self._toolkit.note("landmarks_cut_off", episode=episode.id, reason=found.cut_off)
        return released(found.names) if self._settings.landmark_filter != "none" else found.names

    async def _extracted(self, episode: Episode) -> Landmarks:
        """A model's list; an example's is asked for once a run, not once an episode."""
        known = self._toolkit.shared.once(_LISTED, None, dict)
        if episode.id not in known:
            prompt = self._prompts.fill("landmarks", instruction=quotable(episode.instruction))
            known[episode.id] = await extract(self._toolkit.model("landmarks"), prompt)
        return known[episode.id]

    def _seed(self, episode: Episode) -> int:
        """The seed of the episode's examples."""
        seed = self._settings.examples
        return seed if self._settings.draw == "run" else zlib.crc32(f"{seed}/{episode.id}".encode())

    def _route(self, episode: Episode) -> str:
        if self.clauses:
            told = (self._prompts.fill("clause", clause=one.text) for one in self.clauses)
            return self._prompts.fill("clauses", clauses="\n".join(told)) + "\n"
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
