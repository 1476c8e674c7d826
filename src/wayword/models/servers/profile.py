"""What a model behind a server takes: known beforehand by its name, learnt from what it refuses.

    >>> profile_of("gpt-5-mini").limit
    'max_completion_tokens'
    >>> learnt(Profile(), "Unsupported parameter: 'stop' is not supported", {"stop": ["."]})[1]
    'stop sequences are cut off here'

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
    table: Mapping[str, Mapping[str, Any]] = shipped()
    name, traits = "", {}
    if isinstance(chosen, Mapping):
        traits = dict(chosen)
    elif chosen.endswith((".yaml", ".yml")):
        table = {**table, **_read(Path(chosen))}
    elif chosen:
        name = chosen
        if name not in table:
            entries = [key for key in table if "*" not in key]
            raise UsageError(f"there is no model profile {name!r}; {suggest(name, entries)}")
    entry = name or _fitting(model, table) or ("hosted" if hosted else "default")
    known = {**_traits(entry, table), **traits}
    made: Profile = make(Profile, known, f"profile {entry!r} of model {model}")
    return made


def is_known(model: str) -> bool:
    """Whether the shipped table has an entry for a model of that name."""
    return bool(_fitting(model, shipped()))


@cache
def shipped() -> Mapping[str, Mapping[str, Any]]:
    """The table that comes with this package."""
    return _read(SHIPPED)


def _fitting(model: str, table: Mapping[str, object]) -> str:
    """The longest key that fits the name, with or without the vendor's folder before it."""
    full = model.lower()
    names = (full, full.rsplit("/", 1)[-1])
    fitting = [key for key in table if any(fnmatchcase(n, key.lower()) for n in names)]
    return max(fitting, key=lambda key: ("*" not in key, len(key)), default="")


def _traits(
    entry: str, table: Mapping[str, Mapping[str, Any]], seen: tuple[str, ...] = ()
) -> dict[str, Any]:
    own = dict(table[entry])
    like = own.pop("like", None)
    if like is None:
        return own
    if like not in table or like in seen:
        problem = "is no entry" if like not in table else "leads back to itself"
        raise UsageError(f"model profile {entry!r}: like: {like!r} {problem}")
    return {**_traits(str(like), table, (*seen, entry)), **own}


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    import yaml

    try:
        found = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise DataError(path, "", f"cannot be read as model profiles: {reason}") from None
    if not isinstance(found, dict) or not all(isinstance(v, dict) for v in found.values()):
        raise DataError(path, "", "is not a mapping of model names to traits")
    known = {"like", *(field.name for field in fields(Profile))}
    for name, traits in found.items():
        for trait in traits:
            if trait not in known:
                raise DataError(
                    path, str(name), f"has no trait {trait!r}", suggest(trait, [*known])
                )
    return {str(name): traits for name, traits in found.items()}


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
"""All that servers of reasoning models refuse. Once one of them is refused in a way that tells such
a server, the others go with it: one refusal instead of six."""

_WEAKER: Mapping[Schema, Schema] = {"json_schema": "json_object"}

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
    if found := _AT_MOST.search(message):
        most = int(found[1])
        if 0 < most < int(body.get(profile.limit) or 0):
            return replace(profile, output=most), f"answers have at most {most:,} tokens"
    named = [match[1] for match in _FIELD.finditer(f"{param}' {message}")]
    for name in named:
        lesson = _lesson(profile, name.lower(), message, body)
        if lesson is not None and lesson[0] != profile:
            return lesson
    if profile.system and _SYSTEM.search(message):
        return replace(profile, system=False), "what the system says goes before the user's message"
    return None


def _lesson(
    profile: Profile, name: str, message: str, body: Mapping[str, Json]
) -> tuple[Profile, str] | None:
    if _LENGTHS.fullmatch(name):
        return replace(profile, max_length=False), "length rules are left out of schemas"
    if name in ("json_schema", "json_object", "structured_outputs"):
        name = "response_format" if "response_format" in body else name
    if name not in body:
        return None
    if name in ("max_tokens", "max_completion_tokens"):
        if name == "max_tokens":  # wanted by the reasoning models of OpenAI's kind
            words = "max_completion_tokens, and all else that reasoning models refuse is left out"
            return _reasoning(profile), words
        return replace(profile, limit="max_tokens"), "max_tokens instead of max_completion_tokens"
    if name in ("response_format", "tools", "tool_choice"):
        weaker = _WEAKER.get(profile.schema, "none")
        return replace(profile, schema=weaker), f"JSON is asked for by {weaker}"
    if name == "temperature":
        return _reasoning(profile), "taken for a reasoning model: no temperature, no stop sequences"
    return _dropped(profile, name, message)


def _dropped(profile: Profile, name: str, message: str) -> tuple[Profile, str]:
    if name in ("logprobs", "top_logprobs"):
        if "reasoning" in message.lower():
            return _reasoning(profile), "taken for a reasoning model: no log-probabilities"
        return replace(profile, logprobs=0), "no log-probabilities"
    changes: dict[str, tuple[dict[str, Any], str]] = {
        "top_p": ({"temperature": False}, "no temperature"),
        "stop": ({"stop": 0}, "stop sequences are cut off here"),
        "seed": ({"seed": False}, "no seed"),
        "n": ({"samples": False}, "one sample a request"),
    }
    traits, words = changes.get(
        name, ({"without": (*profile.without, name)}, f"{name} is left out")
    )
    return replace(profile, **traits), words


def _reasoning(profile: Profile) -> Profile:
    thinking = profile.thinking or int(shipped()["reasoning"]["thinking"])
    return replace(profile, **REASONING, limit="max_completion_tokens", thinking=thinking, output=0)
