"""Landmark scores by a CLIP or SigLIP model on panorama pictures (extra ``[vision]``).

A view of 800 x 460 pixels and 60 degrees is cut from an equirectangular panorama. Its score is the
cosine similarity with the caption ``picture of {landmark}``. The training area consists of the
panoramas marked ``seen`` in the graph's ``nodes.txt``, in eight directions each; their embeddings
are cached on disk for each model and set of pictures.

Source: VELMA (Schumann et al. 2023), sections 5.2 and 6 (CLIP ViT-bigG-14 of LAION).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.arrays import read_array
from wayword.core.errors import DataError, UsageError
from wayword.core.files import cache_folder, keep, read_bytes, text_checksum
from wayword.core.perceiver import Perceiver, Picture
from wayword.perception import panorama as pictures
from wayword.perception.landmarks import (
    CAPTION,
    FRONT,
    REAR,
    Scores,
    Standard,
    StandardizedScorer,
)
from wayword.perception.networks import indoor_words
from wayword.perception.networks.eyes import Network
from wayword.perception.panorama import view

# As in VELMA.
FIELD_OF_VIEW = 60.0
"""Horizontal field of view of the views, in degrees."""
SIZE = (460, 800)
"""Rows and columns of the views."""
TRAINING_HEADINGS = tuple(range(0, 360, 45))
"""Headings (degrees) of the views cut from a training panorama."""
# Chosen without measurement.
BATCH = 64  # pictures per batch


class PanoramaPictures:
    """A folder of equirectangular pictures, ``{panorama}.jpg`` or ``.png``.

    ``nodes`` is the graph's nodes.txt, plain or gzipped: ``panorama,yaw,lat,lng,area``. The yaw is
    the heading (degrees) of the picture's middle column. Raises ``UsageError`` if the folder does
    not exist, ``DataError`` for an invalid line or an unreadable picture.
    """

    def __init__(self, folder: Path, nodes: Path) -> None:
        # An early error: later each panorama would be a missing file.
        if not folder.is_dir():
            raise UsageError(f"images={folder}: no such folder")
        self.folder = folder
        self._nodes = nodes

    @cached_property
    def yaws(self) -> Mapping[str, float]:
        """Heading of the middle column of each panorama's picture, in degrees."""
        return {name: yaw for name, yaw, _ in self._node_rows}

    @cached_property
    def training(self) -> Sequence[str]:
        """Panoramas of the training area that have a picture, in file order."""
        # Panoramas without a picture are left out, so a partial folder gives partial
        # standards.
        return [
            name
            for name, _, area in self._node_rows
            if area == "seen" and self._path(name)
        ]

    def view(self, panorama: str, heading: float) -> Picture | None:
        """Return the view of a panorama (460, 800, 3) towards a heading (degrees); None
        without a picture."""
        path = self._path(panorama)
        if path is None:
            return None
        # The picture's middle faces its yaw, so the angle is relative to that.
        return cut(pictures.cached_read(path), heading - self.yaws.get(panorama, 0.0))

    def _path(self, panorama: str) -> Path | None:
        """Return the picture of a panorama; None if there is none, or its name could leave the
        folder."""
        # A name comes from a data set and must not leave the folder.
        if "/" in panorama or "\\" in panorama:
            return None
        return pictures.picture_at(self.folder / panorama)

    @cached_property
    def version(self) -> str:
        """Checksum of the training area's views: changed pictures or yaws give another one."""
        lines = [f"{FIELD_OF_VIEW} {SIZE} {TRAINING_HEADINGS}"]
        for name in self.training:
            lines.append(f"{name} {self.yaws[name]}")
            path = self._path(name)
            # By size and time: reading all pictures would take as long as embedding them.
            if path is not None and path.is_file():
                state = path.stat()
                lines.append(f"{path.name} {state.st_size} {state.st_mtime_ns}")
        return text_checksum("\n".join(lines))

    @cached_property
    def _node_rows(self) -> Sequence[tuple[str, float, str]]:
        """Name, yaw in degrees and area of each panorama. Raises ``DataError`` naming the line."""
        rows = []
        # Bytes that are no UTF-8 are replaced: names of panoramas are ASCII, other
        # columns are not read.
        text = read_bytes(self._nodes).decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            try:
                name, yaw, *rest = line.split(",")
                area = rest[2] if len(rest) > 2 else ""  # some files have no areas
                rows.append((name, float(yaw), area))
            except ValueError:
                problem = f"must be 'panorama,yaw,lat,lng,area', got {line[:60]!r}"
                raise DataError(self._nodes, f"line {number}", problem) from None
        return rows


