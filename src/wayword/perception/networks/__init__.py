"""Networks of the transformers library and OpenCV; imported where they are used.

boxes      captions, answers, depth, detection and grounding
matching   image-text scores, tags, landmark scores
"""

from importlib.resources import files
from pathlib import Path

from wayword.core.errors import UsageError

CAPTION = "Describe what this picture of a place shows, in one sentence."


def indoor_words(path: str = "") -> list[str]:
    """Names of objects, one a line of the file; without one, of what buildings hold.

    Raises ``UsageError`` for a file that cannot be read.
    """
    shipped = files("wayword.perception.networks") / "indoor_words.txt"
    try:
        text = (Path(path) if path else shipped).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"tags: {path}: {error.strerror}") from None
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
