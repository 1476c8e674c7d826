"""Mistakes in a user's verbalizer, scorer, map, plan and distance: a run and the contract name the
user's line, and what to return."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers.line_world import WORLD
from wayword.core import registry
from wayword.core.errors import WaywordError
from wayword.envs import make
from wayword.runs import Plan, RunFolder, run
from wayword.testing import check_dataset, check_world
from wayword.viewer import pages

FAMILY = """
from wayword.core.metric import Metric
from wayword.verbalize.generic import SelfState, Verbalizer
from wayword.viewer.maps.content import Map, Waypoint


class Scorer:
    metrics = (Metric("sr", "SR", "rate", "higher", "solved"),)

    def score(self, dataset, pairs):
        return [{"sr": 1.0} for _ in pairs]


def own_state(view):
    return SelfState(), "You are on the line."


def around(view, perceiver):
    return f"Place {view.number}."


def moved(feedback):
    return "Done."


def briefing(space):
    return {}


def draw(trajectory, sources):
    point = (1.0, float(trajectory.state["place"]))
    return Map({"agent": [Waypoint(0, "start", point, None)]})


words = Verbalizer("other", own_state, around, moved, briefing)
Place.family = Family("line", scorer=Scorer(), verbalizer=words, map=draw)


class Own(Lines):
    family = Place.family
    solutions = ("expert",)

    def make_plan(self, task, world, actor, kind):
        while f"to_{world.place}" != task.episode.id:
            yield Action("right")
        yield STOP

    def distance(self, task, world):
        return abs(float(task.episode.id.removeprefix("to_")) - world.place)


