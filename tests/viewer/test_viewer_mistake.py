"""What went wrong, where, in one sentence; and what else the first screen of an episode says."""

from __future__ import annotations

import http.client
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from helpers.parsed_page import Page
from helpers.shown import episode_page
from helpers.two_in_a_flat import TwoInAFlat
from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.metric import Metric
from wayword.core.model import Completion, Sampling, Usage
from wayword.core.trajectory import Ending, ModelCall, Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.houses import Houses
from wayword.datasets.procedural.towns.town import LIGHT
from wayword.metrics.causes import find_causes, label_of
from wayword.runs.codec import to_json
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import run
from wayword.viewer import maps
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.data import Sources
from wayword.viewer.document import Document, Sought, expert_advice
from wayword.viewer.episode import Links
from wayword.viewer.library import Library
from wayword.viewer.maps.babyai import MEANT
from wayword.viewer.maps.drawing import Map, Shape
from wayword.viewer.maps.indoor import floors, room_in
from wayword.worlds.household.goals import AnswerReference, HouseholdReference, Inside
from wayword.worlds.objectnav.world import ObjectNavReference
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


def test_the_last_departure_from_the_gold_path_is_the_mistake_and_a_detour_is_none() -> (
    None
):
    dataset, task = houses()
    gold = [str(place) for place in task.reference.path]  # type: ignore[attr-defined]
    neighbors = dataset.graph(task.episode.scene).neighbors
    off = next(
        name
        for name in (each.viewpoint for each in neighbors(gold[1]))
        if name not in gold
    )

    def found(*places: str) -> tuple[int, str]:
        document = walk(dataset, task, [*places])
        assert document.mistake is not None
        left = f", {document.progress.values[-1]:.1f} m from the goal {gold[-1]}."
        text, quotes = re.subn(
            r" The instruction here: “[^”]*”\.", "", document.mistake.text
        )
        assert text.endswith(left)
        assert quotes == 1
        text, winds = re.subn(r" \((north|south)?-?(east|west)?\)", "", text)
        assert winds == 2 * text.count("; the path goes to "), (
            "both directions are named"
        )
        return document.mistake.step, text.removesuffix(left)

    assert found(gold[1], off) == (
        2,
        f"Step 2: went from {gold[1]} to {off}; the path goes to {gold[2]}."
        f" It never got back: stopped at {off}",
    )
    assert found(gold[1], off, gold[1], gold[2], gold[1]) == (
        5,
        f"Step 5: went back from {gold[2]} to {gold[1]}; the path goes to {gold[3]}."
        f" It stopped at {gold[1]}",
    )
    assert found(gold[1], off, gold[1]) == (4, f"Step 4: stopped at {gold[1]}")
    assert found(*gold[1:3]) == (3, f"Step 3: stopped at {gold[2]}")
    beyond = next(
        each.viewpoint for each in neighbors(gold[-1]) if each.viewpoint not in gold
    )
    assert found(*gold[1:], beyond) == (
        len(gold), f"Step {len(gold)}: left the goal. It never got back: stopped at {beyond}"
    )  # fmt: skip


LINE = ("a", "b", "c", "d")
"""The gold path: places from west to east."""


def at(place: str, heading: float | None = 0.0) -> dict[str, Any]:
    """A pose at a place of the line, with its heading if it is known."""
    return {"viewpoint": place} | ({} if heading is None else {"heading": heading})


def on_the_line(start: dict[str, Any], *done: tuple[str, dict[str, Any], str]) -> str:
    """The mistake of a walk to the step limit: action (or none), pose and status of each step."""
    answer = Rejection("illegal", "no such action", "up")
    walked = Trajectory("1", {"agent": start}, ended="step_limit")
    for name, pose, status in done:
        decision = Decision(Action(name)) if name else answer
        walked.steps.append(Step("agent", {}, decision, Feedback(status), pose))
    sources = Sources(
        None, {"1": Task(Episode("1", "Go.", "", {}), PathReference("1", LINE))}
    )
    places = {place: (float(n), 0.0) for n, place in enumerate(LINE)}
    document = Document.of(EpisodeRecord("1", FAILED, walked), sources)
    mistake = replace(document, drawn=maps.Map({}, places=places)).mistake
    assert mistake is not None
    return mistake.text


