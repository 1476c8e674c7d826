"""Environments show what the actor sees: colors and depth, and pictures in observations, in an
agent's prompts, and in the messages of servers and assistants."""

from __future__ import annotations

import asyncio
import base64
import io
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from PIL import Image as Pillow
from starlette.testclient import TestClient

from wayword.core.errors import UsageError
from wayword.core.sight import pixel_hash
from wayword.envs import make
from wayword.envs.gymnasium import WaywordEnv, vector
from wayword.envs.openenv import OpenEnvServer
from wayword.envs.pettingzoo import aec, parallel
from wayword.envs.rendering import RENDER_MODES, in_terminal
from wayword.envs.trl import environment_factory, prompts

SMALL: dict[str, Any] = {"settings": {"houses": 1, "episodes": 2}}
TINY: dict[str, Any] = {**SMALL, "eyes": "pictures", "picture_size": "64x48"}
FACES = {"homes": 1, "episodes": 1}


def opened(render_mode: str, **options: Any) -> Any:
    return gymnasium.make(
        "wayword.envs.gymnasium:Wayword-v0",
        render_mode=render_mode,
        include=["expert_action"],
        **SMALL,
        **options,
    )


def test_rgb_array_is_the_view_ahead_and_changes_with_each_move() -> None:
    env = opened("rgb_array")
    _, info = env.reset(seed=0)
    before = env.render()
    assert before.shape == (360, 480, 3)
    assert before.dtype == np.uint8
    assert np.array_equal(before, env.render())
    env.step(info["expert_action"])
    assert not np.array_equal(before, env.render())


def test_the_view_ahead_is_in_the_middle_of_a_wide_view() -> None:
    env = make("towns", settings={"towns": 1, "episodes": 2, "size": 3})
    env.reset(seed=0)
    painter = env.game.dataset.painter()
    assert painter is not None
    left, ahead, _ = painter.views(env.game.world, "agent")
    expected = painter.frame(env.game.world, "agent", ahead, (360, 480))
    assert left.label == "left"
    assert np.array_equal(env.frame().color, expected.color)


def test_depth_array_is_in_metres() -> None:
    env = opened("depth_array")
    env.reset(seed=0)
    depth = env.render()
    assert depth.shape == (360, 480)
    assert depth.dtype == np.float32
    # Rooms are closed: every pixel is a wall, a floor or a piece within the house.
    assert 0.05 < depth.min() < depth.max() < 40.0


def test_pictures_can_join_the_observation() -> None:
    env = gymnasium.wrappers.AddRenderObservation(
        opened("rgb_array", eyes="pictures", picture_size="64x48"),
        render_only=False,
    )
    observation, _ = env.reset(seed=0)
    assert observation["pixels"].shape == (48, 64, 3)
    assert env.observation_space.contains(observation)


def test_a_dataset_without_pictures_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="ansi, human, got 'rgb_array': this dataset"):
        gymnasium.make(
            "wayword.envs.gymnasium:Wayword-v0",
            dataset="apartments",
            render_mode="rgb_array",
        )


