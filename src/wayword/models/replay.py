"""Answers from a finished run: the same questions get the same answers, and nothing is asked."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.trajectory import ModelCall
from wayword.models.middleware.cache import choice_key, completion_key

_Kept = TypeVar("_Kept", Completion, Choice)


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """``replay:`` has no settings."""


class ReplayModel(Model):
    """A model that repeats the recorded calls of a run: ``replay:RUN``.

    >>> model = ReplayModel("runs/a", calls=trajectory.calls())         # doctest: +SKIP

    A question is found again by its prompt and sampling. Where a run asked the same twice, the
    answers come in the recorded order, and start over after the last. Answers are marked
    ``cached`` and cost nothing. Raises ``ModelError`` for a question the run never asked.
    """

    def __init__(
        self, name: str, settings: ReplaySettings | None = None, calls: Iterable[ModelCall] = ()
    ) -> None:
        self._name = f"replay:{name}"
        self._answers: dict[str, list[Completion | Choice]] = {}
        self._next: dict[str, int] = {}
        self._lock = threading.Lock()
        for call in calls:
            self._add(call)

    Settings = ReplaySettings

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """The recorded completion. Raises ``ModelError`` where there is none."""
        found = self._take(completion_key(prompt, sampling), prompt)
        if not isinstance(found, Completion):
            raise ModelError(f"{self._name}: the recorded answer to this prompt is no completion")
        return _free(found)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """The recorded ranking. Raises ``ModelError`` where there is none."""
        found = self._take(choice_key(prompt, options), prompt)
        if not isinstance(found, Choice):
            raise ModelError(f"{self._name}: the recorded answer to this prompt is no choice")
        return _free(found)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _add(self, call: ModelCall) -> None:
        if isinstance(call.answer, Choice):
            key = choice_key(call.prompt, call.answer.options)
        elif isinstance(call.answer, Completion):
            key = completion_key(call.prompt, call.sampling or Sampling())
        else:
            return  # a call that failed has no answer to repeat
        self._answers.setdefault(key, []).append(call.answer)

    def _take(self, key: str, prompt: Prompt) -> Completion | Choice:
        answers = self._answers.get(key)
        if not answers:
            text = prompt if isinstance(prompt, str) else prompt[-1].content if prompt else ""
            raise ModelError(
                f"{self._name}: the run never asked this, ending {text[-60:]!r}; replay it with "
                f"the agent, settings, seed and data it was made with"
            )
        with self._lock:
            turn = self._next.get(key, 0)
            self._next[key] = turn + 1
        return answers[turn % len(answers)]


def _free(answer: _Kept) -> _Kept:
    return replace(answer, cost=0.0, cached=True)


model = ReplayModel
