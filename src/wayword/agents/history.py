"""A history that only grows, and a token budget that drops whole steps from its far end.

Prompts that extend each other let a server or the local model reuse what it has already read, so
a step is written once and never rewritten. When the budget forces a cut, half of the steps go at
once: the next cut, and with it the next loss of the shared prefix, is then far away.
"""

from __future__ import annotations


class History:
    """The past of one episode as text blocks, oldest first."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self.dropped = 0

    def add(self, block: str) -> None:
        """Append one step."""
        self._blocks.append(block)

    @property
    def blocks(self) -> list[str]:
        """The steps that are still told."""
        return self._blocks[self.dropped :]

    def fit(self, characters: int) -> int:
        """Drop the oldest steps until the rest has at most ``characters``; how many went."""
        before = self.dropped
        while self.blocks and sum(map(len, self.blocks)) > characters:
            self.dropped += max(1, len(self.blocks) // 2)
        return self.dropped - before


class TokenRate:
    """Characters a token, learnt from what the model itself counted; 3 until it has counted."""

    def __init__(self) -> None:
        self.characters_per_token = 3.0

    def learn(self, characters: int, tokens: int) -> None:
        """Take a counted prompt into account."""
        if tokens > 0 and characters > 0:
            self.characters_per_token = characters / tokens
