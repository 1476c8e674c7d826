"""File names for episodes, whose ids may hold anything.

>>> file_name("5593_0")
'5593_0.html'
>>> file_name("../../etc/passwd")
'etc-passwd-3754d6cb3a38.html'
"""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
_HASHED = re.compile(r".*-[0-9a-f]{12}")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)")


def file_name(episode_id: str) -> str:
    """A name that is safe on every file system, one for each id.

    Lower-case ids of letters, digits, ``_`` and ``-`` are names as they are; others keep what they
    have of these, and a checksum tells them apart.
    """
    if (
        _PLAIN.fullmatch(episode_id)
        and not _HASHED.fullmatch(episode_id)
        and not _DEVICES.fullmatch(episode_id)
    ):
        return f"{episode_id}.html"
    digest = hashlib.sha256(episode_id.encode(errors="surrogatepass")).hexdigest()[:12]
    kept = re.sub(r"[^a-z0-9_]+", "-", episode_id.lower()).strip("-")[:60]
    return f"{kept}-{digest}.html" if kept else f"episode-{digest}.html"
