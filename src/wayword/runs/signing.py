"""A run folder's signature: ``wayword run --sign`` writes it, ``wayword verify`` checks it.

``signature.json`` holds what was signed (the config with its versions, and the SHA-256 of every
line of the folder's records), the public key, and the Ed25519 signature over the first of these. So
a change is not only noticed: it is told which field or line it is in.

The private key is never in the folder: ``$WAYWORD_SIGNING_KEY`` is a PEM file's path, its text, or
64 hex digits. Ed25519: https://www.rfc-editor.org/rfc/rfc8032
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayword.core.episode import Json
from wayword.core.errors import RecordingError, UsageError, needing
from wayword.core.secrets import remember
from wayword.runs import config as configs
from wayword.runs import remote
from wayword.runs.jsonl import read_lines, unusable, whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAME = "signature.json"
KEY = "WAYWORD_SIGNING_KEY"
RECORDS = ("episodes.jsonl", "failures.jsonl", "sessions.jsonl", "spending.jsonl")
"""What is signed line by line; ``index.jsonl`` can be made again from these."""
_REMEDY = f"set ${KEY} to a file made by: openssl genpkey -algorithm ed25519 -out key.pem"
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found: nothing in ``changed`` where all is as it was signed by ``key``."""

    key: str
    signed: str
    lines: int
    changed: tuple[str, ...] = ()


def signing_key() -> Ed25519PrivateKey:
    """The key of the environment. Raises ``UsageError`` where there is none, or it is no key."""
    _library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    given = os.environ.get(KEY, "").strip()
    if not given:
        raise UsageError(f"--sign needs a key; {_REMEDY}")
    try:
        if len(given) == 64 and set(given.lower()) <= set("0123456789abcdef"):
            remember(given)
            return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(given))
        text = given if given.startswith("-----BEGIN") else Path(given).read_text("ascii")
        found = load_pem_private_key(text.encode(), None)
    except OSError as error:
        raise UsageError(f"${KEY}: {(error.strerror or 'unreadable').lower()}; {_REMEDY}") from None
    except (ValueError, TypeError):
        raise UsageError(f"${KEY} holds no key that can be used; {_REMEDY}") from None
    if not isinstance(found, Ed25519PrivateKey):
        raise UsageError(f"${KEY} holds a key of another kind than Ed25519; {_REMEDY}")
    return found


def sign(run: Path, key: Ed25519PrivateKey) -> str:
    """Sign what is in the run folder now. Returns the public key, 64 hex digits."""
    with remote.writing(run) as (folder, _):
        return _sign(folder, key)


def _sign(run: Path, key: Ed25519PrivateKey) -> str:
    signed: dict[str, Json] = {
        "config": configs.raw_config(run / "config.json"),
        "lines": {name: [digest for _, digest, _ in _digests(run / name)] for name in RECORDS},
        "wayword": version("wayword"),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    public = key.public_key().public_bytes_raw().hex()
    told = {"signed": signed, "key": public, "signature": key.sign(_canonical(signed)).hex()}
    try:
        whole(run / NAME, [json.dumps(told, ensure_ascii=False, allow_nan=False).encode()])
    except OSError as error:
        raise unusable(run / NAME, error, "give a folder that can be written") from error
    return public


def verify(run: Path, key: str = "") -> Verdict:
    """Compare the folder with its signature. ``key``: the public key that it must be signed by.

    Raises ``RecordingError`` for a folder without a signature, or one that is none.
    """
    _library()
    run = remote.local(run)
    signed, public, signature = _read(run / NAME)
    lines = sum(len(each) for each in signed["lines"].values())
    changed: list[str] = []
    if key and key.strip().lower() != public:
        changed.append(f"{NAME}: is signed by another key, {public}")
    if not _genuine(signed, public, signature):
        changed.append(f"{NAME}: was changed: the signature is not that of {public}")
    else:
        changed += _config_changes(run / "config.json", signed["config"])
        for name in RECORDS:
            changed += _line_changes(run / name, signed["lines"].get(name, []))
    return Verdict(public, str(signed.get("at", "")), lines, tuple(changed))


def _read(path: Path) -> tuple[dict[str, Any], str, str]:
    try:
        told = json.loads(path.read_bytes())
        signed, public, signature = told["signed"], str(told["key"]), str(told["signature"])
        if not isinstance(signed["config"], dict) or not isinstance(signed["lines"], dict):
            raise ValueError("not of this form")
        if not all(isinstance(each, list) for each in signed["lines"].values()):
            raise ValueError("not of this form")
    except FileNotFoundError:
        if not (path.parent / "config.json").is_file():
            raise RecordingError(f"{path.parent}: no such run folder") from None
        raise RecordingError(f"{path.parent}: is not signed; run it again with --sign") from None
    except OSError as error:
        raise unusable(path, error) from error
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RecordingError(f"{path}: is no signature; run it again with --sign") from None
    return signed, public, signature


def _genuine(signed: dict[str, Json], public: str, signature: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), _canonical(signed))
    except (InvalidSignature, ValueError):
        return False
    return True


def _canonical(signed: dict[str, Json]) -> bytes:
    """The same bytes for the same values, whoever wrote them."""
    return json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _config_changes(path: Path, was: dict[str, Json]) -> Iterator[str]:
    try:
        now = configs.raw_config(path)
    except RecordingError as error:
        yield str(error)
        return
    if found := configs.difference({"identity": was}, {"identity": now}):
        field, then, there = found
        yield f"{path.name}: field {field!r} was {then!r} and is now {there!r}"


def _digests(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Each line's number, digest and text."""
    for number, line in read_lines(path):
        yield number, hashlib.sha256(line).hexdigest(), line


def _line_changes(path: Path, was: Sequence[str]) -> Iterator[str]:
    """Which lines are not those that were signed."""
    found = list(_digests(path))
    now = [digest for _, digest, _ in found]
    if now == was:
        return
    if Counter(now) == Counter(was):
        yield f"{path.name}: the lines stand in another order"
        return
    known, left = Counter(was), Counter(now)
    told = 0
    for number, digest, line in found:
        known[digest] -= 1
        if known[digest] < 0:
            told += 1
            kind = "was changed" if number <= len(was) else "was added"
            if left[digest] > 1:
                kind = "is there a second time"
            if told <= _SHOWN:
                yield f"{path.name}: line {number}{_episode(line)} {kind}"
    if told > _SHOWN:
        yield f"{path.name}: {told - _SHOWN} more lines were changed or added"
    if (gone := len(was) - len(now)) > 0:
        there = set(now)
        first = next(at for at, digest in enumerate(was, 1) if digest not in there)
        yield f"{path.name}: {gone} lines are gone; the first was line {first}"


def _episode(line: bytes) -> str:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    name = told.get("episode") if isinstance(told, dict) else None
    return f" (episode {name})" if isinstance(name, str) else ""


def _library() -> None:
    with needing("signatures need a library", "sign"):
        pass
