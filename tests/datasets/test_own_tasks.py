"""Tasks of one's own: read from a file, solved by the expert, played; mistakes in a line."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from wayword.core import registry
from wayword.core.errors import DataError, UsageError
from wayword.datasets.procedural.homes.furniture import FURNITURE_KINDS
from wayword.datasets.sources import example
from wayword.datasets.sources.own import accept, read_tasks
from wayword.envs import make
from wayword.runs import Plan
from wayword.runs.catalog import data_check
from wayword.runs.identity import source_checksum
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.testing.contracts import check_dataset

FLAT: Mapping[str, Any] = {
    "instruction": "Put the mug on the shelf.",
    "rooms": [
        {"name": "kitchen", "at": [0, 0], "size": [4, 4], "furniture": ["counter_top"]},
        {"name": "study", "at": [4, 0], "size": [3, 4], "furniture": ["shelf"]},
    ],
    "objects": [{"kind": "mug", "place": "counter_top"}],
    "goal": [{"inside": {"object": "mug", "place": "shelf"}}],
}


def written(folder: Path, **changed: Any) -> Path:
    path = folder / "task.yaml"
    given = {
        key: value for key, value in {**FLAT, **changed}.items() if value is not None
    }
    path.write_text(yaml.safe_dump(given), encoding="utf-8")
    return path


def room(
    name: str, at: list[float], size: list[float], *furniture: Any
) -> dict[str, Any]:
    return {"name": name, "at": at, "size": size, "furniture": list(furniture)}


def test_the_example_is_accepted_and_played_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tea.yaml"
    path.write_text(example(), encoding="utf-8")
    (made,) = accept(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(example().rstrip())  # comments stay
    result = run(Plan("expert", str(path), out=tmp_path / "run"))
    (record,) = RunFolder.read(result.path).records()
    assert record.scores["sr"] == 1.0
    assert len(record.trajectory.steps) == made.accepted["steps"]
    assert (
        accept(path)[0].path.read_text(encoding="utf-8") == text
    )  # once more changes nothing


def test_it_is_a_dataset_as_every_other(tmp_path: Path) -> None:
    path = accept(written(tmp_path), tmp_path / "accepted.yaml")[0].path
    assert "accepted:" not in (tmp_path / "task.yaml").read_text(encoding="utf-8")
    dataset = registry.load("dataset", str(path))
    check_dataset(dataset("test", None, dataset.Settings()))


def test_a_generated_home_with_the_usual_objects_and_an_environment(
    tmp_path: Path,
) -> None:
    goal = [{"inside": {"object": "mine", "place": "fridge"}}]
    objects = [{"kind": "apple", "place": "counter_top", "name": "mine"}]
    home = {"rooms": 2, "seed": 3}
    path = written(
        tmp_path,
        rooms=None,
        home=home,
        clutter=1,
        objects=objects,
        goal=goal,
        max_steps=200,
    )
    accept(path)
    with make(str(path), include=["expert_action"]) as env:
        _, info = env.reset()
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(info["expert_action"])
            over = terminated or truncated
    assert info["success"]


def test_the_page_lists_what_comes_with_furniture() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(
        encoding="utf-8"
    )
    table = page.partition("| Comes with |")[2].partition("\n\n")[0]
    rows = {row.split("|")[1]: row for row in table.split("\n")[2:]}
    listed = {
        kind: row
        for names, row in rows.items()
        for kind in names.strip(" `").split("`, `")
    }
    kinds = {kind: each.parts for kind, each in FURNITURE_KINDS.items() if each.parts}
    assert listed.keys() == kinds.keys()
    for kind, parts in kinds.items():
        assert all(f"`{part.kind}`" in listed[kind] for part in parts), kind


def test_an_object_lies_in_an_appliance_that_came_with_its_counter(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, objects=[{"kind": "mug", "place": "microwave"}])
    assert accept(path)[0].accepted


def test_a_draft_and_a_changed_file_are_refused(tmp_path: Path) -> None:
    dataset = registry.load("dataset", str(written(tmp_path)))
    with pytest.raises(
        DataError, match="has not been solved by the expert yet; check it with"
    ):
        dataset("test", None, dataset.Settings())
    path = accept(written(tmp_path))[0].path
    text = path.read_text(encoding="utf-8")
    path.write_text("# a remark\n" + text, encoding="utf-8")
    dataset("test", None, dataset.Settings())  # comments are nobody's business
    path.write_text(text.replace("Put the mug", "Leave the mug"), encoding="utf-8")
    with pytest.raises(DataError, match="was changed since the expert solved it"):
        dataset("test", None, dataset.Settings())
    path.write_text(text.replace('"scene": "', '"scene": "0'), encoding="utf-8")
    with pytest.raises(DataError, match="another version of Wayword"):
        dataset("test", None, dataset.Settings())


KITCHEN = room("kitchen", [0, 0], [4, 4], "counter_top")
MISTAKES: Mapping[str, tuple[dict[str, Any], str]] = {
    "no words": ({"instruction": None}, "field 'instruction': is missing"),
    "words of numbers": ({"instruction": 3}, "field 'instruction': must be a valid string, got 3"),
    "unknown field": ({"goals": []}, "has no field 'goals'; did you mean 'goal'?"),
    "no home": ({"rooms": None}, "needs either a 'home' (generated) or 'rooms'"),
    "both homes": ({"home": {"rooms": 3}}, "needs either a 'home' (generated) or 'rooms'"),
    "too many rooms": ({"rooms": None, "home": {"rooms": 101}},
                       "field 'home', field 'rooms': must be less than or equal to 100, got 101"),
    "no such furniture": ({"rooms": [room("kitchen", [0, 0], [4, 4], "friddge")]},
                          "room 1, furniture 1, field 'kind': there is no 'friddge'; did you mean"),
    "half a name": ({"rooms": [room("kitchen", [0, 0], [4, 4], "sink")]},
                    "there is no 'sink'; did you mean 'bathroom_sink' or 'kitchen_sink'?"),
    "overlap": ({"rooms": [KITCHEN, room("study", [3, 0], [3, 4], "shelf")]},
                "room 2, field 'at': study overlaps kitchen; move or shrink room 1"),
    "same name": ({"rooms": [KITCHEN, room("kitchen", [4, 0], [3, 4])]},
                  "room 2, field 'name': 'kitchen' is also the name of another room"),
    "apart": ({"rooms": [KITCHEN, room("study", [9, 0], [3, 4], "shelf")]},
              "no doors lead from kitchen to study"),
    "bad size": ({"rooms": [room("kitchen", [0, 0], [4, 0.5])]}, "must be 1.5 to 30 m per side"),
    "bad place": ({"rooms": [{"name": "kitchen", "at": "here", "size": [4, 4]}]},
                  "room 1, field 'at': must be two numbers, as in [1.5, 2], got 'here'"),
    "crowded": ({"rooms": [room("kitchen", [0, 0], [2, 2], "bed", "sofa", "counter_top")]},
                "field 'rooms': has no free space for the"),
    "in the wall": ({"rooms": [room("kitchen", [0, 0], [4, 4], {"kind": "desk", "at": [0, 0]})]},
                    "has no free space for the desk in the kitchen"),
    "a door to nowhere": ({"doors": [{"between": ["", "study"]}]},
                          "door 1, between 1: "),
    "no such door": ({"doors": [{"between": ["kitchen", "attic"]}]},
                     "door 1, field 'between': there is no room 'attic'"),
    "a door within a room": ({"doors": [{"between": ["study", "study"]}]},
                             "door 1, field 'between': study and study share no wall"),
    "no such thing": ({"objects": [{"kind": "mgu", "place": "shelf"}]},
                      "object 1, field 'kind': there is no 'mgu'; did you mean 'mug'?"),
    "nowhere": ({"objects": [{"kind": "mug", "place": "sofa"}]},
                "object 1, field 'place': there is no 'sofa' in the home"),
    "not in that room": ({"objects": [{"kind": "mug", "place": "shelf", "room": "kitchen"}]},
                         "object 1, field 'place': there is no 'shelf' in the kitchen"),
    "does not go there": ({"objects": [{"kind": "book", "place": "microwave"}]},
                          "a book does not fit in or on a microwave"),
    "never dirty": ({"objects": [{"kind": "book", "place": "shelf", "dirty": True}]},
                    "object 1, field 'dirty': a book cannot be dirty"),
    "20,000 conditions": (
        {"goal": [{"has": {"object": "old_mug", "dirty": False}}] * 20_000},
        "field 'goal': must have at most 1,000 conditions, got 20,000; split the task",
    ),
    "no goal": ({"goal": None}, "field 'goal': is missing; list conditions, as in - inside:"),
    "no such condition": ({"goal": [{"insid": {}}]},
                          "goal 1: there is no condition 'insid'; did you mean 'inside'?"),
    "goal without its thing": ({"goal": [{"held": {"object": "apple"}}]},
                               "goal 1 (held), field 'object': there is no 'apple' in the home; "
                               "add one, as in objects: [{kind: apple, place: desk}]"),
    "goal with a stray field": ({"goal": [{"held": {"object": "mug", "colour": "red"}}]},
                                "goal 1 (held): has no field 'colour'"),
    "too many": ({"goal": [{"inside": {"object": "mug", "place": "shelf", "count": 2}}]},
                 "goal 1 (inside), field 'count': must be at most 1, the number of these"),
    "a count of stacks": ({"goal": [{"stacked": {"object": "mug", "movable": "mug",
                                                 "place": "shelf", "count": 2}}]},
                          "goal 1 (stacked): has no field 'count'"),
    "no state": ({"goal": [{"has": {"object": "mug"}}]}, "goal 1 (has): has no required state"),
    "met at once": ({"goal": [{"inside": {"object": "mug", "place": "counter_top"}}]},
                    "field 'goal': is met at the start"),
    "start in a wall": ({"start": {"at": [0, 0]}}, "field 'at': is no free position: [0, 0]"),
    "start nowhere": ({"start": {"room": "attic"}}, "there is no room 'attic'"),
    "beyond the expert": ({"goal": [{"has": {"object": "mug", "sliced": True}}]},
                          "the expert cannot solve this: "),
    "too few steps": ({"max_steps": 3}, "field 'max_steps': must be at least"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_in_one_line(mistake: str, tmp_path: Path) -> None:
    changed, line = MISTAKES[mistake]
    path = written(tmp_path, **changed)
    with pytest.raises(DataError) as raised:
        accept(path)
    assert str(raised.value).startswith(str(path))
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "accepted" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text", ["instruction: [", "- 1", "", "&a [*a]", "instruction: \x00"]
)
def test_what_is_no_task_file_ends_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_tasks(path)
    assert "\n" not in str(raised.value)


def test_a_missing_file_says_how_to_start(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="no such file or directory; `wayword task example` prints"
    ):
        read_tasks(tmp_path / "none.yaml")


@pytest.mark.parametrize("limits", [(40, 90), (90, 40)])
def test_the_largest_step_limit_is_that_of_all_tasks(
    limits: tuple[int, int], tmp_path: Path
) -> None:
    text = written(tmp_path).read_text(encoding="utf-8")
    parts = [f"{text}max_steps: {limit}\n" for limit in limits]
    (tmp_path / "task.yaml").write_text("---\n".join(parts), encoding="utf-8")
    accept(tmp_path / "task.yaml")
    dataset = registry.load("dataset", str(tmp_path / "task.yaml"))
    assert dataset("test", None, dataset.Settings()).max_steps == 90


@pytest.mark.parametrize("closed", [(True, False), (False, True)])
def test_each_door_is_open_or_closed_by_its_own_entry(
    closed: tuple[bool, bool], tmp_path: Path
) -> None:
    rooms = [*FLAT["rooms"], room("hall", [0, 4], [7, 3])]
    doors = [
        {"between": ["kitchen", name], "closed": is_closed}
        for name, is_closed in zip(("study", "hall"), closed, strict=True)
    ]
    (task,) = read_tasks(written(tmp_path, rooms=rooms, doors=doors))
    assert [not door.open for door in task.case.scene.doors] == [*closed]


def test_an_object_goes_to_the_first_receptacle_with_space(tmp_path: Path) -> None:
    """A place is full only if all receptacles of its kind are."""

    def holders(shelves: int, mugs: int) -> list[str]:
        """The shelves that hold the mugs."""
        study = room("study", [4, 0], [3, 4], *["shelf"] * shelves)
        objects = [{"kind": "mug", "place": "shelf"}] * mugs
        path = written(
            tmp_path,
            rooms=[KITCHEN, study],
            objects=objects,
            goal=[{"inside": {"object": "mug", "place": "counter_top"}}],
        )
        (task,) = read_tasks(path)
        return [o.parent for o in task.case.scene.objects if o.type == "mug"]

    def fits(mugs: int) -> bool:
        with suppress(DataError):
            return bool(holders(1, mugs))
        return False

    most = next(mugs for mugs in count(1) if not fits(mugs + 1))
    with pytest.raises(DataError, match="every shelf is full"):
        holders(1, most + 1)
    used = holders(2, most + 1)
    assert used[:most] == [used[0]] * most
    assert used[most] != used[0]


def test_the_order_of_fields_is_no_change_of_a_task(tmp_path: Path) -> None:
    path = accept(written(tmp_path))[0].path
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    rooms = [dict(reversed(each.items())) for each in tree["rooms"]]
    turned = {**dict(reversed(tree.items())), "rooms": rooms}
    path.write_text(yaml.safe_dump(turned, sort_keys=False), encoding="utf-8")
    dataset = registry.load("dataset", str(path))
    assert len(dataset("test", None, dataset.Settings()).tasks) == 1


def test_a_place_in_a_room_is_that_of_the_room_alone(tmp_path: Path) -> None:
    """The mug is on the kitchen's counter, so a goal without a room would be met."""
    rooms = [KITCHEN, room("study", [4, 0], [3, 4], "counter_top", "shelf")]

    def goal(place: str, where: str) -> list[Any]:
        return [{"inside": {"object": "mug", "place": place, "room": where}}]

    path = written(tmp_path, rooms=rooms, goal=goal("counter_top", "study"))
    assert accept(path)[0].accepted["steps"] > 2
    path = written(tmp_path, rooms=rooms, goal=goal("counter_top", "kitchen"))
    with pytest.raises(DataError, match="is met at the start"):
        accept(path)
    path = written(tmp_path, rooms=rooms, goal=goal("shelf", "kitchen"))
    with pytest.raises(DataError, match="there is no 'shelf' in the kitchen"):
        accept(path)


