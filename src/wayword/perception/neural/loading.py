"""Loading a network of the transformers library: its processor, its weights, and the device.

Weights are a folder or a name on the model hub; code that comes with weights is never run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from wayword.core.errors import UsageError


class Network:
    """A processor and a model, ready to be asked, on the GPU where there is one.

    ``eye`` is the name it goes by on the command line, ``model_class`` and ``processor_class`` are
    classes of transformers. Raises ``UsageError`` where packages or weights are missing.
    """

    def __init__(
        self, eye: str, weights: str, model_class: str, processor_class: str = "AutoProcessor"
    ) -> None:
        if not weights:
            raise UsageError(f"{eye}: name the weights, a folder or a model's name: {eye}:NAME")
        try:
            self.torch: Any = import_module("torch")
            hub: Any = import_module("transformers")
        except ImportError:
            raise UsageError(
                f"{eye} needs torch and transformers: pip install 'wayword[vision]'"
            ) from None
        self.name = f"{eye}:{weights}"
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        try:
            self.processor: Any = getattr(hub, processor_class).from_pretrained(weights)
            loaded = getattr(hub, model_class).from_pretrained(weights)
        except (OSError, ValueError, ImportError) as error:
            problem = " ".join(str(error).split())[:200]
            raise UsageError(f"{self.name}: cannot be loaded: {problem}") from None
        self.model: Any = loaded.to(self.device).eval()

    def inputs(self, **given: Any) -> Any:
        """What the processor makes of pictures and texts, on the device."""
        return self.processor(return_tensors="pt", **given).to(self.device)

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """No gradients are kept."""
        with self.torch.inference_mode():
            yield

    def written(self, inputs: Any, most: int, skip: int = 0) -> list[str]:
        """Greedy text after the inputs; ``skip`` leaves out that many tokens of the prompt."""
        with self.thinking():
            tokens = self.model.generate(**inputs, max_new_tokens=most, do_sample=False)
        texts = self.processor.batch_decode(tokens[:, skip:], skip_special_tokens=True)
        return [" ".join(text.split()) for text in texts]


def sizes(pictures: Sequence[Any]) -> list[tuple[int, int]]:
    """(rows, columns) of each picture."""
    return [(picture.shape[0], picture.shape[1]) for picture in pictures]
