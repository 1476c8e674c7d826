"""Answers from a recorded run: the same prompt gets the same answer, without a model."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from wayword.core.episode import NoSettings
from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.trajectory import ModelCall
from wayword.models.middleware.cache import choice_key, completion_key


class ReplayModel(Model):
    """A model that repeats the recorded calls of a run: ``replay:RUN``.

    >>> model = ReplayModel("runs/a", calls=trajectory.calls())         # doctest: +SKIP

    Calls are matched by prompt and sampling. Repeated calls get the recorded answers in order,
    starting over after the last. Answers are marked ``cached`` and cost nothing. Raises
    ``ModelError`` for a call that the run never made.
    """

    def __init__(
        self,
        name: str,
        settings: NoSettings | None = None,
        calls: Iterable[ModelCall] = (),
    ) -> None:
        self.name: str = f"replay:{name}"
        self._answers: defaultdict[str, list[Completion | Choice]] = defaultdict(list)
        self._next: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.tools: bool = False
        """True if the recorded calls offered tools."""
        for call in calls:  # failed calls have no answer to repeat
            if isinstance(call.answer, Choice):
                key = choice_key(call.prompt, call.answer.options)
                self._answers[key].append(call.answer)
            elif isinstance(call.answer, Completion):
                sampling = call.sampling or Sampling()
                self.tools = self.tools or bool(sampling.tools)
                key = completion_key(call.prompt, sampling)
                self._answers[key].append(call.answer)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        answer = self._next_answer(completion_key(prompt, sampling), prompt)
        if not isinstance(answer, Completion):
            raise ModelError(
                f"{self.name}: the prompt's recorded answer is not a completion"
            )
        return replace(answer, cost=0.0, cached=True)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        answer = self._next_answer(choice_key(prompt, options), prompt)
        if not isinstance(answer, Choice):
            raise ModelError(
                f"{self.name}: the prompt's recorded answer is not a choice"
            )
        return replace(answer, cost=0.0, cached=True)

    def _next_answer(self, key: str, prompt: Prompt) -> Completion | Choice:
        """Return the next recorded answer to a prompt. Raises ``ModelError`` if the run never asked
        it."""
        answers = self._answers.get(key)
        if not answers:
            if isinstance(prompt, str):
                text = prompt
            elif prompt:
                text = prompt[-1].content
            else:
                text = ""
            raise ModelError(
                f"{self.name}: the run made no call with this prompt, which ends in "
                f"{text[-60:]!r}; use the agent, settings, seed and data of the recorded run"
            )
        # Episodes that run at the same time may send the same prompt.
        with self._lock:
            number = self._next[key]
            self._next[key] += 1
        # After the last recorded answer, the first one comes again.
        return answers[number % len(answers)]


model = ReplayModel
