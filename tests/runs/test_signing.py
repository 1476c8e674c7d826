"""A signature covers config, records and versions, and a check names what was changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayword.cli.app import app
from wayword.core.errors import RecordingError, UsageError
from wayword.runs import Plan, run
from wayword.runs.signing import KEY, NAME, sign, signing_key, verify

SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
"""Test 1 of RFC 8032, section 7.1."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("signed") / "run"
    dataset = {"dataset": {"houses": 1, "episodes": 4}}
    run(Plan("random", "houses", settings=dataset, out=out, max_steps=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY, SEED)
        assert sign(out, signing_key()) == PUBLIC
    return out


@pytest.fixture
def signed(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "copy"))


def test_an_untouched_run_passes_and_holds_no_private_key(signed: Path) -> None:
    found = verify(signed, PUBLIC)
    assert not found.changed
    assert found.key == PUBLIC
    assert found.lines == 5  # four episodes, a session
    for path in signed.iterdir():
        assert SEED not in path.read_text(errors="replace")


def _without(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))


def _doubled(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[0]]))


def _swapped(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(reversed(lines)))


def _added(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"episode":"new"}\n')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without, "episodes.jsonl: 1 lines are gone; the first was line 2"),
        (_doubled, "episodes.jsonl: line 5 (episode "),
        (_swapped, "episodes.jsonl: the lines stand in another order"),
        (_added, "episodes.jsonl: line 5 (episode new) was added"),
    ],
)
def test_a_changed_file_of_episodes_is_named(
    signed: Path, change: Callable[[Path], None], said: str
) -> None:
    change(signed / "episodes.jsonl")
    (line,) = verify(signed).changed
    assert line.startswith(said)


def test_a_changed_line_is_named_by_its_number_and_episode(signed: Path) -> None:
    path = signed / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    name = json.loads(lines[2])["episode"]
    lines[2] = lines[2].replace(b'"steps":', b'"steps": ', 1)
    path.write_bytes(b"".join(lines))
    assert verify(signed).changed == (f"episodes.jsonl: line 3 (episode {name}) was changed",)


def test_a_changed_field_of_the_config_is_named(signed: Path) -> None:
    path = signed / "config.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1', 1))
    (line,) = verify(signed).changed
    assert line.startswith("config.json: field 'identity.")
    assert line.endswith("seed' was 0 and is now 1")


def test_a_changed_or_foreign_signature_is_refused(signed: Path) -> None:
    told = json.loads((signed / NAME).read_text())
    assert verify(signed, "00" * 32).changed == (f"{NAME}: is signed by another key, {PUBLIC}",)
    told["signed"]["lines"]["episodes.jsonl"].pop()
    (signed / NAME).write_text(json.dumps(told))
    assert verify(signed).changed == (
        f"{NAME}: was changed: the signature is not that of {PUBLIC}",
    )
    (signed / NAME).write_text("{}")
    with pytest.raises(RecordingError, match="is no signature"):
        verify(signed)
    (signed / NAME).unlink()
    with pytest.raises(RecordingError, match="is not signed; run it again with --sign"):
        verify(signed)
    with pytest.raises(RecordingError, match="no such run folder"):
        verify(signed / "nowhere")


@pytest.mark.parametrize("given", ["", "/no/such/file", "-----BEGIN x", "12"])
def test_a_key_that_is_none_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv(KEY, given)
    with pytest.raises(UsageError, match="openssl genpkey") as raised:
        signing_key()
    assert not given or given not in str(raised.value)


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    command = ["run", "random", "--on", "houses", "--limit", "1", "--sign"]
    command += ["--set", "dataset.houses=1", "--set", "dataset.episodes=2"]
    monkeypatch.delenv(KEY, raising=False)
    refused = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "none")])
    assert isinstance(refused.exception, UsageError)
    assert not (tmp_path / "none").exists()  # before anything is played
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (tmp_path / "key.pem").write_bytes(pem)
    monkeypatch.setenv(KEY, str(tmp_path / "key.pem"))
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    checked = CliRunner().invoke(app, ["verify", str(tmp_path / "run")])
    assert (checked.exit_code, "2 lines as they were signed" in checked.output) == (0, True)
    _added(tmp_path / "run" / "episodes.jsonl")
    checked = CliRunner().invoke(app, ["verify", str(tmp_path / "run")])
    assert checked.exit_code == 1
    assert "episodes.jsonl: line 2 (episode new) was added" in checked.output