@pytest.mark.parametrize(
    "form", ["---\n{}", "{}---", "{}---\n", "--- # one\n{}", "{}----\n# end"]
)
def test_lines_of_dashes_around_a_task_are_as_in_yaml(
    form: str, tmp_path: Path
) -> None:
    path = written(tmp_path)
    path.write_text(form.format(path.read_text(encoding="utf-8")), encoding="utf-8")
    (task,) = accept(path)
    assert task.case.task.episode.id == "task"
    for comment in ("# one", "# end"):
        assert (comment in form) <= (comment in path.read_text(encoding="utf-8"))
    assert accept(path)[0].accepted == task.accepted


def test_two_objects_of_one_kind_are_brought_together(tmp_path: Path) -> None:
    mugs = [{"kind": "mug", "place": "counter_top"}, {"kind": "mug", "place": "shelf"}]
    goal = [{"next_to": {"object": "mug", "other": "mug"}}]
    path = written(tmp_path, objects=mugs, goal=goal)
    assert accept(path)[0].accepted["steps"] > 3
    played = run(Plan("expert", str(path), out=tmp_path / "run"))
    assert [each["sr"] for _, each in played.recorded.scores()] == [1.0]


def test_tasks_of_one_name_are_not_accepted(tmp_path: Path) -> None:
    path = written(tmp_path, name="a")
    one = path.read_text(encoding="utf-8")
    path.write_text(f"{one}---\n{one}", encoding="utf-8")
    with pytest.raises(DataError, match="'a' is the name of two tasks"):
        accept(path)
    path.write_text(one, encoding="utf-8")
    (tmp_path / "other.yaml").write_text(one, encoding="utf-8")
    with pytest.raises(DataError, match="'a' is the name of two tasks"):
        accept(tmp_path)
    assert path.read_text(encoding="utf-8") == one


