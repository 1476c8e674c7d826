"""Profile: the request fields that a model on a server supports.

    >>> profile_of("gpt-5-mini").limit
    'max_completion_tokens'

Profiles are selected by the model's name from ``models/profiles.yaml``, which describes each trait,
and updated when the server refuses a field (:mod:`~wayword.models.servers.refusals`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

from wayword.core.episode import Json
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import read_text
from wayword.core.model import ASSUMED, PictureTokens
from wayword.settings import load_shipped, load_yaml, make

Schema = Literal["json_schema", "tool_call", "json_object", "none"]
SHIPPED = Path(__file__).parent.parent / "profiles.yaml"


@dataclass(frozen=True, slots=True)
class Profile:
    """The traits of a model on a server; ``models/profiles.yaml`` describes each."""

    temperature: bool = True
    stop: int = 16
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    max_length: bool = True
    schema: Schema = "json_schema"
    logprobs: int = 20
    samples: bool = True
    seed: bool = True
    system: bool = True
    images: bool = True
    picture: Mapping[str, float] = field(default_factory=dict)
    completions: bool = True
    thinking: int = 0
    window: int = 0
    usual_window: int = 32768
    output: int = 0
    tools: bool = True
    verbatim: bool = True
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    @property
    def pictures(self) -> PictureTokens:
        """How the model counts pictures, by the rule ``picture``."""
        if not self.picture:
            return ASSUMED
        numbers = {key: int(value) for key, value in self.picture.items()}
        return replace(PictureTokens(**numbers), each=self.picture.get("each", 1.0))


def profile_of(
    model: str, chosen: str | Mapping[str, Json] = "", hosted: bool = False
) -> Profile:
    """Return the profile of a model, by its name or as chosen by the user.

    ``chosen`` is the setting ``model.profile``: the name of an entry, a YAML file that
    overrides the shipped table, or changed traits. ``hosted``: the server is OpenAI's
    own. Raises ``UsageError`` or ``DataError``.
    """
    table = shipped()
    entry = ""
    traits = {}
    if isinstance(chosen, Mapping):
        traits = dict(chosen)
    elif chosen.endswith((".yaml", ".yml")):
        table = {**table, **_read(Path(chosen))}
    elif chosen:
        entry = chosen
        if entry not in table:
            entries = [key for key in table if "*" not in key]
            raise UsageError(
                f"no model profile is called {entry!r}; {suggest(entry, entries)}"
            )
    usual = "hosted" if hosted else "default"
    entry = entry or _find_entry(model, table) or usual
    # An entry may be like another one, whose traits it overrides.
    visited = {entry}
    inherited = dict(table[entry])
    while (like := inherited.pop("like", None)) is not None:
        if like not in table or like in visited:
            problem = "is not an entry" if like not in table else "forms a cycle"
            raise UsageError(f"model profile {entry!r}: like: {like!r} {problem}")
        visited.add(like)
        inherited = {**table[like], **inherited}
    # The user's traits win over those of the table.
    traits = {**inherited, **traits}
    picture = traits.get("picture", {})
    rules = [each.name for each in fields(PictureTokens)]
    for key in picture if isinstance(picture, Mapping) else ():
        if key not in rules:
            problem = f"picture has no rule {key!r}; {suggest(str(key), rules)}"
            raise UsageError(f"profile {entry!r} of model {model}: {problem}")
    profile: Profile = make(Profile, traits, f"profile {entry!r} of model {model}")
    return profile


def has_profile(model: str) -> bool:
    """True if the shipped table has an entry for the model."""
    return bool(_find_entry(model, shipped()))


@cache
def shipped() -> Mapping[str, Mapping[str, Any]]:
    """Return the table that comes with this package."""
    table: Mapping[str, Mapping[str, Any]] = load_shipped(SHIPPED)
    return table


def _find_entry(model: str, table: Mapping[str, object]) -> str:
    """Return the longest key that matches the name, without its vendor's folder if the key has
    none."""
    full = model.lower()
    short = full.rsplit("/", 1)[-1]
    # The * of "moonshot*" must not take in the name behind "moonshotai/".
    matches = [
        key for key in table if fnmatchcase(full if "/" in key else short, key.lower())
    ]
    return max(matches, key=lambda key: ("*" not in key, len(key)), default="")


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    """Return a table of profiles by name. Raises ``DataError`` for an unknown trait."""
    table = read_table(path, "model profiles")
    names = ["like", *(each.name for each in fields(Profile))]
    for name, traits in table.items():
        if not isinstance(traits, dict):
            raise DataError(path, name, "must be a mapping of traits")
        for trait in traits:
            if trait not in names:
                raise DataError(
                    path, name, f"unknown trait {trait!r}", suggest(trait, names)
                )
    return table


def read_table(path: Path, what: str) -> dict[str, Any]:
    """Read a YAML file of entries by model name. Raises ``DataError``."""
    import yaml

    try:
        table = load_yaml(read_text(path))
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise DataError(path, "", problem, f"name a YAML file of {what}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise DataError(path, "", f"cannot be read as {what}: {reason}") from None
    if not isinstance(table, dict):
        raise DataError(path, "", f"must be a mapping of model names to {what}")
    return {str(name): entry for name, entry in table.items()}
