"""The probe: what a model can name in pictures, by kind and by size."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.batch_stub import batching
from helpers.looking import pictures_of, text_of
from helpers.loopback import chat, serving
from wayword.cli.app import app
from wayword.core.errors import ModelError, UsageError
from wayword.core.sight import Frame, pixel_hash
from wayword.models.servers import batches
from wayword.runs import probe

COUNT = 10


@cache
def crops() -> list[probe.Crop]:
    return list(probe.draw_crops("houses", COUNT))


def test_a_question_has_ten_kinds_with_the_right_one_among_them() -> None:
    assert len(crops()) == COUNT
    for crop in crops():
        assert len(set(crop.options)) == probe.OPTIONS
        assert crop.kind in crop.options
        assert crop.pixels >= probe.SMALLEST
    # Kinds take turns, and the right one has no place of its own in the list.
    assert len({crop.kind for crop in crops()}) > COUNT // 2
    assert len({crop.options.index(crop.kind) for crop in crops()}) > 4


def test_the_same_seed_draws_the_same_crops() -> None:
    again = list(probe.draw_crops("houses", 3))
    assert [crop.image.pixels for crop in again] != []
    other = list(probe.draw_crops("houses", 3, seed=1))
    first = [(crop.kind, crop.options) for crop in again]
    assert first != [(crop.kind, crop.options) for crop in other]
    assert first == [
        (crop.kind, crop.options) for crop in probe.draw_crops("houses", 3)
    ]


def test_objects_that_are_small_or_cut_by_an_edge_are_not_asked_for() -> None:
    rows, columns = 40, 60
    inside = [
        (slice(4, 9), slice(4, 12), probe.SMALLEST),
        (slice(4, 7), slice(20, 33), probe.SMALLEST - 1),
    ]
    at_edges = [
        (slice(0, 7), slice(40, 50)),
        (slice(30, 40), slice(4, 14)),
        (slice(15, 25), slice(0, 7)),
        (slice(15, 25), slice(50, 60)),
    ]
    ids = np.zeros((rows, columns), dtype=np.int32)
    for number, (across, along, _) in enumerate(inside, 1):
        ids[across, along] = number
    for number, (across, along) in enumerate(at_edges, 3):
        ids[across, along] = number
    # A number without a kind is no object.
    ids[20:30, 20:30] = 7
    assert [int((ids == n).sum()) for n in (1, 2)] == [each[2] for each in inside]
    color = np.zeros((rows, columns, 3), dtype=np.uint8)
    frame = Frame(color, np.ones((rows, columns)), ids)
    kinds = {number: f"kind {number}" for number in range(1, 7)}
    found = [(kind, pixels) for kind, pixels, _ in probe._objects(frame, kinds)]
    assert found == [("kind 1", probe.SMALLEST)]


@pytest.mark.parametrize("sees", [True, False])
def test_a_model_that_sees_is_right_and_one_that_guesses_is_not(
    tmp_path: Path, sees: bool
) -> None:
    kinds = {crop.image.pixels: crop.kind for crop in crops()}
    rng = random.Random(0)

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        (picture,) = pictures_of(body)
        listed = text_of(body).partition("in its middle: ")[2].partition("?")[0]
        chosen = rng.choice(listed.split(", "))
        if sees:
            chosen = kinds[pixel_hash(picture)]
        return 200, chat(chosen)

    out = tmp_path / "answers.jsonl"
    with serving(answer) as server:
        options = ("--crops", str(COUNT), "--out", str(out))
        address = ("--set", f"model.base_url={server.address}")
        command = ["probe", "openai:looker", *options, *address]
        result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    first = result.output.splitlines()[0].split()
    assert first[:2] == (["all", "100%"] if sees else first[:2])
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    right = sum(row["kind"] == row["answer"] for row in rows)
    assert len(rows) == COUNT
    assert right == COUNT if sees else right < COUNT // 2
    assert "chance: 10%" in result.output


def test_answers_are_kept_if_the_server_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = crops()
    monkeypatch.setattr(probe, "draw_crops", lambda *_: iter(drawn))
    requests: list[int] = []

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        requests.append(1)
        if len(requests) > 2:
            return 401, {"error": {"message": "the key has expired"}}
        return 200, chat("sofa")

    out = tmp_path / "probes" / "answers.jsonl"
    with serving(answer) as server:
        settings = {"base_url": server.address}
        plan = probe.Probing("openai:m", settings=settings, out=out)
        with pytest.raises(ModelError, match="expired"):
            probe.probe(plan)
    assert len(out.read_text().splitlines()) == 2
    # They are not lost to a second call either.
    with pytest.raises(UsageError, match="exists"):
        probe.probe(plan)
    assert len(out.read_text().splitlines()) == 2


def test_all_questions_are_one_batch_which_is_paid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = crops()
    monkeypatch.setattr(probe, "draw_crops", lambda *_: iter(drawn))
    monkeypatch.setattr(batches, "QUIET_S", 0.05)
    monkeypatch.setattr(batches, "POLL_S", 0.01)
    out = tmp_path / "answers.jsonl"
    with batching() as books:
        settings = {"base_url": books.address, "tier": "batch"}
        plan = probe.Probing("openai:m", settings=settings, out=out)
        assert len(probe.probe(plan)) == COUNT
        out.unlink()
        assert len(probe.probe(plan)) == COUNT
    assert books.batches == [COUNT]
    assert len(out.read_text().splitlines()) == COUNT


def test_rows_are_by_size_and_by_kind() -> None:
    answered = [
        probe.Answered("sofa", 5000, "sofa"),
        probe.Answered("sofa", 100, "desk"),
        probe.Answered("desk", 100, "desk"),
    ]
    lines = probe.lines(answered)
    assert [line.split("  ")[0] for line in lines[:5]] == [
        "all",
        "below 200 pixels",
        "3,200 pixels or more",
        "desk",
        "sofa",
    ]
    assert [line.split("%")[0].split()[-1] for line in lines[:5]] == [
        "67",
        "50",
        "100",
        "100",
        "50",
    ]


def test_an_answer_outside_the_options_counts_as_wrong() -> None:
    answered = [
        probe.Answered("sofa", 100, "sofa"),
        probe.Answered("sofa", 100, ""),
        probe.Answered("desk", 5000, ""),
    ]
    rows = probe.shares(answered, lambda each: each.kind)
    assert [(name, count, share.mean) for name, count, share in rows] == [
        ("sofa", 2, 0.5),
        ("desk", 1, 0.0),
    ]
    assert probe.lines(answered)[0].split()[:4] == ["all", "33%", "of", "3"]


def test_a_dataset_without_pictures_or_kinds_is_refused() -> None:
    with pytest.raises(UsageError, match="draws no pictures"):
        list(probe.draw_crops("ma_wah", 5))
    with pytest.raises(UsageError, match="shows 0 kinds"):
        list(probe.draw_crops("grounding", 5))
