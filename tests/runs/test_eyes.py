"""Runs with ``eyes=pictures`` and ``both``: requests, records, verification, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.looking import drawn, pictures_of, text_of
from helpers.loopback import Loopback, chat, serving
from helpers.records import records, rewrite
from helpers.sampling import LONG
from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.core.sight import pixel_hash
from wayword.datasets.procedural.houses.house import build_house
from wayword.runs.config import metrics_of, read_config
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import _shows, verify
from wayword.viewer.data import Sources, open_sources
from wayword.viewer.document import Document
from wayword.viewer.episode import Links, episode_page

pytestmark = pytest.mark.usefixtures("shared_data")
HOUSES = {"houses": 2, "episodes": 4}
AGENTS = ("mapgpt", "navgpt")
SIZE = "96x72"
"""Of the pictures: small ones are drawn sooner."""
STEPS = 3


def plan(agent: str, address: str, out: Path, **settings: Any) -> Plan:
    tree: dict[str, Any] = {"model": {"base_url": address}, "dataset": HOUSES}
    tree |= settings
    if settings.get("eyes", "words") != "words":
        tree.setdefault("picture_size", SIZE)
    return Plan(
        agent,
        "houses",
        "openai:looker",
        tree,
        limit=2,
        max_steps=STEPS,
        out=out,
        retries=0,
    )


@contextmanager
def looking() -> Iterator[Loopback]:
    """A server that takes the first move that a request lists, and never stops."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        text = text_of(body)
        moves = re.findall(r"goto\[place \d+\]", text.rpartition("Actions: ")[2])
        if moves:
            fields = {"thought": "on", "plan": "on", "action": moves[0]}
        else:
            latest = text.rpartition("Current viewpoint")[2]
            place = re.findall(r"'([0-9a-f]{6})'", latest)[0]
            fields = {"thought": "on", "arrived": False, "action": place}
        return 200, chat(json.dumps(fields))

    with serving(answer) as server:
        yield server


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("mode", ["pictures", "both"])
def test_each_request_shows_what_the_world_draws(
    tmp_path: Path, agent: str, mode: str
) -> None:
    with looking() as server:
        chosen = plan(agent, server.address, tmp_path / "run", eyes=mode)
        outcome = run(chosen).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (2, 0, "")
    sent = []
    for body in server.asked:
        shown = pictures_of(body)
        assert len(shown) == 4
        assert all(picture.shape == (72, 96, 3) for picture in shown)
        sent.append([pixel_hash(picture) for picture in shown])
    # Episodes run at once, so the requests come in any order.
    assert sorted(sent) == sorted(drawn(tmp_path / "run", chosen))
    assert len(sent) == 2 * STEPS


@pytest.mark.parametrize("agent", AGENTS)
def test_pictures_replace_the_words_of_sight(tmp_path: Path, agent: str) -> None:
    texts = {}
    for mode in ("words", "pictures", "both"):
        with looking() as server:
            run(plan(agent, server.address, tmp_path / mode, eyes=mode))
        texts[mode] = [text_of(body) for body in server.asked]
    house = build_house("test-s0-r9-0000")
    names = {piece.name for piece in house.furniture}
    names |= {piece.name for piece in build_house("test-s0-r9-0001").furniture}
    for mode, found in texts.items():
        around = "".join(text.replace(_instruction(text), "") for text in found)
        mentioned = {name for name in names if name in around}
        assert bool(mentioned) == (mode != "pictures"), (mode, mentioned)
        assert ("doorway" in around) == (mode != "pictures"), mode
        # Ways, feedback and actions are the same in all conditions.
        assert ("The images show what is around you" in around) == (mode != "words")
    routes = [re.findall(r"right \d+|left \d+", text)[-3:] for text in texts["words"]]
    assert sorted(routes) == sorted(
        re.findall(r"right \d+|left \d+", text)[-3:] for text in texts["both"]
    )


def _instruction(text: str) -> str:
    return text.partition("Instruction: ")[2].partition("\n")[0]


