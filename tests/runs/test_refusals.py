"""Runs against servers that refuse: they end soon, say why, lose nothing and keep the key."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import Loopback, chat, refusal, serving
from helpers.records import records
from wayword import viewer
from wayword.cli.show import RunningMeans
from wayword.core.errors import UsageError, WaywordError
from wayword.core.model import Completion
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder
from wayword.runs.results import RunResult

pytestmark = pytest.mark.usefixtures("shared_data")

KEY = "sk-live-7Qx9PzW2mN4vB8"


def _plan(server: Loopback, out: Path, **more: Any) -> Plan:
    settings = {"model": {"base_url": server.address}, **more.pop("settings", {})}
    given = {"limit": 40, "concurrency": 8, "out": out, "retries": 2, **more}
    agent = given.pop("agent", "navgpt")
    on = given.pop("on", "houses")
    return Plan(agent, on, "openai:m", settings, **given)


def _echo(route: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
    return 401, refusal(
        f"Incorrect API key: {headers.get('authorization', '')}", code="bad_key"
    )


@pytest.mark.parametrize(
    ("agent", "on"), [("navgpt", "houses"), ("discussnav", "houses")]
)
def test_a_wrong_key_ends_the_run_and_stands_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, on: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(_echo) as server:
        plan = _plan(
            server, tmp_path / "run", agent=agent, on=on, cache=tmp_path / "cache.db"
        )
        result = run(plan)
    assert len(server.asked) <= 16
    assert not result.outcome.complete
    assert result.outcome.finished == 0
    assert "refused the key (401)" in result.outcome.unusable
    assert "set $OPENAI_API_KEY" in result.outcome.unusable
    assert "\n" not in result.outcome.unusable
    viewer.write(result.path)
    _nowhere(KEY, tmp_path, result)


def _nowhere(key: str, folder: Path, result: RunResult) -> None:
    assert key not in f"{result.outcome} {result.notices}"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert key.encode() not in path.read_bytes(), path


def test_a_model_that_writes_the_key_is_kept_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def leak(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        return 200, chat(f"Thought: {headers['authorization']}\nAction: Finish")

    with serving(leak) as server:
        plan = _plan(
            server, tmp_path / "run", limit=1, max_steps=2, cache=tmp_path / "cache.db"
        )
        result = run(plan)
    viewer.write(result.path)
    _nowhere(KEY, tmp_path, result)
    assert "[redacted]" in str(records(tmp_path / "run"))
    with closing(sqlite3.connect(tmp_path / "cache.db")) as kept:
        rows = kept.execute("SELECT value FROM answers").fetchall()
    assert any("[redacted]" in value for (value,) in rows)


HEADERS = (
    "x-api-key",
    "Cookie",
    "X-Auth",
    "X-Pat",
    "X-Credential",
    "Authorization",
    "X-Other",
)


def test_keys_in_an_address_or_a_header_are_sent_and_not_kept(tmp_path: Path) -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    secrets = {name: f"h-secret-{number}" for number, name in enumerate(HEADERS)}

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        seen.append((route, headers))
        texts = [headers.get(name.lower()) for name in HEADERS[:-1]]
        return 500 if len(seen) > 2 else 200, chat(f"{route} {texts}")

    query = "api-version=7&code-key=q-secret-1&sig=q-secret-2&code=q-secret-3"
    with serving(answer) as server:
        base = server.address.replace("/v1", "/v1/sk-p-secret-4/v1")
        model = {"base_url": f"{base}?{query}", "extra": {"extra_headers": secrets}}
        out = tmp_path / "run"
        result = run(
            _plan(
                server, out, limit=2, max_steps=1, retries=0, settings={"model": model}
            )
        )
    assert seen[0][0] == f"/v1/sk-p-secret-4/v1/chat/completions?{query}"
    assert all(seen[0][1][name.lower()] == value for name, value in secrets.items())
    for secret in (
        *secrets.values(),
        *(f"q-secret-{n}" for n in (1, 2, 3)),
        "p-secret-4",
    ):
        _nowhere(secret, tmp_path, result)


@pytest.mark.parametrize(
    ("status", "body", "remedy"),
    [
        (404, refusal("The model `m` does not exist"), "check the name after --model"),
        (403, refusal("no access"), r"set \$OPENAI_API_KEY"),
        (400, refusal("bad value", "model", "unsupported_value"), "bad value"),
        (
            400,
            refusal("maximum context length is 10 tokens"),
            "set the agent's context below",
        ),
        (429, refusal("pay first", code="insufficient_quota"), "add credit"),
    ],
)
def test_a_refusal_that_will_repeat_ends_the_run(
    tmp_path: Path, status: int, body: dict[str, Any], remedy: str
) -> None:
    with serving(lambda route, requests, headers: (status, body)) as server:
        result = run(_plan(server, tmp_path / "run"))
    assert len(server.asked) <= 16
    assert result.outcome.unusable
    assert re.search(remedy, result.outcome.unusable)


def test_no_one_listening_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(_echo) as gone:
        pass
    messages: list[float] = []
    shown = RunningMeans()

    def tell(done: int, total: int, scores: Mapping[str, float]) -> None:
        shown.add(scores)
        messages.append(scores.get("retries_so_far", 0))

    result = run(_plan(gone, tmp_path / "run", retries=1), on_progress=tell)
    assert max(messages) >= 1, "retries are told of while they are waited for"
    assert re.search("(1 retry|retries)$", shown.text())
    assert "start the server, or set model.base_url" in result.outcome.unusable
    assert result.outcome.failed <= 1


def test_what_was_finished_is_kept_and_the_run_goes_on(tmp_path: Path) -> None:
    state = {"left": 6}

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        state["left"] -= 1
        if state["left"] < 0:
            return 401, refusal("the key has run out")
        return 200, chat("Thought: done\nAction: Finish")

    with serving(answer) as server:
        plan = _plan(server, tmp_path / "run", limit=12, max_steps=2, concurrency=1)
        first = run(plan)
        assert first.outcome.unusable
        assert 0 < first.outcome.finished < 12
        state["left"] = 1000
        second = run(plan)
    assert second.outcome.complete
    assert second.resumed == first.outcome.finished
    assert len(RunFolder.read(tmp_path / "run").scores()) == 12


def test_the_command_line_says_the_remedy_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from wayword.cli import main

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(_echo) as server:
        words = ["run", "navgpt", "--model", "openai:m", "--limit", "30", "--out"]
        words += [str(tmp_path / "run"), "--set", f"model.base_url={server.address}"]
        monkeypatch.setattr(sys, "argv", ["wayword", *words])
        with pytest.raises(SystemExit) as end:
            main()
    output = capsys.readouterr()
    assert end.value.code == 1
    assert "set $OPENAI_API_KEY to a key with access to this model" in " ".join(
        output.err.split()
    )
    assert KEY not in output.out + output.err
    assert len(server.asked) <= 16
    assert json.loads((tmp_path / "run" / "run.json").read_text())["format"] == 2


def test_the_page_of_a_step_says_what_was_sent_and_not_what_was_requested(
    tmp_path: Path,
) -> None:
    """A reasoning model takes no temperature: the record must not claim that it had one."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        return 200, chat('{"thought": "on", "arrived": true, "action": "stop"}')

    for name, more in (("plain", {}), ("reasoning", {"profile": "reasoning"})):
        with serving(answer) as server:
            settings = {"model": {"base_url": server.address, **more}}
            plan = Plan(
                "navgpt", "houses", "openai:m", settings, limit=1, out=tmp_path / name
            )
            result = run(plan)
        (record,) = RunFolder.read(result.path).records()
        (call, *_) = record.trajectory.calls()
        assert isinstance(call.answer, Completion)
        assert call.answer.unsent == (("temperature",) if more else ())
        viewer.write(result.path)
        text = next((result.path / "pages" / "episodes").glob("*.html")).read_text()
        assert ("temperature 0" in text, "temperature not sent" in text) == (
            not more,
            bool(more),
        )


