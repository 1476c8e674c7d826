"""A text-embedding prior: goes to the listed thing whose name is most like the target's.

    wayword run prior --on apartments

The baseline without a language model for what LGX asks one: that a remote control is where the
television is, because the words are alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from wayword.agents.search.listing import ListingSearcher, ListingSettings
from wayword.core.agent import Toolkit
from wayword.perception.similarity import similarity


class Alike:
    """The picker that takes the name nearest in meaning to the target."""

    said = ""

    async def pick(self, target: str, names: Sequence[str]) -> str:
        """The most alike name. Raises ``UsageError`` where the network is not installed."""
        return similarity().best(target, names)


class PriorAgent(ListingSearcher):
    """Searches as LGX does, and chooses by the cosine of sentence embeddings (all-MiniLM-L6-v2).

    It needs the extra ``[prior]`` and ``wayword models fetch minilm``. Where the target's own kind
    is listed, that is what it goes to.
    """

    def __init__(self, settings: ListingSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self.picker = Alike()


agent = PriorAgent
