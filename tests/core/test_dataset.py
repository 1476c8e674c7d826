"""Tasks that are made when they are looked at: looked up by id, few are made."""

from __future__ import annotations

from wayword.core.dataset import DrawnTasks, Task, of_ids
from wayword.core.episode import Episode, Reference


def test_tasks_that_know_their_ids_are_made_only_where_required_and_by_scene() -> None:
    made: list[int] = []

    def make(number: int) -> Task:
        made.append(number)
        name = f"e{number}"
        return Task(Episode(name, "go", f"s{number % 2}", {}), Reference(name))

    expected = {"e3", "e6", "e7", "e8"}
    scene = DrawnTasks(
        99, make, lambda number: f"e{number}", lambda number: f"s{number % 2}"
    )
    found = of_ids(scene, expected)
    assert list(found) == ["e3", "e6", "e7", "e8"]
    assert all(task.episode.id == name for name, task in found.items())
    assert made == [6, 8, 3, 7]
    made.clear()
    assert list(of_ids(DrawnTasks(99, make), {"e3"})) == ["e3"]
    assert made == [0, 1, 2, 3], "made up to the required one if ids are unknown"
    assert of_ids(scene, {"none"}) == {}
