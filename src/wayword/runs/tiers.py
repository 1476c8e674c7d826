"""Ways to pay for the calls of a run, and what each would cost.

A prefix cache holds what a prompt shares with earlier ones of its episode, for a tenth of the price
at most providers. Flex halves all prices, those of cached tokens as well. A batch halves them too,
but its requests find no cache: those of an episode are hours apart, and only requests of the same
moment share a batch. So a chat that grows pays less for flex than for batches, and where there is
no flex, it may pay less for the standard tier with a cache.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Mapping
from urllib.parse import urlsplit

from wayword.core.episode import JsonObject
from wayword.core.loopback import of_domain
from wayword.core.model import Prompt, Usage
from wayword.core.visible import in_dollars
from wayword.models.middleware.prices import Price

STANDARD = "standard"
CACHED = "standard with cache"
FLEX = "flex"
BATCH = "batch"

OPTIONS = {FLEX: "--tier flex", BATCH: "--batch"}
"""Options of the command line."""

# What a provider offers, by the domain of its host.
_OFFERS = {
    "api.openai.com": (CACHED, FLEX, BATCH),
    "openai.azure.com": (CACHED, FLEX),
    "generativelanguage.googleapis.com": (CACHED, FLEX, BATCH),
    "api.mistral.ai": (CACHED, BATCH),
    "dashscope.aliyuncs.com": (CACHED, FLEX),
    # Its layer of the chat API has no cache.
    "api.anthropic.com": (BATCH,),
}

# Shorter prefixes are not cached: https://developers.openai.com/api/docs/guides/prompt-caching
LEAST_CACHED = 1024


class Prefixes:
    """Prompts that a model has read, to find what another one shares with them."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def shared(self, prompt: Prompt, tokens: int) -> int:
        """Return the number of a prompt's tokens that a cache holds, and add the prompt."""
        if isinstance(prompt, str):
            text = prompt
        else:
            text = "".join(f"{each.role}\n{each.text}\n" for each in prompt)
        place = bisect_left(self._texts, text)
        # In sorted order, the longest shared prefix is that of a neighbor.
        neighbors = self._texts[max(0, place - 1) : place + 1]
        longest = max((_common(text, each) for each in neighbors), default=0)
        self._texts.insert(place, text)
        held = tokens * longest // max(1, len(text))
        if held < LEAST_CACHED:
            return 0
        return held


def _common(one: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    low = 0
    high = min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def offers(name: str, settings: JsonObject) -> tuple[str, ...]:
    """Return the ways to pay that a model's provider is known to offer, besides the standard."""
    if not name.startswith("openai:"):
        return ()
    address = settings.get("base_url") or os.environ.get("OPENAI_BASE_URL")
    host = urlsplit(str(address or "https://api.openai.com")).hostname or ""
    for domain, offered in _OFFERS.items():
        if of_domain(host, domain):
            return offered
    return ()


def costs(price: Price, usage: Usage, shared: int) -> dict[str, float]:
    """Return the dollars of a call in each way; ``shared`` tokens of its prompt may be cached."""
    prompt = usage.prompt
    written = 0
    # Prompts that are long enough are written to the cache, which some models charge for.
    if price.write is not None and prompt >= LEAST_CACHED:
        written = prompt - shared
    cached = Usage(prompt, usage.completion, reused=shared, written=written)
    flex = Usage(prompt, usage.completion, shared, written=written, tier="flex")
    batch = Usage(prompt, usage.completion, tier="batch")
    plain = Usage(prompt, usage.completion)
    usages = {STANDARD: plain, CACHED: cached, FLEX: flex, BATCH: batch}
    return {way: price.of(each) for way, each in usages.items()}


def described(dollars: Mapping[str, float], share: float) -> str:
    """Return a line of the costs by way, and the cheapest; ``share`` of the prompts is cached."""
    parts = [f"{way} {in_dollars(amount)}" for way, amount in dollars.items()]
    # Ways that differ by less than what is shown are equal: the first one is the simplest.
    least = min(dollars.values())
    cheapest = next(way for way, amount in dollars.items() if amount < least + 0.005)
    option = OPTIONS.get(cheapest, "")
    if option:
        cheapest += f" ({option}, where the model has it)"
    return (
        f"ways to pay: {', '.join(parts)}; cheapest: {cheapest}; a prefix cache can hold "
        f"{share:.0%} of the prompts"
    )
