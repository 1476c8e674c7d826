"""Rows of a large run, filtered and sorted by the server.

select(rows, Wish({"q": "5593", "sort": "ne", "down": "1"}), causes)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wayword.viewer.library import Heads, Rows


class Wish:
    """The requested rows, parsed from the query string."""

    def __init__(self, query: Mapping[str, str], ranges: Sequence[str] = ()) -> None:
        self.words = query.get("q", "").lower().split()
        self.ended, self.cause = query.get("ended", ""), query.get("cause", "")
        self.sort, self.down = query.get("sort", ""), query.get("down") == "1"
        self.start = _whole(query.get("from", "0"))
        self.ranges = [found for each in ranges if (found := _range(each)) is not None]


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _range(text: str) -> tuple[str, float, float, bool] | None:
    key, _, rest = text.partition(":")
    try:
        low, high, last = rest.split(":")
        return key, float(low), float(high), last == "1"
    except ValueError:
        return None


def select(rows: Rows, wish: Wish, known: Mapping[str, Sequence[str]]) -> Heads:
    """The heads that a wish is about, in its order."""
    among = [name for name, causes in known.items() if wish.cause in causes] if wish.cause else None
    numbers = rows.index.find(wish.words, wish.ended, wish.ranges, among, wish.sort, wish.down)
    failed = {} if wish.ranges or wish.ended not in ("", "failed") else _failed(rows, wish)
    return Heads(rows, failed, numbers)


def _failed(rows: Rows, wish: Wish) -> dict[str, str]:
    if wish.cause not in ("", "failed"):
        return {}
    return {
        name: reason
        for name, reason in rows.failed.items()
        if all(word in name.lower() for word in wish.words)
    }
