"""An episode as a JSON document: everything its page shows, derived once from the record.

    document = Document.of(record, sources)
    document.progress.best_step, document.causes    # (2, {"looped": 3, "ran_out": 5})
    document.mistake.text                           # "Step 3: went to F; the path was D, …"
    document.json()                                 # for the page: served, in a file, in a notebook

Deriving it replays the recorded actions once, for the map and for the progress, which the family's
scorer measures after each action as if the episode ended there; and a few times more for the step
that lost a failed episode (``wayword.runs.diagnosis``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import RecordingError, WaywordError
from wayword.core.game import PlanningFailed
from wayword.core.trajectory import Trajectory
from wayword.metrics.conditions import Condition, Sought
from wayword.metrics.mistakes import EpisodeFacts, Mistake, describe_success
from wayword.metrics.mistakes.causes import label_of, meaning_of
from wayword.metrics.mistakes.household import first_views
from wayword.metrics.mistakes.wording import words
from wayword.metrics.progress import GoalProgress
from wayword.metrics.recorded import as_mapping, place_of
from wayword.runs.codec import plain, to_json
from wayword.runs.diagnosis import (
    UNPLAYABLE,
    Course,
    Diagnosis,
    advise,
    diagnose,
)
from wayword.runs.record import EpisodeRecord
from wayword.viewer import maps
from wayword.viewer.clauses import Clauses
from wayword.viewer.data import Sources
from wayword.viewer.maps.content import Map
from wayword.viewer.markup import Html, Letters
from wayword.worlds.household.goals import AnswerReference

_RISE = 0.5  # metres between two viewpoints from which a step leads up or down
_MOST_CONDITIONS = 12  # that are listed: a home may ask for dozens


@dataclass(frozen=True)
class Document:
    """Content of an episode's page. ``letters`` are the short names of its places, ``course`` is
    its replay and ``drawn`` its map."""

    record: EpisodeRecord
    sources: Sources
    letters: Letters
    course: Course
    drawn: Map | Html | None
    clauses: Clauses

    @staticmethod
    def of(record: EpisodeRecord, sources: Sources) -> Document:
        trajectory = record.trajectory
        letters = maps.letters_of(sources, trajectory)
        sources = replace(sources, letters=letters)
        # One replay for both: in a home it takes most of the time of a page.
        course, drawn = replay(trajectory, sources)
        clauses = Clauses.of(trajectory)
        return Document(record, sources, letters, course, drawn, clauses)

    def json(self, patience: float = 0.0) -> dict[str, Json]:
        """Return the page's content as JSON, with expert advice if ``patience`` (s) is above 0."""
        scores = self.record.scores
        causes = [
            (label_of(cause), meaning_of(cause, scores), step)
            for cause, step in self.causes.items()
        ]
        figure = self.map
        advice = None
        if patience:
            with suppress(*UNPLAYABLE):  # as in records that were changed by hand
                advice = expert_advice(self.trajectory, self.sources, patience)
        derived = plain(
            {
                "id": self.record.episode_id,
                "scene": self.scene,
                "instruction": self.instruction,
                "notice": self.sources.notice,
                "succeeded": self.succeeded,
                "scores": scores,
                "private": self.sources.private_instructions(self.record.episode_id),
                "mistake": self.mistake and self.mistake.json(),
                "solved": self.solved,
                "conditions": self.shown_conditions,
                "map": figure and str(figure),
                "causes": causes,
                "progress": self._progress_json(),
                "clauses": self._clauses_json(),
                "rises": self.rises,
                "letters": self.letters.by_place,
                "advice": advice,
                "pictures": self.sources.pictures(self.trajectory),
                "retold": self._retold_json(),
            }
        )
        return {**derived, "trajectory": self.written}

    def _retold_json(self) -> dict[str, Any] | None:
        try:
            retold = self.sources.retold(self.record.episode_id)
        except RecordingError as error:
            return {"notice": str(error)}
        if retold is None:
            return None
        return {"notice": "", **asdict(retold)}

    def _progress_json(self) -> dict[str, Any]:
        progress = self.progress
        numbers = range(1, len(self.trajectory.steps) + 1)
        return {
            "course": progress.values,
            "conditions": progress.conditions,
            "informative": progress.informative,
            "summary": progress.summary(),
            "best": progress.best_step,
            "worst": progress.worst_step,
            "steps": [(progress.describe(n), progress.kind(n)) for n in numbers],
        }

    def _clauses_json(self) -> dict[str, Any]:
        clauses = self.clauses
        numbers = range(1, len(self.trajectory.steps) + 1)
        return {
            "texts": clauses.texts,
            "cut": clauses.cut(self.instruction),
            "followed": clauses.followed,
            "starts": [clauses.starts(n) for n in numbers],
            "steps": [(clauses.at(n).number, clauses.at(n).done) for n in numbers],
        }

    @property
    def trajectory(self) -> Trajectory:
        return self.record.trajectory

    @property
    def progress(self) -> GoalProgress:
        return self.course.progress

    @cached_property
    def written(self) -> dict[str, Json]:
        return to_json(self.trajectory)

    @property
    def succeeded(self) -> bool | None:
        """True if the episode succeeded; None if success was not measured or the episode failed."""
        score = self.record.scores.get(self.sources.success)
        # An episode that raised is neither solved nor unsolved: the agent did not decide
        # its end.
        if score is None or self.trajectory.ended == "failed":
            return None
        return score > 0.5

    @property
    def instruction(self) -> str:
        return self.sources.instruction(self.record.episode_id)

    @property
    def scene(self) -> str:
        """The scene; from the first observation if the dataset is not available."""
        scene = self.sources.scene(self.record.episode_id)
        if scene or not self.trajectory.steps:
            return scene
        first = as_mapping(self.trajectory.steps[0].observation)
        return str(first.get("scene") or "")

    @property
    def reference(self) -> Any:
        return self.sources.reference(self.record.episode_id)

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """Why the episode failed; None if it succeeded or was not judged."""
        # A success needs no reason; one without a measure has none to give.
        if self.succeeded is not False and self.trajectory.ended != "failed":
            return None
        task = self.sources.tasks.get(self.record.episode_id)
        return diagnose(
            self.trajectory, self.record.scores, self.sources.dataset, task, self.course,
            self.sources.limit,
        )  # fmt: skip

    @property
    def causes(self) -> Mapping[str, int]:
        """Causes of an episode without success, each with the first step that shows it."""
        if self.diagnosis is None or self.succeeded is not False:
            return {}
        return self.diagnosis.causes

    @property
    def mistake(self) -> Mistake | None:
        if self.diagnosis is None:
            return None
        return self.diagnosis.mistake

    @cached_property
    def solved(self) -> str:
        """How a solved episode ended, in a sentence; empty if it was not solved."""
        if not self.succeeded:
            return ""
        dataset = self.sources.dataset
        task = self.sources.tasks.get(self.record.episode_id)
        course = self.course
        expert = None
        if dataset is not None and task is not None:
            # Not every solved episode can be solved by the expert as well.
            with suppress(WaywordError, PlanningFailed):
                expert = dataset.expert_length(task)
        episode = EpisodeFacts(
            self.trajectory, self.record.scores, {}, dataset, task, course.progress,
            course.history, course.sought, course.world,
        )  # fmt: skip
        return f"{words(describe_success(episode, expert))}."

    @cached_property
    def map(self) -> Html | None:
        """The map; in an episode without success, the mistake and the end are marked."""
        if not isinstance(self.drawn, Map) or self.succeeded is not False:
            return maps.figure(self.drawn)
        mistake = self.mistake
        if mistake is None:
            return maps.figure(replace(self.drawn, failed=True))
        named = [place for place in self.letters.by_place if place in mistake.text]
        # The ring is where the walk left the path for good, else at the step that lost it. A limit
        # is no step's mistake.
        ring = 0
        if not mistake.limit:
            ring = mistake.departed or mistake.step
        return maps.figure(
            replace(
                self.drawn, failed=True, mistake=ring, departed=bool(mistake.departed),
                named=frozenset(named), missed=mistake.missed,
            )
        )  # fmt: skip

    @cached_property
    def rises(self) -> dict[int, str]:
        """Steps that led up or down by half a metre or more: ``↑ 2.9 m``."""
        graph = self.sources.graph(self.scene)
        positions = getattr(graph, "positions", None)
        if positions is None or positions.ndim != 2 or positions.shape[1] != 3:
            return {}
        # Metres up; streets have no third coordinate.
        heights = dict(zip(graph.ids, positions[:, 2].tolist(), strict=True))
        rises = {}
        poses = dict(self.trajectory.start)
        for number, step in enumerate(self.trajectory.steps, 1):
            # Of the same actor: others move in between.
            before = heights.get(place_of(poses.get(step.actor)))
            after = heights.get(place_of(step.pose))
            poses[step.actor] = step.pose
            if before is None or after is None or abs(after - before) < _RISE:
                continue
            arrow = "↑" if after > before else "↓"
            rises[number] = f"{arrow} {abs(after - before):.1f} m"
        return rises

    @cached_property
    def conditions(self) -> Sequence[Condition]:
        return self.course.conditions

    @property
    def sought(self) -> Sequence[Sought]:
        return self.course.sought

    @property
    def shown_conditions(self) -> Sequence[Condition]:
        """The goal conditions with the final places of their objects, without those that another
        unmet one includes (a hot potato, if a hot potato is to be in the bin)."""
        if isinstance(self.reference, AnswerReference) and self.sought:
            seen = first_views(self.trajectory).keys()
            viewed = [item for item in self.sought if not seen.isdisjoint(item.names)]
            words = "saw every place to look at"
            rooms = dict.fromkeys(item.room for item in self.sought if item.room)
            if rooms:
                words += f" in the {' or '.join(rooms)}"
            return [(words, len(viewed), len(self.sought))]
        # As sets of words: "a hot potato" is part of "a hot potato in the bin".
        unmet = [
            set(words.split()) for words, met, parts in self.conditions if met < parts
        ]
        shown = []
        goals = zip_longest(self.conditions, self.sought[: len(self.conditions)])
        for (words, met, parts), item in goals:
            if met < parts:
                # Another condition says the same and more.
                if any(set(words.split()) < other for other in unmet):
                    continue
                if item:
                    words = item.ended(words, self.trajectory.state, parts)
            shown.append((words, met, parts))
        return shown[:_MOST_CONDITIONS]


