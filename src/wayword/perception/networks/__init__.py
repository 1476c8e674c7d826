"""Networks by name: ``KIND:WEIGHTS``, where weights are a folder or a name on the model hub.

detr:facebook/detr-resnet-50     vlm:/weights/qwen-vl     chat:openai:gpt-5-mini

eyes       captions, answers, depth, detection and grounding
matching   image-text scores, tags, landmark scores
colors     the pictures of the simulated robot, without weights

The libraries (transformers, OpenCV) are imported at first use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Literal

from wayword.core.errors import UsageError, suggest
from wayword.core.model import Message, Model, Sampling
from wayword.core.perceiver import Box, Perceiver, Picture
from wayword.core.visible import single_line
from wayword.perception.panorama import encode

CAPTION = "Describe what this picture of a place shows, in one sentence."
MAX_TOKENS = 120  # of a chat model's answer

Kind = Literal["captioner", "detector", "grounder", "tagger", "depth"]

EYES: Mapping[Kind, Mapping[str, str]] = {
    "captioner": {"blip2": "eyes:Blip2", "vlm": "eyes:VisionLanguage"},
    "detector": {"detr": "eyes:Detr", "ssd": "eyes:Ssd"},
    "grounder": {
        "groundingdino": "eyes:GroundingDino",
        "owlv2": "eyes:Owlv2",
        "colors": "colors:ColorNames",
    },
    "tagger": {"tags": "matching:ListTagger"},
    "depth": {"depth": "eyes:MonocularDepth"},
}
"""Kind -> name -> module and class in this folder. ``chat`` is a captioner as well."""
LEAST_SCORES: Mapping[str, float] = {"groundingdino": 0.25, "owlv2": 0.1}
"""Grounder -> the least score of a box, the default of transformers' post-processing: scores of
these families are low."""


def indoor_words(path: str = "") -> list[str]:
    """Return the object names in a file, one per line; by default those of objects in buildings.
    Raises ``UsageError`` if the file cannot be read."""
    # The file replaces the shipped list. Blank lines and repeats are dropped, the order
    # stays.
    shipped = files("wayword.perception.networks") / "indoor_words.txt"
    try:
        text = (Path(path) if path else shipped).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"tags: {path}: {error.strerror}") from None
    return list(
        dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())
    )


def open_eye(
    kind: Kind,
    name: str,
    models: Callable[[str], Model] | None = None,
) -> Perceiver:
    """Load a network by name. ``models`` opens the model of ``chat:MODEL``. Raises ``UsageError``
    for an unknown name, a missing package or unreadable weights."""
    family, _, weights = name.partition(":")
    # A chat model is no network of this folder, so it is added by hand.
    families = [*EYES[kind], *(["chat"] if kind == "captioner" else [])]
    if family not in families:
        raise UsageError(f"no {kind} is called {family!r}; {suggest(family, families)}")
    if family == "chat":
        if not weights or models is None:
            raise UsageError(f"{kind}: add a model, for example chat:openai:gpt-5-mini")
        return ChatEyes(models(weights))
    # Imported by name: a network's libraries take seconds, and most runs need none.
    module, _, attribute = EYES[kind][family].partition(":")
    cls = getattr(import_module(f"wayword.perception.networks.{module}"), attribute)
    opened: Perceiver = cls(weights)
    return opened


def open_detector(name: str, phrases: Sequence[str] = ()) -> Perceiver:
    """Load a detector of its training classes, or a grounder that detects the ``phrases``. Raises
    ``UsageError`` like :func:`open_eye`, and for a grounder without phrases."""
    if name.partition(":")[0] not in EYES["grounder"]:
        return open_eye("detector", name)
    if not phrases:
        raise UsageError(
            f"{name} needs phrases to detect: add --phrases 'chair,door,red carpet'"
        )
    return PhraseDetector(open_eye("grounder", name), tuple(phrases))


class PhraseDetector(Perceiver):
    """A detector that grounds the same phrases in every picture."""

    def __init__(self, grounder: Perceiver, phrases: tuple[str, ...]) -> None:
        self._grounder = grounder
        self._phrases = phrases
        self.name = f"{grounder.name} {'|'.join(phrases)}"

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """Return the boxes of each picture for the same phrases."""
        return await self._grounder.find(pictures, self._phrases)


class ChatEyes(Perceiver):
    """A captioner that asks a multimodal chat model, with one concurrent request per picture."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = f"chat:{model.name}"

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """Return the model's caption of each picture, in one line."""

        # One message per picture, so that each answer belongs to one.
        async def ask(picture: Picture) -> str:
            """Return the caption of one picture."""
            message = Message("user", CAPTION, (encode(picture),))
            answer = await self._model.complete(
                [message],
                Sampling(max_tokens=MAX_TOKENS),
            )
            # One line, as captions stand in lists.
            return single_line(answer.text)

        # All requests at once; the model's own limits apply.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(picture)) for picture in pictures]
        return [task.result() for task in tasks]
