"""DiscussNav: consults eight experts before every move (Long et al. 2024).

    wayword run discussnav --on houses --model local:smollm2
    wayword run discussnav --on apartments --model local:smollm2       a body that looks around

Once per episode, the instruction is decomposed and its landmarks are listed with their types. At
every step, experts describe twelve directions, summarize the previous step and estimate which
actions are done; then several predictions of the next direction are made. If they differ, the
thoughts for each direction are fused and an expert decides. Independent questions are asked
concurrently: a step takes at most five round trips. Each expert may have its own model (``--set
models.testing=openai:NAME``; the roles are ``decomposition``, ``landmarks``, ``scene``,
``summary``, ``completion``, ``fusion``, ``testing``).

Where the released code and the paper differ, this follows the paper: the walk can stop, landmarks
have types, the order of actions is checked, thoughts are fused only if predictions differ, and
the agent can go back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt

from wayword.agents import prompting
from wayword.agents.answers import choice_schema
from wayword.agents.discussnav import experts
from wayword.agents.discussnav.directions import (
    Direction,
    OnBase,
    OnViewpoints,
    SceneMemory,
    Surroundings,
    describe_scene,
    direction_number,
    scene_text,
)
from wayword.agents.discussnav.experts import (
    EXPERTS,
    Analysis,
    Meeting,
    Opinion,
    analyze,
)
from wayword.core.action import STOP, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.model import Message, system, user
from wayword.core.perceiver import Perceiver
from wayword.core.sight import WordlessPerceiver
from wayword.core.trajectory import CLAUSES, SCENE_EXPERT, VOTES
from wayword.core.world import Feedback, Observation
from wayword.perception.detectors import detector_called
from wayword.verbalize import indoor


@dataclass(frozen=True)
class DiscussNavSettings(prompting.PromptSettings):
    """Settings of DiscussNav, in addition to those of all prompts.

    ``analysis``, ``perception``, ``completion``, ``testing``: the groups of experts; turning one
    off gives an ablation of Table II (without ``testing``, most votes win). ``scene``: a model is
    ``asked`` about each direction and sees its picture, or reads the recorded sentences if there
    are no pictures; or the prompt contains the ``recorded`` sentences and no model is asked;
    ``auto`` asks if there are pictures, as with ``eyes``: one for each direction.
    ``scene_memory``: reuse the scene expert's answers at a viewpoint visited before, instead of
    asking again (12 of the 15 calls of a step). ``tags``: in object-goal navigation and on robots,
    the detector that names the objects in each direction: a simulated one (``yolo``, ``perfect``;
    not on robots) or a network (``owlv2:WEIGHTS``); empty if a vision model sees the pictures.

    ``moves``: the walk ends when an expert says so (``any``), or at the latest after 5 moves, 7 if
    the instruction has more than 5 actions, as in the released code (``released``).

    ``samples``: predictions per step, made at ``temperature``; experts use temperature 0.
    ``patience``: seconds to wait for an expert's answer before continuing without it. ``decoding``:
    ``constrained`` (JSON) or ``free`` (labeled lines). ``max_tokens`` is 400 by default.
    """

    analysis: bool = True
    perception: bool = True
    completion: bool = True
    testing: bool = True
    scene: Literal["auto", "recorded", "asked"] = "auto"
    tags: str = "yolo"
    scene_memory: bool = True
    moves: Literal["any", "released"] = "any"
    samples: Annotated[int, Ge(1)] = 5
    temperature: prompting.Temperature = 1.0
    patience: Annotated[float, Gt(0.0)] = 600.0
    decoding: Literal["constrained", "free"] = "constrained"


# The released code's number of moves, for instructions with up to SHORT_ROUTE actions and longer.
SHORT_ROUTE = 5
MOVES_SHORT = 5
MOVES_LONG = 7


class DiscussNav(prompting.PromptAgent):
    """Consults experts on instruction, scene, completion and decision before every move."""

    Settings = DiscussNavSettings
    families = frozenset({"indoor", "objectnav"})
    source_file = __file__
    roles = EXPERTS
    has_eyes = True

    @classmethod
    def caveats(cls, settings: Any, perceiver: Perceiver | None) -> tuple[str, ...]:
        """Return that the agent reads text where the paper's models see pictures, or
        the detector's caveats.
        """
        if perceiver is None:
            return detector_called(settings.tags).caveats if settings.tags else ()
        if settings.scene != "recorded" and "picture" in perceiver.capabilities:
            return ()
        if isinstance(perceiver, WordlessPerceiver):
            return ()  # the scene expert sees drawn pictures
        return (
            f"discussnav reads text ({perceiver.name}); the paper's models see pictures",
        )

    @classmethod
    def load_detectors(cls, settings: Any) -> None:
        """Load the weights of the detector that names objects, if the settings have one."""
        if settings.tags:
            detector_called(settings.tags).load_weights()

    def __init__(self, settings: DiscussNavSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        answer = self._budget.answer
        # Characters of a constrained thought: even at two per token the answer can end.
        self._thought_length = settings.thought_length or 2 * answer
        eyes = toolkit.eyes
        if eyes is not None:
            if settings.scene == "recorded" or not settings.perception:
                raise UsageError(
                    "scene=recorded and perception=false show no pictures; remove them, or "
                    f"eyes={self._sight}"
                )
            # An expert describes one direction at a time.
            eyes = eyes.in_parts()
        self._surroundings: Surroundings
        if toolkit.perceiver is None:
            detector = None
            # A detector's names would tell what the pictures show.
            if settings.tags and self._sight != "pictures":
                detector = detector_called(settings.tags)
            self._surroundings = OnBase(detector, eyes)
        else:
            self._surroundings = OnViewpoints(toolkit.perceiver, eyes)
        parts = toolkit, self._prompts, self._constrained, settings.patience, answer
        self._meeting = Meeting(*parts)
        self._analysis = Analysis("")
        self._last_step: dict[str, str] = {}
        self.directions = tuple[Direction, ...]()
        """The directions around the agent, as its last prompt describes them."""
        self._memory = SceneMemory()
        self._event = ""
        self._moves = 0
        self._has_looked = False

    async def begin(self, episode: Episode) -> None:
        """Have the instruction analyzed: its actions, its landmarks and their types."""
        await super().begin(episode)
        self._analysis = Analysis(episode.instruction)
        if self._settings.analysis:
            self._analysis = await analyze(self._meeting, episode.instruction)
            self._toolkit.note(CLAUSES, texts=list(self._analysis.actions), begins=[])

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        """Look around, ask the experts, and return the predicted direction's action or a stop.

        A body that turns to look gets turns first. A rejection means that no prediction
        could be read.
        """
        # The released code stops by its number of moves, without a call.
        if self._settings.moves == "released":
            is_short = len(self._analysis.actions) <= SHORT_ROUTE
            if self._moves >= (MOVES_SHORT if is_short else MOVES_LONG):
                return Decision(STOP)
        look_action = self._surroundings.take_in(observation)
        if look_action is not None:
            return Decision(look_action)
        directions = self._surroundings.directions()
        # None if nothing has changed: the descriptions in use still hold.
        if directions is not None:
            step = self._last_step
            self._last_step = {}
            if step and self._settings.completion:
                # The summary of the last step and the new descriptions are independent.
                summary = experts.summarize(self._meeting, **step)
                self.directions, text = await prompting.ask_both(
                    self._look(directions), summary
                )
                self._history.add(text)
            else:
                self.directions = await self._look(directions)
                if step:
                    self._history.add(step["turn"])
        estimate = ""
        if self._settings.completion:
            trail = experts.trail_text(self._history) if self._moves else ""
            estimate = await experts.estimate(self._meeting, self._analysis, trail)
        exits = {str(d.id): d for d in self.directions if d.action}
        opinion = await self._decide(estimate, exits)
        if isinstance(opinion, Rejection):
            return opinion
        if opinion.choice == experts.STOP:
            return Decision(STOP, opinion.thought)
        action = exits[opinion.choice].action
        return Decision(action or STOP, opinion.thought)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Count the move, and keep what the summary of the step needs."""
        self._steps.taken += 1
        if isinstance(decision, Rejection):
            self._event = f"Your last answer was no legal move: {decision.reason}.\n"
            return
        step = self._surroundings.step_taken(decision, feedback)
        self._event = step.event if step else self._event
        # Without a completed move, there is no step to count or to summarize.
        if step is None or step.is_refused:
            return
        self._moves += 1
        direction = direction_number(step.heading, step.facing)
        if self._settings.perception:
            seen = scene_text(self.directions, [direction])
        else:
            seen = ""
        turn = f"[Step {self._moves}] {indoor.walk_feedback(step.facing, step.heading)}"
        # act() asks for the summary, since this method cannot wait for a model.
        self._last_step = {
            "turn": turn,
            "observation": seen,
            "thought": decision.thought,
        }

    async def _look(self, directions: tuple[Direction, ...]) -> tuple[Direction, ...]:
        """Return the directions with what the scene expert, or the record, says about them."""
        if not self._settings.perception:
            return tuple(replace(d, captions=(), tags=()) for d in directions)
        words = self._surroundings.source
        has_pictures = self._eyes is not None
        if not has_pictures:
            has_pictures = self._surroundings.picture(directions[0]) is not None
        asks_expert = self._settings.scene == "asked"
        if self._settings.scene == "auto":
            asks_expert = has_pictures
        types = self._analysis.types
        # One note tells a reader of the scores who described the scene.
        if not self._has_looked:
            source = f"a model that reads the {words}" if asks_expert else words
            if asks_expert and has_pictures:
                source = "a vision model"
            self._toolkit.note(SCENE_EXPERT, source=source)
        self._has_looked = True
        if asks_expert:
            memory = self._memory if self._settings.scene_memory else None
            around = self._surroundings, directions, types
            return await describe_scene(self._meeting, *around, memory)
        question = " ".join(f"What {kind} can you see?" for kind in types)
        self._toolkit.note(
            "expert_read", expert="scene", question=question, answer=words
        )
        return directions

    async def _decide(
        self, estimate: str, exits: Mapping[str, Direction]
    ) -> Opinion | Rejection:
        """Predict the next direction ``samples`` times, and settle differences.

        ``estimate`` is the text on actions already done, ``exits`` are the directions
        that can be taken by their numbers. Predictions that cannot be read are dropped,
        with a note; the first rejection is returned if none can.
        """
        settings = self._settings
        schema = choice_schema("prediction", exits, self._thought_length)
        answers = await self._budget.ask(
            self._messages(estimate, exits),
            schema if self._constrained else None,
            settings.temperature,
            samples=settings.samples,
        )
        outcomes = [experts.read_opinion(reply, exits) for reply in answers]
        opinions = [opinion for opinion in outcomes if isinstance(opinion, Opinion)]
        refused = [answer for answer in outcomes if isinstance(answer, Rejection)]
        if not opinions:
            return refused[0]
        # Fewer votes make the prediction less reliable, so the record has their number.
        if refused:
            self._toolkit.note(
                "predictions_dropped",
                count=len(refused),
                of=len(outcomes),
                cut_off=sum(answer.kind == "cut_off" for answer in refused),
                reasons=sorted({answer.reason for answer in refused}),
            )
        groups = experts.group_opinions(opinions)
        if settings.samples > 1:
            choices = [group[0].choice for group in groups]
            keys = [
                "stop" if each == experts.STOP else f"direction {each}"
                for each in choices
            ]
            self._toolkit.note(VOTES, **dict(zip(keys, map(len, groups), strict=True)))
        # Without a disagreement there is nothing to test, and the calls are saved.
        if len(groups) == 1 or not settings.testing:
            return groups[0][0]
        fused = await experts.fuse(self._meeting, groups)
        # A stop has no direction whose scene could be shown.
        disputed = [
            int(opinion.choice) for opinion in fused if opinion.choice != experts.STOP
        ]
        instruction = self._analysis.instruction
        scene = scene_text(self.directions, disputed)
        length = self._thought_length
        return await experts.test_opinions(
            self._meeting, fused, instruction, scene, length
        )

    def _messages(self, estimate: str, exits: Mapping[str, Direction]) -> list[Message]:
        """Return the prompt of the predictions; the oldest steps are dropped to fit the context."""
        # A user's texts may have the instruction in either message.
        instruction = {
            "instruction": self._analysis.instruction,
            "actions": experts.number_lines(self._analysis.actions),
            "landmarks": "; ".join(map(str, self._analysis.landmarks))
            or "none were named",
        }
        fixed = self._prompts.fill(
            "system",
            **instruction,
            analyzes=self._settings.analysis,
            estimates=self._settings.completion,
            goal=self._surroundings.goal,
            decoding=self._settings.decoding,
            limit=self._steps.limit,
            needs_stop=self._steps.needs_stop,
        )

        def walk(trajectory: str) -> str:
            return self._prompts.fill(
                "user",
                **instruction,
                number=self._moves,
                trajectory=trajectory,
                event=self._event,
                completed=estimate,
                scene=scene_text(self.directions),
                directions=", ".join(exits) or "none",
                left=self._steps.left(),
            )

        # The empty history measures how much room its steps have.
        self._budget.fit(self._history, len(fixed) + len(walk("")), self._budget.answer)
        return [system(fixed), user(walk(experts.trail_text(self._history)))]


agent = DiscussNav
