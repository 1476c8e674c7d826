"""A tour of one's own pictures, walked from pixels to the end by NavGPT and DiscussNav."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from wayword.agents.discussnav.agent import DiscussNav, DiscussNavSettings
from wayword.agents.navgpt.agent import NavGPT, NavGPTSettings
from wayword.core.agent import Agent, Toolkit
from wayword.core.errors import DataError, UsageError
from wayword.core.model import Choice, Completion, Message, Model, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.datasets.tour import Tour, TourSettings
from wayword.perception.panorama import LAYOUTS
from wayword.runs.perceive import Perceiving, perceive
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.testing.contracts import check_dataset

COLOURS = {"hall": (200, 40, 40), "lobby": (40, 200, 40), "lab": (40, 40, 200)}
"""Each place is painted in a colour of its own towards the east, and grey elsewhere."""
TOUR: dict[str, Any] = {
    "places": {
        "hall": {"x": 0, "y": 0, "picture": "hall.png", "north": 0},
        "lobby": {"x": 4, "y": 0, "picture": "IMG_0042.png", "north": 90},
        "lab": {"x": 8, "y": 0, "picture": "lab.png"},
    },
    "edges": [["hall", "lobby"], ["lobby", "lab"]],
    "episodes": [
        {
            "id": "1",
            "instruction": "Go east to the end.",
            "path": ["hall", "lobby", "lab"],
        }
    ],
}


def pictured(path: Path) -> Path:
    """Write a tour with its pictures."""
    (path / "pictures").mkdir()
    for name, colour in COLOURS.items():
        north = TOUR["places"][name].get("north", 0)
        picture = np.full((128, 256, 3), 90, np.uint8)
        column = round(((90 - north) / 360 + 0.5) * 256)
        picture[:, max(0, column - 16) : column + 16] = colour
        file = path / "pictures" / TOUR["places"][name]["picture"]
        Pillow.fromarray(picture).save(file)
    (path / "tour.json").write_text(json.dumps(TOUR))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tour of pictures before perception."""
    return pictured(tmp_path)


@pytest.fixture(scope="module")
def perceived(
    tmp_path_factory: pytest.TempPathFactory, small_views: None
) -> tuple[Path, ColourModel]:
    """The tour after ``wayword perceive``, and the model that looked at its pictures."""
    path = pictured(tmp_path_factory.mktemp("tour"))
    model = ColourModel()
    with pytest.MonkeyPatch.context() as patch:
        seen(path, model, patch)
    return path, model


@pytest.fixture
def seen_folder(perceived: tuple[Path, ColourModel], tmp_path: Path) -> Path:
    """A copy of that tour."""
    path, _ = perceived
    return Path(shutil.copytree(path, tmp_path / "tour"))


class ColourModel(Model):
    """A model that sees: it names the colour of a picture, and else walks towards a direction."""

    name = "colours"

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.pictures = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        messages: Sequence[Message] = [] if isinstance(prompt, str) else prompt
        text = "\n".join(m.content for m in messages)
        images = [image for m in messages for image in m.images]
        self.prompts.append(text)
        if images:
            self.pictures += len(images)
            return Completion((_colour(images[0].data),))
        return Completion((self._decide(text),) * sampling.n)

    def _decide(self, text: str) -> str:
        arrived = "blue" in text.split("Current viewpoint")[-1].split("Scene now:")[-1]
        given = {"thought": "east", "arrived": arrived, "action": "", "prediction": ""}
        if "Scene now:" in text:
            listed = text.rpartition("Directions that can be moved in: ")[2].split(", ")
            given["prediction"] = "4" if "4" in listed else "1"
        else:
            if "'lobby'" in text.rpartition("Current")[2]:
                given["action"] = "lobby"
            else:
                given["action"] = "lab"
            if "'lab'" in text.rpartition("Current")[2]:
                given["action"] = "lab"
        return json.dumps(given)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise AssertionError("no choice is asked for here")

    async def aclose(self) -> None:
        """Nothing to close."""