def test_a_departure_without_a_change_of_place_says_what_was_done() -> None:
    # And is on the path
    ends = "; the path goes right (east). It ran out of steps at a."
    turned = on_the_line(at("a"), ("left", at("a", 270.0), "ok"))
    assert turned == f"Step 1: turned left (west) at a{ends}"
    for name in ("left", "forward"):
        blocked = on_the_line(at("a"), (name, at("a", 5.0), "blocked"))
        assert blocked == f"Step 1: chose {name} and stayed at a{ends}"
    rejected = on_the_line(at("a"), ("", at("a", 5.0), "rejected"))
    assert rejected == "Step 1: the answer was rejected as illegal."
    stayed = on_the_line(at("d"), ("left", at("d", 270.0), "ok"))
    assert stayed == "Step 1: did not stop at the goal. It ran out of steps at d."
    left = on_the_line(at("d"), ("goto", at("e"), "ok"))
    assert left == "Step 1: left the goal. It never got back: ran out of steps at e."
    unknown = on_the_line(at("a", None), ("left", at("a", 270.0), "ok"))
    assert unknown == (
        "Step 1: turned left (west) at a; the path goes to b (east). It ran out of steps at a."
    ), "no side without a heading"


def documents(out: Path, plan: Plan) -> list[Document]:
    """The documents of the failed episodes of a run."""
    run(replace(plan, out=out))
    library = Library([out])
    content = Content(library)
    rows = library.rows(out.name)
    records = [
        record for record in rows.run.records() if not record.scores[rows.success]
    ]
    return [
        Document.of(each, content.tasks(rows, [each.episode_id])) for each in records
    ]


def test_the_mistake_is_never_what_the_expert_would_have_done(tmp_path: Path) -> None:
    """In towns a turn decides, and the step forward after it is the expert's, too."""
    turns = 0
    for document in documents(
        tmp_path / "run", Plan("random", "towns", limit=24, max_steps=16)
    ):
        mistake = document.mistake
        assert mistake is not None
        if not mistake.limit:
            words, same = expert_advice(document.trajectory, document.sources)[
                mistake.step - 1
            ]
            assert words
            assert not same, mistake.text
            turns += " turned " in mistake.text
    assert turns