def test_tasks_of_a_folder_are_accepted_in_place(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = path.read_bytes()
    with pytest.raises(DataError, match="files are updated in place; remove --out"):
        accept(tmp_path, tmp_path / "new.yaml")
    assert path.read_bytes() == before
    assert not (tmp_path / "new.yaml").exists()


@pytest.mark.parametrize("steps", [-71, 0, True, "3", None])
def test_the_experts_length_is_a_positive_number_of_the_file(
    steps: object, tmp_path: Path
) -> None:
    path = written(tmp_path)
    accept(path)
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    tree["accepted"]["steps"] = steps
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    (task,) = read_tasks(path)
    assert task.case.task.reference.expert_length is None  # type: ignore[attr-defined]


def test_a_file_and_a_folder_hold_several_tasks(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    path = written(tmp_path / "tasks")
    one = path.read_text(encoding="utf-8")
    (tmp_path / "tasks" / "other.yml").write_text(
        one.replace("mug", "cup"), encoding="utf-8"
    )
    path.write_text(
        f"# two tasks\n---\n{one}---\n# again\n{one}max_steps: 40\n", encoding="utf-8"
    )
    created = accept(tmp_path / "tasks")
    assert [each.case.task.episode.id for each in created] == [
        "other",
        "task-1",
        "task-2",
    ]
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# two tasks\n")
    assert "---\n# again\n" in text
    assert accept(path)[1].path.read_text(encoding="utf-8") == text
    plan = Plan("expert", f"{tmp_path}/tasks", out=tmp_path / "run")
    scores = dict(RunFolder.read(run(plan).path).scores())
    assert {name: each["sr"] for name, each in scores.items()} == dict.fromkeys(
        ("task-1", "task-2", "other"), 1.0
    )
    checksum = RunFolder.read(tmp_path / "run").config["identity"]["dataset_checksum"]
    assert checksum != source_checksum("dataset", str(path))
    (tmp_path / "tasks" / "other.yml").write_text(
        text.replace("task", "t"), encoding="utf-8"
    )
    (tmp_path / "tasks" / "third.yml").write_text(
        f"name: other-1\n{one}", encoding="utf-8"
    )
    with pytest.raises(DataError, match="'other-1' is the name of two tasks"):
        read_tasks(tmp_path / "tasks")
    (tmp_path / "tasks" / "fourth.yml").write_text("instruction: Go.\n---\nhome: 4\n")
    report, is_valid = data_check(f"{tmp_path}/tasks", None, {})
    assert not is_valid
    assert [line.partition("tasks/")[2] for line in report.splitlines()[:3]] == [
        "fourth.yml: task 1: needs either a 'home' (generated) or 'rooms' (your own), "
        "not both",
        "fourth.yml: task 2, field 'instruction': is missing",
        "third.yml: field 'name': 'other-1' is the name of two tasks",
    ]
    with pytest.raises(UsageError, match=r"\./none: no such file or folder"):
        registry.load("dataset", "./none")
