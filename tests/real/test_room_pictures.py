"""Pictures of ALFRED's rooms: what words name is in them, and each request carries them."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import pytest

from helpers.golden import check_golden
from helpers.looking import answering, compared, drawn, pictures_of, walk
from wayword.core.sight import Eyes, EyesSettings, pixel_hash
from wayword.datasets.household import dataset
from wayword.render.parts import HOMES, ROOMS, home_kinds, home_look
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import verify
from wayword.worlds.household.picture import cut_boards, find_tops
from wayword.worlds.household.world import HouseholdWorld

pytestmark = pytest.mark.real
GOLDEN = Path(__file__).parents[1] / "golden" / "pictures_rooms.json"
EPISODES = 40


@cache
def worlds(folder: Path, split: str) -> list[tuple[HouseholdWorld, Eyes]]:
    """Episodes from all over a split, each in its room."""
    household = dataset(folder=folder, split=split)
    painter = household.painter()
    found = []
    for number in range(EPISODES):
        task = household.tasks[number * len(household.tasks) // EPISODES]
        world = household.world(task.episode)
        world.reset(task.episode)
        found.append((world, Eyes(EyesSettings("both"), painter, world, "agent")))
    return found


@pytest.mark.parametrize("split", ["valid_seen", "train"])
def test_pictures_show_92_percent_of_what_words_name(data: Path, split: str) -> None:
    named, missing = compared(worlds(data, split), poses=2)
    hidden = named.pop("not in sight")
    overlooked = missing.pop("not in sight")
    assert named.total() > 1500
    assert missing.total() <= 0.08 * named.total(), missing
    # Large pieces across the edge of the view, whose middle words do not see.
    assert overlooked <= 0.07 * hidden


def test_every_kind_of_a_room_has_a_look(data: Path) -> None:
    kinds = home_kinds(HOMES) | home_kinds(ROOMS)
    for world, _ in worlds(data, "train"):
        assert {each.type for each in world.layout.scene.objects} <= kinds
    # A kind of both tables is drawn as rooms have it.
    assert home_look("counter_top", (), (ROOMS, HOMES)) != home_look("counter_top")


def test_counters_leave_out_the_floor_and_tables_end_where_things_lie(
    data: Path,
) -> None:
    cut = 0
    lowered = 0
    for world, _ in worlds(data, "train"):
        scene = world.layout.scene
        assert scene.floor is not None
        for boxes in cut_boards(scene).values():
            for west, south, east, north in boxes:
                assert not scene.floor.is_free((west + east) / 2, (south + north) / 2)
                cut += 1
        for i, top in find_tops(scene).items():
            piece = scene.objects[i]
            assert piece.bottom < top <= piece.bottom + piece.height
            lowered += top < piece.bottom + piece.height
    assert cut > 20
    assert lowered > 20


def test_six_poses_have_the_golden_pixels(data: Path) -> None:
    household = dataset(folder=data, split="valid_seen")
    rng = random.Random(1)
    found = []
    for number in range(6):
        task = household.tasks[number * len(household.tasks) // 6]
        world = household.world(task.episode)
        world.reset(task.episode)
        if number:
            walk(world, rng)
        eyes = Eyes(EyesSettings("both"), household.painter(), world, "agent")
        found.append(eyes.hashes())
    values = {"painter": household.painter().name, "pixels": found}
    check_golden(GOLDEN, json.dumps(values, indent=1) + "\n")


@pytest.mark.parametrize("mode", ["pictures", "both"])
def test_each_request_shows_what_the_room_draws(
    data: Path, tmp_path: Path, mode: str
) -> None:
    actions = ["go_explore", "goto[1]", "go_check[4]", "pick_up[99]", "turn_left"]
    with answering(actions) as server:
        settings = {
            "model": {"base_url": server.address},
            "eyes": mode,
            "picture_size": "96x72",
        }
        chosen = Plan(
            "react",
            "household:valid_seen",
            "openai:looker",
            settings,
            limit=2,
            max_steps=4,
            out=tmp_path,
            retries=0,
        )
        outcome = run(chosen).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (2, 0, "")
    sent = []
    for body in server.asked:
        shown = pictures_of(body)
        # Four and one of what is above; six and four after a look around.
        assert len(shown) in (5, 10)
        sent.append([pixel_hash(picture) for picture in shown])
    assert sorted(sent) == sorted(drawn(tmp_path, chosen))
    assert [each for _, each in verify(RunFolder.read(tmp_path))] == ["", ""]
