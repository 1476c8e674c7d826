"""``hf:`` through the real classes of transformers, on a tiny language model of random weights.

Runs in an environment of its own, with torch: ``make test-vision``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import transformers as hub
from tiny import TEXT, letters

from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Image, Message, Sampling, system, user
from wayword.models.hf import HfModel
from wayword.models.parts.opening import open_model
from wayword.testing import check_model

COLOURS = ("red", "green", "blue")
CHAT = [system("Be brief."), user("Name a colour.")]
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Llama of two layers that reads letters, stored as the hub stores one."""
    folder = tmp_path_factory.mktemp("llama")
    words = letters(folder)
    words.chat_template = TEMPLATE
    torch.manual_seed(0)
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    config = hub.LlamaConfig(
        **TEXT, **ends, vocab_size=len(words), max_position_embeddings=512
    )
    hub.LlamaForCausalLM(config).eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def model(weights: str) -> Iterator[HfModel]:
    opened = open_model(f"hf:{weights}")
    assert isinstance(opened, HfModel)
    yield opened
    asyncio.run(opened.aclose())


def test_the_contract_holds(model: HfModel) -> None:
    asyncio.run(check_model(model))


def test_the_window_is_the_weights_own_unless_it_is_set(
    model: HfModel, weights: str
) -> None:
    assert model.window == 512
    assert HfModel(weights, HfModel.Settings(context=64, thinking=24)).window == 40


def test_questions_queried_at_once_share_a_batch_and_keep_their_answers(
    model: HfModel,
) -> None:
    prompts = [[user("Name a colour." * n)] for n in (1, 3, 2, 5)]
    sampling = Sampling(max_tokens=6)
    sizes: list[int] = []
    written = model._generate_batch

    def counted(batch: list) -> list:  # type: ignore[type-arg]
        sizes.append(len(batch))
        return written(batch)

    async def all_at_once() -> list[str]:
        return [
            a.text
            for a in await asyncio.gather(
                *(model.complete(p, sampling) for p in prompts)
            )
        ]

    async def one_by_one() -> list[str]:
        return [(await model.complete(p, sampling)).text for p in prompts]

    alone = asyncio.run(one_by_one())
    model._generate_batch = counted  # type: ignore[method-assign]
    assert asyncio.run(all_at_once()) == alone
    assert max(sizes) > 1


def test_a_seed_repeats_its_samples(model: HfModel) -> None:
    drawn = Sampling(temperature=1.0, n=3, seed=7, max_tokens=8)
    one, other = (asyncio.run(model.complete(CHAT, drawn)).texts for _ in range(2))
    assert one == other
    assert len(set(one)) > 1


def test_rankings_are_those_of_the_full_text(model: HfModel) -> None:
    ranked = asyncio.run(model.choose("The sky is", COLOURS))
    ids = model._encoded("The sky is", 1)
    for option, value in zip(ranked.options, ranked.logprobs, strict=True):
        full = model._encoded(f"The sky is {option}", 0)
        logits = model._network(torch.tensor([full])).logits[0].detach()
        steps = torch.log_softmax(logits.float(), -1)
        exact = sum(float(steps[at - 1, full[at]]) for at in range(len(ids), len(full)))
        assert math.isclose(value, exact, abs_tol=1e-3)


def test_a_prompt_that_goes_on_reads_its_new_tokens_only(model: HfModel) -> None:
    first = asyncio.run(model.choose("The sky is", COLOURS))
    longer = "The sky is red. The sea is"
    second = asyncio.run(model.choose(longer, COLOURS))
    assert first.usage.reused == 0
    assert second.usage.reused == len(model._encoded("The sky is", 1))
    fresh = asyncio.run(HfModel(model._weights).choose(longer, COLOURS))
    assert second.logprobs == pytest.approx(fresh.logprobs, abs=1e-3)


def test_log_probabilities_come_with_their_alternatives(model: HfModel) -> None:
    answer = asyncio.run(model.complete("The sky", Sampling(max_tokens=4, logprobs=3)))
    assert len(answer.logprobs) == 4
    assert all(len(token.alternatives) == 3 for token in answer.logprobs)
    assert all(
        token.logprob == max(token.alternatives.values()) for token in answer.logprobs
    )
    assert answer.finish == ("length",)


def test_what_a_model_thinks_is_apart_from_its_answer(
    model: HfModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        model._tokenizer, "decode", lambda *a, **k: "<think>Hm.</think>Go left.END on"
    )
    answer = asyncio.run(model.complete(CHAT, Sampling(max_tokens=4, stop=("END",))))
    assert (answer.text, answer.reasoning, answer.finish) == (
        "Go left.",
        ("Hm.",),
        ("stop",),
    )
    assert answer.usage.reasoning > 0


def test_what_it_cannot_do_is_stated_in_a_line(model: HfModel, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="hf: models cannot see pictures"):
        asyncio.run(model.complete([Message("user", "?", (Image(b""),))], Sampling()))
    with pytest.raises(ModelError, match="513 tokens long and the context holds 512"):
        asyncio.run(model.complete("x" * 513, Sampling()))
    with pytest.raises(UsageError, match="the weights cannot be read"):
        asyncio.run(HfModel(str(tmp_path)).complete("x", Sampling()))
