"""From panoramas to observation files: what is asked, kept and written, with known eyes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from PIL import Image as Pillow

from wayword.agents.navgpt.agent import one_sentence
from wayword.core.errors import DataError, UsageError
from wayword.core.perceiver import Box, Perceiver, Picture
from wayword.models.middleware.cache import AnswerCache
from wayword.models.parts import hub
from wayword.perception.detectors import detector_called
from wayword.perception.networks import EYES, Kind, open_detector, open_eye
from wayword.perception.panorama import LAYOUTS, direction, layout
from wayword.perception.recorded import RecordedPerceiver, pack_sightings
from wayword.perception.survey import Memory, Surveyor, merge
from wayword.runs import perceive as perceiving
from wayword.runs.perceive import Perceiving, perceive
from wayword.settings import parse

RED = (255, 0, 0)
GREEN = (0, 255, 0)


class ColourEyes(Perceiver):
    """Sees patches of pure colour: a lamp is red, a plant green. Everything is 2.5 m away."""

    name = "colours"

    def __init__(self) -> None:
        self.looked = 0
        self.fail_after = 10**9

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        self.looked += len(pictures)
        return [f"mean brightness {picture.mean():.1f}" for picture in pictures]

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        if self.looked > self.fail_after:
            raise KeyboardInterrupt
        self.looked += len(pictures)
        return [self._boxes(picture) for picture in pictures]

    async def depths(self, pictures: Sequence[Picture]) -> list[Any]:
        return [np.full(picture.shape[:2], 2.5) for picture in pictures]

    def _boxes(self, picture: Picture) -> list[Box]:
        found = []
        for name, colour in (("lamp", RED), ("plant", GREEN)):
            rows, columns = np.nonzero(
                (np.abs(picture.astype(int) - colour) < 60).all(axis=-1)
            )
            if len(rows) > 40:
                edges = columns.min(), rows.min(), columns.max(), rows.max()
                found.append(Box(name, 0.9, *(float(edge) for edge in edges)))
        return found


def room(lamp: float, plant: float = 180.0) -> Picture:
    """A grey panorama with a red patch at one heading and a green one at another, level."""
    picture = np.full((256, 512, 3), 90, np.uint8)
    for heading, colour in ((lamp, RED), (plant, GREEN)):
        column = round((heading / 360 + 0.5) * 512 - 0.5)
        for across in range(column - 6, column + 7):
            picture[122:135, across % 512] = colour
    return picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "pictures"
    made.mkdir()
    for name, lamp in (("hall", 50.0), ("attic", -80.0)):
        Pillow.fromarray(room(lamp)).save(made / f"{name}.png")
    return made


@pytest.fixture
def eyes(monkeypatch: pytest.MonkeyPatch) -> ColourEyes:
    seen = ColourEyes()
    monkeypatch.setattr(perceiving, "open_eye", lambda kind, name, models: seen)
    monkeypatch.setattr(perceiving, "open_detector", lambda name, phrases: seen)
    return seen


@pytest.fixture(autouse=True)
def _small_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Views of a ninth of the pixels, which are cut in a ninth of the time."""
    for name, chosen in LAYOUTS.items():
        monkeypatch.setitem(LAYOUTS, name, replace(chosen, size=(160, 160)))


def run(plan: Perceiving) -> perceiving.PerceiveResult:
    return perceive(plan, lambda name, number, count: None)


def test_an_object_in_several_views_is_one_object_at_its_true_heading() -> None:
    chosen = layout("navgpt24")
    eyes = ColourEyes()
    surveyor = Surveyor(chosen, None, eyes, eyes)
    looks = asyncio.run(surveyor.look(room(22.5)))  # on the border of two views
    assert sum(box.name == "lamp" for look in looks for box in look.boxes) >= 2
    found = {item.name: item for item in merge(looks, chosen)}
    assert set(found) == {"lamp", "plant"}
    assert found["lamp"].heading == pytest.approx(22.5, abs=4.0)
    assert found["plant"].heading == pytest.approx(180.0, abs=1.0)
    assert found["plant"].elevation == pytest.approx(0.0, abs=1.0)
    assert found["plant"].distance == 2.5
    assert merge(looks, chosen, within=2.0) == []


def test_box_centres_and_directions_agree() -> None:
    assert direction(239.5, 239.5, (90.0, 30.0), 45.0, (480, 480)) == pytest.approx(
        (90.0, 30.0)
    )


