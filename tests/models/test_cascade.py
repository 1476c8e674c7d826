"""A cascade: when the large model is asked, what an answer costs, and who answered."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wayword.core import registry
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import (
    Choice,
    Completion,
    Model,
    Prompt,
    Sampling,
    TokenLogprob,
    Usage,
)
from wayword.datasets.houses import Houses
from wayword.models.cascade import Cascade, CascadeSettings, _joined
from wayword.models.parts.opening import Options, wrap
from wayword.models.scripted import ScriptedModel
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder
from wayword.runs.reports import rows_of
from wayword.runs.sweep import split
from wayword.testing.contracts import check_model

ACTION = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, "action": {"enum": ["go", "stop"]}},
    "required": ["thought", "action"],
}
JSON = Sampling(json_schema=ACTION)


def ask_cascade(
    answer: str | Completion | list[str], sampling: Sampling = JSON, **rules: Any
) -> tuple[Completion, int]:
    """What a cascade answers whose small model says this, and how often the large one is asked."""
    cascade = Cascade("scripted:first,scripted:first", CascadeSettings(**rules))
    large = ScriptedModel(
        answers=lambda prompt, _: large_calls.append(prompt) or '{"large": 1}'
    )
    large_calls: list[Prompt] = []
    answers = iter(answer) if isinstance(answer, list) else None
    cascade.small = ScriptedModel(
        answers=lambda *_: next(answers) if answers else answer
    )
    cascade.large = large
    return asyncio.run(cascade.complete("x", sampling)), len(large_calls)


def sure(text: str, pieces: list[tuple[str, float, float]]) -> Completion:
    """An answer of these tokens, each with its probability and that of the next best."""
    tokens = tuple(
        TokenLogprob(token, math.log(p), {token: math.log(p), "?": math.log(q)})
        for token, p, q in pieces
    )
    assert "".join(token.token for token in tokens) == text
    return Completion((text,), ("stop",), Usage(10, 5), tokens, cost=0.25)


@pytest.mark.parametrize(
    ("text", "large"),
    [
        ('{"thought": "on", "action": "go"}', 0),
        ('Well.\n```json\n{"thought": "on", "action": "go"}\n```', 0),
        ('{"thought": "on", "action": "fly"}', 1),
        ('{"action": "go"}', 1),
        ('{"thought": "on", "action": ["go"]}', 1),
        ("I go.", 1),
        ("", 1),
        ("}{", 1),
    ],
)
def test_an_answer_that_is_not_of_its_form_goes_to_the_large_model(
    text: str, large: int
) -> None:
    answer, calls = ask_cascade(text)
    assert (calls, answer.answered_by) == (large, "large" if large else "small")


def test_options_and_cut_answers() -> None:
    bound = Sampling(choices=("left", "right"))
    assert ask_cascade("left", bound)[1] == 0
    assert ask_cascade("left or right", bound)[1] == 1
    assert ask_cascade("words", Sampling())[1] == 0
    assert ask_cascade(Completion(("words",), ("length",)), Sampling())[1] == 1


@pytest.mark.parametrize(("lead", "large"), [(0.2, 1), (0.4, 0)])
def test_the_margin_is_that_of_the_decision_alone(lead: float, large: int) -> None:
    text = '{"thought": "a", "action": "go"}'
    unsure_thought = [
        ('{"thought": "', 1.0, 1e-9),
        ("a", 0.3, 0.29),
        ('", "action": "', 1.0, 1e-9),
    ]
    _, calls = ask_cascade(
        sure(text, [*unsure_thought, ("go", 0.5, 0.5 - lead), ('"}', 1.0, 1e-9)])
    )
    assert calls == large
    lines = [
        ("Thought: a\n", 0.5, 0.5),
        ("Action: ", 1.0, 1e-9),
        ("go", 0.5, 0.5 - lead),
    ]
    assert ask_cascade(sure("Thought: a\nAction: go", lines), Sampling())[1] == large


def test_a_small_model_without_probabilities_is_named() -> None:
    cascade = Cascade("scripted:first,scripted:echo")
    asyncio.run(cascade.complete("x", JSON))
    assert "scripted:first returns no log-probabilities" in cascade.warnings[0]
    quiet = Cascade("scripted:first,scripted:echo", CascadeSettings(margin=0.0))
    asyncio.run(quiet.complete("x", JSON))
    assert not quiet.warnings


@pytest.mark.parametrize(
    ("actions", "agreement", "large"),
    [
        ("go go go", 1.0, 0),
        ("go stop go", 1.0, 1),
        ("go stop go", 0.6, 0),
        ("fly fly go", 0.6, 1),
    ],
)
def test_samples_that_disagree_go_to_the_large_model(
    actions: str, agreement: float, large: int
) -> None:
    messages: Any = [
        json.dumps({"thought": f"{n}", "action": a})
        for n, a in enumerate(actions.split())
    ]
    answer, calls = ask_cascade(messages, samples=3, agreement=agreement)
    assert calls == large
    if not large:
        assert answer.texts == (messages[0],), (
            "one answer, of the most frequent decision"
        )


@pytest.mark.parametrize("cut", [None, 0, 1, 2])
def test_a_sample_that_was_cut_off_sends_the_question_to_the_large_model(
    cut: int | None,
) -> None:
    """Whichever of the samples it is."""
    finish = ["stop"] * 3
    if cut is not None:
        finish[cut] = "length"
    samples = Completion(('{"thought": "on", "action": "go"}',) * 3, tuple(finish))
    _, calls = ask_cascade(samples, samples=3)
    assert calls == (cut is not None)


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("large", [True, False])
def test_an_answer_of_both_models_is_cached_if_both_parts_are(
    small: bool, large: bool
) -> None:
    first = Completion(("a",), (), Usage(10, 5), cost=0.25, seconds=2.0, cached=small)
    second = Completion(("b",), (), Usage(7, 1), cost=0.5, seconds=1.0, cached=large)
    both = _joined(first, second)
    assert both.cached == (small and large)
    assert (both.texts, both.answered_by) == (("b",), "large")  # type: ignore[attr-defined]
    assert (both.usage, both.cost, both.seconds) == (Usage(17, 6), 0.75, 3.0)
    alone = _joined(None, second)
    assert (alone.cached, alone.usage) == (large, Usage(7, 1))


def test_lessons_and_warnings_are_those_of_both_models() -> None:
    class Adapted(ScriptedModel):
        @property
        def lessons(self) -> list[str]:
            return [f"{self.name} refuses a seed"]

        @property
        def warnings(self) -> list[str]:
            return [f"{self.name} is old"]

    cascade = Cascade("scripted:first,scripted:first")
    cascade.small = Adapted("first")
    cascade.large = Adapted("echo")
    names = (cascade.small.name, cascade.large.name)
    assert len({*names}) == 2
    assert cascade.lessons == tuple(f"{name} refuses a seed" for name in names)
    assert cascade.warnings == tuple(f"{name} is old" for name in names)


def ranking(first: float, second: float, **more: Any) -> Choice:
    return Choice(("a", "b"), (math.log(first), math.log(second)), Usage(7, 1), **more)


@pytest.mark.parametrize(
    ("answer", "large"),
    [
        (ranking(0.6, 0.4), 1),
        (ranking(0.06, 0.02), 0),
        (ranking(0.5, 0.5, picked=True), 0),
        (ranking(0.9, 0.1, picked=True, other_text="c"), 1),
    ],
)
def test_rankings(answer: Choice, large: int) -> None:
    class Ranker(ScriptedModel):
        async def choose(self, prompt: Prompt, options: Any) -> Choice:
            return answer

    cascade = Cascade("scripted:first,scripted:first")
    cascade.small = Ranker("first")
    cascade.large = ScriptedModel(answers=lambda *_: "b")
    ranked = asyncio.run(cascade.choose("x", ["a", "b"]))
    assert ranked.answered_by == ("large" if large else "small")
    assert ranked.best == ("b" if large else "a")


class Failing(ScriptedModel):
    fatal = False

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise ModelError("too long", fatal=self.fatal)


def test_a_failure_of_the_small_model_is_made_up_for_but_not_a_fatal_one() -> None:
    cascade = Cascade("scripted:first,scripted:first")
    cascade.small = Failing("first")
    assert asyncio.run(cascade.complete("x", JSON)).answered_by == "large"
    Failing.fatal = True
    with pytest.raises(ModelError, match="too long"):
        asyncio.run(cascade.complete("x", JSON))


def test_names() -> None:
    with pytest.raises(UsageError, match="name two models"):
        Cascade("scripted:first")
    with pytest.raises(UsageError, match="not of the form"):
        Cascade("scripted:first,gpt")
    assert split("openai:c,cascade:openai:a,openai:b,d") == [
        "openai:c", "cascade:openai:a,openai:b", "d",
    ]  # fmt: skip
    asyncio.run(check_model(Cascade("scripted:first,scripted:first")))


def test_each_model_has_its_own_price_and_an_answer_costs_both(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "scripted:echo: {input: 100000, output: 0}\nscripted:first: {input: 300000, output: 0}\n"
    )
    model = wrap(
        Cascade("scripted:echo,scripted:first"), Options(prices=prices, retries=0)
    )
    small = asyncio.run(model.complete("x", Sampling()))
    assert (small.answered_by, small.cost) == ("small", 0.1)
    both = asyncio.run(model.complete("x", JSON))
    assert (both.answered_by, round(both.cost or 0, 6), both.usage.prompt) == (
        "large",
        0.4,
        2,
    )
    assert isinstance(model, Cascade)
    model.small = wrap(ScriptedModel(answers=["no json"]), Options(retries=0))
    model.large = wrap(Unpriced("first"), Options(retries=0))
    assert asyncio.run(model.complete("x", JSON)).cost is None, (
        "what is not known is not 0"
    )


class Unpriced(ScriptedModel):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = "elsewhere:model"


# In runs.


def right(text: str, tasks: dict[str, Any], dataset: Houses) -> str:
    """The next action of the shortest way, by the place that a prompt names."""
    task = tasks[re.search(r"Task: (.+)", text)[1]]  # type: ignore[index]
    here = re.findall(r'You are at viewpoint "(\w+)"', text)[-1]
    goal = task.reference.goal
    if here == goal:
        return "stop"
    return f"goto[{dataset.graph(task.episode.scene).shortest_path(here, goal)[1]}]"


class Walker(Model):
    """A player of walks; ``accuracy`` of its answers are right, others are another legal action.

    It is unsure of most wrong answers and of some right ones."""

    accuracy = 1.0
    calls = 0

    def __init__(self, name: str, settings: object = None) -> None:
        self.name = f"{type(self).__name__}:{name}"
        self.dataset = Houses(settings=Houses.Settings())
        self.tasks = {task.episode.instruction: task for task in self.dataset.tasks}

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        type(self).calls += 1
        text = "\n".join(message.content for message in prompt)  # type: ignore[union-attr]
        draw = random.Random(zlib.crc32(text.encode()))
        action = right(text, self.tasks, self.dataset)
        margin = draw.uniform(0.3, 1.0)
        if draw.random() > self.accuracy:
            legal = sampling.json_schema["properties"]["action"]["enum"]  # type: ignore[index]
            action = draw.choice([each for each in legal if each != action])
            margin = draw.uniform(0.0, 0.45)
        p = (1.0 + margin) / 2
        pieces = [
            ('{"action": "', 1.0, 1e-9),
            (action, p, max(1e-9, 1.0 - p)),
            ('"}', 1.0, 1e-9),
        ]
        return sure("".join(token for token, _, _ in pieces), pieces)

    async def choose(self, prompt: Prompt, options: Any) -> Choice:
        raise AssertionError("no choice is asked for here")


class Small(Walker):
    accuracy = 0.7


class Large(Walker):
    pass


@pytest.fixture
def players() -> Iterator[None]:
    Small.calls = Large.calls = 0
    for cls in (Small, Large):
        registry.name_of("model", cls)
    yield
    for cls in (Small, Large):
        registry.CLASSES.pop(("model", cls.__name__))


def walked(model: str, out: Path, **rules: Any) -> tuple[Any, int]:
    """The table's row of 36 walks, and how often the large player was asked."""
    Large.calls = 0
    result = run(
        Plan("act", "houses", model, {"model": rules}, limit=36, max_steps=30, out=out)
    )
    assert result.outcome.complete
    (row,) = rows_of([result.path])
    return row, Large.calls


