"""DiscussNav: consults eight experts before every move (Long et al. 2024).

    wayword run discussnav --on houses --model local:smollm2
    wayword run discussnav --on apartments --model local:smollm2       a body that looks around

Once an episode the instruction is decomposed and its landmarks are named, with their types. At
every step the scene is looked at in twelve directions, the step before is summarised, it is
estimated which actions are done, and several predictions of the next direction are made at once.
Where they differ, the thoughts for each direction are fused and an expert decides. Questions that
do not wait for each other are asked at once: a step takes at most five round trips, however many
directions there are.

Each expert may have a model of its own (``--set models.testing=openai:NAME``; the roles are
``decomposition``, ``landmarks``, ``scene``, ``summary``, ``completion``, ``fusion``, ``testing``).

Where the released code and the paper differ, the paper holds: the walk can stop, landmarks have
types, the order of actions is checked, thoughts are fused only where predictions differ, and
one can go back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from wayword.agents.answers import Reply, choice_schema, replies
from wayword.agents.discussnav import experts
from wayword.agents.discussnav.directions import (
    Direction,
    OnBase,
    OnViewpoints,
    SceneNotes,
    Surroundings,
    look,
    number_of,
)
from wayword.agents.discussnav.experts import EXPERTS, Analysis, Meeting, Opinion, analyse
from wayword.agents.prompting import (
    History,
    Prompts,
    TokenRate,
    answer_tokens,
    both,
    context_tokens,
)
from wayword.core.action import STOP, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.model import Message, Sampling, system, user
from wayword.core.trajectory import CLAUSES, HISTORY_DROPPED, SCENE_EXPERT, VOTES
from wayword.core.world import Feedback, Observation
from wayword.perception.detectors import detector_called
from wayword.verbalize import indoor


@dataclass(frozen=True, slots=True)
class DiscussNavSettings:
    """Who is consulted, and how.

    ``analysis``, ``perception``, ``completion``, ``testing``: the groups of experts; each one
    turned off is an ablation of Table II (without ``testing``, most votes win). ``scene``: a model
    is ``asked`` about each direction (about the picture where there are pictures, else it reads the
    recorded sentences), or the ``recorded`` sentences are told as they are and nobody is asked.
    ``tags``: in the finding world and on robots, the detector that names what lies in each
    direction, a simulated one (``yolo``, ``perfect``; not on robots) or a network
    (``owlv2:WEIGHTS``); empty for none, where a model that sees is shown the pictures.
    ``samples`` predictions are made a step, at ``temperature``; every expert writes at
    temperature 0. ``patience``: seconds until an expert's answer is done without. ``decoding``:
    ``constrained`` (JSON) or ``free`` (labelled lines). ``context``: tokens that a prompt may take
    before old steps are dropped; 0 for what the model holds.
    ``thought_length``: characters of a constrained thought, 0 for as many as leave the answer
    within ``max_tokens``. ``max_tokens``: of every answer; 0 for 400, or up to 2,000 with a model
    of a large window. ``prompts``: a folder of texts to use instead of the shipped ones.
    """

    analysis: bool = True
    perception: bool = True
    completion: bool = True
    testing: bool = True
    scene: Literal["recorded", "asked"] = "asked"
    tags: str = "yolo"
    samples: int = 5
    temperature: float = 1.0
    patience: float = 600.0
    decoding: Literal["constrained", "free"] = "constrained"
    context: int = 0
    thought_length: int = 0
    max_tokens: int = 0
    prompts: str = ""

    def __post_init__(self) -> None:
        least = min(self.samples - 1, self.context, self.thought_length)
        if least < 0 or 0 != self.max_tokens < 8:
            raise UsageError(
                "discussnav: samples are at least 1, context and thought_length 0, max_tokens 8, "
                "or 0 for the usual"
            )
        if not 0.0 <= self.temperature <= 10.0 or self.patience <= 0:
            raise UsageError("discussnav: temperature lies between 0 and 10, patience above 0")


class DiscussNav(Agent):
    """Consults experts on instruction, scene, completion and decision before every move.

    On a viewpoint graph a move goes to a neighbour. A body in the finding world, or a real robot,
    turns on the spot to see its twelve directions, and goes 0.5 m in the one that is chosen, or
    half of what is free where something is within a metre.
    """

    Settings: ClassVar[type[DiscussNavSettings]] = DiscussNavSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor", "objectnav"})
    needs_model: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = EXPERTS

    def __init__(self, settings: DiscussNavSettings, toolkit: Toolkit) -> None:
        self._settings, self._toolkit = settings, toolkit
        self._context = context_tokens(settings.context, toolkit)
        self._answer = answer_tokens(settings.max_tokens, toolkit, 400)
        self._around: Surroundings
        self._near = "near_place" if toolkit.perceiver is not None else "near_thing"
        if toolkit.perceiver is None:
            self._around = OnBase(detector_called(settings.tags) if settings.tags else None)
        else:
            self._around = OnViewpoints(toolkit.perceiver)
        self._prompts = Prompts(__file__, settings.prompts)
        constrained = settings.decoding == "constrained"
        parts = constrained, settings.patience, self._answer
        self._meeting = Meeting(toolkit, self._prompts, *parts)
        self._history, self._rate = History(), TokenRate()
        self._analysis = Analysis("")
        self._taken: experts.StepTaken | None = None
        self._scene = SceneNotes((), {})
        self._event, self._steps, self._looked = "", 0, False

    async def begin(self, episode: Episode) -> None:
        self._analysis = Analysis(episode.instruction)
        if self._settings.analysis:
            self._analysis = await analyse(self._meeting, episode.instruction)
            self._toolkit.note(CLAUSES, texts=list(self._analysis.actions), begins=[])

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        more = self._around.take_in(observation)
        if more is not None:
            return Decision(more)
        directions = self._around.directions()
        if directions is not None:
            self._scene, _ = await both(self._look(directions), self._summarise())
        estimate = ""
        if self._settings.completion and not self._steps:
            estimate = experts.opening(self._meeting, self._analysis)
        elif self._settings.completion:
            trail = experts.trail_text(self._history)
            estimate = await experts.estimate(self._meeting, self._analysis, trail)
        ways = {str(d.id): d for d in self._scene.directions if d.action}
        found = await self._decide(estimate, ways)
        if isinstance(found, Rejection):
            return found
        action = STOP if found.choice == experts.STOP else ways[found.choice].action
        return Decision(action or STOP, found.thought)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Keep the step, to be summarised while the next scene is looked at."""
        if isinstance(decision, Rejection):
            self._event = f"Your last answer was no legal move: {decision.reason}.\n"
            return
        step = self._around.taken(decision, feedback)
        self._event = step.event if step else self._event
        if step is None or step.stayed:
            return
        self._steps += 1
        gone = number_of(step.after, step.facing)
        seen = self._scene.text([gone]) if self._settings.perception else ""
        turn = indoor.walked(step.facing, step.after)
        self._taken = experts.StepTaken(self._steps, seen, turn, decision.thought)

    async def _look(self, directions: tuple[Direction, ...]) -> SceneNotes:
        if not self._settings.perception:
            bare = tuple(replace(d, captions=(), tags=()) for d in directions)
            return SceneNotes(bare, {})
        asked, words = self._settings.scene == "asked", self._around.words
        types = self._analysis.types
        if not self._looked:
            shown = asked and any(self._around.picture(direction) for direction in directions[:1])
            reads = f"a model that reads the {words}" if asked else words
            self._toolkit.note(SCENE_EXPERT, source="a vision model" if shown else reads)
        self._looked = True
        if asked:
            return await look(self._meeting, self._around, directions, types)
        question = " ".join(f"What {kind} can you see?" for kind in types)
        self._toolkit.note("expert_read", expert="scene", question=question, answer=words)
        return SceneNotes(directions, {d.id: d.captions for d in directions})

    async def _summarise(self) -> None:
        taken, self._taken = self._taken, None
        if taken is not None:
            plain, asked = f"[Step {taken.number}] {taken.turn}", self._settings.completion
            self._history.add(await experts.summarise(self._meeting, taken) if asked else plain)

    async def _decide(self, estimate: str, ways: dict[str, Direction]) -> Opinion | Rejection:
        answers = await self._predictions(estimate, ways)
        read = [experts.read_opinion(reply, ways) for reply in answers]
        opinions = [opinion for opinion in read if isinstance(opinion, Opinion)]
        refused = [answer for answer in read if isinstance(answer, Rejection)]
        if not opinions:
            return refused[0]
        if refused:
            self._toolkit.note(
                "predictions_dropped",
                count=len(refused),
                of=len(read),
                cut_off=sum(answer.kind == "cut_off" for answer in refused),
                reasons=sorted({answer.reason for answer in refused}),
            )
        groups = experts.grouped(opinions)
        if self._settings.samples > 1:
            named = {experts.STOP: "stop"}
            votes = {named.get(g[0].choice, f"direction {g[0].choice}"): len(g) for g in groups}
            self._toolkit.note(VOTES, **votes)
        if len(groups) == 1 or not self._settings.testing:
            return Opinion(groups[0][0].choice, groups[0][0].thought, len(groups[0]))
        fused = await experts.fuse(self._meeting, groups)
        disputed = [int(opinion.choice) for opinion in fused if opinion.choice != experts.STOP]
        told = self._analysis.instruction, self._scene.text(disputed), self._longest
        return await experts.tested(self._meeting, fused, *told)

    async def _predictions(self, estimate: str, ways: dict[str, Direction]) -> list[Reply]:
        settings = self._settings
        schema = choice_schema("prediction", ways, self._longest)
        sampling = Sampling(
            temperature=settings.temperature,
            max_tokens=self._answer,
            n=settings.samples,
            json_schema=schema if settings.decoding == "constrained" else None,
            seed=self._toolkit.rng.getrandbits(31) if settings.temperature > 0 else None,
        )
        messages = self._messages(estimate, ways)
        completion = await self._toolkit.model().complete(messages, sampling)
        self._rate.learn(sum(len(m.content) for m in messages), completion.usage.prompt)
        return replies(completion, sampling)

    @property
    def _longest(self) -> int:
        """Characters of a constrained thought: at two a token the answer still ends."""
        return self._settings.thought_length or 2 * self._answer

    def _messages(self, estimate: str, ways: dict[str, Direction]) -> list[Message]:
        """What never changes, the walk, which grows, and last the estimate and the scene."""
        settings, analysis = self._settings, self._analysis
        known = ""
        if settings.analysis:
            known = self._prompts.fill(
                "analysis",
                actions=experts.numbered(analysis.actions),
                landmarks="; ".join(map(str, analysis.landmarks)) or "none were named",
            )
        by_experts = settings.completion
        fixed = self._prompts.fill(
            "decision",
            instruction=analysis.instruction,
            analysis=known,
            estimated=self._prompts["estimated"] if by_experts else "",
            executed=self._prompts["executed_estimated" if by_experts else "executed"],
            near=self._prompts[self._near],
        ).replace("\n\n\n\n", "\n\n")
        fixed = f"{fixed}\n\n{self._prompts[f'format_{settings.decoding}']}"
        told = f"{self._prompts.fill('estimate', estimate=estimate)}\n\n" if estimate else ""
        now = self._prompts.fill(
            "now",
            event=self._event,
            estimate=told,
            scene=self._scene.text(),
            directions=", ".join(ways) or "none",
        )
        budget = (self._context - self._answer) * self._rate.characters_per_token
        if gone := self._history.fit(max(0, int(budget) - len(fixed) - len(now))):
            self._toolkit.note(HISTORY_DROPPED, steps=gone, context=self._context)
        walk = self._prompts.fill("walk", trajectory=experts.trail_text(self._history))
        return [system(fixed), user(f"{walk}\n\n{now}")]


agent = DiscussNav
