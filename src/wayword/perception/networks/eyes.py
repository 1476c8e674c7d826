"""Image networks: captioners, depth estimators, detectors and grounders.

Weights are a folder or a name on the model hub; code that comes with weights is never run.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, errors_of, needing
from wayword.core.geometry import Floats
from wayword.core.perceiver import Box, Perceiver, Picture
from wayword.core.visible import single_line
from wayword.models.parts.hub import find_weights, folder_of
from wayword.perception.networks import CAPTION, LEAST_SCORES


class Network(Perceiver):
    """A model of transformers with its processor, on the GPU if available.

    ``eye`` is the name on the command line; ``model_class`` and ``processor_class`` are classes of
    transformers. Raises ``UsageError`` if packages or weights are missing, or weights are damaged.
    """

    eye: ClassVar[str]
    model_class: ClassVar[str]
    processor_class: ClassVar[str] = "AutoProcessor"

    def __init__(self, weights: str) -> None:
        if not weights:
            raise UsageError(
                f"{self.eye}: add a folder of weights or a name: {self.eye}:NAME"
            )
        self.name = f"{self.eye}:{weights}"
        # A missing folder needs no import: torch takes seconds and is optional.
        with errors_of(self.name):
            folder_of(weights)
        with needing(f"{self.eye} needs torch and transformers", "vision"):
            self.torch: Any = import_module("torch")
            hub: Any = import_module("transformers")
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        with errors_of(self.name):
            source, options = find_weights(weights)
        try:
            processor_class = getattr(hub, self.processor_class)
            self.processor: Any = processor_class.from_pretrained(source, **options)
            model_class = getattr(hub, self.model_class)
            loaded = model_class.from_pretrained(source, **options)
        except Exception as error:  # noqa: BLE001 - damaged weights: safetensors' and torch's errors
            problem = single_line(error, 200)  # characters: these errors run to pages
            raise UsageError(f"{self.name}: cannot be loaded: {problem}") from None
        self.model: Any = loaded.to(self.device).eval()

    def inputs(self, **given: Any) -> Any:
        """Return a processor's tensors for pictures or texts, on the model's device."""
        return self.processor(return_tensors="pt", **given).to(self.device)

    def outputs(self, inputs: Any) -> Any:
        """Return the model's outputs, without gradients."""
        with self.torch.inference_mode():
            return self.model(**inputs)

    def generate(self, inputs: Any) -> list[str]:
        """Return greedy text for each input, without the prompt that decoder-only models repeat."""
        # Greedy, so that the same picture gives the same words.
        with self.torch.inference_mode():
            tokens = self.model.generate(
                **inputs,
                max_new_tokens=MAX_TOKENS,
                do_sample=False,
            )
        # An encoder-decoder model returns the answer alone.
        repeats_prompt = not getattr(
            self.model.config.text_config,
            "is_encoder_decoder",
            False,
        )
        prompt_tokens = inputs["input_ids"].shape[1] if repeats_prompt else 0
        texts = self.processor.batch_decode(
            tokens[:, prompt_tokens:],
            skip_special_tokens=True,
        )
        # One line, as captions stand in lists.
        return [single_line(text) for text in texts]


def sizes(pictures: Sequence[Any]) -> list[tuple[int, int]]:
    """Return (rows, columns) of each picture."""
    return [(picture.shape[0], picture.shape[1]) for picture in pictures]


# Captioners.
#
# Sources: Li et al. 2023, BLIP-2 (NavGPT's captioner); any vision-language model with a chat
# template.

MAX_TOKENS = 60  # of an answer
BLIP2_PROMPT = "This is a scene of"  # the best prompt in NavGPT's appendix


class Blip2(Network):
    """BLIP-2: completes NavGPT's published prompt to a caption."""

    eye = "blip2"
    model_class = "Blip2ForConditionalGeneration"

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """Return what completes the prompt for each picture."""
        # One prompt a picture, as the processor expects.
        prompts = [BLIP2_PROMPT] * len(pictures)
        return self.generate(self.inputs(images=list(pictures), text=prompts))


class VisionLanguage(Network):
    """Any vision-language chat model of transformers (LLaVA, Qwen-VL, SmolVLM …)."""

    eye = "vlm"
    model_class = "AutoModelForImageTextToText"

    async def captions(self, pictures: Sequence[Picture]) -> list[str]:
        """Return one sentence per picture, one by one: chat prompts differ in length."""
        parts = [{"type": "image"}, {"type": "text", "text": CAPTION}]
        prompt = self.processor.apply_chat_template(
            [{"role": "user", "content": parts}],
            add_generation_prompt=True,
        )
        inputs = (self.inputs(images=[picture], text=[prompt]) for picture in pictures)
        return [self.generate(each)[0] for each in inputs]


# Monocular depth in metres.
#
# Source: Ranftl et al. 2021 (DPT) and Yang et al. 2024 (Depth Anything V2; use its *metric*
# weights: the others give relative depth).