def _colour(jpeg: bytes) -> str:
    with Pillow.open(io.BytesIO(jpeg)) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    rows, columns = pixels.shape[:2]
    middle = pixels[rows // 2 - 4 : rows // 2 + 4, columns // 2 - 4 : columns // 2 + 4]
    mean = middle.reshape(-1, 3).mean(axis=0)
    if mean.max() < 120:
        return "a grey wall"
    return f"a {('red', 'green', 'blue')[int(mean.argmax())]} wall"


def walk(
    folder: Path, agent: type[Any], settings: Any, model: ColourModel
) -> list[str]:
    tour = Tour("all", None, TourSettings(str(folder)))

    def build(toolkit: Toolkit, actor: str) -> Agent:
        made: Agent = agent(settings, toolkit)
        return made

    trajectory = asyncio.run(
        rollout(tour.tasks[0], Setup(tour, build, {"main": model}))
    )
    assert trajectory.error == ""
    assert trajectory.ended == "stopped"
    return [str(place["viewpoint"]) for place in trajectory.visited("agent")]


@pytest.fixture(autouse=True, scope="module")
def small_views() -> Iterator[None]:
    """Views of a ninth of the pixels, which are cut in a ninth of the time."""
    with pytest.MonkeyPatch.context() as patch:
        for name, chosen in LAYOUTS.items():
            patch.setitem(LAYOUTS, name, replace(chosen, size=(160, 160)))
        yield


def seen(folder: Path, model: ColourModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """``wayword perceive`` with a captioner that looks at the pixels."""
    from wayword.perception.networks import ChatEyes
    from wayword.runs import perceive as perceiving

    monkeypatch.setattr(
        perceiving, "open_eye", lambda kind, name, models: ChatEyes(model)
    )
    plan = Perceiving(folder / "pictures", folder / "seen", captioner="chat:x")
    perceive(plan, lambda name, number, count: None)


def test_navgpt_walks_it_from_pixels(seen_folder: Path) -> None:
    model = ColourModel()
    settings = NavGPTSettings(summaries="online")
    places = walk(seen_folder, NavGPT, settings, model)
    assert places == ["hall", "lobby", "lab", "lab"]
    assert any("a green wall" in prompt for prompt in model.prompts)


def test_discussnav_walks_it_by_words_and_by_pictures(seen_folder: Path) -> None:
    model = ColourModel()
    quick = DiscussNavSettings(
        analysis=False, completion=False, samples=2, scene="recorded"
    )
    assert walk(seen_folder, DiscussNav, quick, model)[-1] == "lab"
    assert model.pictures == 0
    looking = DiscussNavSettings(**{**asdict(quick), "scene": "asked"})
    assert walk(seen_folder, DiscussNav, looking, model)[-1] == "lab"
    assert model.pictures == 3 * 12  # every direction of every place, once


def test_views_turn_with_the_picture(folder: Path) -> None:
    camera = Tour("all", None, TourSettings(str(folder))).perceiver()
    for name, colour in (("hall", "red"), ("lobby", "green"), ("lab", "blue")):
        assert colour in _colour(camera.picture("tour", name, 90.0, 30.0).data)
        assert "grey" in _colour(camera.picture("tour", name, 270.0, 30.0).data)


def test_words_are_those_of_the_places_however_pictures_are_called_and_turned(
    seen_folder: Path,
) -> None:
    """``north`` and ``picture`` of ``tour.json`` hold for what is read as for what is shown."""
    reader = Tour("all", None, TourSettings(str(seen_folder))).perceiver()
    for name, colour in (("hall", "red"), ("lobby", "green"), ("lab", "blue")):
        coloured = [s.caption for s in reader.perceive("tour", name).sectors]
        east = len(coloured) // 4
        assert [n for n, caption in enumerate(coloured) if colour in caption] == [east]


def test_a_tour_whose_picture_is_not_there_is_not_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pictures" / "IMG_0042.png").unlink()
    with pytest.raises(DataError, match=r"place 'lobby'.*IMG_0042.png does not exist"):
        seen(folder, ColourModel(), monkeypatch)


def test_it_is_a_dataset(seen_folder: Path) -> None:
    check_dataset(Tour("all", None, TourSettings(str(seen_folder))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": [["hall", "moon"]]}, "edge 0: must join two of the places"),
        (
            {"places": {"hall": {"x": 0, "y": 0}}, "edges": []},
            "place 'hall', field 'picture'",
        ),
        (
            {"episodes": [{"id": 1, "instruction": "", "path": ["moon"]}]},
            "has an unknown place 'moon'",
        ),
        (
            {"episodes": [{"id": 1, "instruction": "", "path": []}]},
            "field 'path'.*is empty",
        ),
    ],
)
def test_bad_tours_are_named(
    folder: Path, change: dict[str, Any], message: str
) -> None:
    (folder / "tour.json").write_text(json.dumps({**TOUR, **change}))
    tour = Tour("all", None, TourSettings(str(folder)))
    with pytest.raises(DataError, match=message):
        _ = tour.tasks, tour.graph("tour")


def test_what_is_missing_is_named_with_the_way_out(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"dataset\.folder"):
        Tour("all", None, TourSettings())
    perceiver = Tour("all", None, TourSettings(str(folder))).perceiver()
    with pytest.raises(DataError, match="wayword perceive"):
        perceiver.perceive("tour", "hall")


class SeeingServer:
    """A server of OpenAI's interface on loopback: keeps what it is asked, walks to the lab."""

    def __init__(self) -> None:
        requests = self.asked = list[dict[str, Any]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                requests.append(body)
                action = ("goto[place 1]", "goto[place 2]", "stop")[len(requests) - 1]
                fields = {"thought": "east", "plan": "east", "action": action}
                message = {"role": "assistant", "content": json.dumps(fields)}
                answer = {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "seeing",
                    "choices": [
                        {"index": 0, "finish_reason": "stop", "message": message}
                    ],
                    "usage": {
                        "prompt_tokens": 900,
                        "completion_tokens": 20,
                        "total_tokens": 920,
                    },
                }
                raw = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Silence."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> SeeingServer:
        Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.http.shutdown()
        self.http.server_close()


def test_a_hosted_model_is_shown_every_way_and_a_growing_map(
    seen_folder: Path, tmp_path: Path
) -> None:
    with SeeingServer() as server:
        settings = {
            "dataset": {"folder": str(seen_folder)},
            "model": {"base_url": f"http://127.0.0.1:{server.http.server_port}/v1"},
        }
        plan = Plan("mapgpt", "tour", "openai:seeing", settings, out=tmp_path / "run")
        result = run(plan)
    (record,) = RunFolder.read(result.path).records()
    assert record.scores["sr"] == 1.0
    shown = [
        part
        for body in server.asked
        for part in body["messages"][-1]["content"]
        if part["type"] == "image_url"
    ]
    assert (
        len(shown) == 1 + 2 + 1
    )  # one way from the hall, two from the lobby, one from the lab
    first = base64.b64decode(shown[0]["image_url"]["url"].partition(",")[2])
    assert "red" in _colour(first)  # from the hall eastwards
    prompts = [body["messages"][-1]["content"][0]["text"] for body in server.asked]
    assert "image 1: place 2; image 2: place 0" in prompts[1]
    assert "place 1, from place 0: " in prompts[0]
    assert "place 0 (visited) leads to: 1\n" in prompts[1]
    assert "place 1 (visited) leads to: 2, 0\n" in prompts[2]
    # The pictures are in the recording too, so that the run can be replayed and looked at.
    calls = [call for call in record.trajectory.calls() if call.role == "main"]
    assert [len(call.prompt[-1].images) for call in calls] == [1, 2, 1]  # type: ignore[union-attr]


def test_without_pictures_a_model_reads_words(tmp_path: Path) -> None:
    plan = Plan(
        "mapgpt", "houses", "scripted:first", limit=1, max_steps=1, out=tmp_path / "run"
    )
    (record,) = RunFolder.read(run(plan).path).records()
    (call,) = record.trajectory.calls()
    assert not any(message.images for message in call.prompt)  # type: ignore[union-attr]
