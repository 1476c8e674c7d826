"""Describing a place: captions of its views merged to a sentence a direction, and one for it all.

    wayword perceive pictures --captioner hf-caption:FOLDER --model local:smollm2 --out seen

The views of one direction lie above each other (up, level, down); a language model merges what they
say. Without a model the captions are joined as they are, and the place has no summary.

Source: NavGPT (Zhou et al. 2024), section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wayword.agents.prompting import Prompts
from wayword.agents.together import everyone
from wayword.core.model import Model, Sampling, user

LONGEST = 600
"""Characters of a sentence that are kept."""


class Describer:
    """Merges captions and sums places up, by a model where there is one."""

    def __init__(self, model: Model | None, prompts: str = "") -> None:
        self._model = model
        self._prompts = Prompts("describing", prompts)

    @property
    def name(self) -> str:
        return self._model.name if self._model else "captions joined"

    async def directions(
        self, captions: Sequence[Sequence[str]], things: Sequence[Sequence[str]]
    ) -> list[str]:
        """A sentence for each direction, all asked at once; ``captions`` from the top down."""
        pairs = zip(captions, things, strict=True)
        return await everyone([self._direction(said, seen) for said, seen in pairs])

    async def place(self, sentences: Mapping[str, str]) -> str:
        """What the place is, completing ``The scene from the viewpoint is a``; empty for none."""
        if self._model is None:
            return ""
        listed = "\n".join(f"{name}: {text}" for name, text in sentences.items() if text)
        return await self._written("place", listed) if listed else ""

    async def _direction(self, captions: Sequence[str], things: Sequence[str]) -> str:
        said = list(dict.fromkeys(" ".join(text.split()) for text in captions if text.strip()))
        if not said and things:
            said = [f"There is {', '.join(things)}."]
        if self._model is None or len(said) < 2:
            return " ".join(said)
        return await self._written("direction", "\n".join(said)) or " ".join(said)

    async def _written(self, prompt: str, captions: str) -> str:
        if self._model is None:
            return ""
        asked = [user(self._prompts.fill(prompt, captions=captions))]
        sampling = Sampling(max_tokens=120, stop=("\n\n",))
        text = (await self._model.complete(asked, sampling)).text
        return " ".join(text.split())[:LONGEST]
