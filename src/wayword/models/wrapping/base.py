"""What every wrapper does: keep the name, close the model inside."""

from __future__ import annotations

from wayword.core.model import Choice, Completion, Model


class Wrapper:
    """A model around a model; subclasses say what happens to a call."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def identity(self) -> str:
        """What the cache tells models apart by: see :func:`identity_of`."""
        return identity_of(self._inner)

    async def aclose(self) -> None:
        """Close the model inside."""
        await self._inner.aclose()


def tokens_of(answer: Completion | Choice) -> int:
    """Prompt and completion tokens of an answer."""
    return answer.usage.prompt + answer.usage.completion


def identity_of(model: Model) -> str:
    """The model's ``identity`` where it has one (name, address, file), else its name.

    Two servers may call different weights by one name; their answers must not be mixed up.
    """
    return str(getattr(model, "identity", model.name))
