"""Logistic regressions that answer an agent's yes/no questions.

    wayword run walker --on houses --model regression:walker
    wayword run velma --on towns --model regression:velma

`walker`, and `velma` with ``follow=true``, end each question with a line of what their rules have
read and counted. A regression uses that line alone, so it is the baseline that a language model
must beat. ``weights/regression.py`` of the repository fits the weights.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path

from wayword.core.episode import NoSettings
from wayword.core.errors import UsageError
from wayword.core.files import sha256
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.models.parts.weights import settings_file

WALKER_LINE = re.compile(r"([^:]+?)(\. Done)?\?$")
VELMA_LINE = re.compile(r"(\d+) steps since the ([\w ]+?)(?:; .*?)?: (.*)\. Done\?$")
COUNTED = re.compile(r"(-?\d+) of (\d+) (\w+)")


def walker_features(question: str) -> list[str]:
    """The signs at the end of a question, with all pairs and triples of them."""
    line = WALKER_LINE.search(question)
    if line is None:
        raise UsageError(f"regression: not a question of walker: {question!r}")
    kind = "neighbor"
    if line[2]:
        kind = "done"
    signs = line[1].strip().split(", ")
    groups = chain.from_iterable(combinations(signs, size) for size in range(4))
    return [" ".join((kind, *group)) for group in groups]


def velma_features(question: str) -> list[str]:
    """The words of a question, counts relative to the instruction's, and pairs of these.

    Counts are clipped to ranges with enough examples.
    """
    line = VELMA_LINE.search(question)
    if line is None:
        raise UsageError(
            f"regression: not a question of velma (follow=true shots=0): {question!r}"
        )
    words = line[3].split(", ")
    counts = [match for word in words if (match := COUNTED.match(word))]
    surplus = {
        match[3]: max(-3, min(2, int(match[1]) - int(match[2]))) for match in counts
    }
    count = next(
        (surplus[kind] for kind in ("lights", "intersections") if kind in surplus),
        "?",
    )
    number = next(
        (int(word.split()[-1]) for word in words if word.startswith("at inter")),
        0,
    )
    place = next((word for word in words if word.startswith("stop")), "")
    wide = surplus.get("crossroads", "-")
    # The last leg: the place to stop at, the steps on the leg and on the route
    if place:
        if "steps" in surplus:
            steps = f"of {max(-4, min(4, surplus['steps']))}"
        else:
            steps = f"on {min(14, int(words[-2].split()[0]))}"
        total = max(31, min(46, int(words[-1].split()[0])))
        at = number > 0
        names = [f"{count}/{at}", f"{count}", f"{at}", steps, place, f"all {total}"]
        names += [
            f"{place} {steps}",
            f"{place} {at}",
            f"{steps} {count}/{at}",
            f"all {total} {at}",
        ]
        names += [f"all {total // 3} {place}", f"all {total // 2} {steps}"]
        names += [f"since {min(8, int(line[1]))}"]
        names += [f"wide {wide}", f"wide {wide} {count}/{number > 0}"]
    else:
        names = [f"count {count}", f"wide {wide}", f"wide {wide} {count}"]
        names += [
            f"number {number} {count}",
            f"far {min(20, int(line[1])) // 3} {count}",
        ]
    kind = "turn "
    if place:
        kind = "stop "
    return [
        kind + name
        for name in ("", *names, *(w for w in words if w.startswith("beside")))
    ]


FEATURES: Mapping[str, Callable[[str], list[str]]] = {
    "walker": walker_features,
    "velma": velma_features,
}
"""The features of a question by agent. Raise ``UsageError`` for a line that is not the agent's."""


class RegressionModel(Model):
    """Fitted weights as a model: ``regression:walker``, or ``regression:FILE.json``.

    ``choose`` ranks yes and no by their probability; after a leg that is done, it ranks the leg's
    own turn first. Raises ``UsageError`` for other questions, and for a file without weights.
    """

    def __init__(self, name: str, settings: NoSettings | None = None) -> None:
        self.name: str = f"regression:{name}"
        path = settings_file(self.name) or Path(name)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            self._features = FEATURES[record["agent"]]
            self._weights: dict[str, float] = record["weights"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{self.name}: no fitted weights in {path} ({error})"
            ) from None
        self.identity: str = f"{self.name} {sha256(path)}"

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return the log-probability of each option, from the last line of the prompt."""
        before, last = f"\n{prompt}".split("\n")[-2:]
        if "yes" in options:
            odds = sum(self._weights.get(name, 0.0) for name in self._features(last))
            scores = {
                "yes": -math.log1p(math.exp(-odds)),
                "no": -math.log1p(math.exp(odds)),
            }
        else:
            direction = "forward"
            turn = re.search(r"turn (left|right)", before)
            if turn and before.endswith("Done? yes"):
                direction = turn[1]
            scores = {direction: 0.0}
        logprobs = tuple(scores.get(option, -99.0) for option in options)
        return Choice(tuple(options), logprobs, Usage(), cost=0.0)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Refuse: a regression only ranks."""
        raise UsageError(f"{self.name}: ranks options only, writes no text")


model = RegressionModel
