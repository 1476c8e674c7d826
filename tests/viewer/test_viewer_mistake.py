"""What went wrong, where, in one sentence; and what else the first screen of an episode says."""

from __future__ import annotations

import http.client
import re
from dataclasses import replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from helpers import alfred_files
from helpers.parsed_page import Page
from helpers.shown import episode_page
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.metric import Metric
from wayword.core.model import Completion, Sampling, Usage
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.houses import Houses
from wayword.datasets.procedural.towns.town import LIGHT
from wayword.runs import diagnosis
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import run
from wayword.viewer import maps
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.data import Sources
from wayword.viewer.document import Document
from wayword.viewer.episode import Links
from wayword.viewer.library import Library
from wayword.viewer.maps.content import Map
from wayword.viewer.maps.indoor import floors, room_in
from wayword.worlds.household.goals import AnswerReference
from wayword.worlds.two_phase.world import TwoPhaseReference

FAILED = {"sr": 0.0}


def steps(*actions: Action, seen: Any = None, **details: Any) -> list[Step]:
    return [
        Step(
            "agent",
            seen or {},
            Decision(each),
            Feedback("ok", details),
            {"x": n, "y": 0},
        )
        for n, each in enumerate(actions)
    ]


def mistake_of(
    reference: Reference, trajectory: Trajectory, instruction: str = "Go."
) -> str:
    sources = Sources(None, {"1": Task(Episode("1", instruction, "", {}), reference)})
    document = Document.of(EpisodeRecord("1", FAILED, trajectory), sources)
    assert document.mistake is not None
    return document.mistake.text


def houses() -> tuple[Houses, Task]:
    dataset = Houses("test", None, Houses.Settings(houses=1, episodes=4))
    return dataset, dataset.tasks[0]


def walk(dataset: Houses, task: Task, places: list[str]) -> Document:
    """The document of a walk to some places that ends with a stop."""
    world = dataset.world(task.episode)
    world.reset(task.episode)
    trajectory = Trajectory(
        task.episode.id, {"agent": world.pose("agent")}, ended="stopped"
    )
    for action in (*(Action("goto", (place,)) for place in places), STOP):
        observation = world.observe("agent")
        feedback = world.step("agent", action)
        pose = world.pose("agent")
        trajectory.steps.append(
            Step("agent", observation, Decision(action), feedback, pose)
        )
    sources = Sources(dataset, {task.episode.id: task})
    return Document.of(EpisodeRecord(task.episode.id, FAILED, trajectory), sources)


def documents(out: Path, plan: Plan, solved: bool = False) -> list[Document]:
    """The documents of the failed, or the solved, episodes of a run."""
    run(replace(plan, out=out))
    library = Library([out])
    content = Content(library)
    rows = library.rows(out.name)
    records = [
        record
        for record in rows.run.records()
        if bool(record.scores[rows.success]) == solved
    ]
    return [
        Document.of(each, content.tasks(rows, [each.episode_id])) for each in records
    ]


def test_the_step_limit_on_the_path_is_a_limit_and_no_mistake(tmp_path: Path) -> None:
    (document,) = documents(
        tmp_path / "run", Plan("oracle", "towns", limit=1, first=True, max_steps=6)
    )
    assert document.mistake is not None
    assert document.mistake.limit
    assert re.match(
        r"On the path throughout, but the path needs at least \d+ steps; the limit was 6. It ",
        document.mistake.text,
    )
    assert [*document.causes] == ["ran_out"], "the cause in the table is the same"
    shown = episode_page(document.record, (), document.sources, "r", Links())
    page = Page.parse(shown)
    assert page.all("main")[0].attributes["data-mistake"] == "6", "the page opens there"
    (press,) = [e for e in page.all("button") if e.attributes.get("data-key") == "f"]
    assert press.text == "limit"
    assert not page.all("rect", class_="wrong")
    assert not page.all("rect", class_="mistake"), "no ring"


@pytest.mark.parametrize("is_published", [True, False])
def test_a_page_says_where_goal_conditions_come_from_if_not_the_instruction(
    is_published: bool, tmp_path: Path
) -> None:
    """An annotator may have named another object than ALFRED's task requires."""
    plan = Plan("random", "household", limit=1, max_steps=3, out=tmp_path / "runs/run")
    data = None
    if is_published:
        params = {"object_target": "Mug", "parent_target": "SideTable"}
        data = alfred_files.write(
            tmp_path, alfred_files.trajectory("pick_and_place_simple", **params)
        )
        plan = replace(plan, on="household:train", data=data)
    run(plan)
    library = Library([tmp_path / "runs"])
    (episode,) = library.rows("run").names()
    page = Content(library, data).episode("run", episode)
    source = "Goal conditions from ALFRED, instruction from an annotator."
    assert (source in page) == is_published


