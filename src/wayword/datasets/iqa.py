"""Interactive questions: existence, contents and counts, asked in generated homes and
in iTHOR's kitchens."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, suggest
from wayword.datasets.procedural.homes.episodes import (
    GENERATED,
    TREAT,
    WALK,
    Case,
    EpisodeSource,
    Generated,
    HomesSettings,
    SourcedTasks,
    home_of,
    in_turn,
    start_in,
)
from wayword.datasets.procedural.homes.objects import arrange
from wayword.datasets.procedural.homes.questions import KINDS, draw_question
from wayword.datasets.sources.ithor.kitchens import SPLITS, Questions
from wayword.worlds.household.goals import AnswerReference

TRIES = 50


@dataclass(frozen=True)
class IqaSettings(HomesSettings):
    """``kind`` limits the questions to one type: exists, contains or counts."""

    useless: ClassVar[tuple[str, ...]] = TREAT
    paper: ClassVar[tuple[str, ...]] = (*WALK, "open", "stop")
    answers: ClassVar[bool] = True

    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind and self.kind not in KINDS:
            raise UsageError(f"iqa: no kind {self.kind!r}; {suggest(self.kind, list(KINDS))}")


class InteractiveQuestions(SourcedTasks[IqaSettings]):
    """Questions about one room; the answer is given by stopping with it.

        >>> iqa = InteractiveQuestions(settings=InteractiveQuestions.Settings(homes=1, episodes=3))
        >>> [task.reference.kind for task in iqa.tasks]
        ['exists', 'contains', 'counts']

    ``stop[yes]``, ``stop[no]`` or ``stop[2]``. An episode starts in the room that is asked about;
    what is asked for may be shut in something. Right answers are even: yes and no half and half,
    counts from 0 to 3 a quarter each, so that guessing scores a half and a quarter.

    Splits ``generated_test`` and ``generated_train``: rooms of generated homes.

    Splits ``train``, ``val_seen``, ``val_unseen``: what IQUAD (Gordon et al. 2018) asks about
    iTHOR's kitchens, with its answers, in this project's words. The placement that made an answer
    right cannot be had again, so small things are laid anew from the same seed, as the answer
    wants them: see ``thor.kitchens``. ``unseen_kitchens`` asks the questions of ``val_seen`` in the
    five kitchens that ``train`` leaves out. All of ``settings`` but ``kind`` and ``actions`` is for
    generated homes.
    """

    name: ClassVar[str] = "iqa"
    Settings: ClassVar[type[IqaSettings]] = IqaSettings
    splits: ClassVar[tuple[str, ...]] = (*GENERATED, *SPLITS)
    published_train: ClassVar[str] = SPLITS[0]
    redrawn: ClassVar[str] = (
        "IQUAD's placements are not published: kitchens are redrawn so that the answers hold"
    )
    max_steps: ClassVar[int] = 500

    def source(self, split: str) -> EpisodeSource:
        """Generated homes, or IQUAD's questions in iTHOR's kitchens."""
        if split in SPLITS:
            return Questions(split, self.folder, self.settings.make_body(), self.settings.kind)
        arrangement = in_turn(KINDS, self.settings.kind, self.settings.homes)
        return Generated(split, self.settings, arrangement, _case)


@lru_cache(maxsize=256)
def _case(scene: str, arrangement: str, plenty: float) -> Case:
    """The question of that type and number in that home."""
    kind = arrangement.partition("/")[0]
    home = home_of(scene)
    luck = random.Random(f"{scene}/{arrangement}/answer").random()
    for attempt in range(TRIES):
        rng = random.Random(f"{scene}/{arrangement}/{attempt}")
        made = arrange(rng, home, plenty)
        question = draw_question(rng, made, kind, luck)
        if question is not None:
            inside = [at for at in home.starts if home.layout.room_at(*at) == question.room]
            name = f"{scene}_{arrangement.replace('/', '_')}"
            start = start_in(rng, home, arrangement, inside)
            episode = Episode(name, question.text, scene, start)
            reference = AnswerReference(
                name,
                kind,
                answer=question.answer,
                look=question.look,
                enough=question.enough,
            )
            return Case(Task(episode, reference), home, made.scene())
    raise UsageError(f"{scene} offers no question of type {kind}; ask for more rooms or things")


dataset = InteractiveQuestions
