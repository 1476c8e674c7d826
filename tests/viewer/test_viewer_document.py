"""The JSON document of an episode: all that its page needs, wherever the page is rendered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wayword import viewer
from wayword.core.action import STOP, Decision
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord
from wayword.runs.running import run
from wayword.viewer import episode, pages
from wayword.viewer.content import Content
from wayword.viewer.data import Sources
from wayword.viewer.document import Document
from wayword.viewer.episode import Links
from wayword.viewer.library import Library


@pytest.mark.parametrize("observation", [{"scene": "flat_3"}, {}])
def test_without_its_dataset_an_episode_names_the_scene_that_it_recorded(
    observation: dict[str, str],
) -> None:
    stop = Step("agent", observation, Decision(STOP), Feedback(), {})
    record = EpisodeRecord("one", {}, Trajectory("one", {}, [stop]))
    assert Document.of(record, Sources()).scene == observation.get("scene", "")


@pytest.mark.parametrize(
    "on", ["houses", "towns", "household", "apartments", "grounding", "iqa"]
)
def test_a_page_is_rendered_from_json_alone(
    on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both pages wait for all advice, however busy the machine is.
    monkeypatch.setattr(pages, "_PATIENCE", 60.0)
    folder = run(
        Plan("random", on, limit=1, max_steps=6, out=tmp_path / "runs" / "one")
    ).path
    content = Content(Library([tmp_path / "runs"]))
    rows = content.library.rows("one")
    (name,) = rows.names()
    record = rows.run.record(name)
    sources = content.tasks(rows, [name])
    document = Document.of(record, sources).json(patience=60.0)
    read = json.loads(json.dumps(document))
    assert len(read["trajectory"]["steps"]) == len(record.trajectory.steps)
    assert read["map"].startswith("<figure>")
    page = episode.episode_page(read, rows.metrics, "one", Links())
    file = viewer.write(folder).parent / "episodes"
    assert page == next(file.iterdir()).read_text(encoding="utf-8")
    served = json.loads(content.document("one", name))
    assert {**served, "advice": read["advice"]} == read


def test_a_document_is_derived_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(Plan("random", "houses", limit=1, max_steps=3, out=tmp_path / "runs" / "one"))
    content = Content(Library([tmp_path / "runs"]))
    made = []
    derive = Document.of
    monkeypatch.setattr(Document, "of", lambda *given: made.append(1) or derive(*given))
    (name,) = content.library.rows("one").names()
    assert content.episode("one", name) == content.episode("one", name)
    content.document("one", name)
    assert len(made) == 1
