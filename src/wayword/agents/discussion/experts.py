"""Asking an expert: one question, one answer, and what is done when none comes.

An expert that answers nonsense, too late or not at all costs its advice and nothing else: a note
``expert_failed`` names it, says why, and what was used instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from wayword.agents.discussion.forms import Filled, Form
from wayword.agents.prompting import Prompts
from wayword.core.agent import Toolkit
from wayword.core.errors import ModelError
from wayword.core.model import Completion, Image, Message, Sampling, system

Expert = Literal[
    "decomposition", "landmarks", "scene", "summary", "completion", "fusion", "testing"
]
EXPERTS: tuple[Expert, ...] = (
    "decomposition",
    "landmarks",
    "scene",
    "summary",
    "completion",
    "fusion",
    "testing",
)
"""Those that are models, in the order they are asked; the eighth, the tags, is a detector."""
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Meeting:
    """The experts of one episode. ``patience`` is in seconds, for each answer."""

    toolkit: Toolkit
    prompts: Prompts
    constrained: bool
    patience: float
    max_tokens: int

    async def form(self, expert: Expert, form: Form, recovery: str, **slots: str) -> Filled | None:
        """An expert's filled-in form, None for none. ``recovery`` says what is done then."""
        question = Message("user", self.prompts.fill(f"{expert}_question", **slots))
        told = f"{self.prompts[expert]}\n\n{form.asked(self.constrained)}"
        sampling = Sampling(
            max_tokens=self.max_tokens,
            json_schema=form.schema() if self.constrained else None,
        )
        return await self.ask(expert, [system(told), question], sampling, form.read, recovery)

    async def words(
        self, expert: Expert, recovery: str, images: tuple[Image, ...] = (), **slots: str
    ) -> str | None:
        """An expert's answer in plain words."""
        question = Message("user", self.prompts.fill(f"{expert}_question", **slots), images)
        sampling = Sampling(max_tokens=self.max_tokens)
        told = [system(self.prompts[expert]), question]
        return await self.ask(expert, told, sampling, _plain, recovery)

    async def ask(
        self,
        expert: Expert,
        messages: Sequence[Message],
        sampling: Sampling,
        read: Callable[[str], Answer | None],
        recovery: str,
    ) -> Answer | None:
        """What ``read`` makes of the answer, or None after a failure that was noted."""
        try:
            completion = await self.answer(expert, messages, sampling)
        except TimeoutError:
            self.failed(expert, f"no answer within {self.patience:g} s", recovery)
            return None
        except ModelError as error:
            self.failed(expert, str(error), recovery)
            return None
        found = read(completion.text)
        if found is None:
            said = " ".join(completion.text.split())[:120]
            self.failed(expert, f"not an answer to the question: {said!r}", recovery)
        return found

    async def answer(
        self, role: str, messages: Sequence[Message], sampling: Sampling
    ) -> Completion:
        """The model's answer. Raises ``TimeoutError``, ``ModelError``, ``BudgetExhausted``."""
        async with asyncio.timeout(self.patience):
            return await self.toolkit.model(role).complete(messages, sampling)

    def failed(self, expert: str, why: str, recovery: str) -> None:
        """Write the failure down."""
        self.toolkit.note("expert_failed", expert=expert, why=why, recovery=recovery)


def _plain(text: str) -> str | None:
    return " ".join(text.split()) or None