@pytest.mark.parametrize(
    ("dataset", "modes"),
    [("two_phase", 2), ("grounding:train", 3), ("houses:train", 4)],
)
def test_an_environment_lists_the_modes_that_its_dataset_can_draw(
    dataset: str, modes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    env = gymnasium.make(
        "wayword.envs.gymnasium:Wayword-v0", dataset=dataset, actions="menu"
    )
    assert env.metadata["render_modes"] == RENDER_MODES[:modes]
    check_env(env.unwrapped)
    players = parallel(dataset)
    assert players.metadata["render_modes"] == RENDER_MODES[:modes]


def test_an_agents_prompt_holds_the_pictures() -> None:
    with make("houses", view="mapgpt", eyes="pictures", **SMALL) as env:
        observation, _ = env.reset()
    content = observation[-1]["content"]
    pictures = [part for part in content if part["type"] == "image_url"]
    assert len(pictures) == 4
    assert "image 1: ahead" in content[0]["text"]


def test_an_agent_without_eyes_is_no_view_of_pictures() -> None:
    with pytest.raises(UsageError, match="words alone"):
        make("houses", view="tools", eyes="pictures", **SMALL)


def hashes(env: Any) -> list[str]:
    """The hashes of what the world draws for the actor of an environment."""
    eyes = env.game.eyes(env.actor)
    assert eyes is not None
    return list(eyes.hashes())


def test_an_observation_with_eyes_holds_the_pictures() -> None:
    env = gymnasium.make("wayword.envs.gymnasium:Wayword-v0", **TINY)
    check_env(env.unwrapped, skip_render_check=True)
    observation, info = env.reset(seed=0)
    assert observation["pictures"].shape == (4, 48, 64, 3)
    shown = [pixel_hash(color) for color in observation["pictures"]]
    assert shown == hashes(env.unwrapped.inner)  # type: ignore[attr-defined]
    assert info["views"] == ["ahead", "right", "behind", "left"]
    assert "image 1: ahead; image 2: right" in observation["text"]
    assert env.observation_space.contains(observation)


def test_a_home_shows_as_many_pictures_as_the_last_action_lets_it_see() -> None:
    env = make(
        "household:generated_test",
        settings=FACES,
        eyes="both",
        picture_size="64x48",
    )
    env.reset(seed=0)
    counts = [len(env.pictures())]
    legal = env.game.legal_actions("agent")
    # Some doors are closed: rooms in turn, then a turn on the spot.
    for action in [each for each in legal if "go_explore" in each] + ["turn_left"]:
        env.step(action)
        counts.append(len(env.pictures()))
    assert set(counts) == {4, 6}
    assert counts[-1] == 4


def test_vectors_stack_what_each_environment_sees() -> None:
    envs = gymnasium.make_vec(
        "wayword.envs.gymnasium:Wayword-v0",
        num_envs=2,
        render_mode="rgb_array",
        **TINY,
    )
    observations, infos = envs.reset(seed=0)
    assert [each.shape for each in observations["pictures"]] == [(4, 48, 64, 3)] * 2
    assert infos["views"][1] == ["ahead", "right", "behind", "left"]
    frames: Any = envs.render()
    assert [frame.shape for frame in frames] == [(48, 64, 3)] * 2
    envs.close()


def test_a_text_with_pictures_alone_names_nothing_in_view() -> None:
    settings = {"homes": 1, "episodes": 1}
    texts = {}
    for mode in ("both", "pictures"):
        env = make("apartments:paintable", settings=settings, eyes=mode)
        texts[mode] = str(env.reset()[0])
    listed = [line for line in texts["both"].splitlines() if " m)" in line]
    assert listed
    assert not any(line in texts["pictures"] for line in listed)


@pytest.mark.parametrize(
    ("name", "view"), [("houses", "structured"), ("grounding", "text")]
)
def test_views_that_name_objects_refuse_pictures_alone(name: str, view: str) -> None:
    with pytest.raises(UsageError, match="names objects in words"):
        make(name, view=view, eyes="pictures")


def test_human_draws_the_view_ahead_in_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    env = opened("human", picture_size="64x48", eyes="both")
    observation, info = env.reset(seed=0)
    env.step(info["expert_action"])
    printed = capsys.readouterr().out
    assert env.render() is None
    assert printed.count("Task: ") == 1
    assert observation["text"] in printed
    # 24 lines of 64 characters, twice.
    assert printed.count("\u2580") == 2 * 24 * 64


def test_a_character_of_the_terminal_has_the_colors_of_two_pixels() -> None:
    color = np.array([[[1, 2, 3]], [[4, 5, 6]]], np.uint8)
    assert in_terminal(color) == "\x1b[38;2;1;2;3m\x1b[48;2;4;5;6m\u2580\x1b[0m"


def test_turns_and_together_render_what_all_actors_see() -> None:
    options = {**SMALL, "eyes": "both", "picture_size": "64x48"}
    turns = aec("houses", render_mode="rgb_array", **options)
    turns.reset(seed=0)
    assert turns.render().shape == (48, 64, 3)
    observation = turns.observe("agent")
    assert turns.observation_space("agent").contains(observation)
    assert observation["pictures"].shape == (4, 48, 64, 3)
    together = parallel("houses", render_mode="depth_array", **options)
    together.reset(seed=0)
    assert together.render().dtype == np.float32
    with pytest.raises(UsageError, match="render_mode must be one of"):
        aec("houses", render_mode="rgb")


def test_turns_without_pictures_render_texts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    env = aec("two_phase", render_mode="ansi")
    env.reset(seed=0)
    assert env.render().startswith("agent: Task: ")
    printing = parallel("two_phase", render_mode="human")
    printing.reset(seed=0)
    assert "Task: " in capsys.readouterr().out


def decoded(data: str) -> str:
    """The hash of an encoded picture's pixels."""
    picture = Pillow.open(io.BytesIO(base64.b64decode(data)))
    return pixel_hash(np.asarray(picture.convert("RGB")))


def test_an_assistant_gets_the_pictures_after_the_text(tmp_path: Path) -> None:
    mcp_client = pytest.importorskip("mcp.client.client")
    from wayword.envs.mcp import server

    env = make("houses", **TINY)
    app, session = server(env, tmp_path / "run")

    async def play() -> None:
        async with mcp_client.Client(app) as client:
            for tool, given in (("begin", {}), ("look", {}), ("actions", {})):
                content = (await client.call_tool(tool, given)).content
                kinds = [part.type for part in content]
                if tool == "actions":
                    assert kinds == ["text"]
                    continue
                assert kinds == ["text"] + ["image"] * 4
                assert [decoded(part.data) for part in content[1:]] == hashes(env)
                assert content[1].mime_type == "image/png"

    with closing(session):
        asyncio.run(play())


def test_a_server_sends_pictures_as_parts_of_a_message() -> None:
    app = OpenEnvServer("houses", **TINY).app()
    client = TestClient(app, headers={"Host": "localhost:8765"})
    local = make("houses", **TINY)
    local.reset(seed=0)
    observation = client.post("/reset", json={"seed": 0}).json()["observation"]
    urls = [part["image_url"]["url"] for part in observation["images"]]
    assert [decoded(url.partition(";base64,")[2]) for url in urls] == hashes(local)
    arguments = {"name": "begin", "arguments": {"seed": 0}}
    call = {"id": 1, "method": "tools/call", "params": arguments}
    content = client.post("/mcp", json=call).json()["result"]["content"]
    assert [part["type"] for part in content] == ["text"] + ["image"] * 4
    assert [decoded(part["data"]) for part in content[1:]] == hashes(local)


def test_servers_take_settings_of_sight_and_refuse_others() -> None:
    from wayword.cli.playing import _env_settings

    words = ["eyes=both", "picture_size=64x48", "dataset.houses=1"]
    assert _env_settings(words) == {
        "settings": {"houses": 1},
        "eyes": "both",
        "picture_size": "64x48",
    }
    with pytest.raises(UsageError, match="--set temperature: settings here begin"):
        _env_settings(["temperature=1"])


def test_rows_of_a_trainer_hold_the_pictures_of_their_prompt() -> None:
    (row,) = prompts("houses", 1, **TINY)
    text, *pictures = row["prompt"][-1]["content"]  # type: ignore[call-overload, index]
    env = make("houses", **TINY)
    observation, _ = env.reset()
    assert text == {"type": "text", "text": observation}
    urls = [part["image_url"]["url"] for part in pictures]
    assert [decoded(url.partition(";base64,")[2]) for url in urls] == hashes(env)
    (plain,) = prompts("houses", 1, **SMALL)
    assert isinstance(plain["prompt"][-1]["content"], str)  # type: ignore[call-overload, index]


def test_tools_that_return_texts_refuse_pictures() -> None:
    with pytest.raises(UsageError, match="returns texts; remove eyes"):
        environment_factory("houses", **TINY)


def test_an_unknown_mode_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="render_mode must be one of ansi, human"):
        parallel("ma_household", render_mode="rgb")
    with pytest.raises(UsageError, match="got 'rgb'"):
        WaywordEnv("houses", render_mode="rgb")


