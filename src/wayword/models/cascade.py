"""Cascade: a small model answers first; a large model answers if it is unsure or fails.

    wayword run react --on household --model cascade:local:smollm2,openai:gpt-5-mini

Each model has its own price, cache and retries; an answer's tokens and cost cover both.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Annotated, Any

from annotated_types import Ge, Le

from wayword.core.errors import ModelError, UsageError
from wayword.core.model import (
    Answer,
    Choice,
    Completion,
    PictureTokens,
    Prompt,
    Sampling,
    TokenLogprob,
)
from wayword.models.middleware.budget import EPISODE
from wayword.models.parts.opening import ModelPair, open_model

Share = Annotated[float, Ge(0.0), Le(1.0)]
TEMPERATURE = 0.7  # minimum for samples that are compared: at 0 they would all be equal


@dataclass(frozen=True)
class CascadeSettings:
    """Settings of ``cascade:``.

    The large model is always asked if the small one fails, is cut off or breaks a
    constraint. ``margin`` is the minimum lead in probability of each token of the
    decision (the last JSON field, or the last line of other text) over the next best
    token, also for ranked options; 0 disables it, as do models without
    log-probabilities. ``samples`` is the number of small-model samples: at least the
    share ``agreement`` must match, and the most frequent decision is the answer. With
    ``rejected``, the large model is asked if the agent rejected the previous answer.
    ``small`` and ``large`` are the settings of the two models
    (``model.large.base_url=…``).
    """

    margin: Share = 0.3
    samples: Annotated[int, Ge(1)] = 1
    agreement: Share = 1.0
    rejected: bool = True
    small: Mapping[str, Any] = field(default_factory=dict)
    large: Mapping[str, Any] = field(default_factory=dict)


class Cascade(ModelPair):
    """``cascade:SMALL,LARGE``: two models under one name, each written as for ``--model``.

    ``answered_by`` of an answer is ``small`` or ``large``; tables show the large model's share.
    """

    Settings = CascadeSettings

    def __init__(self, name: str, settings: CascadeSettings | None = None) -> None:
        self._settings = rules = settings or CascadeSettings()
        # More commas would be ambiguous: a cascade has two models.
        small, comma, large = map(str.strip, name.partition(","))
        if not comma or "," in large:
            raise UsageError(
                f"cascade:{name}: name two models, as in cascade:local:a,openai:b"
            )
        self.small = open_model(small, rules.small)
        self.large = open_model(large, rules.large)
        self.name: str = f"cascade:{self.small.name},{self.large.name}"
        # An answer depends on both models and on the rules between them.
        identities = f"{self.small.identity}, {self.large.identity}"
        self.identity: str = (
            f"cascade {identities}, {replace(rules, small={}, large={})}"
        )
        # A prompt must fit both; a model that does not know its window does not count.
        self.window: int = min(
            filter(None, (self.small.window, self.large.window)),
            default=0,
        )
        # Each call may be answered by the large one.
        self.pictures: PictureTokens = self.large.pictures
        self._warnings: dict[str, None] = {}

    @property
    def lessons(self) -> Sequence[str]:
        """Lessons of both models."""
        return (*self.small.lessons, *self.large.lessons)

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings of both models and of their combination."""
        return (*self._warnings, *self.small.warnings, *self.large.warnings)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Return the small model's answer if it is sure enough, else the large one's.

        Sure means that its samples agree, or that its tokens have a clear lead.
        ``answered_by`` says which model it was.
        """
        rules = self._settings
        changed = sampling
        votes = 1
        if rules.samples > sampling.n:
            votes = rules.samples
        # Ask for what the decision between the models needs: samples, or log-probabilities.
        if votes > 1:
            changed = replace(
                changed,
                n=votes,
                temperature=max(changed.temperature, TEMPERATURE),
            )
        elif rules.margin and sampling.n == 1:
            changed = replace(changed, logprobs=max(2, changed.logprobs))
        # A failed or rejected small model gives None, and the large one answers.
        answer = await self._ask_small(lambda: self.small.complete(prompt, changed))
        # The small model is sure if its samples agree, or its tokens have a clear lead.
        if answer is not None and "length" not in answer.finish:
            fitting = [text for text in answer.texts if _fits(text, sampling)]
            is_sure = len(fitting) == len(answer.texts)
            if votes > 1:
                counts = Counter(map(_decision, fitting))
                best, count = max(counts.items(), key=itemgetter(1), default=("", 0))
                is_sure = count >= max(1, votes * rules.agreement)
                matching = [text for text in fitting if _decision(text) == best]
                answer = replace(
                    answer,
                    texts=tuple(matching[:1]),
                    finish=answer.finish[:1],
                )
            elif is_sure and changed.n == 1 and rules.margin:
                margin = None
                if answer.logprobs:
                    margin = _margin(answer.logprobs)
                is_sure = self._passes(margin)
            if is_sure:
                return replace(answer, answered_by="small")
        return _joined(answer, await self.large.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return the small model's choice if it is sure enough, else the large one's."""
        answer = await self._ask_small(lambda: self.small.choose(prompt, options))
        # A text outside the options has no margin.
        if answer is not None and not answer.other_text:
            # Relative to the best, so that small probabilities do not become zero.
            odds = [math.exp(value - max(answer.logprobs)) for value in answer.logprobs]
            # The added zero is the second of a single option.
            first, second = sorted([*odds, 0.0], reverse=True)[:2]
            lead = None
            if not answer.picked:
                lead = (first - second) / sum(odds)
            if self._passes(lead):
                return replace(answer, answered_by="small")
        return _joined(answer, await self.large.choose(prompt, options))

    def _passes(self, margin: float | None) -> bool:
        """True if a margin suffices; a missing one passes, with a warning."""
        # A run should not stop for this, but it should not be hidden either.
        if margin is None and self._settings.margin:
            problem = f"{self.small.name} returns no log-probabilities, so margin has no effect"
            self._warnings[f"cascade: {problem}; set model.samples=3"] = None
        return margin is None or margin >= self._settings.margin

    async def _ask_small(self, ask: Callable[[], Awaitable[Answer]]) -> Answer | None:
        """Return the small model's answer; None if it failed or was just rejected."""
        episode = EPISODE.get()
        # The same small model would likely repeat the answer that was rejected.
        if self._settings.rejected and episode is not None and episode.rejected:
            return None
        try:
            return await ask()
        except ModelError as error:
            # A fatal error, such as a missing key, is the user's to fix.
            if error.fatal:
                raise
            return None

    async def prepare(self) -> None:
        """Prepare both models."""
        for each in (self.small, self.large):
            await each.prepare()

    async def aclose(self) -> None:
        """Close both models."""
        for each in (self.small, self.large):
            await each.aclose()


