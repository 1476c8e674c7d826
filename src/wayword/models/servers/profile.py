"""Traits of a model behind a server: known beforehand by its name, learnt from what it refuses.

    >>> profile_of("gpt-5-mini").limit
    'max_completion_tokens'
    >>> learnt(Profile(), "Unsupported parameter: 'stop' is not supported", {"stop": ["."]})[1]
    'stop sequences are applied locally'

The table is ``models/profiles.yaml``; what each trait means stands at its head.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

from wayword.core.episode import Json
from wayword.core.errors import DataError, UsageError, suggest
from wayword.settings import load_yaml, make

Schema = Literal["json_schema", "tool_call", "json_object", "none"]
SHIPPED = Path(__file__).parent.parent / "profiles.yaml"


@dataclass(frozen=True, slots=True)
class Profile:
    """The traits of a model behind a server; ``models/profiles.yaml`` describes each."""

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
    completions: bool = True
    thinking: int = 0
    window: int = 0
    output: int = 0
    without: tuple[str, ...] = ()
    """Fields that only some dialects have, and that this server has refused."""


def profile_of(model: str, chosen: str | Mapping[str, Json] = "", hosted: bool = False) -> Profile:
    """The profile of a model by its name, or the one that ``chosen`` says.

    ``chosen`` is the setting ``model.profile``: the name of an entry, a YAML file that goes before
    the shipped table, or traits to change. ``hosted`` says that the server is OpenAI's own. Raises
    ``UsageError``, ``DataError``.
    """
    table, entry, traits = shipped(), "", {}
    if isinstance(chosen, Mapping):
        traits = dict(chosen)
    elif chosen.endswith((".yaml", ".yml")):
        table = {**table, **_read(Path(chosen))}
    elif chosen:
        entry = chosen
        if entry not in table:
            entries = [key for key in table if "*" not in key]
            raise UsageError(f"there is no model profile {entry!r}; {suggest(entry, entries)}")
    entry = entry or _find_entry(model, table) or ("hosted" if hosted else "default")
    traits = {**_collect_traits(entry, table), **traits}
    profile: Profile = make(Profile, traits, f"profile {entry!r} of model {model}")
    return profile


def has_profile(model: str) -> bool:
    """True if the shipped table has an entry for a model of that name."""
    return bool(_find_entry(model, shipped()))


@cache
def shipped() -> Mapping[str, Mapping[str, Any]]:
    """The table that comes with this package."""
    return _read(SHIPPED)


def _find_entry(model: str, table: Mapping[str, object]) -> str:
    """The longest key that fits the name, with or without the vendor's folder before it."""
    full = model.lower()
    names = (full, full.rsplit("/", 1)[-1])
    matches = [key for key in table if any(fnmatchcase(n, key.lower()) for n in names)]
    return max(matches, key=lambda key: ("*" not in key, len(key)), default="")


