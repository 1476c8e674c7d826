"""Networks on pictures: captioners, depth, detectors and grounders.

Weights are a folder or a name on the model hub; code that comes with weights is never run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayword.core.errors import UsageError, needing
from wayword.core.perceiver import Box, Floats, Perceiver, Picture
from wayword.perception.networks import CAPTION


class Network(Perceiver):
    """A processor and a model of transformers, on the GPU where there is one.

    ``eye`` is the name on the command line, ``model_class`` and ``processor_class`` are classes of
    transformers. Raises ``UsageError`` where packages or weights are missing.
    """

    eye: ClassVar[str]
    model_class: ClassVar[str]
    processor_class: ClassVar[str] = "AutoProcessor"

    def __init__(self, weights: str) -> None:
        if not weights:
            raise UsageError(
                f"{self.eye}: name the weights, a folder or a model's name: {self.eye}:NAME"
            )
        with needing(f"{self.eye} needs torch and transformers", "vision"):
            self.torch: Any = import_module("torch")
            hub: Any = import_module("transformers")
        self.name = f"{self.eye}:{weights}"
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        try:
            self.processor: Any = getattr(hub, self.processor_class).from_pretrained(weights)
            loaded = getattr(hub, self.model_class).from_pretrained(weights)
        except (OSError, ValueError, ImportError) as error:
            problem = " ".join(str(error).split())[:200]
            raise UsageError(f"{self.name}: cannot be loaded: {problem}") from None
        self.model: Any = loaded.to(self.device).eval()

    def inputs(self, **given: Any) -> Any:
        """Pictures and texts as the model takes them, on its device."""
        return self.processor(return_tensors="pt", **given).to(self.device)

    def outputs(self, inputs: Any) -> Any:
        with self.torch.inference_mode():
            return self.model(**inputs)

    def written(self, inputs: Any) -> list[str]:
        """Greedy text after the inputs. Decoder-only models repeat the prompt, which is cut off;
        encoder-decoders do not."""
        with self.torch.inference_mode():
            tokens = self.model.generate(**inputs, max_new_tokens=LONGEST, do_sample=False)
        repeats_prompt = not getattr(self.model.config.text_config, "is_encoder_decoder", False)
        prompt_tokens = inputs["input_ids"].shape[1] if repeats_prompt else 0
        texts = self.processor.batch_decode(tokens[:, prompt_tokens:], skip_special_tokens=True)
        return [" ".join(text.split()) for text in texts]


def sizes(pictures: Sequence[Any]) -> list[tuple[int, int]]:
    """(rows, columns) of each picture."""
    return [(picture.shape[0], picture.shape[1]) for picture in pictures]


# Captioners.
#
# Sources: Li et al. 2023, BLIP-2 (NavGPT's captioner); any vision-language model with a chat
# template.

LONGEST = 60  # tokens of an answer
BLIP2_PROMPT = "This is a scene of"
"""The one of three prompts that NavGPT chose (Zhou et al. 2024, appendix: BLIP-2 prompt)."""


class Blip2(Network):
    """BLIP-2: one caption a picture, completing NavGPT's published prompt."""

    eye, model_class = "blip2", "Blip2ForConditionalGeneration"

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        prompts = [BLIP2_PROMPT] * len(pictures)
        return self.written(self.inputs(images=list(pictures), text=prompts))


class VisionLanguage(Network):
    """Any vision-language chat model that transformers loads (LLaVA, Qwen-VL, SmolVLM …)."""

    eye, model_class = "vlm", "AutoModelForImageTextToText"

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """Return one sentence per picture, one by one: chat prompts differ in length."""
        parts = [{"type": "image"}, {"type": "text", "text": CAPTION}]
        prompt = self.processor.apply_chat_template(
            [{"role": "user", "content": parts}], add_generation_prompt=True
        )
        inputs = (self.inputs(images=[picture], text=[prompt]) for picture in pictures)
        return [self.written(each)[0] for each in inputs]


