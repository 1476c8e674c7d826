"""An episode as a JSON document: what its page shows of the whole episode, derived once from the
record. The cards of its steps are the page's (``wayword.viewer.episode``).

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
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.metric import is_solved
from wayword.core.trajectory import Trajectory
from wayword.metrics.conditions import Condition, Sought, shown, views
from wayword.metrics.detector_reports import (
    DetectorReport,
    last_report,
)
from wayword.metrics.mistakes import Mistake
from wayword.metrics.mistakes.causes import label_of, meaning_of
from wayword.metrics.mistakes.household import first_views
from wayword.metrics.progress import GoalProgress
from wayword.metrics.recorded import as_mapping, place_of
from wayword.runs.codec import plain
from wayword.runs.diagnosis import (
    UNPLAYABLE,
    Course,
    Diagnosis,
    advise,
    diagnose,
    ending_sentences,
)
from wayword.runs.record import EpisodeRecord
from wayword.viewer import maps
from wayword.viewer.clauses import Clauses
from wayword.viewer.data import Sources
from wayword.viewer.maps.content import Map
from wayword.viewer.markup import Html, Letters
from wayword.worlds.household.goals import AnswerReference

CONDITIONS_IN_VIEW = 8
"""Goal conditions up to which a page lists all; others unfold. A home may ask for dozens."""
_RISE = 0.5  # metres between two viewpoints from which a step leads up or down


@dataclass(frozen=True)
class Document:
    """Content of an episode's page: the record, and what is derived from it at first use.

    ``letters`` are the short names of its places, ``course`` is its replay and
    ``drawn`` its map. Everything that needs the dataset is empty without it.
    """

    record: EpisodeRecord
    sources: Sources
    letters: Letters
    course: Course
    drawn: Map | Html | None
    clauses: Clauses

    @staticmethod
    def of(record: EpisodeRecord, sources: Sources) -> Document:
        """Replay a record and derive the document from it.

        Errors of values that were changed by hand (``TypeError``, ``LookupError`` …) pass
        through: :func:`wayword.viewer.content.readable` turns them into one line.
        """
        trajectory = record.trajectory
        letters = maps.letters_of(sources, trajectory)
        sources = replace(sources, letters=letters)
        # One replay for both: in a home it takes most of the time of a page.
        course, drawn = replay(trajectory, sources)
        clauses = Clauses.of(trajectory)
        return Document(record, sources, letters, course, drawn, clauses)

    def json(self, patience: float = 0.0) -> dict[str, Json]:
        """Return the page's content as JSON values.

        With expert advice if ``patience`` (seconds to spend on it) is above 0; a served
        page requests the advice later.
        """
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
                "solved": " ".join(filter(None, self.solved)),
                "ending": self.solved,
                "reported": self.report.step if self.report else 0,
                "conditions": self.shown_conditions,
                "conditions_in_view": CONDITIONS_IN_VIEW,
                "goals_from": getattr(self.sources.dataset, "goals_from", ""),
                "held_from": [step for _, step in self.dated_conditions],
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
        # The record as it was written, so that a reader can check the rest.
        return {**derived, "trajectory": self.written}

    def _retold_json(self) -> dict[str, Any] | None:
        """Return the walk as a model retold it, a notice if the file is damaged, else None."""
        try:
            retold = self.sources.retold(self.record.episode_id)
        except RecordingError as error:
            return {"notice": str(error)}
        if retold is None:
            return None
        return {"notice": "", **asdict(retold)}

    def _progress_json(self) -> dict[str, Any]:
        """Return the progress after each step: values, and the words and class of each change."""
        progress = self.progress
        steps = []
        for number in range(1, len(self.trajectory.steps) + 1):
            words = progress.describe(number)
            steps.append((words, progress.kind(number)))
        return {
            "course": progress.values,
            "conditions": progress.conditions,
            "straight": progress.straight,
            "informative": progress.informative,
            "summary": progress.summary(),
            "best": progress.best_step,
            "worst": progress.worst_step,
            "steps": steps,
        }

    def _clauses_json(self) -> dict[str, Any]:
        """Return the clauses of the instruction, and those followed and done at each step."""
        clauses = self.clauses
        starts = []
        steps = []
        for number in range(1, len(self.trajectory.steps) + 1):
            now = clauses.at(number)
            starts.append(clauses.starts(number))
            steps.append((now.number, now.done))
        return {
            "texts": clauses.texts,
            "cut": clauses.cut(self.instruction),
            "followed": clauses.followed,
            "starts": starts,
            "steps": steps,
        }

    @property
    def trajectory(self) -> Trajectory:
        """The recorded trajectory; of several trials, the last one."""
        return self.record.trajectory

    @property
    def progress(self) -> GoalProgress:
        """The distance to the goal, or the conditions met, after each step."""
        return self.course.progress

    @property
    def written(self) -> dict[str, Json]:
        """The trajectory as a run folder holds it."""
        return self.course.written

    @property
    def succeeded(self) -> bool | None:
        """True if the episode succeeded; None if success was not measured or the episode failed."""
        score = self.record.scores.get(self.sources.success)
        # An episode that raised is neither solved nor unsolved: the agent did not decide
        # its end.
        if score is None or self.trajectory.ended == "failed":
            return None
        return is_solved(score)

    @property
    def instruction(self) -> str:
        """The instruction, empty without the dataset."""
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
        """The goal and gold path, None without the dataset."""
        return self.sources.reference(self.record.episode_id)

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """Why the episode failed; None if it succeeded or was not judged."""
        # A success needs no reason; one without a measure has none to give.
        if self.succeeded is not False and self.trajectory.ended != "failed":
            return None
        task = self.sources.tasks.get(self.record.episode_id)
        return diagnose(
            self.trajectory,
            self.record.scores,
            self.sources.dataset,
            task,
            self.course,
            self.sources.limit,
        )

    @property
    def causes(self) -> Mapping[str, int]:
        """Causes of an episode without success, each with the first step (from 1) that shows it."""
        if self.diagnosis is None or self.succeeded is not False:
            return {}
        return self.diagnosis.causes

    @property
    def mistake(self) -> Mistake | None:
        """The step that lost the episode; None if it succeeded or no step is to blame."""
        if self.diagnosis is None:
            return None
        return self.diagnosis.mistake

    @cached_property
    def report(self) -> DetectorReport | None:
        """The last report of the target in a search whose success nobody judges."""
        if self.succeeded is not None or self.trajectory.ended == "failed":
            return None
        return last_report(self.trajectory)

    @cached_property
    def solved(self) -> tuple[str, str]:
        """How a solved episode ended, or a search that nobody judges: a sentence, and more of them;
        else empty."""
        if self.succeeded is False or self.trajectory.ended == "failed":
            return "", ""
        # The expert is not compared with itself.
        compares = not self.sources.by_expert
        return ending_sentences(
            self.course, self.record.scores, self.succeeded, compares
        )

    @cached_property
    def map(self) -> Html | None:
        """The map as ``marked``."""
        return maps.figure(self.marked)

    @property
    def marked(self) -> Map | Html | None:
        """The map with the end marked and, in an episode without success, the mistake."""
        if not isinstance(self.drawn, Map) or self.succeeded is None:
            return self.drawn
        mistake = self.mistake
        # The map shows every place that the sentences cite.
        text = mistake.text if mistake else " ".join(self.solved)
        named = frozenset(place for place in self.letters.by_place if place in text)
        if self.succeeded:
            return replace(self.drawn, solved=True, named=named)
        if mistake is None:
            return replace(self.drawn, failed=True, named=named)
        # The ring is at the step that the first sentence names. A limit is no step's mistake.
        ring = 0
        if not mistake.limit:
            ring = mistake.step
        return replace(
            self.drawn,
            failed=True,
            mistake=ring,
            departed=mistake.departed == ring > 0,
            named=named,
            missed=mistake.missed,
        )

    @cached_property
    def rises(self) -> dict[int, str]:
        """Steps that led up or down by ``_RISE`` or more, with the height: ``↑ 2.9 m``."""
        graph = self.sources.graph(self.scene)
        positions = getattr(graph, "positions", None)
        # Streets have no third coordinate.
        if positions is None or positions.ndim != 2 or positions.shape[1] != 3:
            return {}
        metres_up = positions[:, 2].tolist()
        heights = dict(zip(graph.ids, metres_up, strict=True))
        rises = {}
        poses = dict(self.trajectory.start)
        for number, step in enumerate(self.trajectory.steps, 1):
            # Of the same actor: others move in between.
            before = heights.get(place_of(poses.get(step.actor)))
            after = heights.get(place_of(step.pose))
            poses[step.actor] = step.pose
            if before is None or after is None:
                continue
            rise = abs(after - before)
            if rise >= _RISE:
                arrow = "↑" if after > before else "↓"
                rises[number] = f"{arrow} {rise:.1f} m"
        return rises

    @cached_property
    def conditions(self) -> Sequence[Condition]:
        """The goal conditions: words, parts that hold, number of parts."""
        return self.course.conditions

    @property
    def sought(self) -> Sequence[Sought]:
        """The objects of the goal, in the order of the conditions."""
        return self.course.sought

    @property
    def shown_conditions(self) -> Sequence[Condition]:
        """The goal conditions to be shown, with the final places of their objects.

        Of a question, the places to look at are one condition. Unmet ones come first where
        there are many.
        """
        return [condition for condition, _ in self.dated_conditions]

    @cached_property
    def dated_conditions(self) -> Sequence[tuple[Condition, int | None]]:
        """The goal conditions to be shown, each with the step from which it held to the end.

        0 is the start; None for an unmet condition, for views, and without a replay.
        """
        if isinstance(self.reference, AnswerReference) and self.sought:
            seen = first_views(self.trajectory)
            return [(views(self.reference, self.sought, seen), None)]
        listed = shown(self.conditions, self.sought, self.trajectory.state)
        dated = [
            (condition, self.course.held_from(index))
            for index, condition in enumerate(listed)
        ]
        if len(dated) > CONDITIONS_IN_VIEW:
            dated.sort(key=lambda each: each[0][1] == each[0][2])
        return dated


def replay(
    trajectory: Trajectory, sources: Sources
) -> tuple[Course, Map | Html | None]:
    """Replay an episode once, for its course and its map.

    The course is empty if the replay differs from the record, or without the dataset.
    """
    task = sources.tasks.get(trajectory.episode_id)
    course = Course(trajectory, sources.dataset, task)
    watched = replace(sources, watchers=(course.watch,))
    drawn = maps.map_of(trajectory, watched)
    if not course.was_watched:  # a map that needs no replay
        sources.played(trajectory, course.watch)
    return course, drawn


def expert_advice(
    trajectory: Trajectory, sources: Sources, patience: float = 5.0
) -> list[tuple[str, bool, bool | None]]:
    """Return for each step the expert's next action, True if the agent took it, and
    True if what the agent did was as good (None if that was not found out in time).

    The action is empty if the expert has no plan, the list if all are. The recorded
    actions are replayed and plans are made along them, for at most ``patience``
    seconds; other actions are weighed for half of them.
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
        # Advice so far is better than a page that waits for a slow planner.
        if time.monotonic() > start + patience:
            break
    if not any(words for words, *_ in advice):
        return []
    return advice
