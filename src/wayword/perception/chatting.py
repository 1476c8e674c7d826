"""Eyes of a chat model that takes pictures, behind any server of OpenAI's interface or another.

wayword perceive pictures --captioner chat:openai:gpt-5-mini --out seen
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wayword.core.model import Message, Model, Sampling
from wayword.perception.pictures import encode
from wayword.perception.projection import Picture

CAPTION = "Describe what this picture of a place shows, in one sentence."
LONGEST = 120
"""Tokens of an answer."""


class ChatEyes:
    """A captioner and questioner: each picture is one message, all of a batch asked at once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = f"chat:{model.name}"

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """A sentence a picture. Raises ``ModelError``."""
        return await self.answers(pictures, [CAPTION] * len(pictures))

    async def answers(self, pictures: Sequence[Picture], questions: Sequence[str]) -> list[str]:
        """An answer a picture. Raises ``ModelError``."""
        pairs = zip(pictures, questions, strict=True)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._ask(*pair)) for pair in pairs]
        return [task.result() for task in asked]

    async def _ask(self, picture: Picture, question: str) -> str:
        message = Message("user", question, (encode(picture),))
        answer = await self._model.complete([message], Sampling(max_tokens=LONGEST))
        return " ".join(answer.text.split())