def test_a_step_off_the_path_that_is_as_good_leads_no_sentence(tmp_path: Path) -> None:
    """Also of a walk that did not turn away from the goal later, and ran out of steps."""
    episodes = ("test-s0-r9-0009_0_1", "test-s0-r9-0017_2_1")
    plan = Plan("random", "houses", max_steps=5, episodes=episodes)
    for document in documents(tmp_path, plan):
        mistake = document.mistake
        assert mistake is not None
        assert not mistake.text.startswith("Step 1:")
        assert mistake.text.count("It left the path at step 1:") == 1


def test_without_an_expert_that_succeeds_neither_a_step_nor_the_limit_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis._Episode, "can_succeed", lambda *_: False)
    monkeypatch.setattr(diagnosis._Episode, "enough", lambda *_: {})
    (document,) = documents(
        tmp_path / "run", Plan("oracle", "towns", limit=1, first=True, max_steps=6)
    )
    assert document.mistake is not None
    assert "limit was" not in document.mistake.text
    record = document.record
    record.trajectory.opening_notes = [Note("no_image", {"reason": "none"})]
    page = Page.parse(episode_page(record, (), document.sources, "r", Links()))
    keys = [each.attributes.get("data-key") for each in page.all("button")]
    assert "End" in keys
    assert "f" not in keys
    assert not page.all("rect", class_="mistake"), "no ring"
    folded = [each.text.strip() for each in page.all("summary")]
    assert "Notes" in folded, "those of the opening"


def test_places_of_the_sentence_come_first_among_the_letters(tmp_path: Path) -> None:
    seen = 0
    for document in documents(
        tmp_path / "run", Plan("random", "houses", limit=6, max_steps=8)
    ):
        assert document.mistake is not None
        page = Page.parse(str(document.map))
        named = [
            each
            for each in page.all("text")
            if "named" in str(each.attributes.get("class"))
        ]
        letters = page.all("text", class_="placeletter")
        assert [each.text for each in letters[: len(named)]] == [
            each.text for each in named
        ]
        lettered = document.letters.by_place
        assert all(lettered[p] in [e.text[-len(lettered[p]) :] for e in named]
                   for p in lettered if p in document.mistake.text)  # fmt: skip
        seen += len(named)
    assert seen


def test_places_that_a_solved_episode_cites_are_on_the_map(tmp_path: Path) -> None:
    cited = 0
    for document in documents(
        tmp_path / "run", Plan("oracle", "towns", limit=4), solved=True
    ):
        text = " ".join(document.solved)
        shown = {
            each.attributes["data-place"]
            for each in Page.parse(str(document.map)).all("text", class_="placeletter")
            if "spare" not in str(each.attributes["class"])
        }
        places = {place for place in document.letters.by_place if place in text}
        assert places <= shown
        cited += len(places)
    assert cited


def test_on_a_grid_the_end_is_so_far_from_what_was_meant(tmp_path: Path) -> None:
    run(Plan("random", "grounding", limit=16, max_steps=4, out=tmp_path / "run"))
    library = Library([tmp_path / "run"])
    content = Content(library)
    rows = library.rows("run")
    found = []
    for record in rows.run.records():
        document = Document.of(record, content.tasks(rows, [record.episode_id]))
        meant = re.fullmatch(r"go to (?:the|an?) (\w+ \w+)", document.instruction)
        if document.mistake is not None and meant:
            found.append(
                (meant[1], len(record.trajectory.steps), document.mistake.text)
            )
    assert found
    for name, last, text in found:
        assert re.fullmatch(
            rf"((Step {last}|Lost after step \d+): (at step {last}, it )?|"
            r".* (left|limit was \d+)\. It |Steps .*\. It )"
            r"(stopped|ran out of steps) "
            rf"(next to the {name}, not done|"
            rf"\d+ squares? from the {name}( \(\d+ on foot\))?)(, in view)?"
            r"(; (only turned|never left the start))?"
            r"(, (\d of \d steps|[a-z ]+ at step \d) (failed|(was|were) blocked))?\."
            r"( (After|From) .* left\.| Steps \d.*\.)?", text,
        )  # fmt: skip