# Monocular depth in metres.
#
# Source: Ranftl et al. 2021 (DPT) and Yang et al. 2024 (Depth Anything V2, whose *metric* weights
# are meant here: the relative ones give no metres).


class MonocularDepth(Network):
    """Any depth estimator that transformers loads."""

    eye, model_class = "depth", "AutoModelForDepthEstimation"
    processor_class = "AutoImageProcessor"

    async def depths(self, pictures: Sequence[Picture]) -> list[Floats]:
        """Metres (rows, columns) of each picture, at its own size."""
        outputs = self.outputs(self.inputs(images=list(pictures)))
        maps = self.processor.post_process_depth_estimation(outputs, sizes(pictures))
        return [np.asarray(each["predicted_depth"].cpu().numpy(), np.float64) for each in maps]


# Detectors of the DETR family: DETR, Deformable DETR, RT-DETR, YOLOS, Conditional DETR …
#
# Source: Carion et al. 2020, "End-to-End Object Detection with Transformers".

SURE = 0.5  # minimum score of a box


class Detr(Network):
    """Any detector that transformers loads, with the names of the objects it was trained on."""

    eye, model_class = "detr", "AutoModelForObjectDetection"
    processor_class = "AutoImageProcessor"

    def __init__(self, weights: str, threshold: float = SURE) -> None:
        super().__init__(weights)
        self._threshold = threshold

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        outputs = self.outputs(self.inputs(images=list(pictures)))
        results = self.processor.post_process_object_detection(
            outputs, threshold=self._threshold, target_sizes=sizes(pictures)
        )
        names = self.model.config.id2label
        return [boxes(one, [str(names[int(n)]) for n in one["labels"]]) for one in results]


def boxes(result: Mapping[str, Any], names: Sequence[str]) -> list[Box]:
    """Scores and edges (left, top, right, bottom; pixels) of one picture as boxes."""
    rows = zip(names, result["scores"].tolist(), result["boxes"].tolist(), strict=True)
    unsorted = [Box(name, score, *map(float, edges)) for name, score, edges in rows]
    return sorted(unsorted, key=lambda box: -box.score)


# Open-vocabulary grounding: boxes for whatever the phrases describe.
#
# Sources: Liu et al. 2023, Grounding DINO; Minderer et al. 2023, OWLv2 (scaled OWL-ViT).


class Grounder(Network):
    """A network that finds boxes for phrases, surest first."""

    model_class = "AutoModelForZeroShotObjectDetection"
    least: ClassVar[float]  # the score below which boxes are left out, unless another is given

    def __init__(self, weights: str, threshold: float | None = None) -> None:
        super().__init__(weights)
        self._threshold = self.least if threshold is None else threshold

    def _results(self, outputs: Any, pictures: Sequence[Picture], *given: Any, **named: Any) -> Any:
        return self.processor.post_process_grounded_object_detection(
            outputs, *given, threshold=self._threshold, target_sizes=sizes(pictures), **named
        )


class GroundingDino(Grounder):
    """Grounding DINO. Phrases are one text, ended by full stops, as it was trained on."""

    eye, least = "groundingdino", 0.25

    async def find(self, pictures: Sequence[Picture], phrases: Sequence[str]) -> list[list[Box]]:
        """The boxes of each picture, each named after its likeliest phrase."""
        text = " ".join(f"{phrase.strip(' .').lower()}." for phrase in phrases)
        inputs = self.inputs(images=list(pictures), text=[text] * len(pictures), padding=True)
        outputs, texts = self.outputs(inputs), inputs["input_ids"]
        results = self._results(outputs, pictures, texts, text_threshold=self._threshold)
        stop = self.processor.tokenizer.convert_tokens_to_ids(".")
        rows = zip(results, outputs.logits.sigmoid(), texts.tolist(), strict=True)
        answers = []
        for one, scores, tokens in rows:
            kept = scores[scores.amax(dim=-1) > self._threshold]  # (boxes, tokens)
            # Full stops end the tokens of each phrase; a box has that with the likeliest token.
            ends = [place for place, token in enumerate(tokens) if token == stop]
            starts = [1, *(end + 1 for end in ends)]
            spans = zip(starts, ends, strict=False)
            chances = [
                kept[:, start:end].amax(dim=-1).tolist() for start, end in spans if len(kept)
            ]
            by_box = zip(*chances, strict=True)
            answers.append(boxes(one, [phrases[each.index(max(each))] for each in by_box]))
        return answers


