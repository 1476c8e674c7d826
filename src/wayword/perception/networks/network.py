"""Loading a network of the transformers library: its processor, its weights, and the device.

Weights are a folder or a name on the model hub; code that comes with weights is never run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from wayword.core.errors import UsageError
from wayword.core.perceiver import Floats, Perceiver, Picture
from wayword.perception.opening import CAPTION


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


# Networks that write: captioners and answerers of questions about pictures.
#
# Sources: Li et al. 2023, BLIP-2 (NavGPT's captioner); Dai et al. 2023, InstructBLIP (DiscussNav's
# scene expert); any vision-language model with a chat template.

LONGEST = 60
"""Tokens of an answer."""


BLIP2_PROMPT = "This is a scene of"
"""What NavGPT chose of three prompts (Zhou et al. 2024, appendix: BLIP-2 prompt)."""


class Blip2(Perceiver):
    """BLIP-2: one caption a picture, completing NavGPT's published prompt."""

    def __init__(self, weights: str) -> None:
        self._network = Network("blip2", weights, "Blip2ForConditionalGeneration")
        self.name = self._network.name

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """A caption a picture."""
        prompts = [BLIP2_PROMPT] * len(pictures)
        inputs = self._network.inputs(images=list(pictures), text=prompts)
        skip = _prompt_length(self._network, inputs)
        return self._network.written(inputs, LONGEST, skip)


class InstructBlip(Perceiver):
    """InstructBLIP: an answer to a question about each picture."""

    def __init__(self, weights: str) -> None:
        self._network = Network("instructblip", weights, "InstructBlipForConditionalGeneration")
        self.name = self._network.name

    async def answers(self, pictures: Sequence[Picture], questions: Sequence[str]) -> list[str]:
        """An answer a picture."""
        inputs = self._network.inputs(images=list(pictures), text=list(questions), padding=True)
        return self._network.written(inputs, LONGEST, _prompt_length(self._network, inputs))


class VisionLanguage(Perceiver):
    """Any vision-language chat model that transformers loads (LLaVA, Qwen-VL, SmolVLM …)."""

    def __init__(self, weights: str) -> None:
        self._network = Network("vlm", weights, "AutoModelForImageTextToText")
        self.name = self._network.name

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """A sentence a picture."""
        return await self.answers(pictures, [CAPTION] * len(pictures))

    async def answers(self, pictures: Sequence[Picture], questions: Sequence[str]) -> list[str]:
        """An answer a picture, one after another: prompts of chat models differ in length."""
        pairs = zip(pictures, questions, strict=True)
        return [self._answer(picture, question) for picture, question in pairs]

    def _answer(self, picture: Picture, question: str) -> str:
        network = self._network
        parts = [{"type": "image"}, {"type": "text", "text": question}]
        asked = network.processor.apply_chat_template(
            [{"role": "user", "content": parts}], add_generation_prompt=True
        )
        inputs = network.inputs(images=[picture], text=[asked])
        return network.written(inputs, LONGEST, inputs["input_ids"].shape[1])[0]


def _prompt_length(network: Network, inputs: Any) -> int:
    """Decoder-only language models repeat the prompt before they go on; encoder-decoders do not."""
    repeats = not getattr(network.model.config.text_config, "is_encoder_decoder", False)
    return int(inputs["input_ids"].shape[1]) if repeats else 0


# Monocular depth in metres.
#
# Source: Ranftl et al. 2021 (DPT) and Yang et al. 2024 (Depth Anything V2, whose *metric* weights
# are meant here: the relative ones give no metres).


class MonocularDepth(Perceiver):
    """Whatever transformers loads for depth estimation."""

    def __init__(self, weights: str) -> None:
        self._network = Network(
            "depth", weights, "AutoModelForDepthEstimation", "AutoImageProcessor"
        )
        self.name = self._network.name

    async def depths(self, pictures: Sequence[Picture]) -> list[Floats]:
        """Metres (rows, columns) of each picture, at its own size."""
        network = self._network
        inputs = network.inputs(images=list(pictures))
        with network.thinking():
            outputs = network.model(**inputs)
        found = network.processor.post_process_depth_estimation(outputs, sizes(pictures))
        return [np.asarray(one["predicted_depth"].cpu().numpy(), np.float64) for one in found]
