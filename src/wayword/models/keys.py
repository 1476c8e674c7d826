"""One question to a model as a short key: equal questions, equal keys, on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

from wayword.core.episode import Json
from wayword.core.model import Message, Prompt, Sampling


def prompt_value(prompt: Prompt) -> Json:
    """The prompt as JSON values; pictures by their checksum."""
    if isinstance(prompt, str):
        return prompt
    return [_message_value(message) for message in prompt]


def completion_key(prompt: Prompt, sampling: Sampling) -> str:
    """Key of a ``complete`` call, all of its sampling included."""
    return digest(["complete", prompt_value(prompt), asdict(sampling)])


def choice_key(prompt: Prompt, options: Sequence[str]) -> str:
    """Key of a ``choose`` call."""
    return digest(["choose", prompt_value(prompt), list(options)])


def digest(value: Json) -> str:
    """SHA-256 of the value's canonical JSON text."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _message_value(message: Message) -> Json:
    pictures = [
        [image.media_type, hashlib.sha256(image.data).hexdigest()] for image in message.images
    ]
    return [message.role, message.content, pictures]
