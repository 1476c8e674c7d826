"""Eyes by name: ``KIND:WEIGHTS``, where weights are a folder or a name on the model hub.

detr:facebook/detr-resnet-50     vlm:/weights/qwen-vl     chat:openai:gpt-5-mini
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from wayword.core.errors import UsageError, suggest
from wayword.core.files import cache_folder
from wayword.core.model import Message, Model, Sampling
from wayword.core.perceiver import Box, Perceiver, Picture
from wayword.perception.landmarks import FeatureArchive, RecordedScores
from wayword.perception.networks import CAPTION
from wayword.perception.panorama import encode

# Eyes of a chat model that takes pictures, behind any server of OpenAI's interface or another.
#
# wayword perceive pictures --captioner chat:openai:gpt-5-mini --out seen

LONGEST = 120
"""Tokens of an answer."""


class ChatEyes(Perceiver):
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


# Landmark scorers by name: one a process for each set of files.


@lru_cache(maxsize=4)
def recorded_scorer(scores: str) -> Perceiver:
    """Scores read from a file, or from a folder of published features (see ``landmarks``).

    Raises ``UsageError``, ``DataError``.
    """
    if not scores:
        raise UsageError("scores=recorded needs the file: set scores_file=FILE.jsonl")
    if Path(scores).is_dir():
        return FeatureArchive(Path(scores))
    return RecordedScores(Path(scores), cache_folder() / "landmarks")


@lru_cache(maxsize=1)
def neural_scorer(model: str, images: str, training: str) -> Perceiver:
    """A CLIP or SigLIP model on panorama pictures (see ``networks.matching``).

    Raises ``UsageError`` where a folder or a package is missing.
    """
    from wayword.perception.networks import matching

    if not images or not training:
        raise UsageError(
            "scores=neural needs panorama pictures and the graph's nodes.txt, whose areas say what "
            "the scores are standardised on: set images=FOLDER and nodes=FILE"
        )
    pictures = matching.PanoramaPictures(Path(images), Path(training))
    encoder = matching.TransformersEncoder(model)
    return matching.ClipScores(encoder, pictures, cache_folder() / "landmarks")


Kind = Literal["captioner", "questioner", "detector", "grounder", "tagger", "matcher", "depth"]

EYES: Mapping[Kind, Mapping[str, str]] = {
    "captioner": {"blip2": "eyes:Blip2", "vlm": "eyes:VisionLanguage"},
    "questioner": {"instructblip": "eyes:InstructBlip", "vlm": "eyes:VisionLanguage"},
    "detector": {"detr": "eyes:Detr", "ssd": "eyes:Ssd"},
    "grounder": {"groundingdino": "eyes:GroundingDino", "owlv2": "eyes:Owlv2"},
    "tagger": {"tags": "matching:ListTagger"},
    "matcher": {"clip": "matching:Clip"},
    "depth": {"depth": "eyes:MonocularDepth"},
}
"""Kind of eye -> name -> module and class in ``perception.networks``; ``chat`` is for words."""
SPOKEN: tuple[Kind, ...] = ("captioner", "questioner")


def open_eye(kind: Kind, name: str, models: Callable[[str], Model] | None = None) -> Perceiver:
    """The eye of that name, loaded. ``models`` opens the model of ``chat:MODEL``.

    Raises ``UsageError`` for an unknown name, a missing package, or weights that do not load.
    """
    family, _, weights = name.partition(":")
    known = [*EYES[kind], *(["chat"] if kind in SPOKEN else [])]
    if family not in known:
        raise UsageError(f"no {kind} {family!r}; {suggest(family, known)}")
    if family == "chat":
        if not weights or models is None:
            raise UsageError(f"{kind}: name the model, for example chat:openai:gpt-5-mini")
        return ChatEyes(models(weights))
    module, _, attribute = EYES[kind][family].partition(":")
    cls = getattr(import_module(f"wayword.perception.networks.{module}"), attribute)
    opened: Perceiver = cls(weights)
    return opened


def open_detector(name: str, phrases: Sequence[str] = ()) -> Perceiver:
    """A detector of the kinds of thing it was trained on, or a grounder of the ``phrases``.

    Raises ``UsageError``, also for a grounder without phrases.
    """
    if name.partition(":")[0] not in EYES["grounder"]:
        return open_eye("detector", name)
    if not phrases:
        raise UsageError(f"{name} finds what it is told: add --phrases 'chair,door,red carpet'")
    return PhraseDetector(open_eye("grounder", name), tuple(phrases))


class PhraseDetector(Perceiver):
    """A grounder that always looks for the same phrases, as a detector."""

    def __init__(self, grounder: Perceiver, phrases: tuple[str, ...]) -> None:
        self._grounder, self._phrases = grounder, phrases
        self.name = f"{grounder.name} {'|'.join(phrases)}"

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """What of the phrases each picture shows, surest first."""
        return await self._grounder.find(pictures, self._phrases)
