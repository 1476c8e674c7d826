"""Eyes by name: ``KIND:WEIGHTS``, where weights are a folder or a name on the model hub.

detr:facebook/detr-resnet-50     vlm:/weights/qwen-vl     chat:openai:gpt-5-mini
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from wayword.core.errors import UsageError, suggest
from wayword.core.model import Model
from wayword.perception.chatting import ChatEyes
from wayword.perception.eyes import Box, Detector, Grounder
from wayword.perception.projection import Picture

Kind = Literal["captioner", "questioner", "detector", "grounder", "tagger", "matcher", "depth"]

EYES: Mapping[Kind, Mapping[str, str]] = {
    "captioner": {
        "blip2": "captioning:Blip2",
        "vlm": "captioning:VisionLanguage",
    },
    "questioner": {
        "instructblip": "captioning:InstructBlip",
        "vlm": "captioning:VisionLanguage",
    },
    "detector": {"detr": "detection:Detr", "ssd": "opencv:Ssd"},
    "grounder": {"groundingdino": "grounding:GroundingDino", "owlv2": "grounding:Owlv2"},
    "tagger": {"tags": "matching:ListTagger"},
    "matcher": {"clip": "matching:Clip"},
    "depth": {"depth": "depth:MonocularDepth"},
}
"""Kind of eye -> name -> module and class in ``perception.neural``; ``chat`` is there for words."""
SPOKEN: tuple[Kind, ...] = ("captioner", "questioner")


def open_eye(kind: Kind, name: str, models: Callable[[str], Model] | None = None) -> Any:
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
    cls = getattr(import_module(f"wayword.perception.neural.{module}"), attribute)
    return cls(weights)


def open_detector(name: str, phrases: Sequence[str] = ()) -> Detector:
    """A detector of the kinds of thing it was trained on, or a grounder of the ``phrases``.

    Raises ``UsageError``, also for a grounder without phrases.
    """
    if name.partition(":")[0] not in EYES["grounder"]:
        found: Detector = open_eye("detector", name)
        return found
    if not phrases:
        raise UsageError(f"{name} finds what it is told: add --phrases 'chair,door,red carpet'")
    return PhraseDetector(open_eye("grounder", name), tuple(phrases))


class PhraseDetector:
    """A grounder that always looks for the same phrases, as a detector."""

    def __init__(self, grounder: Grounder, phrases: tuple[str, ...]) -> None:
        self._grounder, self._phrases = grounder, phrases
        self.name = f"{grounder.name} {'|'.join(phrases)}"

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """What of the phrases each picture shows, surest first."""
        return await self._grounder.find(pictures, self._phrases)