@pytest.mark.parametrize("size", [40, (40, 40), "40x40"])
def test_a_size_of_pictures_is_a_text_a_pair_or_one_number(size: Any) -> None:
    """In words it is the size of what is rendered."""
    env = gymnasium.make(
        "wayword.envs.gymnasium:Wayword-v0",
        dataset="houses",
        settings={"houses": 1, "episodes": 2},
        render_mode="rgb_array",
        picture_size=size,
    )
    env.reset()
    picture: Any = env.render()
    assert picture.shape == (40, 40, 3)
    with pytest.raises(UsageError, match="picture_size must be COLUMNSxROWS"):
        make("houses", picture_size=(9, 9, 9))


def test_the_view_ahead_alone_is_a_box_that_a_policy_of_pixels_can_train_on() -> None:
    options: dict[str, Any] = {
        "settings": {"houses": 1, "episodes": 2},
        "eyes": "both",
        "picture_size": 40,
    }
    env = gymnasium.make(
        "wayword.envs.gymnasium:Wayword-v0",
        dataset="houses",
        render_mode="rgb_array",
        views="ahead",
        **options,
    )
    seen, info = env.reset(seed=3)
    space: Any = env.observation_space
    assert space["pictures"] == gymnasium.spaces.Box(0, 255, (40, 40, 3), np.uint8)
    assert info["views"] == ["ahead"]
    assert np.array_equal(seen["pictures"], env.render())
    envs = vector(2, "houses", views="ahead", **options)
    pictures = envs.reset()[0]["pictures"]
    assert pictures.shape == (2, 40, 40, 3)
    with pytest.raises(UsageError, match="views=ahead has no effect in words"):
        make("houses", views="ahead")