class Owlv2(Grounder):
    """OWLv2 (and OWL-ViT): a score for each phrase in each box."""

    eye, least = "owlv2", 0.1

    async def find(self, pictures: Sequence[Picture], phrases: Sequence[str]) -> list[list[Box]]:
        texts = [[f"a photo of a {phrase}" for phrase in phrases]] * len(pictures)
        inputs = self.inputs(images=list(pictures), text=texts, padding="max_length")
        labels = [list(phrases)] * len(pictures)
        results = self._results(self.outputs(inputs), pictures, text_labels=labels)
        return [boxes(one, [str(t) for t in one["text_labels"]]) for one in results]


# A small detector that OpenCV runs by itself: SSD networks frozen by TensorFlow.
#
#     wayword perceive pictures --detector ssd:FOLDER --out seen
#
# ``FOLDER`` holds ``*.pb`` (the frozen network) and ``*.pbtxt`` (OpenCV's text form of its
# graph), as SSD-MobileNet on COCO is given out.
#
# Source: Liu et al. 2016, "SSD: Single Shot MultiBox Detector"; Lin et al. 2014, COCO, whose 80
# kinds of object keep their numbers 1 to 90; ``coco.txt`` has a line for each, ``-`` for the gaps.

SIDE = 300  # rows and columns of the network's input


class Ssd(Perceiver):
    """A detector of COCO's 80 kinds of object. Raises ``UsageError`` if it cannot be loaded."""

    def __init__(self, folder: str) -> None:
        with needing("ssd needs OpenCV", "pip install opencv-python-headless"):
            self._cv: Any = import_module("cv2")
        weights = sorted(Path(folder).glob("*.pb")) if folder else []
        graphs = sorted(Path(folder).glob("*.pbtxt")) if folder else []
        if not weights or not graphs:
            raise UsageError(f"ssd:{folder}: name a folder that holds a .pb and a .pbtxt file")
        try:
            self._net: Any = self._cv.dnn.readNetFromTensorflow(str(weights[0]), str(graphs[0]))
        except self._cv.error as error:
            problem = " ".join(str(error).split())[:200]
            raise UsageError(f"ssd:{folder}: cannot be loaded: {problem}") from None
        self.name = f"ssd:{graphs[0].stem}:{weights[0].stat().st_size}"
        names = files("wayword.perception.networks") / "coco.txt"
        self._names = ["-", *names.read_text(encoding="utf-8").splitlines()]

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """The boxes of each picture, surest first."""
        return [self._boxes(picture) for picture in pictures]

    def _boxes(self, picture: Picture) -> list[Box]:
        blob = self._cv.dnn.blobFromImage(picture, size=(SIDE, SIDE), swapRB=False, crop=False)
        self._net.setInput(blob)
        rows, columns = picture.shape[:2]
        boxes = []
        for _, kind, score, left, top, right, bottom in self._net.forward()[0, 0].tolist():
            name = self._names[int(kind)] if 0 < int(kind) < len(self._names) else "-"
            if score >= SURE and name != "-":
                edges = (left * columns, top * rows, right * columns, bottom * rows)
                boxes.append(Box(name, float(score), *map(float, edges)))
        return sorted(boxes, key=lambda box: -box.score)