def cut(panorama: Picture, angle: float) -> Picture:
    """Return the perspective view (460, 800, 3) of an equirectangular picture (H, W, 3).

    ``angle`` is from its middle (degrees, right positive).
    """
    return view(panorama, angle, 0.0, FIELD_OF_VIEW, SIZE)


class ClipScores(StandardizedScorer):
    """Landmark scores of a CLIP or SigLIP model on panorama pictures."""

    def __init__(
        self,
        encoder: TransformersEncoder,
        pictures: PanoramaPictures,
        cache: Path | None,
    ) -> None:
        self._encoder = encoder
        self._pictures = pictures
        self.name = f"neural:{encoder.name}"
        self._texts: dict[str, Scores] = {}
        self._view = lru_cache(maxsize=4096)(self._embed_view)
        # Standards depend on each view of the training area.
        folder = pictures.folder.resolve()
        self.identity = f"{encoder.name} {folder} {pictures.version}"
        super().__init__(cache)

    def raw_scores(
        self,
        scene: str,
        place: str,
        headings: Sequence[int],
        phrases: Sequence[str],
    ) -> Scores:
        """Return cosine similarities (phrases, views); NaN for a view without a picture."""
        # Unit vectors, so a product is the cosine.
        texts = self._embed_texts(phrases)
        scores = np.full((len(phrases), len(headings)), np.nan)
        for column, heading in enumerate(headings):
            view = self._view(place, heading)
            if view is not None:
                scores[:, column] = texts @ view
        return scores

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        """Return mean and deviation of each landmark over all views of the training area.

        Empty without pictures of it.
        """
        # Without pictures of the training area nothing can be standardized.
        views = self._training
        standards = dict[str, Standard]()
        if not len(views):
            return {}
        # In the type of the stored views: a copy of them as doubles would take
        # gigabytes.
        for landmark, text in zip(landmarks, self._embed_texts(landmarks), strict=True):
            scores = np.asarray(views @ text.astype(views.dtype), np.float64)
            standards[landmark] = float(scores.mean()), float(scores.std())
        return standards

    def _embed_view(self, panorama: str, heading: int) -> Scores | None:
        """Return the features of a view; None without its picture."""
        view = self._pictures.view(panorama, heading)
        return None if view is None else self._encoder.pictures([view])[0]

    def _embed_texts(self, phrases: Sequence[str]) -> Scores:
        """Return the features of phrases, a row for each; those seen before are kept."""
        # Each phrase once, since the same landmarks return at every step.
        new_phrases = [
            phrase for phrase in dict.fromkeys(phrases) if phrase not in self._texts
        ]
        if new_phrases:
            # The phrases for the flow of traffic are captions already.
            whole = {FRONT: FRONT, REAR: REAR}
            captions = [whole.get(p, CAPTION.format(p)) for p in new_phrases]
            embeddings = self._encoder.texts(captions)
            self._texts.update(zip(new_phrases, embeddings, strict=True))
        return np.array([self._texts[phrase] for phrase in phrases])

    @cached_property
    def _training(self) -> NDArray[np.float32]:
        """Embeddings (N, D) of the training area's views, cached on disk."""
        stored = self.cache_file("views", "npy")
        if stored and stored.is_file():
            try:
                return read_array(stored, mapped=True)
            except (OSError, ValueError):
                stored.unlink(missing_ok=True)  # damaged: compute it again

        # In batches, since all pictures together do not fit in memory.
        training = self._pictures.training
        parts = list[NDArray[np.float32]]()
        batch = list[Picture]()
        for panorama in training:
            for heading in TRAINING_HEADINGS:
                view = self._pictures.view(panorama, heading)
                if view is not None:
                    batch.append(view)
            if batch and (len(batch) >= BATCH or panorama == training[-1]):
                # Doubles of all views would take twice the memory.
                parts.append(self._encoder.pictures(batch).astype(np.float32))
                batch = []
        # One column at least, so that an empty set has a shape.
        vectors = np.zeros((0, 1), np.float32)
        if parts:
            vectors = np.concatenate(parts)
        if stored:
            keep(stored, lambda file: np.save(file, vectors, allow_pickle=False))
        return vectors