def test_a_cascade_succeeds_as_its_large_model_at_less_than_half_of_its_calls(
    players: None, tmp_path: Path
) -> None:
    large, large_calls = walked("Large:x", tmp_path / "large")
    small, _ = walked("Small:x", tmp_path / "small")
    both, calls = walked("cascade:Small:x,Large:x", tmp_path / "both", margin=0.4)
    assert large.values["sr"].mean == 1.0
    assert small.values["sr"].mean < 0.7
    assert both.values["sr"].mean >= 0.95
    assert calls < large_calls / 2
    records = RunFolder.read(tmp_path / "both").records()
    answers = [
        c.answer.answered_by for r in records for c in r.trajectory.calls() if c.answer
    ]
    assert answers.count("large") == calls
    assert {*answers} == {"small", "large"}
    assert 0.2 < both.values["escalated"].mean < 0.5
    assert "escalated" not in large.values


def test_a_rejected_answer_sends_the_next_question_to_the_large_model(
    tmp_path: Path,
) -> None:
    script = tmp_path / "small.jsonl"
    script.write_text("\n".join(map(json.dumps, ["Action: fly", "Action: stop"])))
    for rejected, by in ((True, ["small", "large"]), (False, ["small", "small"])):
        out = tmp_path / f"{rejected}"
        settings = {"decoding": "free", "model": {"rejected": rejected, "margin": 0}}
        name = f"cascade:scripted:{script},scripted:first"
        run(Plan("act", "houses", name, settings, limit=1, max_steps=2, out=out))
        (record,) = RunFolder.read(out).records()
        calls = [
            call.answer.answered_by for call in record.trajectory.calls() if call.answer
        ]
        assert calls == by
