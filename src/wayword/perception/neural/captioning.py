"""Networks that write: captioners and answerers of questions about pictures.

Sources: Li et al. 2023, BLIP-2 (NavGPT's captioner); Dai et al. 2023, InstructBLIP (DiscussNav's
scene expert); any vision-language model with a chat template.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wayword.perception.chatting import CAPTION
from wayword.perception.neural.loading import Network
from wayword.perception.projection import Picture

LONGEST = 60
"""Tokens of an answer."""


class Blip2:
    """BLIP-2: one caption a picture, unprompted."""

    def __init__(self, weights: str) -> None:
        self._network = Network("blip2", weights, "Blip2ForConditionalGeneration")
        self.name = self._network.name

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """A caption a picture."""
        inputs = self._network.inputs(images=list(pictures), text=[""] * len(pictures))
        skip = _prompt_length(self._network, inputs)
        return self._network.written(inputs, LONGEST, skip)


class InstructBlip:
    """InstructBLIP: an answer to a question about each picture."""

    def __init__(self, weights: str) -> None:
        self._network = Network("instructblip", weights, "InstructBlipForConditionalGeneration")
        self.name = self._network.name

    async def answers(self, pictures: Sequence[Picture], questions: Sequence[str]) -> list[str]:
        """An answer a picture."""
        inputs = self._network.inputs(images=list(pictures), text=list(questions), padding=True)
        return self._network.written(inputs, LONGEST, _prompt_length(self._network, inputs))


class VisionLanguage:
    """Any vision-language chat model that transformers loads (LLaVA, Qwen-VL, SmolVLM …)."""

    def __init__(self, weights: str) -> None:
        self._network = Network("vlm", weights, "AutoModelForImageTextToText")
        self.name = self._network.name

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """A sentence a picture."""
        return await self.answers(pictures, [CAPTION] * len(pictures))

    async def answers(self, pictures: Sequence[Picture], questions: Sequence[str]) -> list[str]:
        """An answer a picture, one after another: prompts of chat models differ in length."""
        pairs = zip(pictures, questions, strict=True)
        return [self._answer(picture, question) for picture, question in pairs]

    def _answer(self, picture: Picture, question: str) -> str:
        network = self._network
        parts = [{"type": "image"}, {"type": "text", "text": question}]
        asked = network.processor.apply_chat_template(
            [{"role": "user", "content": parts}], add_generation_prompt=True
        )
        inputs = network.inputs(images=[picture], text=[asked])
        return network.written(inputs, LONGEST, inputs["input_ids"].shape[1])[0]


def _prompt_length(network: Network, inputs: Any) -> int:
    """Decoder-only language models repeat the prompt before they go on; encoder-decoders do not."""
    repeats = not getattr(network.model.config.text_config, "is_encoder_decoder", False)
    return int(inputs["input_ids"].shape[1]) if repeats else 0
