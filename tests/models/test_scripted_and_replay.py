"""Models whose answers are known: scripts by list, function, name and file; recorded runs."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from wayword.core.errors import DataError, ModelError, UsageError
from wayword.core.model import Choice, Completion, Model, Sampling, user
from wayword.core.trajectory import ModelCall
from wayword.models.parts.opening import open_model
from wayword.models.replay import ReplayModel
from wayword.models.scripted import ScriptedModel, ScriptedSettings, smallest

SCHEMA = {
    "type": "object",
    "properties": {
        "action": {"$ref": "#/$defs/action"},
        "count": {"type": "integer", "minimum": 2},
        "notes": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    },
    "$defs": {"action": {"anyOf": [{"enum": ["left", "right"]}, {"const": "stop"}]}},
}


def _ask(
    model: Model, prompt: str = "where?", sampling: Sampling | None = None
) -> Completion:
    return asyncio.run(model.complete(prompt, sampling or Sampling()))


def test_a_list_is_answered_in_order_and_runs_out() -> None:
    model = ScriptedModel(answers=["a", "b"])
    assert [_ask(model).text, _ask(model).text] == ["a", "b"]
    with pytest.raises(ModelError, match="all 2 answers of the script are used"):
        _ask(model)


def test_a_list_may_start_over() -> None:
    model = ScriptedModel(settings=ScriptedSettings(repeat=True), answers=["a", "b"])
    assert [_ask(model).text for _ in range(5)] == ["a", "b", "a", "b", "a"]


def test_a_function_sees_prompt_and_sampling_and_may_be_a_coroutine() -> None:
    async def answer(prompt: object, sampling: Sampling) -> str:
        return f"{prompt} {sampling.n}"

    assert _ask(ScriptedModel(answers=answer), "x", Sampling(n=2)).texts == (
        "x 2",
        "x 2",
    )


def test_first_takes_the_first_legal_answer() -> None:
    model = open_model("scripted:first")
    assert _ask(model, sampling=Sampling(choices=("go", "stop"))).text == "go"
    answer = json.loads(_ask(model, sampling=Sampling(json_schema=SCHEMA)).text)
    assert answer == {"action": "left", "count": 2, "notes": [""]}
    assert asyncio.run(model.choose("where?", ["up", "down"])).best == "up"


def test_noise_is_noise_the_same_for_a_seed_and_legal_where_constrained() -> None:
    one, same = (
        open_model("scripted:noise", {"seed": 3, "length": 500}) for _ in range(2)
    )
    assert len(_ask(one).text) == 500
    assert _ask(same).text != ""
    assert _ask(one).text == _ask(same).text
    assert _ask(one, sampling=Sampling(choices=("go", "stop"))).text in ("go", "stop")


def test_a_file_gives_an_answer_a_line(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text('"left"\n\n{"text": "stop"}\n')
    model = open_model(f"scripted:{path}")
    assert [_ask(model).text, _ask(model).text] == ["left", "stop"]


@pytest.mark.parametrize(
    ("line", "problem"), [("{", "is not valid JSON"), ("[1]", "must be a string")]
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text(f'"fine"\n{line}\n')
    with pytest.raises(DataError, match=f"said.jsonl: line 2: {problem}"):
        open_model(f"scripted:{path}")


def test_choose_takes_the_option_the_script_names() -> None:
    choice = asyncio.run(
        ScriptedModel(answers=[" right\n"]).choose("x", ["left", " right"])
    )
    assert choice.best == " right"


def test_smallest_draws_with_an_rng_only() -> None:
    assert smallest({"oneOf": [{"const": 1}, {"const": 2}]}) == 1


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"verb\[[^]]{1,200}\]", "verb[x]"),
        ("[^abc]", "x"),
        ("^([]a]|b)$", "a"),
        (r"[a\]]b", "]b"),
        ("(a|b)c?(, d){0,3}e+", "a, de"),
        ("^(10|[0-9])$", "10"),
    ],
)
def test_a_pattern_is_answered_by_a_text_that_matches_it(
    pattern: str, text: str
) -> None:
    assert smallest({"type": "string", "pattern": pattern}) == text
    assert re.fullmatch(pattern, text)


@pytest.mark.parametrize(
    "pattern", ["a{3}", "a{2,}", "a{2,3}", "a*", r"\d", "(?:a)", "[^x]"]
)
def test_a_pattern_beyond_a_script_is_an_error(pattern: str) -> None:
    with pytest.raises(UsageError, match="a script has no answer to the pattern"):
        smallest({"type": "string", "pattern": pattern})


def test_a_call_waits_for_nothing() -> None:
    """It ends at its first step, without an event loop."""
    call = ScriptedModel(answers=lambda p, s: "left").complete("where?", Sampling())
    with pytest.raises(StopIteration) as ended:
        call.send(None)
    assert ended.value.value.text == "left"


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        ("scripted", {}, "not of the form backend:name"),
        ("scripted:frst", {}, "did you mean 'first'"),
        ("scrpted:first", {}, "did you mean 'scripted'"),
        ("scripted:first", {"repaet": True}, "did you mean 'repeat'"),
        (
            "scripted:first",
            {"seed": "x"},
            "setting seed must be a whole number, got 'x'",
        ),
        ("local:smollm3", {}, "neither a known model"),
        ("local:/no/such.gguf", {}, "/no/such.gguf: no such file"),
        ("local:smollm2", {"slots": 0}, "at least 1"),
        ("replay:somewhere", {}, "works only inside a run"),
        ("openai:gpt-5.1", {}, "OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_opened_is_one_clear_line(
    spec: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        open_model(spec, settings)
    assert "\n" not in str(caught.value)


def test_replay_gives_the_recorded_answers_by_question() -> None:
    warm = Sampling(temperature=0.7)
    calls = [
        ModelCall("main", "a", Completion(("1",), cost=0.5), warm),
        ModelCall("main", "a", Completion(("2",)), warm),
        ModelCall("main", [user("a")], Completion(("3",)), warm),
        ModelCall("main", "a", Choice(("x", "y"), (-2.0, -1.0))),
        ModelCall("main", "b", None, warm, "no answer"),
    ]
    model = open_model("replay:runs/a", recorded=lambda name: calls)
    assert model.name == "replay:runs/a"
    assert [_ask(model, "a", warm).text for _ in range(3)] == ["1", "2", "1"]
    assert asyncio.run(model.complete([user("a")], warm)).text == "3"
    assert asyncio.run(model.choose("a", ["x", "y"])).best == "y"
    free = _ask(model, "a", warm)
    assert (free.cached, free.cost) == (True, 0.0)


@pytest.mark.parametrize("prompt", ["b", "c"])
def test_replay_knows_nothing_else(prompt: str) -> None:
    calls = [ModelCall("main", "b", None, Sampling(), "no answer")]
    with pytest.raises(ModelError, match="made no call with this"):
        _ask(ReplayModel("a", calls=calls), prompt)


def test_replay_tells_samplings_apart() -> None:
    model = ReplayModel(
        "a", calls=[ModelCall("main", "b", Completion(("1",)), Sampling())]
    )
    with pytest.raises(ModelError, match="made no call with this"):
        _ask(model, "b", Sampling(seed=1))