dataset = Own
"""
TEXT = WORLD.replace("dataset = Lines\n", FAMILY)


class Mistake(NamedTuple):
    """A change of the file, the text of the named line (or of the class), and what is said."""

    old: str
    new: str
    line: str
    said: str


PARTS = {
    "a state in words": Mistake(
        'SelfState(), "You', '"You', "def own_state",
        "self_state of the verbalizer must return (SelfState(…), TEXT), the actor's state",
    ),
    "no state": Mistake(
        'return SelfState(), "You', 'f"You', "def own_state",
        "self_state of the verbalizer must return (SelfState(…), TEXT), the actor's state",
    ),
    "no surroundings": Mistake(
        'return f"Place', 'f"Place', "def around",
        "around of the verbalizer must return text, got None",
    ),
    "a result that is a number": Mistake(
        'return "Done."', "return 3", "def moved",
        "feedback of the verbalizer must return text, got 3",
    ),
    "a briefing in words": Mistake(
        "return {}", "return 'walk'", "def briefing",
        "briefing of the verbalizer must return a dict of texts, got 'walk'",
    ),
    "no row": Mistake(
        "for _ in pairs]", "for _ in pairs[1:]]", "def score",
        "score must return a list with a dict of metrics for each pair, got 0 for 1 pairs",
    ),
    "no scores": Mistake(
        'return [{"sr": 1.0}', '[{"sr": 1.0}', "def score",
        "score must return a list with a dict of metrics for each pair, got None",
    ),
    "a row of a number": Mistake(
        '{"sr": 1.0} for', "1.0 for", "def score",
        "score must return a list with a dict of metrics for each pair, got 1.0",
    ),
    "a rate of two": Mistake(
        '"sr": 1.0', '"sr": 2.0', "def score",
        "sr is a rate and cannot be 2.0; give a share from 0 to 1, or declare its Metric as",
    ),
    "a score of no number": Mistake(
        '"sr": 1.0', '"sr": float("nan")', "def score",
        "sr must be a finite number, got nan; leave it out if unknown",
    ),
    "a metric that is better up": Mistake(
        '"rate", "higher"', '"rate", "up"', "class Scorer",
        "an item of metrics: better must be 'higher' or 'lower', got 'up'",
    ),
    "a metric of an unknown kind": Mistake(
        '"rate", "higher"', '"share", "higher"', "class Scorer",
        "an item of metrics: kind must be 'rate' or 'ratio' or ",
    ),
    "a metric in words": Mistake(
        'Metric("sr", "SR", "rate", "higher", "solved")', '"sr"', "class Scorer",
        "an item of metrics must be Metric(…), got 'sr'",
    ),
    "a verbalizer in words": Mistake(
        "verbalizer=words", "verbalizer='words'", "",
        "the verbalizer of family 'line' must be Verbalizer(…) (from wayword.verbalize.generic",
    ),
}  # fmt: skip
PLANS = {
    "an action in words": Mistake(
        "yield STOP", 'yield "press"', "def make_plan",
        "a plan must yield Action(…), got 'press'; write yield Action('press')",
    ),
    "a stop in words": Mistake(
        "yield STOP", 'yield "stop"', "def make_plan",
        "a plan must yield Action(…), got 'stop'; write yield STOP",
    ),
    "an argument that is a number": Mistake(
        "yield STOP", 'yield Action("press", 3)', "def make_plan",
        "the arguments of an action are a tuple of texts, got Action(name='press', arguments=3); "
        "write Action('press', ('3',))",
    ),
    "a list": Mistake(
        "        while", "        return [STOP]\n\n    def old(self, task, world):\n        while",
        "def make_plan", "make_plan must return a plan: write `yield` before each action, got [",
    ),
}  # fmt: skip


def file_of(folder: Path, mistake: Mistake) -> tuple[str, str]:
    """Write the changed file; its name, and what is to be said of it."""
    assert TEXT.count(mistake.old) == 1, mistake.old
    text = TEXT.replace(mistake.old, mistake.new)
    file = folder / "line.py"
    file.write_text(text)
    if not mistake.line:
        return str(file), mistake.said
    numbers = [n for n, line in enumerate(text.splitlines(), 1) if mistake.line in line]
    return str(file), f"{file}:{numbers[0]}: {mistake.said}"


def played(agent: str, file: str, out: Path) -> str:
    """Play the episodes; the error of the run, or its notices."""
    plan = Plan(agent, file, out=out, max_steps=4)
    if agent == "act":
        plan = Plan(agent, file, "scripted:first", out=out, max_steps=4)
    try:
        return "\n".join(run(plan).notices)
    except WaywordError as error:
        return str(error)


@pytest.mark.parametrize("name", PARTS)
def test_a_mistake_in_a_family_names_its_function(name: str, tmp_path: Path) -> None:
    file, said = file_of(tmp_path, PARTS[name])
    shown = played("act", file, tmp_path / "run")
    assert said in shown
    assert "\n" not in shown
    with pytest.raises(AssertionError) as broken:
        check_world(registry.load("dataset", file)())
    assert str(broken.value).startswith(said)


@pytest.mark.parametrize("name", PLANS)
def test_a_mistake_in_a_plan_names_make_plan(name: str, tmp_path: Path) -> None:
    file, said = file_of(tmp_path, PLANS[name])
    assert said in played("expert", file, tmp_path / "run")
    for check in (check_world, check_dataset):
        with pytest.raises(AssertionError) as broken:
            check(registry.load("dataset", file)())
        assert str(broken.value).startswith(said)


def test_the_intact_family_plays_and_keeps_its_promises(tmp_path: Path) -> None:
    file, _ = file_of(tmp_path, Mistake("class Own", "class Own", "", ""))
    dataset = registry.load("dataset", file)()
    check_world(dataset)
    check_dataset(dataset)
    # Its model never stops.
    (notice,) = played("act", file, tmp_path / "act").splitlines()
    assert notice.endswith("no agent stopped, or done() stays False")
    assert played("expert", file, tmp_path / "expert") == ""


MAPS = {
    "a map that raises": Mistake(
        '["place"]', '["plce"]', 'state["plce"]', "KeyError: 'plce' (",
    ),
    "a map with a wrong point": Mistake(
        "point = (1.0, float(", "point = max(1.0, float(", "def draw",
        "map must return Map(…), Html(…) or None: an item of an item of walks: point must be a "
        "tuple, got ",
    ),
    "a map that is text": Mistake(
        "return Map({", "return str({", "def draw",
        "map must return Map(…), Html(…) or None: got ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_a_page_without_its_map_has_the_rest_and_says_why(
    name: str, tmp_path: Path
) -> None:
    file, said = file_of(tmp_path, MAPS[name])
    place, _, said = said.rpartition(f": {MAPS[name].said}")
    assert played("expert", file, tmp_path / "run") == ""
    written = pages.write_pages(tmp_path / "run", trusted=[Path(file)])
    for part in (place, MAPS[name].said):
        assert part in written.notice
    assert "\n" not in written.notice
    page = next(written.index.parent.rglob("to_1.html")).read_text()
    assert "The map cannot be drawn: " in page
    assert "Walk to place 1, then stop." in page
    with pytest.raises(AssertionError) as broken:
        check_world(registry.load("dataset", file)())
    assert place in str(broken.value)


DISTANCES = {
    "a distance that raises": Mistake(
        "- world.place)\n\n\ndataset", "- world.plce)\n\n\ndataset", "", "AttributeError: ",
    ),
    "a distance that is lost": Mistake(
        "        return abs(", "        if world.place < 1: return abs(",
        "def distance", "distance is None after right, but not at the start; give it at every",
    ),
    "a distance in words": Mistake(
        "        return abs(", "        return 'far'; abs(", "def distance",
        "distance must give a finite number as the distance, or None where it is unknown, got",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DISTANCES)
def test_a_distance_is_checked_at_every_step(name: str, tmp_path: Path) -> None:
    file, said = file_of(tmp_path, DISTANCES[name])
    with pytest.raises(AssertionError, match=re.escape(said)):
        check_world(registry.load("dataset", file)())


def test_a_distance_that_is_lost_is_not_replaced_by_the_expert_s_actions(
    tmp_path: Path,
) -> None:
    file, _ = file_of(tmp_path, DISTANCES["a distance that is lost"])
    with make(file, reward="progress") as env:
        env.reset(episode="to_3")
        rewards = [env.step("right")[1] for _ in range(2)]
    assert rewards == [0.0, 0.0], "the last distance that is known"


def test_a_record_of_every_played_episode_can_be_read(tmp_path: Path) -> None:
    file, _ = file_of(tmp_path, Mistake("class Own", "class Own", "", ""))
    played("expert", file, tmp_path / "run")
    assert len(list(RunFolder.read(tmp_path / "run").records())) == 3