def test_the_files_are_navgpts_and_read_back(
    folder: Path, tmp_path: Path, eyes: ColourEyes
) -> None:
    norths = tmp_path / "norths.json"
    norths.write_text('{"hall": 90}')
    out = tmp_path / "seen"
    done = run(
        Perceiving(
            folder,
            out,
            captioner="x",
            detector="x",
            depth="x",
            norths=norths,
            scan="home",
        )
    )
    assert (done.places, done.views, done.objects) == (2, 48, 4)
    percept = RecordedPerceiver(out, pack_sightings(out)).perceive("home", "hall")
    assert len(percept.sectors) == 8
    seen = {s.name: s for sector in percept.sectors for s in sector.sightings}
    assert seen["lamp"].heading == pytest.approx(140.0, abs=1.0)  # 50° right of east
    assert seen["lamp"].distance == 2.5
    assert "mean brightness" in percept.sectors[3].caption
    words, _, rest = percept.summary.partition("mean brightness")
    assert words == "The scene from the viewpoint is a place with "
    assert rest
    assert one_sentence(percept.summary) == percept.summary
    with Pillow.open(out / "boxes" / "hall.jpg") as sheet:
        assert sheet.size == (8 * 240, 3 * 240)


@pytest.mark.parametrize(("name", "count"), [("navgpt12", 12), ("discussnav12", 12)])
def test_other_layouts_make_other_numbers_of_directions(
    name: str, count: int, folder: Path, tmp_path: Path, eyes: ColourEyes
) -> None:
    run(Perceiving(folder, tmp_path / "seen", name, captioner="x", detector="x"))
    perceiver = RecordedPerceiver(tmp_path / "seen", pack_sightings(tmp_path / "seen"))
    percept = perceiver.perceive("tour", "attic")
    assert len(percept.sectors) == count
    lamps = [(s, p) for p in percept.sectors for s in p.sightings if s.name == "lamp"]
    assert len(lamps) == 1
    assert lamps[0][0].heading == pytest.approx(280.0, abs=1.5)


def test_a_second_run_asks_nothing(
    folder: Path, tmp_path: Path, eyes: ColourEyes
) -> None:
    out = tmp_path / "seen"
    plan = Perceiving(folder, out, "discussnav12", captioner="x", detector="x")
    first = run(plan)
    written = (out / "objects_list" / "tour.json").read_bytes()
    looked = eyes.looked
    second = run(plan)
    assert (first.computed, second.computed, eyes.looked) == (48, 0, looked)
    assert (out / "objects_list" / "tour.json").read_bytes() == written


def test_a_run_that_was_broken_off_goes_on(
    folder: Path, tmp_path: Path, eyes: ColourEyes
) -> None:
    plan = Perceiving(folder, tmp_path / "seen", "discussnav12", detector="x", batch=4)
    eyes.fail_after = 14
    with pytest.raises(KeyboardInterrupt):
        run(plan)
    assert not (tmp_path / "seen" / "objects_list").exists()  # whole files or none
    eyes.fail_after = 10**9
    before = eyes.looked
    assert run(plan).computed == 24 - before


def test_another_network_or_picture_is_queried_again(tmp_path: Path) -> None:
    with closing(AnswerCache(tmp_path / "kept.sqlite")) as kept:
        memory = Memory(kept)
        eyes = ColourEyes()
        surveyor = Surveyor(layout("discussnav12"), eyes, memory=memory)
        asyncio.run(surveyor.look(room(10.0)))
        asyncio.run(surveyor.look(room(20.0)))
        assert memory.requests == 24
        eyes.name = "colours 2"
        asyncio.run(surveyor.look(room(20.0)))
        assert memory.requests == 36


@pytest.mark.parametrize("changed", ["captioner", "detector", "depth", "tagger"])
def test_networks_of_another_name_share_no_answers(
    changed: str, tmp_path: Path
) -> None:
    class Tags(ColourEyes):
        async def tags(self, pictures: Sequence[Picture]) -> list[list[str]]:
            return [["lamp"]] * len(pictures)

    with closing(AnswerCache(tmp_path / "kept.sqlite")) as kept:
        memory = Memory(kept)
        eyes = {kind: Tags() for kind in ("captioner", "detector", "depth", "tagger")}
        surveyor = Surveyor(layout("discussnav12"), memory=memory, **eyes)
        asyncio.run(surveyor.look(room(10.0)))
        asyncio.run(surveyor.look(room(10.0)))
        assert memory.requests == 3 * 12, "depth is a part of what is detected"
        eyes[changed].name = "another"
        asyncio.run(surveyor.look(room(10.0)))
        assert memory.requests == 4 * 12


def test_merging_and_summing_up_are_the_models(
    folder: Path, tmp_path: Path, eyes: ColourEyes
) -> None:
    plan = Perceiving(folder, tmp_path / "seen", captioner="x", model="scripted:echo")
    run(plan)
    record = json.loads(
        (tmp_path / "seen" / "observations_list_summarized" / "tour.json").read_text()
    )
    assert (
        record["hall"][0] == "mean brightness 90.0"
    )  # said of all three views: nothing to merge
    assert (
        "without mentioning pictures" in record["hall"][1]
    )  # the echo of what was asked
    short = (
        tmp_path / "seen" / "observations_summarized" / "tour_summarized.json"
    ).read_text()
    assert json.loads(short)["hall"]


