"""Models through Inspect, with its own mock provider; skipped where Inspect is not installed."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.core.errors import UsageError
from wayword.core.model import Sampling, user
from wayword.models.parts.opening import open_model

HELLO = [user("Which way?")]
INSTALLED = importlib.util.find_spec("inspect_ai") is not None


@pytest.mark.skipif(INSTALLED, reason="Inspect is installed")
def test_without_inspect_the_extra_is_named() -> None:
    with pytest.raises(UsageError, match=r"extra-inspect"):
        open_model("inspect:mockllm/model")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not INSTALLED, reason="needs the extra inspect")
def test_the_mock_provider_answers_picks_and_is_cut() -> None:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answering(*texts: str) -> Any:
        outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
        for output in outputs:  # else Inspect fetches a tokeniser to count
            output.usage = ModelUsage(input_tokens=9, output_tokens=4, total_tokens=13)
        made: Any = open_model("inspect:mockllm/model")
        made._model = get_model("mockllm/model", custom_outputs=outputs)
        return made

    result = asyncio.run(
        answering("go left; and on").complete(HELLO, Sampling(stop=(";",)))
    )
    assert (result.text, result.finish) == ("go left", ("stop",))
    assert result.usage.prompt > 0
    choice = asyncio.run(answering("**Left.**").choose(HELLO, ("left", "right")))
    assert (choice.best, choice.picked) == ("left", True)
    several = asyncio.run(answering("a", "b").complete(HELLO, Sampling(1.0, n=2)))
    assert several.texts == ("a", "b")


def test_an_unknown_provider_is_one_clear_line() -> None:
    with pytest.raises(UsageError) as caught:
        open_model("inspect:nobody/knows")
    assert "\n" not in str(caught.value)


def test_the_same_name_at_another_address_or_with_other_thinking_is_another_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = SimpleNamespace(get_model=lambda name, base_url: None)
    monkeypatch.setitem(sys.modules, "inspect_ai", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "inspect_ai.model", library)
    settings = [
        {},
        {"base_url": "http://a/v1"},
        {"base_url": "http://b/v1"},
        {"thinking": 0},
    ]
    models = [open_model("inspect:mockllm/model", each) for each in settings]
    assert {model.name for model in models} == {"inspect:mockllm/model"}
    assert len({model.identity for model in models}) == 4
