"""Answers that a gateway gives up on are recorded near their bill."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest

from helpers.billing import GIVEN_UP, PRICE, billing
from wayword.core.errors import ModelError
from wayword.core.model import Sampling, user
from wayword.models.middleware.budget import Account
from wayword.models.parts.opening import Options, open_model, wrap


@pytest.mark.parametrize("samples", [1, 5])
def test_the_record_is_near_the_bill(samples: int, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(f"openai:m: {json.dumps(PRICE)}\n", encoding="utf-8")
    account = Account()
    prompt = [user("There are two doors. Which one do you take? " * 20)]
    sampling = Sampling(temperature=1.0, max_tokens=800, n=samples)

    async def go(address: str) -> None:
        settings = {"base_url": address, "timeout": 2.0}
        model = wrap(
            open_model("openai:m", settings), Options(retries=0, prices=prices), account
        )
        left = iter(range(300))

        async def work() -> None:
            for _ in left:
                with suppress(ModelError):
                    await model.complete(prompt, sampling)

        await asyncio.gather(*(work() for _ in range(24)))
        await model.aclose()

    patience = 0.16 if samples == 1 else 0.32
    with billing(samples, share=0.0, patience=patience) as server:
        asyncio.run(go(server.address))
        given_up = sum(server.faults[fault] for fault in {*GIVEN_UP})
        assert given_up >= 8
        assert 0.98 <= account.dollars / server.dollars <= 1.3
