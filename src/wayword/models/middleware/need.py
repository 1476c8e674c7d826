"""The share of a budget that an episode still needs, estimated from those that have ended."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import sqrt
from operator import neg

SPREAD = 4.0
"""Safety margin on the highest cost so far: + 400% after one call, + 200% after two, and so on,
because the output of reasoning models varies tenfold. For turns, the margin falls with the square
root of the longest episode so far, because histories grow."""
# Share of running episodes that should end within the amount reserved for them.
_CONFIDENCE = 0.9
# Costs of ended episodes that are kept; at twice the number, half are dropped.
_MAX_ENDED = 256


@dataclass
class Meter:
    """A running episode: its number (from 1), its share of the budget so far, its turns.

    ``owner`` is the process that plays it, ``episode`` its ID. ``rejected``: the last
    turn's answer was rejected.
    """

    number: int
    share: float = 0.0
    turns: int = 0
    rejected: bool = False
    owner: str = ""
    episode: str = ""


class Estimate:
    """Estimate of the share of the budget that an episode needs.

    An episode that has cost some share already is expected to end at the share below which 90% of
    the episodes end that cost at least as much. The first episodes to end are the cheapest. The
    running ones, which will cost more than now, are therefore included: as censored data of a
    Kaplan-Meier estimate, with one more episode that never ends. The 90th percentile is known after
    nine ended episodes at the earliest. Until then, and for episodes that cost more than any ended
    one, all ``limit`` turns (0: unknown) are expected. ``ended``: shares, ascending.

    Source: https://en.wikipedia.org/wiki/Kaplan-Meier_estimator
    """

    def __init__(self) -> None:
        self.ended: list[float] = []
        self.limit = 0
        self._largest_share = 0.0
        self._paid = 0.0
        self._turns = 0
        self._max_turns = 1

    def add(self, share: float) -> None:
        """Add the share of an episode that has ended.

        Beyond twice ``_MAX_ENDED``, every second one is dropped, which keeps their
        distribution.
        """
        insort(self.ended, share)
        if len(self.ended) > 2 * _MAX_ENDED:
            del self.ended[::2]

    def paid(self, meter: Meter, share: float) -> None:
        """Add a bill to a running episode; ``share`` is a part of the budget."""
        meter.share += share
        self._paid += share
        self._largest_share = max(self._largest_share, meter.share)

    def stepped(self, meter: Meter) -> None:
        """Count a turn of a running episode."""
        meter.turns += 1
        self._turns += 1
        self._max_turns = max(self._max_turns, meter.turns)

    def remaining_need(self, running: Iterable[Meter]) -> Callable[[Meter], float]:
        """Return a function that estimates an episode's remaining share, given all running ones.

        The function may be called with each of the running episodes; it does not change
        anything.
        """
        survival = self._survival(running)

        def need(meter: Meter) -> float:
            cap = self._all_turns(meter)
            # Share of all episodes that cost at least as much as this one so far
            rank = bisect_right(self.ended, meter.share)
            reached = 1.0
            if rank:
                reached = survival[rank - 1]
            last_tenth = (1.0 - _CONFIDENCE) * reached + 1e-9  # 1e-9: rounding
            # bisect needs ascending values, and probabilities of survival descend
            end = bisect_left(survival, -last_tenth, rank, key=neg)
            if end == len(survival):
                return cap
            return min(cap, self.ended[end] - meter.share)

        return need

    def _survival(self, running: Iterable[Meter]) -> list[float]:
        """Return the probabilities that an episode costs more than each of the ended ones."""
        running_shares = sorted(meter.share for meter in running)
        survival = []
        probability = 1.0
        # At each end, the probability falls by one of those that have come so far: the ended ones
        # that cost as much, the running ones that do already, and the one that never ends.
        for rank, share in enumerate(self.ended):
            running_longer = len(running_shares) - bisect_left(running_shares, share)
            longer = len(self.ended) - rank + running_longer + 1
            probability *= 1.0 - 1.0 / longer
            survival.append(probability)
        return survival

    @property
    def most(self) -> float:
        """The most that any running episode may still need."""
        return max(
            self._all_turns(Meter(0, share)) for share in (0.0, self._largest_share)
        )

    def _all_turns(self, meter: Meter) -> float:
        """Return the share that an episode needs if it uses all its turns."""
        if not self.limit:
            return 2.0 * self._largest_share - meter.share
        mean = self._paid / max(1, self._turns)
        turn = max(mean, meter.share / max(1, meter.turns))
        turn *= 1.0 + SPREAD / sqrt(self._max_turns)
        return max(0, self.limit - meter.turns) * turn
