"""What a reasoning model thinks aloud, told apart from what it answers."""

from __future__ import annotations

import re

_TAGS = "think|thinking"
_OPEN = re.compile(rf"\s*<({_TAGS})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</({_TAGS})>\s*", re.IGNORECASE)


def thought_apart(text: str) -> tuple[str, str]:
    """The answer, and the reasoning before it.

    >>> thought_apart("<think>The lamp is left.</think>Go left.")
    ('Go left.', 'The lamp is left.')

    A thought that was cut off is all thought and no answer. Chat templates may open the thought in
    the prompt, so that a closing tag alone ends it.
    """
    opened = _OPEN.match(text)
    start = opened.end() if opened else 0
    closed = _CLOSE.search(text, start)
    if closed and (opened or not _OPEN.search(text, 0, closed.start())):
        return text[closed.end() :], text[start : closed.start()].strip()
    return ("", text[start:].strip()) if opened else (text, "")
