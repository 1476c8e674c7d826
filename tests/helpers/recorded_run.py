"""Run folders to look at, made by hand: any text may stand in any place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from wayword.core.action import Action, Decision, Rejection
from wayword.core.model import Choice, Completion, Message, Sampling, Usage
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.runs.record import EpisodeRecord, RunFolder

SCORES = {"sr": 1.0, "ne": 0.25, "steps": 3.0, "rejections": 1.0, "seconds": 0.5}


def recorded_trajectory(name: str, said: str = "hello", place: str = "b") -> Trajectory:
    """Three steps (an action, a rejection, a fallback) that say ``said`` wherever one can."""
    prompt = (Message("system", "be brief\n" * 9), Message("user", f"now: {said}"))
    text = ModelCall(
        "main", prompt, Completion((said, said), ("stop", said)), Sampling()
    )
    ranked = ModelCall(said, said, Choice((said, "no"), (-0.1, -2.0), Usage(5, 1)))
    lost = ModelCall("main", prompt, None, error=said)
    seen = {
        "type": said,
        "viewpoint": "a",
        "heading": 90.0,
        said: {said: [said, {said: said}]},
    }
    seen["neighbors"] = [{"viewpoint": place, "heading": 100.0, "distance": 2.0}]
    went = Decision(Action("goto", (place,)), said)
    no = Rejection("unknown", said, said, said)
    where = {"viewpoint": place, "heading": 100.0}
    notes = [Note(said, {said: said})]
    steps = [
        Step("agent", seen, went, Feedback("ok"), where, [text]),
        Step(
            "agent",
            seen,
            no,
            Feedback("rejected", {"why": said}),
            where,
            [ranked, lost],
            notes,
        ),
        Step(
            "agent",
            seen,
            Decision(Action(said), "", no),
            Feedback(said, {said: said}),
            where,
        ),
    ]
    start = {"agent": {"viewpoint": "a", "heading": 90.0}}
    return Trajectory(
        name, start, steps, {said: said}, "step_limit", "", [text], notes, 0.5
    )


def make_run(
    path: Path,
    names: Iterable[str] = ("one", "two"),
    said: str = "hello",
    failed: Mapping[str, Trajectory | None] | None = None,
    **identity: Any,
) -> Path:
    """A finished run of those episodes, on a dataset that does not exist."""
    what = {
        "agent": said, "settings": {said: said}, "dataset": f"{said}:x", "dataset_settings": {},
        "data_checksum": "", "models": {"main": said}, "model_settings": {}, "seed": 0,
        "max_steps": 15, **identity,
    }  # fmt: skip
    config = {
        "identity": what, "family": "indoor", "split": f"{said}:x", "episodes_in_split": 180,
        "perception": said, "checksums": {said: said}, "versions": {said: said}, "started": said,
    }  # fmt: skip
    with RunFolder.open(path, config) as folder:
        for name in names:
            folder.append(EpisodeRecord(name, SCORES, recorded_trajectory(name, said)))
        for name, trajectory in (failed or {}).items():
            folder.fail(name, said, trajectory)
    return path