def test_the_record_keeps_hashes_and_verify_draws_again(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with looking() as server:
        run(plan("mapgpt", server.address, path, eyes="pictures"))
    raw = json.dumps(records(path))
    assert '"pixels"' in raw
    assert "base64" not in raw
    assert '"data"' not in raw
    assert len(raw) < 200_000
    checked = list(verify(RunFolder.read(path)))
    assert len(checked) == 2
    assert all(difference == "" for _, difference in checked)

    # Another picture at one step is found.
    episodes = records(path)
    step = episodes[1]["trajectory"]["steps"][2]
    images = step["calls"][0]["prompt"][-1]["images"]
    images[0]["pixels"] = images[1]["pixels"]
    rewrite(path, episodes)
    name = episodes[1]["episode"]
    found = dict(verify(RunFolder.read(path)))
    assert found[name] == "step 3: the pictures differ"


@pytest.mark.parametrize(
    ("hashes", "is_shown"),
    [
        ("cd", True),
        ("acd", True),
        ("abcd", True),
        ("aacd", True),
        ("cdcd", False),  # shown now, and not before
        ("xcd", False),  # never shown
        ("axcd", False),
        ("dc", False),
        ("abdc", False),
        ("abc", False),
        ("d", False),
        ("ab", False),
        ("", False),
    ],
)
def test_a_prompt_holds_pictures_of_earlier_steps_and_then_those_of_now(
    hashes: str, is_shown: bool
) -> None:
    assert _shows(list(hashes), list("cd"), set("ab")) == is_shown


def test_a_run_with_pictures_repeats_its_answers_without_a_model(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run"
    with looking() as server:
        run(plan("mapgpt", server.address, path, eyes="pictures", max_tokens=300))
    # The models' windows differ, so the limit of an answer must be stated.
    settings = {
        "dataset": HOUSES,
        "eyes": "pictures",
        "max_tokens": 300,
        "picture_size": SIZE,
    }
    again = Plan(
        "mapgpt",
        "houses",
        f"replay:{path}",
        settings,
        limit=2,
        max_steps=STEPS,
        out=tmp_path / "again",
    )
    outcome = run(again).outcome
    assert (outcome.finished, outcome.failed) == (2, 0)


def test_eyes_are_part_of_the_identity_only_if_they_see_pictures(
    tmp_path: Path,
) -> None:
    with looking() as server:
        address = server.address
        run(plan("mapgpt", address, tmp_path / "plain"))
        run(plan("mapgpt", address, tmp_path / "words", eyes="words"))
        run(
            plan(
                "mapgpt", address, tmp_path / "both", eyes="both", picture_size="64x48"
            )
        )
    plain = read_config(tmp_path / "plain")["identity"]
    words = read_config(tmp_path / "words")["identity"]
    both = read_config(tmp_path / "both")["identity"]
    assert plain == words
    assert "eyes" not in plain
    eyes = both.pop("eyes")
    assert eyes["eyes"] == "both"
    assert eyes["picture_size"] == "64x48"
    assert re.fullmatch(r"schematic:[0-9a-f]{12}", eyes["painter"])
    assert both == plain
    caveats = read_config(tmp_path / "both")["caveats"]
    assert "schematic pictures (eyes=both)" in caveats


@pytest.mark.skipif(not LONG, reason="minutes: set WAYWORD_CHAOS=long")
def test_a_hundred_episodes_with_pictures_replay_to_the_same_hashes(
    tmp_path: Path,
) -> None:
    with looking() as server:
        chosen = plan(
            "mapgpt",
            server.address,
            tmp_path / "run",
            eyes="pictures",
            picture_size="480x360",
            dataset={"houses": 20, "episodes": 100},
        )
        outcome = run(replace(chosen, limit=100, max_steps=3)).outcome
    assert (outcome.finished, outcome.failed) == (100, 0)
    sent = [pixel_hash(each) for body in server.asked for each in pictures_of(body)]
    recorded = [
        pixels
        for record in RunFolder.read(tmp_path / "run").records()
        for call in record.trajectory.calls()
        for pixels in call.pixels
    ]
    assert sorted(recorded) == sorted(sent)
    checked = list(verify(RunFolder.read(tmp_path / "run")))
    assert len(checked) == 100
    assert [each for _, each in checked if each] == []


@pytest.mark.parametrize(
    ("agent", "on", "settings", "message"),
    [
        ("mapgpt", "houses", {"eyes": "closed"}, "eyes"),
        ("mapgpt", "houses", {"eyes": "both", "picture_size": "big"}, "picture_size"),
        ("mapgpt", "houses", {"eyes": "both", "picture_size": "9x9"}, "from 32 to"),
        ("mapgpt", "houses", {"picture_size": "64x48"}, "no effect in words"),
        ("tools", "houses", {"eyes": "pictures"}, "plays in words alone"),
        ("plan_search", "household", {"eyes": "both"}, "plays in words alone"),
        (
            "mapgpt",
            "houses",
            {"eyes": "pictures", "picture_history": 2},
            "no conversation that keeps pictures",
        ),
        ("react", "apartments", {"eyes": "pictures"}, "draws no pictures"),
        (
            "mapgpt",
            "houses",
            {"eyes": "pictures", "perturb": {"captions_missing": 1.0}},
            "remove one",
        ),
    ],
)
def test_a_setting_that_cannot_be_met_is_refused_in_one_line(
    agent: str, on: str, settings: dict[str, Any], message: str
) -> None:
    chosen = Plan(agent, on, "scripted:smallest", settings)
    with pytest.raises(UsageError, match=re.escape(message)) as refused:
        open_agent(chosen, open_dataset(chosen))
    assert "\n" not in str(refused.value)


def test_a_refusal_names_every_agent_that_sees() -> None:
    chosen = Plan("tools", "houses", "scripted:smallest", {"eyes": "pictures"})
    with pytest.raises(UsageError) as refused:
        open_agent(chosen, open_dataset(chosen))
    named = str(refused.value).partition("pictures: ")[2].split(", ")
    seeing = [
        name
        for name in registry.names("agent")
        if registry.load("agent", name).has_eyes
    ]
    assert sorted(named) == sorted(seeing)


def test_numbered_exits_show_no_pictures(tmp_path: Path) -> None:
    with looking() as server, pytest.raises(UsageError, match="decoding=constrained"):
        run(plan("navgpt", server.address, tmp_path, eyes="both", decoding="numbered"))


def test_the_page_of_an_episode_shows_the_pictures_again(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with looking() as server:
        chosen = plan("mapgpt", server.address, path, eyes="both")
        run(replace(chosen, limit=1))
    recorded = RunFolder.read(path)
    (record,) = recorded.records()
    sources = open_sources(recorded, [record.episode_id], None)
    page = episode_page(
        Document.of(record, sources).json(), metrics_of(recorded.config), "run", Links()
    )
    shown = set(re.findall(r'src="data:image/png;base64,([^"]+)"', page))
    sent = {
        part["image_url"]["url"].partition(";base64,")[2]
        for body in server.asked
        for part in body["messages"][-1]["content"]
        if part["type"] == "image_url"
    }
    assert shown == sent
    # Without the dataset's world there is nothing to draw.
    page = episode_page(
        Document.of(record, Sources()).json(),
        metrics_of(recorded.config),
        "run",
        Links(),
    )
    assert "picture not drawn again" in page
    assert "data:image/png" not in page