def test_a_wrong_answer_and_a_wrong_room_are_named() -> None:
    answered = Trajectory(
        "1", {"agent": {}}, steps(Action("stop", ("yes",))), ended="stopped"
    )
    answered.state = {"actors": {"agent": {"answer": "yes"}}}
    question = AnswerReference("1", answer="no")
    assert (
        mistake_of(question, answered)
        == "Step 1: answered “yes”; the right answer is “no”."
    )
    answered.state = {"actors": {"agent": {"answer": ""}}}
    assert (
        mistake_of(question, answered)
        == "Step 1: stopped without an answer; the right answer is “no”."
    )
    answered.ended = "step_limit"
    assert mistake_of(question, answered) == (
        "Step 1: ran out of steps without an answer; the right answer is “no”."
    )
    stayed = steps(Action("go", ("tv",)), seen={"place": "home"}, room="home")
    stays = Trajectory(
        "1", {"agent": {}}, stayed, {"phase": 1, "place": "home"}, "stopped"
    )
    assert mistake_of(TwoPhaseReference("1", "kitchen"), stays) == (
        "Step 1: chose the tv; the target is in the kitchen."
        " It stayed in the home; one wrong choice ends the episode."
    )
    chosen = steps(Action("go", ("tv",)), room="living room")
    phase = Trajectory(
        "1", {"agent": {}}, chosen, {"phase": 1, "place": "home"}, "stopped"
    )
    room = TwoPhaseReference("1", "kitchen")
    assert mistake_of(room, phase) == (
        "Step 1: chose the tv; the target is in the kitchen."
        " This led to the living room; one wrong choice ends the episode."
    )


def test_a_wrong_choice_names_the_only_right_one_and_the_target() -> None:
    seen = {
        "phase": 1,
        "place": "office",
        "objects": ("desk", "hallway"),
        "target": "can",
    }
    chosen = steps(Action("go", ("desk",)), seen=seen, room="office")
    stayed = Trajectory(
        "1", {"agent": {}}, chosen, {"phase": 1, "place": "office"}, "stopped"
    )
    assert mistake_of(TwoPhaseReference("1", "kitchen"), stayed) == (
        "Step 1: chose the desk; only the hallway leads to the kitchen, with the can."
        " It stayed in the office; one wrong choice ends the episode."
    )


def test_in_towns_the_map_names_the_landmarks_of_the_instruction(
    tmp_path: Path,
) -> None:
    for document in documents(
        tmp_path / "run", Plan("random", "towns", limit=4, max_steps=4)
    ):
        assert isinstance(document.drawn, Map)
        labels = {shape.label for shape in document.drawn.shapes}
        assert labels, "every route passes something"
        instruction = document.instruction.lower()
        assert all(label.lower() in instruction for label in labels - {LIGHT}), (
            "lights are counted"
        )
        assert all(f">{escape(label)}</text>" in str(document.map) for label in labels)


def test_in_towns_the_sentence_quotes_the_turn_that_was_missed(tmp_path: Path) -> None:
    quoted = 0
    for document in documents(
        tmp_path / "run", Plan("random", "towns", limit=12, max_steps=16)
    ):
        assert document.mistake is not None
        missed = re.search(
            r"the path goes (to|left|right) .* here: “([^”]*)”", document.mistake.text
        )
        if missed is not None:
            assert missed[2] in document.instruction
            quoted += bool({"left", "right"} & {*missed[2].lower().split()})
    assert quoted


def graph(*heights: float) -> Any:
    """A line of viewpoints at these heights, 2 m apart."""
    number = len(heights)
    pairs = [(a, a + 1) for a in range(number - 1)]
    return SimpleNamespace(
        ids=[f"v{n}" for n in range(number)],
        positions=np.array([(2.0 * n, 0.0, z) for n, z in enumerate(heights)]),
        edges=np.array([pair for a, b in pairs for pair in ((a, b), (b, a))]),
    )


def test_floors_are_level_parts_and_a_viewpoint_on_stairs_belongs_to_the_nearest() -> (
    None
):
    house = graph(0.0, 0.1, 0.2, 1.0, 2.2, 3.0, 3.1, 3.0)
    assert list(floors(house).values()) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert set(floors(graph(0.0, 0.5, 0.6, 0.5)).values()) == {0}, (
        "a sunken room is no storey"
    )
    assert floors(graph(0.0, 3.0)) == {"v0": 0, "v1": 0}, "too few to say"