def test_the_step_limit_on_the_path_is_a_limit_and_no_mistake(tmp_path: Path) -> None:
    (document,) = documents(
        tmp_path / "run", Plan("oracle", "towns", limit=1, max_steps=6)
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


def test_a_target_in_view_and_not_taken_is_the_mistake_and_the_cause() -> None:
    reference = ObjectNavReference("1", frozenset({"mug_1"}))
    far, near = ({"shown": [{"id": "mug_1", "words": "blue mug", "away": away}]}
                 for away in (4.0, 1.5))  # fmt: skip
    walked = Trajectory("1", {"agent": {"x": 0, "y": 0}}, ended="stopped")
    for seen in (far, near, {"shown": []}):
        walked.steps += steps(Action("move_ahead"), seen=seen)
    assert mistake_of(reference, walked) == (
        "Step 2: the blue mug was in view, 1.5 m away, and not taken."
    )
    causes = find_causes(to_json(walked), {"sr": 0.0, "ever_seen": 1.0})
    assert next(iter(causes)) == "seen_not_taken", "what a person would say first"
    assert label_of("seen_not_taken") == "seen, not taken"
    assert "seen_not_taken" not in find_causes(
        to_json(walked), {"sr": 0.0, "ever_seen": 0.0}
    )
    for step in walked.steps:
        step.observation = {"shown": [{"id": "mug_2", "words": "red mug", "away": 1.0}]}
    record = EpisodeRecord("1", {**FAILED, "ever_seen": 0.0}, walked)
    sources = Sources(
        None, {"1": Task(Episode("1", "Find the blue mug.", "", {}), reference)}
    )
    never = Document.of(record, sources).mistake
    assert never is not None
    assert never.step == 3, "the page opens on the stop"
    begins = "Step 3: stopped without the blue mug, never in view: "
    assert never.text == begins + "never left the start."
    blocked = replace(walked.steps[0], feedback=Feedback("blocked"))
    record.trajectory.steps[:2] = [blocked, blocked]
    again = Document.of(record, sources).mistake
    assert again is not None
    assert again.text == f"{begins}2 of 3 steps were blocked. Never left the start."
    walked.steps[-1] = replace(walked.steps[-1], pose={"x": 120.5, "y": 0})
    far_off = Document.of(record, sources).mistake
    assert far_off is not None
    assert far_off.text == f"{begins}2 of 3 steps were blocked. Moved 120.5 m."
    shown = {"id": "mug_1", "words": "blue mug"}
    walked.steps[0].observation = {"shown": [shown]}
    assert (
        mistake_of(reference, walked)
        == "Step 1: the blue mug was in view and not taken."
    )
    near_by = {"shown": [{**shown, "away": 2.0}]}
    walked.steps[1] = replace(walked.steps[1], observation=near_by)
    assert mistake_of(reference, walked) == (
        "Step 2: the blue mug was in view, 2.0 m away, and not taken."
    ), "an unknown distance is not 0"


def in_a_flat(*actions: Action, ended: Ending = "stopped") -> tuple[int, str]:
    """Step and words of the mistake of Ann, who is to put the apple into the box."""
    dataset = TwoInAFlat()
    (task, *_) = dataset.tasks
    world = dataset.world(task.episode)
    world.reset(task.episode)
    walked = Trajectory(
        task.episode.id, {a: world.pose(a) for a in world.actors}, ended=ended
    )
    for action in actions:
        seen = world.observe("ann")
        feedback = world.step("ann", action)
        walked.steps.append(
            Step("ann", seen, Decision(action), feedback, world.pose("ann"))
        )
    walked.state = dict(world.state())
    sources = Sources(dataset, {task.episode.id: task})
    mistake = Document.of(
        EpisodeRecord(task.episode.id, FAILED, walked), sources
    ).mistake
    assert mistake is not None
    return mistake.step, mistake.text


def test_an_object_that_was_left_alone_dropped_or_never_in_view_is_named() -> None:
    away = (Action("turn_right"), Action("turn_right"))
    looked = (Action("goto", ("table_1",)), *away)
    never = "it had seen apple_1 at step 1 and never"
    for ended in ("stopped", "step_limit"):
        assert in_a_flat(*looked, STOP, ended=ended) == (
            4, f"Step 4: ann stopped; {never} picked it up."
        ), "another actor ran out of steps"  # fmt: skip
    for ended, words in (
        ("stopped", "took its last action"),
        ("step_limit", "ran out of steps"),
    ):
        assert in_a_flat(*looked, ended=ended) == (
            3, f"Step 3: ann {words}; {never} picked it up."
        )  # fmt: skip
    step, text = in_a_flat(Action("go_grab", ("apple_1",)), *away, STOP)
    assert step == 1
    assert text.startswith(
        "Step 1: after ann's go_grab[apple_1] nothing was done with it. Not done: “apple in "
    )


def test_an_object_that_never_came_into_view_is_said_to_be_in_its_room() -> None:
    about = Sought("apple", frozenset({"apple_1"}), "hall")
    walked = Trajectory("1", {"agent": {}}, steps(STOP), {"objects": {}}, "stopped")
    reference = HouseholdReference("1", goals=(Inside(("apple_1",), ("box_1",)),))
    walked.state = {"objects": {"apple_1": {"in": ""}}}
    sources = Sources(None, {"1": Task(Episode("1", "Go.", "", {}), reference)})
    document = replace(
        Document.of(EpisodeRecord("1", FAILED, walked), sources), sought=(about,)
    )
    assert document.mistake is not None
    assert document.mistake == (
        1,
        "Step 1: stopped with no apple ever in view (it was in the hall).",
        False,
        (),
    )
    placed = {"objects": {"apple_1": {"in": "table_1", "room": "hall"}}}
    about = replace(about, ids=("apple_1",))
    assert about.ended("apple in or on box", placed) == "apple: table, hall → box"
    assert about.ended("apple (open)", placed) == "apple (table, hall): should be open"
    about = replace(about, ids=("apple_1", "apple_2"))
    assert about.ended("apple in or on box", placed) == "apple (either of 2) → box"
    assert about.ended("apple in or on box", placed, parts=2) == "apple in or on box"
    assert about.ended("apple held", placed) == "apple held"


def in_a_home(*walk: maps.Waypoint, shapes: Sequence[Shape]) -> str:
    """The mistake of an agent who is to put an apple (one of two) into the box and saw none."""
    about = Sought("apple", frozenset(), "", ("apple_7", "apple_8"))
    done = steps(*[Action("wait") for _ in walk[1:]])
    state = {"objects": {name: {"in": ""} for name in about.ids}}
    walked = Trajectory("1", {"agent": {}}, done, state, "stopped")
    reference = HouseholdReference("1", goals=(Inside(tuple(about.ids), ("box_1",)),))
    sources = Sources(None, {"1": Task(Episode("1", "Go.", "", {}), reference)})
    document = Document.of(EpisodeRecord("1", FAILED, walked), sources)
    drawn = maps.Map({"agent": [*walk]}, shapes=[*shapes])
    mistake = replace(document, sought=(about,), drawn=drawn).mistake
    assert mistake is not None
    return mistake.text.partition("ever in view")[2]


def test_only_the_objects_of_the_sentence_count_as_faced_and_each_of_them() -> None:
    facing = [
        maps.Waypoint(n, "", (0.0, 0.0), heading)
        for n, heading in enumerate((0.0, 90.0))
    ]
    # North
    box = Shape("rect", [(-1, 1), (1, 2)], "furniture goal-object", "box_1 (box_1)")
    west = Shape("dot", [(-3, 0)], "object goal-object", "apple (apple_7)")
    east = Shape(
        "dot", [(9, 0)], "object", "apple (ann: apple_1, bob: apple_2; apple_8)"
    )
    other = Shape("dot", [(1, 0)], "object goal-object", "pineapple (pineapple_8)")
    assert in_a_home(*facing, shapes=[box, other]) == "."
    assert in_a_home(*facing, shapes=[box, west, other]).endswith(
        "never faced west, where it was."
    )
    assert in_a_home(*facing, shapes=[box, west, east]) == ".", "one of them was ahead"


def test_all_goals_count_and_twelve_are_listed() -> None:
    names = [f"{letter}_1" for letter in "abcdefghijklmn"]
    state = {"objects": {name: {"in": ""} for name in names}}
    walked = Trajectory("1", {"agent": {}}, steps(STOP), state, "stopped")
    reference = HouseholdReference(
        "1", goals=tuple(Inside((n,), ("box_1",)) for n in names)
    )
    sources = Sources(None, {"1": Task(Episode("1", "Go.", "", {}), reference)})
    sought = tuple(Sought(name[0], frozenset({name}), "") for name in names)
    document = replace(
        Document.of(EpisodeRecord("1", FAILED, walked), sources), sought=sought
    )
    assert document.mistake is not None
    assert document.mistake.text == (
        "Step 1: stopped with none of the 14 goal objects ever in view."
    )
    assert len(document.shown_conditions) == 12


@pytest.mark.parametrize(
    ("rooms", "words"),
    [(("", ""), "saw every place to look at"),
     (("", "hall"), "saw every place to look at in the hall")],
)  # fmt: skip
def test_rooms_without_a_name_are_left_out(rooms: tuple[str, ...], words: str) -> None:
    walked = Trajectory("1", {"agent": {}}, steps(STOP), ended="stopped")
    question = AnswerReference("1", answer="no", look=("shelf_1", "shelf_2"))
    sources = Sources(None, {"1": Task(Episode("1", "Any?", "", {}), question)})
    sought = tuple(Sought("shelf", frozenset(), room) for room in rooms)
    document = replace(
        Document.of(EpisodeRecord("1", FAILED, walked), sources), sought=sought
    )
    assert document.shown_conditions == [(words, 0, 2)]


@pytest.mark.parametrize(
    ("instruction", "given", "alone"),
    [("Help.", "Bring the Cup.", True), ("Help.", "Bring cups.", True),
     ("Help.", "Look in the cupboard.", False), ("Bring a cup.", "Bring a cup.", False)],
)  # fmt: skip
def test_an_actor_alone_knew_of_what_only_its_own_text_names(
    instruction: str, given: str, alone: bool
) -> None:
    chat = Step("bob", {}, Decision(Action("wait")), Feedback("ok"), {})
    done = [replace(chat, actor="ann"), chat]
    state = {"objects": {"cup_1": {"in": ""}}}
    walked = Trajectory("1", {"ann": {}, "bob": {}}, done, state, "stopped")
    reference = HouseholdReference("1", goals=(Inside(("cup_1",), ("box_1",)),))
    texts = {"instructions": {"ann": given, "bob": "Do what ann asks."}}
    episode = Episode("1", instruction, "", {}, ("ann", "bob"), texts)
    document = Document.of(
        EpisodeRecord("1", FAILED, walked),
        Sources(None, {"1": Task(episode, reference)}),
    )
    document = replace(document, sought=(Sought("cup", frozenset(), ""),))
    assert document.mistake is not None
    knew = (
        "ann took its last action and never sent its goal “cup in or on box” to bob. "
        "No cup was ever in view of bob"
    )
    assert (document.mistake.text == f"Step 1: {knew}.") == alone
    assert ("never sent" in document.mistake.text) == alone
    causes = [label for label, *_ in document.json()["causes"]]  # type: ignore[misc, union-attr]
    assert label_of("partner_silent") in causes, "as in the table and in Python"


@pytest.mark.parametrize("others", [0, 1])
def test_on_a_grid_one_of_two_that_look_the_same_is_not_said_to_be_in_view(
    others: int,
) -> None:
    seen = {"objects": [{"color": "red", "kind": "ball"}]}
    walked = Trajectory(
        "1", {"agent": {}}, steps(Action("wait"), seen=seen), ended="stopped"
    )
    meant = Shape("dot", [(3, 0)], "meant", MEANT, last=2)
    balls = [
        Shape("dot", [(3 + 2 * n, 0)], "gridball", "red ball", last=2) for n in (0, 1)
    ]
    stops = [maps.Waypoint(n, "", (float(n), 0.0), 0.0) for n in (0, 1)]
    sources = Sources(None, {"1": Task(Episode("1", "Go.", "", {}), Reference("1"))})
    drawn = maps.Map({"agent": stops}, shapes=[meant, *balls[: others + 1]])
    document = replace(
        Document.of(EpisodeRecord("1", FAILED, walked), sources), drawn=drawn
    )
    assert document.mistake is not None
    in_view = "" if others else ", in view"
    assert (
        document.mistake.text
        == f"Step 1: stopped 2 squares from the red ball{in_view}."
    )


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
            rf"Step {last}: (stopped|ran out of steps) (next to the {name}, not done|"
            rf"\d+ squares from the {name})(, in view)?"
            r"(; (only turned|never left the start)"
            r"(, (\d of \d steps|\w+ at step \d) (failed|(was|were) blocked))?)?.", text,
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
        said = document.instruction.lower()
        assert all(label.lower() in said for label in labels - {LIGHT}), (
            "lights are counted"
        )
        assert all(f">{escape(label)}</text>" in str(document.map) for label in labels)


def test_in_towns_the_sentence_quotes_the_turn_that_was_missed(tmp_path: Path) -> None:
    quoted = 0
    for document in documents(
        tmp_path / "run", Plan("random", "towns", limit=12, max_steps=16)
    ):
        assert document.mistake is not None
        turned = re.search(
            r"the path goes (left|right) .* here: “([^”]*)”", document.mistake.text
        )
        if turned is not None:
            assert turned[2] in document.instruction
            quoted += turned[1] in turned[2].lower()
    assert quoted


@pytest.mark.parametrize(
    ("rooms", "asked", "did"),
    [("hall kitchen", ["hall"], "left the hall and stopped"),
     ("kitchen kitchen", ["hall"], "never entered the hall and stopped"),
     ("kitchen hall", ["hall"], "stopped"), ("hall kitchen", ["hall", "porch"], "stopped")],
)  # fmt: skip
def test_the_room_of_a_question_that_was_left_is_named(
    rooms: str, asked: list[str], did: str
) -> None:
    start, end = ({"room": room, "x": 0} for room in rooms.split())
    done = [replace(each, pose=end) for each in steps(Action("turn_left"), STOP)]
    walked = Trajectory("1", {"agent": start}, done, {}, "stopped")
    question = AnswerReference("1", answer="no", look=("shelf_1",))
    sources = Sources(None, {"1": Task(Episode("1", "Any?", "", {}), question)})
    document = Document.of(EpisodeRecord("1", FAILED, walked), sources)
    sought = [Sought("shelf", frozenset(), room) for room in asked]
    mistake = replace(document, sought=sought).mistake
    assert mistake is not None
    assert mistake.text == f"Step 2: {did} without an answer; the right answer is “no”."


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
    for agent, wanted in (("random", 0.0), ("oracle", 1.0)):
        out = tmp_path / agent
        run(Plan(agent, "r2r:val_seen", limit=280, data=data, out=out))
        library = Library([out])
        rows = library.rows(library.only)
        content = Content(library, data)
        checked = 0
        for record in rows.run.records():
            if record.scores["sr"] != wanted or checked == 200:
                continue
            sources = content.tasks(rows, [record.episode_id])
            drawn = maps.map_of(record.trajectory, sources)
            assert isinstance(drawn, maps.Map)
            end = next(iter(drawn.walks.values()))[-1]
            assert (end.place in drawn.region) == (wanted == 1.0), record.episode_id
            checked += 1
        assert checked == 200
