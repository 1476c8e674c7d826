"""What is spent is known, whatever ends a run, and little of it is spent in vain."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import Loopback, chat, serving
from wayword.core.errors import RecordingError
from wayword.models.middleware import rate
from wayword.models.middleware.budget import Account
from wayword.models.middleware.ledger import LedgerRow
from wayword.models.middleware.prices import Price
from wayword.runs import Plan, run
from wayword.runs.config import (
    BATCHES,
    CALLS,
    Session,
    Spending,
    add_session,
    billed,
    sessions,
)
from wayword.runs.record import RunFolder
from wayword.runs.reports import table

pytestmark = pytest.mark.usefixtures("shared_data")

TOKENS = 55  # of each answer of the loopback server


def _answer(
    route: str, body: dict[str, Any], headers: dict[str, str]
) -> tuple[int, Any]:
    return 200, chat("Thought: on.\nAction: 1")


def _plan(server: Loopback, out: Path, **more: Any) -> Plan:
    settings = {"model": {"base_url": server.address}, **more.pop("settings", {})}
    given = {"limit": 40, "concurrency": 8, "out": out, "max_steps": 4, **more}
    return Plan("navgpt", "houses", "openai:m", settings, **given)


def _in_episodes(out: Path) -> int:
    scored = RunFolder.read(out).scores()
    return int(sum(s["prompt_tokens"] + s["completion_tokens"] for _, s in scored))


def _logged(out: Path) -> int:
    """Tokens by the ledger, calls that were under way at their estimates."""
    return billed(out)[0]


def _settled(out: Path) -> int:
    """Tokens of the calls that have ended."""
    rows = [json.loads(line) for line in (out / CALLS).read_text().splitlines()]
    return sum(row["tokens"] for row in rows if not row.get("open"))


def test_episodes_under_way_are_finished_with_what_is_left(tmp_path: Path) -> None:
    budget = 40 * TOKENS
    with serving(_answer) as server:
        result = run(_plan(server, tmp_path / "run", max_tokens=budget))
    spent = len(server.asked) * TOKENS
    over = f"the rest of the budget of {budget:,} tokens does not cover another episode"
    assert result.outcome.exhausted in (
        over,
        f"the budget of {budget:,} tokens is spent",
    )
    assert 0.6 * budget <= spent <= budget
    assert _in_episodes(tmp_path / "run") >= 0.9 * spent
    assert any("0 calls were in progress" in line for line in result.notices)


def test_finished_episodes_are_expected_to_cost_what_they_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: list[tuple[float, float]] = []
    monkeypatch.setattr(
        Account, "expect", lambda account, episodes: expected.extend(episodes)
    )
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:m: {input: 2, output: 8}\n")
    out = tmp_path / "run"
    with serving(_answer) as server:
        run(_plan(server, out, limit=2, prices=prices))
        assert expected == []
        run(_plan(server, out, limit=3, prices=prices))
    scores = [scores for _, scores in RunFolder.read(out).scores()][:2]
    assert expected == [
        (each["prompt_tokens"] + each["completion_tokens"], each["cost"])
        for each in scores
    ]
    assert all(tokens and not tokens % TOKENS for tokens, _ in expected)


def test_a_budget_smaller_than_an_episode_each_still_finishes_some(
    tmp_path: Path,
) -> None:
    """Eight begin at once and three can be paid for: five wait, and the oldest go on."""
    with serving(_answer) as server:
        run(_plan(server, tmp_path / "run", max_tokens=16 * TOKENS))
    assert _in_episodes(tmp_path / "run") >= 8 * TOKENS
    assert len(server.asked) <= 16  # eight at once do not pass it together


@pytest.mark.parametrize(
    ("number", "interrupts"),
    [(signal.SIGKILL, True), (signal.SIGTERM, True), (signal.SIGTERM, False)],
)
def test_what_was_spent_survives_every_signal(
    tmp_path: Path, number: signal.Signals, interrupts: bool
) -> None:
    """``interrupts``: false for a job that a script started with ``&``, which ignores SIGINT."""
    out = tmp_path / "run"
    starts = "" if interrupts else "trap '' INT; "

    def slow(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        time.sleep(0.01)
        return _answer(route, body, headers)

    with serving(slow) as server:
        command = [
            *(
                sys.executable,
                "-m",
                "wayword",
                "run",
                "navgpt",
                "--on",
                "houses",
                "--limit",
                "12",
            ),
            *("--set", "dataset.houses=1", "--set", "dataset.episodes=12"),
            *("--model", "openai:m", "--set", f"model.base_url={server.address}"),
            *("--out", str(out), "--max-tokens", str(10**6), "--max-steps", "30"),
        ]
        shell = ["sh", "-c", starts + 'exec "$@"', "sh", *command]
        with subprocess.Popen(shell, stderr=subprocess.PIPE, text=True) as running:
            while len(server.asked) < 25 and running.poll() is None:
                time.sleep(0.01)
            running.send_signal(number)
            _, reply = running.communicate()
    assert running.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in reply
    answered = len(server.asked) * TOKENS
    assert _logged(out) >= answered  # those that were in the air at their estimates
    if number == signal.SIGKILL:
        assert (
            answered - 8 * TOKENS <= _settled(out) <= answered
        )  # eight at most were in the air
    with serving(_answer) as server:
        again = _plan(
            server,
            out,
            limit=12,
            max_tokens=20 * TOKENS,
            max_steps=30,
            settings={"dataset": {"houses": 1, "episodes": 12}},
        )
        result = run(again)
    assert "the budget of 1,100 tokens is spent" in result.outcome.exhausted
    assert len(server.asked) == 0
    assert number == signal.SIGKILL or len(list(sessions(out))) == 2


def test_answers_from_the_cache_are_free_in_every_session(tmp_path: Path) -> None:
    """A budget counts what was billed, also where finished episodes hold other tokens."""
    cache = tmp_path / "cache.db"
    out = tmp_path / "run"
    with serving(_answer) as server:
        run(_plan(server, tmp_path / "paid", limit=2, cache=cache))
        posts = len(server.asked)
        run(_plan(server, out, limit=2, cache=cache, max_tokens=posts * TOKENS))
        assert len(server.asked) == posts
        assert (_in_episodes(out), _logged(out)) == (posts * TOKENS, 0)
        result = run(
            _plan(server, out, limit=4, cache=cache, max_tokens=2 * posts * TOKENS)
        )
        billed_now = (len(server.asked) - posts) * TOKENS
        assert (result.outcome.finished, result.outcome.exhausted) == (2, "")
        assert _logged(out) == billed_now > 0
        result = run(_plan(server, out, limit=6, cache=cache, max_tokens=billed_now))
        assert "tokens is spent" in result.outcome.exhausted
        cut = _plan(
            server,
            tmp_path / "cut",
            limit=5,
            concurrency=1,
            cache=cache,
            max_tokens=TOKENS,
        )
        assert run(cut).outcome.finished == 4
    (session,) = sessions(tmp_path / "cut")
    assert session.finished == 4
    assert _logged(tmp_path / "cut") == TOKENS


def test_answers_that_cannot_be_read_are_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an answer, one of no choices, and one with odd log-probabilities: all were billed."""
    full = json.dumps(chat("Action: 1")).encode()
    odd = [
        full[: len(full) // 2],
        {"choices": [], "usage": {}},
        {"choices": [{"message": 3}, 4]},
    ]
    replies: list[Any] = [*odd, *[chat("Action: 1")] * 99]

    def broken(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        return 200, replies.pop(0)

    quick = rate.RetryPolicy(first=0.001)
    monkeypatch.setattr(
        "wayword.models.middleware.rate.RetryPolicy", lambda retries: quick
    )
    with serving(broken) as server:
        plan = _plan(server, tmp_path / "run", limit=1, concurrency=1, max_steps=1)
        result = run(plan)
    (record,) = RunFolder.read(tmp_path / "run").records()
    calls = list(record.trajectory.calls())
    assert calls[0].answer is not None
    assert (
        calls[0].answer.usage.prompt > 50 + 3 * 100
    )  # three prompts beside the one counted
    # the ledger's estimate of the lost answer improves with later requests
    at_the_time = _in_episodes(tmp_path / "run")
    assert 0.99 * at_the_time <= _logged(tmp_path / "run") <= at_the_time
    assert any("3 requests were retried" in line for line in result.notices)


def test_a_table_tells_what_was_billed_for_episodes_that_were_not_finished(
    tmp_path: Path,
) -> None:
    run(
        Plan(
            "navgpt",
            "houses",
            "scripted:first",
            limit=1,
            max_steps=2,
            out=tmp_path / "run",
        )
    )
    assert "billed" not in table([tmp_path / "run"])
    with (tmp_path / "run" / CALLS).open("a") as file:
        file.write('{"tokens":100,"dollars":0.5}\n')
    lines = " ".join(table([tmp_path / "run"]).split())
    assert "$0.00, $0.50 including unfinished episodes" in lines
    totals = json.loads(table([tmp_path / "run"], "json"))["rows"][0]["totals"]
    assert (totals["cost"], totals["billed"]) == (0.0, 0.5)


def test_a_log_of_spending_is_folded_and_goes_on(tmp_path: Path) -> None:
    for _ in range(2):
        log = Spending(tmp_path)
        log.write(LedgerRow(3, 0.25))
        log.close()
    assert (Spending(tmp_path).totals.tokens, log.totals.dollars) == (6, 0.25)
    lines = b'{"tokens":1,"dollars":0.0}\n' * 20_001
    (tmp_path / CALLS).write_bytes(lines)
    assert Spending(tmp_path).totals.tokens == 20_001
    assert (tmp_path / CALLS).read_text() == '{"tokens":20001,"dollars":0.0}\n'


def test_a_call_that_was_never_settled_counts_at_its_estimate(tmp_path: Path) -> None:
    log = Spending(tmp_path)
    for row in (
        LedgerRow(900, 0.5, "a", True),
        LedgerRow(700, 0.5, "b", True),
        LedgerRow(40, 0.25, "a"),
    ):
        log.write(row)
    log.close()
    first, *_ = (tmp_path / CALLS).read_text().splitlines()
    assert json.loads(first) == {
        "tokens": 900,
        "dollars": 0.5,
        "call": "a",
        "open": True,
    }
    log = Spending(tmp_path)
    assert (log.totals.tokens, log.totals.dollars) == (740, 0.75)
    log.write(LedgerRow(5, 0.0))
    log.close()
    assert billed(tmp_path) == (745, 0.75)


@pytest.mark.parametrize(
    "line",
    [
        *('{"tokens":-4}', '{"tokens":"x"}', '{"dollars":NaN}', "[1]", "{"),
        *('{"prices":{"m":{"inputs":1}}}', '{"prices":{"m":2}}'),
    ],
)
def test_a_broken_line_of_spending_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / CALLS).write_text(f'{{"tokens":1}}\n{line}\n')
    with pytest.raises(
        RecordingError, match=r"calls\.jsonl: line 2: .*delete that line"
    ):
        Spending(tmp_path)


@pytest.mark.parametrize("line", ['{"seconds":"x"}', '{"finished":-1}', "3", '{"a":'])
def test_a_malformed_session_is_one_line(tmp_path: Path, line: str) -> None:
    add_session(tmp_path, Session("now", 1.0, 3))
    with (tmp_path / "sessions.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(RecordingError, match=r"sessions\.jsonl: line 2: [^\n]*$"):
        list(sessions(tmp_path))


def test_a_closed_stream_is_no_traceback(tmp_path: Path) -> None:
    command = f"{sys.executable} -m wayword table {tmp_path}/none <&- >&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert (
        done.stderr
        == f"wayword: {tmp_path}/none: no such folder; `wayword runs` lists the runs of a folder\n"
    )


def test_prices_that_fall_between_sessions_are_named_and_the_higher_ones_count(
    tmp_path: Path,
) -> None:
    table = tmp_path / "prices.yaml"
    out = tmp_path / "run"

    def session(entry: str, limit: int) -> tuple[float, list[str]]:
        """Dollars of a session's calls by the ledger, and its notices about prices."""
        table.write_text(f"openai:m: {entry}\n", encoding="utf-8")
        before = billed(out)[1]
        result = run(_plan(server, out, limit=limit, prices=table))
        lines = [line for line in result.notices if "the price of openai:m" in line]
        return billed(out)[1] - before, lines

    with serving(_answer) as server:
        first, no_lines = session("{input: 2, output: 8}", 2)
        request_count = len(server.asked)
        second, lines = session("{input: 0, output: 0}", 4)
        third, other_lines = session("{input: 3, output: 1}", 6)
    assert first == pytest.approx(request_count * (50 * 2 + 5 * 8) / 1e6)
    assert no_lines == []
    assert second > 0
    assert "was input 2, output 8 in an earlier session" in lines[0]
    assert "is now input 0, output 0; the higher one counts" in lines[0]
    assert other_lines
    per_call = (50 * 3 + 5 * 8) / 1e6  # each of the prices at its highest
    assert third / per_call == pytest.approx(round(third / per_call))


def test_models_without_prices_write_none(tmp_path: Path) -> None:
    with serving(_answer) as server:
        run(_plan(server, tmp_path / "run", limit=1))
    assert "prices" not in (tmp_path / "run" / CALLS).read_text()


def test_every_price_of_a_log_is_known_and_written_once(tmp_path: Path) -> None:
    prices = {"a": Price(0.0, 8.0), "b": Price(2.0, 0.0)}
    prices_in_use = (
        {"a": prices["a"], "free": Price(0.0, 0.0), "unknown": None},
        prices,
        prices,
    )
    for used in prices_in_use:
        log = Spending(tmp_path)
        log.use_prices(used)
        log.write(LedgerRow(1, 0.0))
        log.write(LedgerRow(1, 0.0))
        log.close()
    assert Spending(tmp_path).prices == prices
    lines = (tmp_path / CALLS).read_text().splitlines()
    stated = [list(json.loads(line).get("prices", ())) for line in lines]
    assert [names for names in stated if names] == [["a"], ["b"]]
    assert len(lines) == 2 + 3 * 2


def test_a_line_that_a_killed_process_began_is_replaced(tmp_path: Path) -> None:
    (tmp_path / CALLS).write_text('{"tokens":3}\n{"tok')
    log = Spending(tmp_path)
    log.write(LedgerRow(1, 0.5))
    log.close()
    assert billed(tmp_path) == (4, 0.5)


def test_a_log_whose_rows_a_batch_names_is_not_folded(tmp_path: Path) -> None:
    lines = b'{"tokens":1,"dollars":0.0}\n' * 20_001
    (tmp_path / CALLS).write_bytes(lines)
    (tmp_path / BATCHES).touch()
    assert Spending(tmp_path).totals.tokens == 20_001
    assert (tmp_path / CALLS).read_bytes() == lines


def test_a_row_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The samples of a lost answer, and when and why it was lost, decide what it may have cost."""
    rows = [
        LedgerRow(900, 0.5, "s-1", True, at=1.5, seconds=2.25, lost="cut off"),
        LedgerRow(900, 0.25, "s-2", True, at=2.5, samples=4),
    ]
    log = Spending(tmp_path)
    for row in rows:
        log.write(row)
    log.close()
    assert list(Spending(tmp_path).totals._open.values()) == rows


def test_folding_a_log_keeps_its_prices(tmp_path: Path) -> None:
    log = Spending(tmp_path)
    log.use_prices({"m": Price(2.0, 8.0, write=2.5), "free": Price(0.0, 0.0)})
    for _ in range(20_002):
        log.write(LedgerRow(1, 0.0))
    log.close()
    for _ in range(2):
        again = Spending(tmp_path)
        assert again.totals.tokens == 20_002
        assert again.prices == {"m": Price(2.0, 8.0, write=2.5)}
    assert len((tmp_path / CALLS).read_text().splitlines()) == 2