class MonocularDepth(Network):
    """Any depth estimator of transformers."""

    eye = "depth"
    model_class = "AutoModelForDepthEstimation"
    processor_class = "AutoImageProcessor"

    async def depths(self, pictures: Sequence[Picture]) -> list[Floats]:
        """Return the depth map (rows, columns) of each picture in metres, at the picture's size."""
        outputs = self.outputs(self.inputs(images=list(pictures)))
        # Maps come at the network's size; they are scaled to the picture.
        maps = self.processor.post_process_depth_estimation(outputs, sizes(pictures))
        return [
            np.asarray(each["predicted_depth"].cpu().numpy(), np.float64)
            for each in maps
        ]


# Detectors of the DETR family: DETR, Deformable DETR, RT-DETR, YOLOS, Conditional DETR …
#
# Source: Carion et al. 2020, "End-to-End Object Detection with Transformers".

MIN_SCORE = 0.5  # of a detected box


class Detr(Network):
    """Any detector of transformers, for the object classes it was trained on."""

    eye = "detr"
    model_class = "AutoModelForObjectDetection"
    processor_class = "AutoImageProcessor"

    def __init__(self, weights: str, threshold: float = MIN_SCORE) -> None:
        super().__init__(weights)
        self._threshold = threshold

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """Return the boxes of each picture, highest score first."""
        outputs = self.outputs(self.inputs(images=list(pictures)))
        results = self.processor.post_process_object_detection(
            outputs,
            threshold=self._threshold,
            target_sizes=sizes(pictures),
        )
        names = self.model.config.id2label
        answers = []
        for result in results:
            # Numbers of classes differ between weights.
            labels = [str(names[int(number)]) for number in result["labels"]]
            answers.append(boxes(result, labels))
        return answers


def boxes(result: JsonObject, names: Sequence[str]) -> list[Box]:
    """Return a picture's boxes from scores and edges (left, top, right, bottom; pixels).

    ``names`` has one for each row of the ``result``. Highest score first.
    """
    rows = zip(
        names,
        result["scores"].tolist(),
        result["boxes"].tolist(),
        strict=True,
    )
    unsorted = [Box(name, score, *map(float, edges)) for name, score, edges in rows]
    return sorted(unsorted, key=lambda box: -box.score)


# Open-vocabulary grounding: boxes for any phrase.
#
# Sources: Liu et al. 2023, Grounding DINO; Minderer et al. 2023, OWLv2 (scaled OWL-ViT).


class Grounder(Network):
    """A network that finds boxes for phrases, highest score first."""

    model_class = "AutoModelForZeroShotObjectDetection"
    threshold: ClassVar[float]

    def _results(
        self,
        outputs: Any,
        pictures: Sequence[Picture],
        *args: Any,
        **named: Any,
    ) -> Any:
        """Return the post-processed answer for each picture, its boxes above ``threshold``.

        Further arguments are those of the network's own processor.
        """
        return self.processor.post_process_grounded_object_detection(
            outputs,
            *args,
            threshold=self.threshold,
            target_sizes=sizes(pictures),
            **named,
        )


class GroundingDino(Grounder):
    """Grounding DINO. Phrases form one text, each with a full stop, as in its training; more than
    the text encoder reads form several, each with a forward pass."""

    eye = "groundingdino"
    threshold = LEAST_SCORES["groundingdino"]

    async def find(
        self,
        pictures: Sequence[Picture],
        phrases: Sequence[str],
    ) -> list[list[Box]]:
        """Return the boxes of each picture, each named after its most likely phrase."""
        answers: list[list[Box]] = [[] for _ in pictures]
        for group in self._groups(phrases):
            for answer, more in zip(answers, self._find(pictures, group), strict=True):
                answer += more
        return [sorted(answer, key=lambda box: -box.score) for answer in answers]

    def _groups(self, phrases: Sequence[str]) -> list[list[str]]:
        """Return the phrases in groups, each as large as the text encoder reads: it ignores the
        tokens after its last one, so that further phrases would never be found."""
        groups: list[list[str]] = []
        room = 0
        for phrase in phrases:
            tokens = self.processor.tokenizer(_sentence(phrase))["input_ids"]
            size = len(tokens) - END_TOKENS
            if size > room:
                groups.append([])
                room = self.model.config.max_text_len - END_TOKENS
            groups[-1].append(phrase)
            room -= size
        return groups

    def _find(
        self, pictures: Sequence[Picture], phrases: Sequence[str]
    ) -> list[list[Box]]:
        """Return the boxes of each picture for phrases that fit into one text."""
        text = " ".join(map(_sentence, phrases))
        inputs = self.inputs(
            images=list(pictures),
            text=[text] * len(pictures),
            padding=True,
        )
        outputs = self.outputs(inputs)
        # The tokens tell which part of the text a score belongs to.
        texts = inputs["input_ids"]
        results = self._results(
            outputs,
            pictures,
            texts,
            text_threshold=self.threshold,
        )
        stop = self.processor.tokenizer.convert_tokens_to_ids(".")
        rows = zip(
            results,
            outputs.logits.sigmoid(),
            texts.tolist(),
            strict=True,
        )
        answers = []
        for result, scores, tokens in rows:
            detected = scores[scores.amax(dim=-1) > self.threshold]  # (boxes, tokens)
            # A phrase's tokens end with a full stop. Token 0 marks the start of the text.
            ends = [place for place, token in enumerate(tokens) if token == stop]
            starts = [1, *(end + 1 for end in ends)]
            chances = []  # of each phrase: one number per box
            for start, end in zip(starts, ends, strict=False):
                if len(detected):
                    chances.append(detected[:, start:end].amax(dim=-1).tolist())
            # A box gets the phrase with the most likely token.
            by_box = zip(*chances, strict=True)
            names = [phrases[by_phrase.index(max(by_phrase))] for by_phrase in by_box]
            answers.append(boxes(result, names))
        return answers


