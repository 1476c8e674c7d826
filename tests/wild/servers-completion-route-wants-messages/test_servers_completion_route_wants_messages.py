"""A route for raw text that wants messages."""

from __future__ import annotations

from typing import Any

from helpers.loopback import chat, serving
from helpers.served_runs import good  # noqa: F401 - the legal answers of other cases


def test_raw_text_is_sent_as_a_message() -> None:
    import asyncio

    from wayword.core.model import Sampling
    from wayword.models.openai import OpenAIModel

    def answer(route: str, body: dict[str, Any], _: object) -> tuple[int, Any]:
        if "messages" not in body:
            row = {
                "type": "missing",
                "loc": ["body", "messages"],
                "msg": "Field required",
            }
            return 422, {"detail": [{**row, "input": body}]}
        return 200, chat("left")

    async def go(address: str) -> str:
        model = OpenAIModel("m", OpenAIModel.Settings(address))
        texts = [(await model.complete("1.", Sampling())).text for _ in range(2)]
        await model.aclose()
        return " ".join(texts)

    with serving(answer) as server:
        assert asyncio.run(go(server.address)) == "left left"
    assert server.refused == 1
