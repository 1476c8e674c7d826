"""Redaction: what is known as a secret, and in which forms it is found."""

from __future__ import annotations

import json

import pytest

from wayword.core.secrets import MASK, is_secret, redacted, remember, without_secrets


def test_secrets_of_the_environment_go_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", 'abc/"def"+123')
    for text in ('abc/"def"+123', json.dumps('abc/"def"+123'), "?k=abc%2F%22def%22%2B123"):
        assert "def" not in redacted(f"before {text} after")
        assert redacted(f"before {text} after").startswith("before ")


def test_a_short_value_is_an_ordinary_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORT_KEY", "name")
    assert redacted("the name of the room") == "the name of the room"


def test_a_secret_that_holds_another_goes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "12345678")
    monkeypatch.setenv("B_TOKEN", "12345678-and-more")
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