END_TOKENS = 2  # at the start and the end of a text


def _sentence(phrase: str) -> str:
    """Return a phrase as the text encoder was trained on it: in lower case with one full stop, as
    each full stop ends a phrase."""
    return f"{phrase.replace('.', '').strip().lower()}."


class Owlv2(Grounder):
    """OWLv2 and OWL-ViT: a score for each phrase in each box."""

    eye = "owlv2"
    threshold = LEAST_SCORES["owlv2"]

    async def find(
        self,
        pictures: Sequence[Picture],
        phrases: Sequence[str],
    ) -> list[list[Box]]:
        """Return the boxes of each picture, each named after the phrase that it was found for."""
        # The prompt of the published examples.
        texts = [[f"a photo of a {phrase}" for phrase in phrases]] * len(pictures)
        inputs = self.inputs(images=list(pictures), text=texts, padding="max_length")
        labels = [list(phrases)] * len(pictures)
        results = self._results(self.outputs(inputs), pictures, text_labels=labels)
        answers = []
        for result in results:
            names = [str(label) for label in result["text_labels"]]
            answers.append(boxes(result, names))
        return answers


# A small detector that needs only OpenCV: SSD networks in TensorFlow's frozen format.
#
#     wayword perceive pictures --detector ssd:FOLDER --out seen
#
# ``FOLDER`` contains ``*.pb`` (the frozen network) and ``*.pbtxt`` (OpenCV's text form of its
# graph), as published for SSD-MobileNet on COCO.
#
# Source: Liu et al. 2016, "SSD: Single Shot MultiBox Detector"; Lin et al. 2014, COCO. Its 80
# classes are numbered 1 to 90 with gaps; ``coco.txt`` has a line per number, ``-`` for a gap.

SIDE = 300  # rows and columns of the network's input


class Ssd(Perceiver):
    """A detector of COCO's 80 classes. Raises ``UsageError`` if it cannot be loaded."""

    def __init__(self, folder: str) -> None:
        with needing("ssd needs OpenCV", "pip install opencv-python-headless"):
            self._cv: Any = import_module("cv2")
        # An empty name would search the current folder. ``ssd:~/net`` is expanded by no shell.
        weights = []
        graphs = []
        if folder:
            path = Path(folder).expanduser()
            weights = sorted(path.glob("*.pb"))
            graphs = sorted(path.glob("*.pbtxt"))
        if not weights or not graphs:
            raise UsageError(
                f"ssd:{folder}: must be a folder with a .pb and a .pbtxt file"
            )
        try:
            self._net: Any = self._cv.dnn.readNetFromTensorflow(
                str(weights[0]),
                str(graphs[0]),
            )
        except self._cv.error as error:
            problem = single_line(error, 200)
            raise UsageError(f"ssd:{folder}: cannot be loaded: {problem}") from None
        # Records identify the weights by size and the graph's stem: every release names the
        # weights themselves ``frozen_inference_graph.pb``.
        self.name = f"ssd:{graphs[0].stem}:{weights[0].stat().st_size}"
        names = files("wayword.perception.networks") / "coco.txt"
        self._names = ["-", *names.read_text(encoding="utf-8").splitlines()]

    async def boxes(self, pictures: Sequence[Picture]) -> list[list[Box]]:
        """Return the boxes of each picture, highest score first."""
        answers = list[list[Box]]()
        for picture in pictures:
            blob = self._cv.dnn.blobFromImage(
                picture,
                size=(SIDE, SIDE),
                swapRB=False,
                crop=False,
            )
            self._net.setInput(blob)
            # Rows of picture, class, score and the edges as shares of the picture's sides.
            output = self._net.forward()[0, 0].tolist()
            rows, columns = picture.shape[:2]
            boxes = list[Box]()
            for _, kind, score, left, top, right, bottom in output:
                # Class 0 is the background, and gaps have no name.
                name = "-"
                if 0 < int(kind) < len(self._names):
                    name = self._names[int(kind)]
                if score >= MIN_SCORE and name != "-":
                    edges = (
                        left * columns,
                        top * rows,
                        right * columns,
                        bottom * rows,
                    )
                    boxes.append(Box(name, float(score), *map(float, edges)))
            answers.append(sorted(boxes, key=lambda box: -box.score))
        return answers
