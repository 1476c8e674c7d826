"""The promises of a model backend."""

from __future__ import annotations

import asyncio
import math

from wayword.core.model import Model, Sampling, user

COLOURS = ("red", "green", "blue")


async def check_model(model: Model) -> None:
    """Samples are counted, constraints hold, rankings are whole, and calls may overlap."""
    question = [user("Name a colour of the rainbow.")]
    one = await model.complete(question, Sampling(max_tokens=16))
    assert model.name, "a model has a name for tables and run folders"
    assert len(one.texts) == 1, "one sample unless more are asked for"
    assert one.usage.prompt >= one.usage.reused >= 0, "reused tokens are part of the prompt's"
    several = await model.complete(question, Sampling(max_tokens=8, n=3, temperature=1.0, seed=1))
    assert len(several.texts) == 3, "n samples where n are asked for"
    bound = await model.complete(question, Sampling(max_tokens=16, choices=COLOURS))
    assert bound.text in COLOURS, f"an answer out of a closed list is one of it: {bound.text!r}"
    await _ranks(model)
    both = [model.complete(question, Sampling(max_tokens=8)) for _ in range(4)]
    assert len(await asyncio.gather(*both)) == 4, "calls may overlap"


async def _ranks(model: Model) -> None:
    ranked = await model.choose("The sky on a clear day is", (" blue", " green", " made of cheese"))
    assert ranked.options == (" blue", " green", " made of cheese"), "options keep their order"
    assert len(ranked.logprobs) == 3, "every option has its log-probability"
    assert all(p <= 1e-6 and not math.isnan(p) for p in ranked.logprobs), "at most zero"
    assert ranked.best in ranked.options, "the best option is one of them"
