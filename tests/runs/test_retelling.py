"""Retold walks: what the model is shown, what it draws, and how the drawing is scored."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.blocking import blocking
from wayword.core.errors import ModelError, RecordingError, UsageError
from wayword.core.model import Prompt, Sampling
from wayword.models.scripted import ScriptedModel
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.retelling import (
    FILE,
    Move,
    Retelling,
    Retold,
    Teller,
    Walk,
    read_points,
    read_retold,
    retell,
    scored,
    summary_lines,
)
from wayword.runs.running import run
from wayword.viewer import data
from wayword.viewer.pages import file_name, write

THOUGHT = "A secret thought."


def walks(folder: Path, agent: str = "navgpt") -> Path:
    """A run of two walks of three moves each, with a thought at each."""
    answer = {"thought": THOUGHT, "arrived": False, "action": "1"}
    script = folder / "walk.jsonl"
    script.write_text(json.dumps(json.dumps(answer)) + "\n")
    out = folder / "run"
    settings = {"decoding": "numbered", "model": {"repeat": True}}
    run(
        Plan(
            agent,
            "houses",
            f"scripted:{script}",
            settings,
            limit=2,
            max_steps=3,
            out=out,
        )
    )
    return out


def retold_walks(
    folder: Path, drawn: object, instruction: str = "Go on."
) -> list[Retold]:
    """The walks retold by a model that always draws the same."""
    answers = folder / "answers.jsonl"
    drawing = json.dumps({"thought": "", "places": drawn})
    answers.write_text(f"{json.dumps(instruction)}\n{json.dumps(drawing)}\n")
    (folder / "run" / FILE).unlink(missing_ok=True)  # a new start
    plan = Retelling(folder / "run", f"scripted:{answers}", {"repeat": True})
    return retell(plan, lambda each: None)[0]


def test_a_true_drawing_has_no_error(tmp_path: Path) -> None:
    walks(tmp_path)
    first = retold_walks(tmp_path, [[0, 0]])[0]
    assert first.error is None
    assert first.problem == "drew 1 of 4 places"
    assert first.instruction == "Go on."
    assert first.original
    shifted = [[x + 3, y - 5] for x, y in first.true]
    again = retold_walks(tmp_path, shifted)[0]
    assert again.error == pytest.approx(0.0, abs=1e-9)
    assert again.end_error == pytest.approx(0.0, abs=1e-9)
    content = json.loads((tmp_path / "run" / FILE).read_text())
    assert content["episodes"][0]["episode"] == first.episode


def test_walks_that_were_paid_for_are_kept_when_a_later_call_fails(
    tmp_path: Path,
) -> None:
    walks(tmp_path)
    answers = tmp_path / "answers.jsonl"
    answers.write_text('"Go on."\n"No drawing."\n"Go back."\n')
    plan = Retelling(tmp_path / "run", f"scripted:{answers}")
    with pytest.raises(ModelError):
        retell(plan, lambda each: None)
    content = json.loads((tmp_path / "run" / FILE).read_text())
    assert [each["instruction"] for each in content["episodes"]] == ["Go on."]


def test_the_instruction_is_written_without_thoughts(tmp_path: Path) -> None:
    walks(tmp_path)
    folder = tmp_path / "echo"
    plan = Retelling(tmp_path / "run", "scripted:echo", {"length": 5_000})
    prompts = [each.instruction for each in retell(plan, lambda each: None)[0]]
    assert prompts
    assert all("place 3" in prompt for prompt in prompts), folder
    assert all(THOUGHT not in prompt for prompt in prompts)


def test_thoughts_are_in_the_prompt_of_the_drawing_alone() -> None:
    thoughts = [f"thought {number}" for number in range(3)]
    moves = [Move("left", "north", 1.0, "a hall", each) for each in thoughts[:2]]
    places = ((0.0, 0.0), (0.0, 1.0), (0.0, 2.0))
    walk = Walk("east", "a kitchen", tuple(moves), thoughts[2], places)
    prompts: list[str] = []

    def answer(prompt: Prompt, _: Sampling) -> str:
        prompts.append("".join(str(message.content) for message in prompt))
        return "Go on."

    (task, *_) = open_dataset(Plan("retell", "houses")).tasks
    blocking(Teller(ScriptedModel(answers=answer)).retell(task, walk))
    instruction, drawing = prompts
    assert [each for each in thoughts if each in instruction] == []
    assert [each for each in thoughts if each in drawing] == thoughts
    for prompt in prompts:
        assert all(word in prompt for word in ("east", "a kitchen", "north", "a hall"))


def test_errors_are_means_over_places_without_the_start() -> None:
    true = ((0.0, 0.0), (0.0, 2.0), (2.0, 2.0))
    walk = Retold("a", "s", "Go.", "Go.", true)
    drawn = scored(walk, [(0.0, 0.0), (0.0, 1.0), (2.0, -1.0)], 4.0)
    assert drawn.error == 2.0
    assert drawn.end_error == 3.0
    assert drawn.share == 0.5


@pytest.mark.parametrize(("scenes", "has_interval"), [(60, True), (59, False)])
def test_walks_in_one_scene_are_one_unit_of_the_interval(
    scenes: int, has_interval: bool
) -> None:
    """Of errors, which have no upper bound, there is none for fewer than sixty units."""
    walks = [
        Retold(
            *(f"e{number}", f"scene {number % scenes}", "Go.", "Go.", ((0.0, 0.0),)),
            error=1.0 + number % 7,
            end_error=2.0,
            share=0.1 + number % scenes / 100,
        )
        for number in range(4 * scenes)
    ]
    (_, line) = summary_lines(walks, ())
    assert ("[" in line) == has_interval, line


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        ('{"places": [[0, 0], [1.5, -2]]}', [(0.0, 0.0), (1.5, -2.0)]),
        ('First {"places": [[9, 9]]}, no: {"places": [[1, 2]]}', [(1.0, 2.0)]),
        ('{"places": [[1, 2, 3]]}', []),
        ('{"places": [["a", 2]]}', []),
        ('{"places": [[1, NaN]]}', []),
        ('{"places": "none"}', []),
        (f'{{"places": [[0, 0], [1{"0" * 400}, 0]]}}', []),
        ('{"places": [[1e400, 0]]}', []),
        ("I cannot draw.", []),
    ],
)
def test_coordinates_are_read_from_answers(
    answer: str, points: list[tuple[float, float]]
) -> None:
    assert read_points(answer) == points


def test_other_worlds_and_unknown_episodes_are_refused(tmp_path: Path) -> None:
    run(Plan("random", "towns", limit=1, max_steps=2, out=tmp_path / "towns"))
    with pytest.raises(UsageError, match="walks between viewpoints"):
        retell(Retelling(tmp_path / "towns", "scripted:first"), lambda each: None)
    walks(tmp_path)
    plan = Retelling(tmp_path / "run", "scripted:first", episodes=["none"])
    with pytest.raises(UsageError, match="no finished episode 'none'"):
        retell(plan, lambda each: None)


def test_the_command_prints_each_walk(tmp_path: Path) -> None:
    walks(tmp_path)
    command = ["retell", str(tmp_path / "run"), "--model", "scripted:first"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "2 walks retold, 0 drawn with all places" in result.output
    assert result.output.count("drawing:") == 2


def test_a_budget_ends_the_command_between_walks(tmp_path: Path) -> None:
    walks(tmp_path)
    answers = tmp_path / "answers.jsonl"
    answers.write_text('"Go on."\n"No drawing."\n')
    spent = retold_walks(tmp_path, [[0, 0]])[0]
    both = spent.prompt_tokens + spent.completion_tokens
    (tmp_path / "run" / FILE).unlink()
    plan = Retelling(
        tmp_path / "run", f"scripted:{answers}", {"repeat": True}, max_tokens=both
    )
    retold, left_out = retell(plan, lambda each: None)
    assert [each.instruction for each in retold] == ["Go on."]
    (line,) = left_out
    assert "budget of" in line
    content = json.loads((tmp_path / "run" / FILE).read_text())
    assert len(content["episodes"]) == 1


def test_earlier_walks_are_kept_and_the_rest_is_added(tmp_path: Path) -> None:
    first, second = walk_ids(walks(tmp_path))
    answers = tmp_path / "answers.jsonl"

    def instructions(instruction: str, episodes: Sequence[str] = ()) -> dict[str, str]:
        answers.write_text(f'"{instruction}"\n"No drawing."\n')
        plan = Retelling(
            tmp_path / "run", f"scripted:{answers}", {"repeat": True}, episodes
        )
        retold, _ = retell(plan, lambda each: None)
        content = json.loads((tmp_path / "run" / FILE).read_text())
        written = {row["episode"]: row["instruction"] for row in content["episodes"]}
        assert written == {each.episode: each.instruction for each in retold}
        return written

    assert instructions("Go on.", [first]) == {first: "Go on."}
    assert instructions("Go back.") == {first: "Go on.", second: "Go back."}
    assert instructions("Turn.", [first]) == {first: "Turn.", second: "Go back."}


def test_walks_that_another_model_has_retold_are_retold(tmp_path: Path) -> None:
    first, second = walk_ids(walks(tmp_path))

    def retold_by(name: str, episodes: Sequence[str] = ()) -> dict[str, str]:
        answers = tmp_path / f"{name}.jsonl"
        answers.write_text(f'"By {name}."\n"No drawing."\n')
        model = f"scripted:{answers}"
        plan = Retelling(tmp_path / "run", model, {"repeat": True}, episodes)
        retold, _ = retell(plan, lambda each: None)
        content = json.loads((tmp_path / "run" / FILE).read_text())
        assert content["model"] == model
        return {each.episode: each.instruction for each in retold}

    assert retold_by("one", [first]) == {first: "By one."}
    assert retold_by("two", [second]) == {second: "By two."}
    assert retold_by("two") == {first: "By two.", second: "By two."}
    assert retold_by("one") == {first: "By one.", second: "By one."}


def walk_ids(folder: Path) -> list[str]:
    return sorted(name for name, _ in RunFolder.read(folder).scores())


def test_the_page_shows_the_retold_walk_as_text_and_its_drawing(tmp_path: Path) -> None:
    walks(tmp_path)
    hostile = "Go <script>alert(1)</script> on."
    first = retold_walks(tmp_path, [[0, 0]], hostile)[0]
    drawn = [[x + 1, y] for x, y in first.true]
    retold_walks(tmp_path, drawn, hostile)
    pages = write(tmp_path / "run").parent
    page = pages / "episodes" / file_name(first.episode)
    text = page.read_text(encoding="utf-8")
    assert "Go &lt;script&gt;alert(1)&lt;/script&gt; on." in text
    assert "<script>alert(1)" not in text
    drawing = text.partition('class="retold-walk"')[2].partition("</svg>")[0]
    # The drawing is shifted alone, so that both lines are the same.
    lines = re.findall(r'points="([^"]+)"', drawing)
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert "0.00 m off on average" in text


@pytest.mark.parametrize(
    "content",
    ["[1]", '{"episodes": 5}', '{"episodes": [{"episode": 7}]}', "{", "[" * 9_000],
)
def test_another_file_of_retold_walks_is_refused_in_one_line(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(RecordingError) as caught:
        read_retold(tmp_path)
    assert FILE in str(caught.value)
    assert "\n" not in str(caught.value)


def test_places_and_errors_that_are_no_numbers_are_not_drawn(tmp_path: Path) -> None:
    row = '{"episode": "a", "true": [[0, 1e999], ["a"]], "error": NaN}'
    (tmp_path / FILE).write_text(f'{{"episodes": [{row}]}}')
    found = read_retold(tmp_path)["a"]
    assert found.true == ()
    assert found.error is None
    assert read_retold(tmp_path / "none") == {}


def test_retold_walks_are_read_once_for_all_pages_and_again_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(run: Path) -> dict[str, Retold]:
        read.append(run)
        return read_retold(run)

    monkeypatch.setattr(data, "read_retold", counted)
    sources = data.Sources(folder=tmp_path)
    assert sources.retold("a") is None
    for content, time in (
        ('{"episodes": []}', 0),
        ('{"episodes": [{"episode": "a"}]}', 9),
    ):
        (tmp_path / FILE).write_text(content)
        os.utime(tmp_path / FILE, (time, time))
        found = [sources.retold(name) is not None for name in ("a", "b")]
    assert found == [True, False]
    assert len(read) == 2


@pytest.mark.parametrize(
    "budget", [{"max_dollars": -1.0}, {"max_dollars": math.nan}, {"max_tokens": -1}]
)
def test_a_budget_that_is_none_is_refused(
    tmp_path: Path, budget: dict[str, Any]
) -> None:
    walks(tmp_path)
    with pytest.raises(UsageError, match=f"{next(iter(budget))} must be"):
        retell(
            Retelling(tmp_path / "run", "scripted:first", **budget), lambda each: None
        )
