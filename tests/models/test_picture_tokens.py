"""Tokens of a picture by its size and the model's family: reserved, forecast, and in prompts."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from helpers.loopback import chat, serving
from wayword.agents.prompting import PromptBudget
from wayword.core.errors import UsageError
from wayword.core.model import (
    ASSUMED,
    Image,
    Message,
    PictureTokens,
    Usage,
    estimated_tokens,
)
from wayword.core.sight import png
from wayword.models.middleware.budget import rough_tokens
from wayword.models.servers.profile import profile_of
from wayword.runs.config import billed
from wayword.runs.forecast import forecast
from wayword.runs.plan import Plan
from wayword.runs.running import run


def drawn(columns: int, rows: int) -> Image:
    return Image(png(np.zeros((rows, columns, 3), np.uint8)), "image/png")


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_the_size_of_a_picture_is_read_from_its_header(form: str) -> None:
    file = io.BytesIO()
    Pillow.new("RGB", (97, 41)).save(file, form)
    assert Image(file.getvalue()).size == (97, 41)


@pytest.mark.parametrize("data", [b"", b"x", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"])
def test_other_bytes_have_no_size(data: bytes) -> None:
    assert Image(data).size is None


@pytest.mark.parametrize(
    ("model", "small", "large"),
    [
        (
            "qwen2.5-vl-7b-instruct",
            234,
            414,
        ),  # 18 x 13 and 23 x 18 squares of 28 pixels
        ("qwen3-vl-8b-instruct", 180, 300),  # 15 x 12 and 20 x 15 squares of 32 pixels
        ("gpt-5-mini", 292, 486),  # the same, each 1.62
        ("gpt-4o", 255, 425),  # 1 and 2 tiles of 512 pixels
        ("gpt-5", 210, 350),
        ("claude-opus-4-5", 234, 414),
        ("gemini-2.5-flash", 258, 258),
        ("of-no-family", 1000, 1000),
    ],
)
def test_families_count_by_their_rules(model: str, small: int, large: int) -> None:
    rule = profile_of(model).pictures
    assert rule.of(480, 360) == small
    assert abs(rule.of(640, 480) - large) <= 1


def test_tiles_are_of_the_picture_after_scaling() -> None:
    # 2,048 x 1,536 becomes 1,024 x 768: four tiles.
    assert profile_of("gpt-4o").pictures.of(2048, 1536) == 85 + 4 * 170


def test_patches_have_a_limit() -> None:
    assert PictureTokens(side=32, each=2.0, most=100).of(2048, 2048) == 100


def test_a_user_states_another_rule() -> None:
    chosen = {"picture": {"side": 14}}
    assert profile_of("mine", chosen).pictures == PictureTokens(side=14)
    with pytest.raises(UsageError, match="picture has no rule 'size'"):
        profile_of("mine", {"picture": {"size": 14}})


def test_estimates_count_each_picture_by_its_size() -> None:
    text = [Message("user", "what?")]
    prompt = [Message("user", "what?", (drawn(280, 280), drawn(28, 28)))]
    rule = PictureTokens(side=28)
    assert estimated_tokens(prompt, rule) - estimated_tokens(text) == 101
    assert (
        rough_tokens(prompt, rule) - rough_tokens(text) == 152
    )  # 1.5 times, rounded up
    assert estimated_tokens(prompt) - estimated_tokens(text) == 2 * ASSUMED.base


def looking(address: str, out: Path | None, model: str) -> Plan:
    settings: dict[str, Any] = {
        "model": {"base_url": address},
        "dataset": {"houses": 1, "episodes": 1},
        "eyes": "pictures",
        "picture_size": "160x120",
    }
    return Plan(
        "navgpt", "houses", f"openai:{model}", settings, limit=1, max_steps=1, out=out
    )


def test_a_forecast_counts_pictures_as_the_models_family_does() -> None:
    totals = {}
    for model in ("qwen2.5-vl-7b", "of-no-family"):
        plan = looking("http://127.0.0.1:9/v1", None, model)
        totals[model] = forecast(plan, rehearsed=1)
    difference = (
        totals["of-no-family"].prompt_tokens - totals["qwen2.5-vl-7b"].prompt_tokens
    )
    calls = totals["of-no-family"].calls
    # Four pictures of 6 x 5 squares, or of 1,000 tokens each.
    assert difference == round(calls * 4 * (1000 - 30))


def test_a_run_is_billed_by_the_servers_count(tmp_path: Path) -> None:
    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        reply = chat('{"thought": "on", "arrived": true, "action": ""}')
        reply["usage"] = {"prompt_tokens": 777, "completion_tokens": 5}
        return 200, reply

    with serving(answer) as server:
        outcome = run(
            looking(server.address, tmp_path / "run", "qwen2.5-vl-7b")
        ).outcome
    assert outcome.finished == 1
    # One call: what was reserved by the pictures' size is settled by the server's count.
    assert billed(tmp_path / "run")[0] == 777 + 5


class Looker:
    """A model that counts 28 x 28 pixels as a token."""

    window = 8000
    pictures = PictureTokens(side=28)


def test_prompts_reserve_what_a_picture_took_before() -> None:
    toolkit: Any = SimpleNamespace(
        models={"main": Looker()}, model=lambda role: Looker()
    )
    eyes: Any = SimpleNamespace(
        settings=SimpleNamespace(size=(280, 280)), views=lambda: [1, 2]
    )
    budget = PromptBudget(toolkit, 0, 0)
    assert budget.look_tokens(None) == 0
    assert budget.look_tokens(eyes) == 200
    # 300 characters are about 100 tokens: each picture took 150.
    budget.learn_pictures(300, 2, Usage(400, 5))
    assert budget.look_tokens(eyes) == 300
    budget.learn_pictures(300, 2, Usage(4000, 5, estimated=True))
    assert budget.look_tokens(eyes) == 300