def test_bad_input_is_one_line(folder: Path, tmp_path: Path, eyes: ColourEyes) -> None:
    out = tmp_path / "seen"
    with pytest.raises(UsageError, match="add --captioner"):
        Perceiving(folder, out)
    with pytest.raises(UsageError, match="velma5 does not cover all"):
        run(Perceiving(folder, out, "velma5", captioner="x"))
    with pytest.raises(UsageError, match="no such folder"):
        run(Perceiving(tmp_path / "nowhere", out, captioner="x"))
    (folder / "hall.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"hall\.png.*cannot be read as a picture"):
        run(Perceiving(folder, out, captioner="x"))
    norths = tmp_path / "norths.json"
    norths.write_text('{"hall": "east"}')
    with pytest.raises(DataError, match="field 'hall': must be a heading"):
        run(Perceiving(folder, out, captioner="x", norths=norths))


def test_tags_come_after_what_has_a_box(tmp_path: Path) -> None:
    class Tags:
        name = "tags"

        async def tags(self, pictures: Sequence[Picture]) -> list[list[str]]:
            return [["lamp", "carpet"]] * len(pictures)

    chosen = layout("discussnav12")
    eyes = ColourEyes()
    looks = asyncio.run(Surveyor(chosen, None, eyes, None, Tags()).look(room(30.0)))
    found = [item for item in merge(looks, chosen) if abs(item.heading - 30.0) < 5.0]
    assert [(item.name, item.score > 0) for item in found] == [
        ("lamp", True),
        ("carpet", False),
    ]


def test_eyes_have_names() -> None:
    with pytest.raises(UsageError, match="add --phrases"):
        open_detector("owlv2:x")
    with pytest.raises(UsageError, match="no detector is called 'yolo'"):
        open_eye("detector", "yolo:x")
    with pytest.raises(UsageError, match="add a model"):
        open_eye("captioner", "chat:")
    with pytest.raises(UsageError, match="must be a folder"):
        open_eye("detector", "ssd:/nowhere")


def test_a_network_in_the_home_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("net/a.pb", "net/a.pbtxt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("no network")
    with pytest.raises(UsageError, match="cannot be loaded"):
        open_eye("detector", "ssd:~/net")


# ``colors`` reads a code, and has no weights.
EYES_LISTED = [
    (kind, name) for kind, names in EYES.items() for name in names if name != "colors"
]


@pytest.mark.parametrize(("kind", "name"), EYES_LISTED)
def test_every_listed_network_is_there_and_asks_for_weights(
    kind: Kind, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("torch", "transformers", "cv2"):
        monkeypatch.setitem(sys.modules, package, MagicMock())
    with pytest.raises(UsageError, match=r": (add|must be) a folder"):
        open_eye(kind, f"{name}:")


def test_a_folder_of_weights_that_does_not_exist_is_named_without_loading_anything(
    tmp_path: Path,
) -> None:
    missing = f"owlv2:{tmp_path}/nothere"
    with pytest.raises(UsageError, match=rf"{missing}: no such folder"):
        open_eye("grounder", missing)
    with pytest.raises(UsageError, match=r"owlv2: add a folder of weights or a name"):
        detector_called("owlv2:")
    # YAML reads the name as a key.
    assert parse(["grounding=owlv2:"]) == {"grounding": "owlv2:"}


@pytest.mark.parametrize("cached", [False, True])
def test_without_a_network_weights_are_read_from_this_machine_or_missed_at_once(
    monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    """The library's own loader tries five times, for minutes."""
    questions = []

    class Hub:
        """A hub that cannot be reached."""

        errors = SimpleNamespace(HfHubHTTPError=LookupError)

        def HfApi(self) -> Hub:
            return self

        def model_info(self, name: str, revision: str, timeout: float) -> None:
            questions.append((name, timeout))
            raise OSError("Name or service not known")

        def try_to_load_from_cache(
            self, name: str, file: str, revision: str
        ) -> str | None:
            return "/cache/config.json" if cached else None

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub())
    hub.find_weights.cache_clear()
    if cached:
        options = {"local_files_only": True}
        assert hub.find_weights("some/owl") == ("some/owl", options)
    else:
        problem = (
            r"cannot be reached \(Name or service not known\).*hf download some/owl"
        )
        with pytest.raises(UsageError, match=problem):
            hub.find_weights("some/owl")
    assert questions == [("some/owl", hub.HUB_SECONDS)]
    hub.find_weights.cache_clear()