def test_an_address_without_a_path_is_reported_what_it_may_lack(tmp_path: Path) -> None:
    def lost(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        return 404, refusal(f"Invalid URL (POST {route}).")

    with serving(lost) as server:
        host = server.address.removesuffix("/v1")
        settings = {"model": {"base_url": host}}
        result = run(
            Plan(
                "navgpt", "houses", "openai:m", settings, limit=1, out=tmp_path / "run"
            )
        )
    assert "(POST /chat/completions); check the name" in result.outcome.unusable
    assert "model.base_url, which usually ends in /v1" in result.outcome.unusable


def test_a_limit_in_dollars_without_a_price_asks_nothing(tmp_path: Path) -> None:
    """A server that has answered wants to be paid."""
    priced = tmp_path / "prices.yaml"
    priced.write_text("openai:m: {input: 1.0, output: 2.0}\n")
    with serving(lambda *_: (200, chat("Action: Finish"))) as server:
        plan = _plan(server, tmp_path / "run", limit=1, max_steps=2, max_dollars=0.1)
        with pytest.raises(UsageError, match="openai:m: a dollar limit needs prices"):
            run(plan)
        assert server.asked == []
        assert not (tmp_path / "run").exists(), "a refused run leaves no folder"
        # The same command with a price plays.
        assert run(replace(plan, prices=priced)).outcome.complete
        assert server.asked


def test_a_budget_of_tokens_reports_no_dollars_without_a_price(tmp_path: Path) -> None:
    with serving(lambda *_: (200, chat("Action: Finish"))) as server:
        plan = _plan(server, tmp_path / "run", limit=3, max_tokens=10, concurrency=1)
        (spent,) = [line for line in run(plan).notices if "spent in total" in line]
    assert "cost unknown" in spent
    assert "$" not in spent


def test_a_missing_file_of_prices_is_named_before_a_missing_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    missing = tmp_path / "none.yaml"
    plan = Plan("act", "houses", "openai:gpt-5-mini", out=tmp_path / "run")
    with pytest.raises(WaywordError, match="OPENAI_API_KEY"):
        run(plan)
    with pytest.raises(WaywordError, match=re.escape(str(missing))):
        run(replace(plan, prices=missing))
