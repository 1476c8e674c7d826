"""Redaction: what is known as a secret, and in which forms it is found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from wayword.core.secrets import (
    MASK,
    environment_secrets,
    hidden,
    is_secret,
    redacted,
    remember,
    without_secrets,
)


def test_secrets_of_the_environment_go_in_every_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", 'abc/"def"+123')
    environment_secrets()
    for text in (
        'abc/"def"+123',
        json.dumps('abc/"def"+123'),
        "?k=abc%2F%22def%22%2B123",
    ):
        assert "def" not in redacted(f"before {text} after")
        assert redacted(f"before {text} after").startswith("before ")


def test_a_short_value_is_an_ordinary_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORT_KEY", "name")
    environment_secrets()
    assert redacted("the name of the room") == "the name of the room"


def test_a_secret_that_holds_another_goes_in_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_TOKEN", "12345678")
    monkeypatch.setenv("B_TOKEN", "12345678-and-more")
    environment_secrets()
    assert redacted("<12345678-and-more>") == f"<{MASK}>"


def test_what_is_remembered_is_known() -> None:
    remember("tell-nobody")
    assert redacted("I tell-nobody this") == f"I {MASK} this"
    remember("")
    assert redacted("") == ""


def test_addresses_are_shown_without_their_secrets() -> None:
    shown = without_secrets("https://host:8/v1?api-version=1&sig-token=t0ps3cret#x")
    assert shown == f"https://host:8/v1?api-version=1&sig-token={MASK}#x"
    assert redacted("t0ps3cret") == MASK
    assert is_secret("Authorization")
    assert not is_secret("max_tokens")


def test_a_placeholder_for_a_key_is_an_ordinary_word() -> None:
    remember("none")
    assert redacted("default-src 'none'") == "default-src 'none'"
    remember("k1c9")
    assert redacted("the key k1c9") == "the key [redacted]"


@pytest.mark.parametrize(
    "name", ["Cookie", "X-Auth", "X-Pat", "X-Credential", "sig", "code", "DB_PASSWD"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)
    assert hidden(name, "h-secret-7") == MASK
    assert redacted("it was h-secret-7") == f"it was {MASK}"


@pytest.mark.parametrize(
    "name", ["max_tokens", "FORMAT", "GLIBC_COMPAT", "SSH_AUTH_SOCK", "PWD"]
)
def test_names_that_only_look_like_those_of_secrets(name: str) -> None:
    assert not is_secret(name)


def test_values_of_unknown_names_are_hidden_and_distinguished() -> None:
    small = hidden("variant", "small")
    large = hidden("variant", "large")
    assert small.startswith("[redacted ")
    assert small != large
    assert redacted("a small step") == "a small step", (
        "an ordinary word stays in every text"
    )
    assert hidden("X-Title", "Wayword") == "Wayword"
    assert hidden("x-session", "Bearer 9f8e7d6c5b4a3921")[:9] == "[redacted"
    assert redacted("9f8e7d6c5b4a3921 was refused") == f"{MASK} was refused"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/v1/sk-live-99/chat", f"/v1/{MASK}/chat"),
        ("/k/9f8a7d6c5b4a3f2e/v1", f"/k/{MASK}/v1"),
        ("/token/abc123/v1", f"/token/{MASK}/v1"),
        (
            "/openai/deployments/gpt-4o-2024-08-06",
            "/openai/deployments/gpt-4o-2024-08-06",
        ),
        (
            "/hf-inference/models/Qwen2.5-7B-Instruct",
            "/hf-inference/models/Qwen2.5-7B-Instruct",
        ),
        (
            "/v1beta/projects/my-proj-123456/us-central1",
            "/v1beta/projects/my-proj-123456/us-central1",
        ),
    ],
)
def test_keys_in_the_path_of_an_address(path: str, shown: str) -> None:
    assert without_secrets(f"https://host{path}") == f"https://host{shown}"


class Counted(dict[str, str]):
    """An environment that counts how often it is gone through."""

    scans = 0

    def __iter__(self) -> Iterator[str]:
        self.scans += 1
        return super().__iter__()


def test_the_environment_is_read_once_and_again_with_every_new_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = Counted(SOME_TOKEN="first-secret-1")
    monkeypatch.setattr(os, "environ", environment)
    remember("reads-it-anew-1")
    assert [redacted(f"say {n} first-secret-1") for n in range(100)][
        -1
    ] == f"say 99 {MASK}"
    assert environment.scans == 1
    environment["OTHER_TOKEN"] = "second-secret-2"
    remember("reads-it-anew-2")
    assert redacted("second-secret-2") == MASK
    assert environment.scans == 2
