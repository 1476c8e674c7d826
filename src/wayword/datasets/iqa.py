"""Interactive questions: existence, contents and counts, asked in generated homes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from wayword.core.agent import Demonstration
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, suggest
from wayword.datasets.homes.arranging import arrange
from wayword.datasets.homes.episodes import (
    GENERATED,
    Case,
    Generated,
    HomesSettings,
    Source,
    SourcedTasks,
    check_split,
    demonstrate,
    home_of,
    start_in,
    turn,
)
from wayword.datasets.homes.goals import AnswerReference
from wayword.datasets.homes.questions import KINDS, draw_question

TRIES = 50


@dataclass(frozen=True)
class IqaSettings(HomesSettings):
    """``kind`` limits the questions to one type: exists, contains or counts."""

    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind and self.kind not in KINDS:
            raise UsageError(f"iqa: no kind {self.kind!r}; {suggest(self.kind, list(KINDS))}")


class InteractiveQuestions(SourcedTasks):
    """Questions about one room of a home; the answer is given by stopping with it.

        >>> iqa = InteractiveQuestions(settings=InteractiveQuestions.Settings(homes=1, episodes=3))
        >>> [task.reference.kind for task in iqa.tasks]
        ['exists', 'contains', 'counts']

    ``stop[yes]``, ``stop[no]`` or ``stop[2]``. An episode starts in the room that is asked about;
    what is asked for may be shut in something. Right answers are even: yes and no half and half,
    counts from 0 to 3 a quarter each, so that guessing scores a half and a quarter.
    """

    Settings: ClassVar[type[IqaSettings]] = IqaSettings
    family: ClassVar[str] = "rooms"
    splits: ClassVar[tuple[str, ...]] = GENERATED
    max_steps: ClassVar[int] = 500

    def __init__(
        self,
        split: str = GENERATED[0],
        folder: Path | None = None,
        settings: IqaSettings | None = None,
    ) -> None:
        check_split("iqa", split, self.splits)
        self.split, self.settings = split, settings or IqaSettings()
        self._source = _generated(split, self.settings)

    def demonstrations(self, count: int, seed: int) -> Sequence[Demonstration]:
        """Episodes of the train split that the expert answered."""
        return demonstrate(_generated(GENERATED[1], self.settings), count, seed)


def _generated(split: str, settings: IqaSettings) -> Source:
    kinds = (settings.kind,) if settings.kind else KINDS

    def arrangement(number: int) -> str:
        return f"{turn(kinds, number, settings.homes)}/{number // settings.homes}"

    return Generated(split, settings, arrangement, _case)


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