def test_rooms_have_the_first_name_that_a_description_says() -> None:
    assert room_in("A view of a Dining Room next to a kitchen.") == "dining room"
    assert room_in("A hallway with a bed and a staircase") == "hallway"
    assert room_in("the bedroomy carpet") == ""


def test_a_map_of_two_floors_marks_stairs_and_each_place_has_its_floor_and_room() -> (
    None
):
    walk = [maps.Waypoint(n, f"v{n}", (2.0 * n, 0.0), None) for n in range(3)]
    drawn = maps.Map(
        {"agent": walk}, places={each.place: each.point for each in walk},
        edges=[("v0", "v1"), ("v1", "v2")], floors={"v0": 0, "v1": 0, "v2": 1},
        names={"v2": "attic"}, region=frozenset({"v2"}),
    )  # fmt: skip
    page = Page.parse(str(maps.render(drawn)))
    assert page.all("svg")[0].attributes["data-floors"] == "2"
    stops = page.all("g", class_="stop")
    assert sorted(e.attributes["data-floor"] or "" for e in stops) == ["0", "0", "1"]
    assert (
        len([e for e in page.all("line") if "stairs" in str(e.attributes["class"])])
        == 1
    )
    titles = [each.text for each in page.all("title")]
    assert "v2, attic; stops here count as success" in titles
    assert "between floors" in page.all("ul")[0].text


def test_tokens_and_cost_stand_under_their_steps() -> None:
    walked = Trajectory(
        "1", {"agent": {}}, steps(Action("left"), Action("right")), {}, "stopped"
    )
    answer = Completion(("left",), ("stop",), Usage(90, 10), cost=0.002, seconds=1.5)
    walked.steps[0].calls.append(ModelCall("main", "where?", answer, Sampling()))
    metric = Metric("sr", "SR", "rate", "higher", "success")
    page = Page.parse(
        episode_page(
            EpisodeRecord("1", FAILED, walked), [metric], Sources(), "r", Links()
        )
    )
    (bar,) = page.all("rect", class_="usage")
    assert bar.attributes["data-words"] == "100 tokens, $0.0020, 1.5 s of calls"
    assert bar.attributes["data-step"] == "1"


@pytest.mark.parametrize("world", ["houses", "grounding"])
def test_a_doctored_episode_is_answered_in_one_line(world: str, tmp_path: Path) -> None:
    top = tmp_path / "runs"
    run(Plan("random", world, limit=1, max_steps=3, out=top / "one"))
    recorded = RunFolder.read(top / "one")
    (record,) = recorded.records()
    record.trajectory.steps[0] = replace(record.trajectory.steps[0], actor="ghost")
    with RunFolder.open(top / "two", recorded.config) as folder:
        folder.append(record)
    with Server(Content(Library([top]))) as server, server.in_background():
        host = server.address.removeprefix("http://").rstrip("/")
        connection = http.client.HTTPConnection(host, timeout=60)
        for part in ("experts", "document", "episode"):
            connection.request("GET", f"/run/two/{part}?id={quote(record.episode_id)}")
            answer = connection.getresponse()
            text = answer.read().decode()
            if part == "experts":
                assert text.startswith(
                    "no expert advice, because the record cannot be replayed: "
                )
            assert answer.status in ((422,) if part == "experts" else (200, 422)), part
            assert part == "episode" or "\n" not in text
        connection.close()


@pytest.mark.real
def test_the_stop_region_agrees_with_the_metric(data: Path, tmp_path: Path) -> None:
    """In 200 failed walks of random no end lies in the region that is drawn, whatever its distance
    as the crow flies; the ends of the oracle's do."""
    for agent, expected in (("random", 0.0), ("oracle", 1.0)):
        out = tmp_path / agent
        run(Plan(agent, "r2r:val_seen", limit=280, data=data, out=out))
        library = Library([out])
        rows = library.rows(library.only)
        content = Content(library, data)
        checked = 0
        for record in rows.run.records():
            if record.scores["sr"] != expected or checked == 200:
                continue
            sources = content.tasks(rows, [record.episode_id])
            drawn = maps.map_of(record.trajectory, sources)
            assert isinstance(drawn, maps.Map)
            end = next(iter(drawn.walks.values()))[-1]
            assert (end.place in drawn.region) == (expected == 1.0), record.episode_id
            checked += 1
        assert checked == 200