def _joined(small: Answer | None, large: Answer) -> Answer:
    """Return the large model's answer, with the tokens, cost and seconds of both models that were
    asked.

    The cost is unknown (None) if one of both is. ``small`` is None if that model was not asked, or
    failed.
    """
    large = replace(large, answered_by="large")
    if small is None:
        return large
    cost = None
    if small.cost is not None and large.cost is not None:
        cost = small.cost + large.cost
    return replace(
        large,
        usage=small.usage + large.usage,
        cost=cost,
        seconds=small.seconds + large.seconds,
        cached=small.cached and large.cached,
    )


def _fits(text: str, sampling: Sampling) -> bool:
    """True if a text is one of the options, or has the schema's fields with allowed values."""
    # Free text fits if there is any.
    if sampling.json_schema is None:
        plain = text.strip()
        if not plain:
            return False
        return not sampling.choices or plain in sampling.choices
    # A schema is checked by its fields and their options, which is what agents read.
    fields = sampling.json_schema.get("properties", {}).items()
    try:
        value = json.loads(text[text.index("{") : text.rindex("}") + 1])
        for key, form in fields:
            if value[key] not in form.get("enum", (value[key],)):
                return False
    except (ValueError, KeyError, RecursionError):
        return False
    return True


def _decision_start(text: str) -> int:
    """Return the offset of the last value in a JSON object, or of the last line of other text."""
    text = text.rstrip()
    if text.endswith("}"):
        return text.rfind('":') + 2
    return text.rfind("\n") + 1


def _decision(text: str) -> str:
    """Return the part of an answer that decides, for comparing samples."""
    return text[_decision_start(text) :].strip(' \n"}').lower()


def _margin(tokens: Sequence[TokenLogprob]) -> float:
    """Return the smallest lead in probability of a decision's token over the next best one.

    1 if no token of the decision has alternatives.
    """
    # Tokens of the thought before the decision may be as uncertain as they like.
    start = _decision_start("".join(token.token for token in tokens))
    end = 0
    least = 1.0
    for token in tokens:
        end += len(token.token)
        # The chosen token is often among its own alternatives.
        others = [
            value for name, value in token.alternatives.items() if name != token.token
        ]
        if end > start and others:
            least = min(least, math.exp(token.logprob) - math.exp(max(others)))
    return least


model = Cascade