def _collect_traits(entry: str, table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The traits of an entry, and of those that it is like."""
    visited, traits = {entry}, dict(table[entry])
    while (like := traits.pop("like", None)) is not None:
        if like not in table or like in visited:
            problem = "is no entry" if like not in table else "leads back to itself"
            raise UsageError(f"model profile {entry!r}: like: {like!r} {problem}")
        visited.add(like)
        traits = {**table[like], **traits}
    return traits


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    table = read_table(path, "model profiles")
    names = ["like", *(field.name for field in fields(Profile))]
    for name, traits in table.items():
        if not isinstance(traits, dict):
            raise DataError(path, name, "is not a mapping of traits")
        for trait in traits:
            if trait not in names:
                raise DataError(path, name, f"has no trait {trait!r}", suggest(trait, names))
    return table


def read_table(path: Path, what: str) -> dict[str, Any]:
    """Read a YAML file of entries by model name. Raises ``DataError``."""
    import yaml

    try:
        table = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise DataError(path, "", problem, f"name a YAML file of {what}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise DataError(path, "", f"cannot be read as {what}: {reason}") from None
    if not isinstance(table, dict):
        raise DataError(path, "", f"is not a mapping of model names to {what}")
    return {str(name): entry for name, entry in table.items()}


# What a refusal teaches. A server says in words which field it does not take; the field is left
# out, renamed or replaced, and the request is made once more.

REASONING: Mapping[str, Any] = {
    "temperature": False,
    "stop": 0,
    "logprobs": 0,
    "samples": False,
    "max_length": False,
    "completions": False,
}
"""All that servers of reasoning models refuse. Once a server refuses one of them in a telling way,
the others go with it: one refusal instead of six."""

_FIELD = re.compile(
    r"\b(max_completion_tokens|max_tokens|temperature|top_p|top_logprobs|logprobs|response_format"
    r"|json_schema|json_object|structured_outputs|tool_choice|tools|max_?length|min_?length|seed"
    r"|stop(?=[ '\"`])|top_k|min_p|cache_prompt|n(?=['\"`]))\b",
    re.IGNORECASE,
)
_LENGTHS = re.compile(r"(?:max|min)_?length", re.IGNORECASE)
_AT_MOST = re.compile(r"at most (\d+)(?: completion| output)? tokens", re.IGNORECASE)
_SYSTEM = re.compile(
    r"system (?:role|message|prompt)s?\b.{0,20}not support|'system'", re.IGNORECASE
)


def learnt(
    profile: Profile, message: str, body: Mapping[str, Json], param: str = ""
) -> tuple[Profile, str] | None:
    """The profile after a refusal, and the lesson in words; None where there is nothing to drop.

    ``message`` is the server's, ``param`` the field it names apart from it, ``body`` the request.
    """
    if capped := _AT_MOST.search(message):
        limit = int(capped[1])
        if 0 < limit < int(body.get(profile.limit) or 0):
            return replace(profile, output=limit), f"answers have at most {limit:,} tokens"
    for match in _FIELD.finditer(f"{param}' {message}"):
        name = match[1].lower()
        if name in ("json_schema", "json_object", "structured_outputs"):
            name = "response_format" if "response_format" in body else name
        if _LENGTHS.fullmatch(name) or name in body:
            lesson = _lesson(profile, name, message)
            if lesson[0] != profile:
                return lesson
    if profile.system and _SYSTEM.search(message):
        return replace(profile, system=False), "the system message goes before the user's"
    return None


def _lesson(profile: Profile, name: str, message: str) -> tuple[Profile, str]:
    """The profile without a field that was refused, and the lesson in words."""
    thinking = profile.thinking or int(shipped()["reasoning"]["thinking"])
    reasoning = replace(
        profile, **REASONING, limit="max_completion_tokens", thinking=thinking, output=0
    )
    if _LENGTHS.fullmatch(name):
        return replace(profile, max_length=False), "length rules are left out of schemas"
    match name:
        case "max_tokens":  # refused by the reasoning models of OpenAI's kind
            words = "max_completion_tokens, and all else that reasoning models refuse is left out"
            return reasoning, words
        case "max_completion_tokens":
            words = "max_tokens instead of max_completion_tokens"
            return replace(profile, limit="max_tokens"), words
        case "response_format" | "tools" | "tool_choice":
            weaker: Schema = "json_object" if profile.schema == "json_schema" else "none"
            return replace(profile, schema=weaker), f"JSON is asked for by {weaker}"
        case "temperature":
            words = "treated as a reasoning model: no temperature, no stop sequences"
            return reasoning, words
        case "logprobs" | "top_logprobs" if "reasoning" in message.lower():
            return reasoning, "treated as a reasoning model: no log-probabilities"
        case "logprobs" | "top_logprobs":
            return replace(profile, logprobs=0), "no log-probabilities"
        case "top_p":
            return replace(profile, temperature=False), "no temperature"
        case "stop":
            return replace(profile, stop=0), "stop sequences are applied locally"
        case "seed":
            return replace(profile, seed=False), "no seed"
        case "n":
            return replace(profile, samples=False), "one sample a request"
    return replace(profile, without=(*profile.without, name)), f"{name} is left out"