class TransformersEncoder(Network):
    """Any CLIP or SigLIP model of ``transformers``."""

    eye = "clip"
    model_class = "AutoModel"

    def __init__(self, weights: str) -> None:
        super().__init__(weights)
        self.name = weights

    def pictures(self, views: Sequence[Picture]) -> Scores:
        """Return unit embeddings (N, D) of pictures."""
        return self._unit("get_image_features", images=list(views))

    def texts(self, captions: Sequence[str]) -> Scores:
        """Return unit embeddings (N, D) of captions."""
        # SigLIP was trained on texts padded to 64 tokens; CLIP works with either.
        padding = "max_length" if "siglip" in self.model.config.model_type else True
        # Some tokenizers lack the model's maximum length, and longer texts raise an error.
        max_length = self.model.config.text_config.max_position_embeddings
        options = {
            "padding": padding,
            "truncation": True,
            "max_length": max_length,
        }
        return self._unit("get_text_features", text=list(captions), **options)

    def _unit(self, method: str, **given: Any) -> Scores:
        """Return the vectors (N, D) of a method of the model, normalized to length 1."""
        inputs = self.inputs(**given)
        with self.torch.inference_mode():
            outputs = getattr(self.model, method)(**inputs)
        # Newer versions wrap the vectors.
        vectors = getattr(outputs, "pooler_output", outputs)
        unit = vectors / vectors.norm(dim=-1, keepdim=True)
        return np.asarray(unit.float().cpu().numpy(), np.float64)


@lru_cache(maxsize=1)
def neural_scorer(model: str, image_folder: str, nodes_file: str) -> Perceiver:
    """Return the landmark scores of a CLIP or SigLIP model, loaded once per process.

    Raises ``UsageError`` if a folder or a package is missing.
    """
    # Both are needed: pictures alone do not say which panoramas are for training.
    if not image_folder or not nodes_file:
        raise UsageError(
            "scores=neural needs panorama pictures and the graph's nodes.txt, which marks the "
            "training area: set images=FOLDER and nodes=FILE"
        )
    pictures = PanoramaPictures(Path(image_folder), Path(nodes_file))
    return ClipScores(
        TransformersEncoder(model),
        pictures,
        cache_folder() / "landmarks",
    )


# Tags: the words of a list that an image-text model scores highest.
#
# Sources: Radford et al. 2021, CLIP; Zhai et al. 2023, SigLIP; Zhang et al. 2023, Recognize
# Anything (RAM), which this replaces.

TAGGED = "a photo of a {}"  # the prompt with which CLIP was evaluated
MARGIN = 1.0
"""Minimum score of a tag, in standard deviations above the mean of all words."""
MAX_TAGS = 15  # per picture


class ListTagger(Perceiver):
    """Tags pictures with the best words of a list: ``tags:WEIGHTS`` or ``tags:WEIGHTS,FILE``.

    The file has one word or phrase per line; the default lists objects in buildings.
    """

    def __init__(self, weights: str) -> None:
        model, _, path = weights.partition(",")
        self._encoder = TransformersEncoder(model)
        self._words = indoor_words(path)
        # A deviation needs at least two words.
        if len(self._words) < 2:
            raise UsageError(f"tags: {path}: must have at least two lines")
        self._texts = self._encoder.texts([TAGGED.format(word) for word in self._words])
        self.name = f"tags:{weights}:{len(self._words)}"

    async def tags(self, pictures: Sequence[Picture]) -> list[list[str]]:
        """Return the words that stand out in each picture, the best first; none may."""
        # Every word against every picture at once.
        scores = self._encoder.pictures(pictures) @ self._texts.T
        cutoffs = scores.mean(axis=1) + MARGIN * scores.std(axis=1)
        order = np.argsort(-scores, axis=1)[:, :MAX_TAGS]
        tags = []
        # The best words, of those only the outstanding ones: a picture of a wall may
        # have none.
        for row, cutoff, ranked in zip(scores, cutoffs, order, strict=True):
            tags.append([self._words[n] for n in ranked if row[n] > cutoff])
        return tags