def replay(
    trajectory: Trajectory, sources: Sources
) -> tuple[Course, Map | Html | None]:
    """Replay an episode once, for its course and its map."""
    task = sources.tasks.get(trajectory.episode_id)
    course = Course(trajectory, sources.dataset, task)
    drawn = maps.map_of(trajectory, replace(sources, watchers=(course.watch,)))
    if not course.was_watched:  # a map that needs no replay
        sources.played(trajectory, course.watch)
    return course, drawn


def expert_advice(
    trajectory: Trajectory, sources: Sources, patience: float = 5.0
) -> list[tuple[str, bool, bool | None]]:
    """Return the expert's next action at each step, True if the agent took it, and True if what
    the agent did was as good (None if that was not found out in time).

    The action is empty if the expert has no plan, the list if all are. The recorded actions are
    replayed and plans are made along them, for at most ``patience`` seconds; other actions are
    weighed for half of them.
    """
    start = time.monotonic()
    task = sources.tasks.get(trajectory.episode_id)
    if task is None or sources.dataset is None:
        return []
    advice: list[tuple[str, bool, bool | None]]
    advice = [("", False, None)] * len(trajectory.steps)

    def weighs() -> bool:
        return time.monotonic() < start + patience / 2

    for each in advise(trajectory, sources.dataset, task, 1, weighs):
        advice[each.step - 1] = each.words, each.same, each.as_good
        if time.monotonic() > start + patience:
            break
    if not any(words for words, *_ in advice):
        return []
    return advice
