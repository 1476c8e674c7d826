"""What a run may spend, worked out by hand: shares, expected episodes, and who may still begin."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import Context, copy_context
from itertools import count

import pytest

from wayword.core.action import STOP, Decision, Rejection
from wayword.core.errors import BudgetExhausted, ModelError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.models.middleware import budget
from wayword.models.middleware.budget import (
    EPISODE,
    Account,
    Call,
    PaidModel,
    rough_tokens,
    sending,
)
from wayword.models.middleware.ledger import LedgerRow, Totals
from wayword.models.middleware.need import SPREAD, Estimate, Meter
from wayword.models.middleware.prices import Price
from wayword.models.scripted import ScriptedModel


def pay(
    account: Account, tokens: int, dollars: float | None, call: Call | None = None
) -> None:
    """Add a bill to an account."""
    account.pay(LedgerRow(tokens, dollars), call)


def started_episode(account: Account) -> Context:
    """An episode under way, in a context of its own."""
    context = copy_context()
    context.run(account.begin)
    return context


def played(account: Account, tokens: int, whole: bool = True) -> None:
    """An episode that took so many tokens and ended."""
    episode = started_episode(account)
    episode.run(pay, account, tokens, 0.0)
    episode.run(account.end, whole)


def test_the_tighter_limit_counts() -> None:
    account = Account(max_tokens=100, max_dollars=1.0)
    pay(account, 20, 0.5)
    assert account.used == 0.5
    pay(account, 60, 0.0)
    assert account.used == 0.8
    assert (account.calls, account.tokens, account.dollars) == (2, 80, 0.5)
    boundless = Account()
    pay(boundless, 10**9, 1e6)
    assert boundless.used == 0.0


@pytest.mark.parametrize("limit", [{"max_tokens": 0}, {"max_dollars": 0.0}])
def test_a_limit_of_nothing_is_spent_at_once(limit: dict[str, int]) -> None:
    account = Account(**limit)
    assert account.used == 1.0
    with pytest.raises(BudgetExhausted):
        account.check()


def test_a_limit_is_reached_at_its_last_token_and_later_calls_were_under_way() -> None:
    account = Account(max_tokens=1000)
    pay(account, 999, None)
    account.check()
    pay(account, 1, None)
    with pytest.raises(
        BudgetExhausted, match=r"of 1,000 tokens is spent \(1,000 used\)$"
    ):
        account.check()
    pay(account, 10, None)
    assert (account.late, account.unpriced) == (1, 3)
    with pytest.raises(
        BudgetExhausted, match=r"\(1,010 used; calls pending at that time: 1\)"
    ):
        account.check()


def test_a_call_is_late_once_however_many_bills_it_has() -> None:
    account = Account(max_tokens=100)
    pay(account, 100, 0.0)
    call = Call()
    for _ in range(3):
        pay(account, 10, 0.0, call)
    assert (account.late, account.calls) == (1, 2)
    before = Account(max_tokens=100)
    call = Call()
    pay(before, 100, 0.0, call)
    assert before.late == 0, "it reached the limit, and was not beyond it"
    pay(before, 10, 0.0, call)
    assert before.late == 1


def test_a_limit_is_reported_in_its_own_unit() -> None:
    both = Account(max_tokens=1000, max_dollars=0.005)
    pay(both, 10, 0.006)
    with pytest.raises(
        BudgetExhausted, match=r"the budget of \$0.005 is spent \(\$0.0060 used\)"
    ):
        both.check()
    dear = Account(max_dollars=2.0)
    pay(dear, 10, 2.5)
    with pytest.raises(
        BudgetExhausted, match=r"the budget of \$2.00 is spent \(\$2.5000 used\)"
    ):
        dear.check()
    nothing = Account(max_tokens=1000, max_dollars=0.0)
    assert nothing.spent().startswith("the budget of $0")


def test_what_complete_episodes_took_is_expected_of_the_next() -> None:
    account = Account(max_tokens=100)
    assert account.estimate.ended == []
    played(account, 30)
    played(account, 10)
    played(account, 5, whole=False)
    assert account.estimate.ended == pytest.approx([0.1, 0.3])
    account.expect([(20, 0.0), (60, 0.0)])
    assert account.estimate.ended == pytest.approx([0.1, 0.2, 0.3, 0.6])
    account.expect((n * 7919 % 100_000 / 1000, 0.0) for n in range(100_000))
    assert len(account.estimate.ended) <= 512
    assert sum(account.estimate.ended) / len(account.estimate.ended) == pytest.approx(
        0.5, abs=0.2
    )


def test_no_episode_begins_that_the_rest_would_not_finish() -> None:
    # Two took 10 and 30 of 100 tokens: 20 each, and 25 are kept for one under way.
    account = Account(max_tokens=100)
    played(account, 10)
    played(account, 30)
    third = started_episode(account)
    third.run(pay, account, 5, 0.0)
    # 45 are spent, 20 more are owed to the third, and 25 to the fourth: 90 in all.
    fourth = started_episode(account)
    with pytest.raises(
        BudgetExhausted, match="100 tokens does not cover another episode"
    ):
        started_episode(account)  # it would be 115
    # More than was kept: nothing is owed to it, nor by it
    fourth.run(pay, account, 40, 0.0)
    third.run(account.end, True)
    assert account.estimate.ended == pytest.approx([0.05, 0.1, 0.3])
    with pytest.raises(BudgetExhausted):
        started_episode(account)  # 85 are spent, and 18.75 would be kept


@pytest.mark.parametrize(("spent", "fits"), [(54, True), (55, False)])
def test_an_episode_that_just_fits_begins(spent: int, fits: bool) -> None:
    # 8 of 64 tokens each: 10 are kept for the next, and 64 - 54 are left.
    account = Account(max_tokens=64)
    played(account, 8)
    played(account, 8)
    played(account, spent - 16, whole=False)
    if fits:
        started_episode(account)
    else:
        with pytest.raises(BudgetExhausted, match="does not cover"):
            started_episode(account)


@pytest.mark.parametrize(
    ("running", "outside", "fits"),
    [
        (9, 28, True),  # 10 expected: it owes one more
        (9, 29, False),
        (10, 28, True),
        (14, 24, True),  # more than expected: it owes nothing, nor is owed
        (14, 25, False),
    ],
)
def test_a_running_episode_owes_the_rest_of_what_is_expected(
    running: int, outside: int, fits: bool
) -> None:
    account = Account(max_tokens=64)
    played(account, 8)
    played(account, 8)
    started_episode(account).run(pay, account, running, 0.0)
    pay(account, outside, 0.0)
    if fits:
        started_episode(account)
    else:
        with pytest.raises(BudgetExhausted, match="does not cover"):
            started_episode(account)


@pytest.mark.parametrize(("rest", "goes"), [(50, False), (120, False), (130, True)])
def test_the_first_call_of_an_episode_needs_what_three_of_four_episodes_took(
    rest: int, goes: bool
) -> None:
    """With a margin of a quarter."""
    account = Account(max_tokens=1000)
    for tokens in (*[10] * 6, *[100] * 2):
        played(account, tokens)
    pay(account, 1000 - 260 - rest, 0.0)
    call = started_episode(account).run(Call)
    if goes:
        asyncio.run(account.admit(call))
    else:
        with pytest.raises(BudgetExhausted, match="does not cover another episode"):
            asyncio.run(account.admit(call))


def test_no_episode_begins_once_all_is_spent() -> None:
    account = Account(max_tokens=10)
    pay(account, 10, None)
    with pytest.raises(BudgetExhausted, match="is spent"):
        started_episode(account)


async def call_of(account: Account) -> Call:
    """An admitted call of the current episode."""
    call = Call()
    await account.admit(call)
    return call


async def _admitted(account: Account, episodes: Sequence[Context]) -> int:
    """How many of these episodes may make a call now."""
    tasks = [asyncio.create_task(call_of(account), context=each) for each in episodes]
    await _settle()
    found = [task for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in found:
        account.landed(task.result().name)
    return len(found)


def test_without_a_limit_of_turns_the_one_that_took_most_may_be_at_its_half() -> None:
    account = Account(max_tokens=100)
    episodes = [started_episode(account) for _ in range(3)]
    episodes[0].run(pay, account, 20, 0.0)
    # Each may take 40: 20 are spent, 20 + 40 owed, and 40 more do not fit.
    assert asyncio.run(_admitted(account, episodes[1:])) == 1


def test_an_episode_that_was_dearer_than_others_is_expected_to_stay_so() -> None:
    estimate = Estimate()
    estimate.limit = 10
    dear = Meter(1)
    cheap = Meter(2)
    for meter, share, turns in ((dear, 0.4, 2), (cheap, 0.1, 9)):
        estimate.paid(meter, share)
        for _ in range(turns):
            estimate.stepped(meter)
    need = estimate.remaining_need([dear, cheap])
    margin = 1.0 + SPREAD / 9**0.5
    assert need(dear) == pytest.approx(8 * 0.2 * margin)
    assert need(cheap) == pytest.approx(1 * (0.5 / 11) * margin)
    assert estimate.most >= max(need(dear), need(cheap))


def test_before_any_has_ended_an_episode_may_take_all_its_turns() -> None:
    """Ten turns at the mean of those so far, and four times that more while one is known."""
    account = Account(max_tokens=100_000)
    account.estimate.limit = 10
    episodes = [started_episode(account) for _ in range(11)]
    episodes[0].run(pay, account, 400, 0.0)
    episodes[0].run(account.stepped)
    # 20,000 an episode, 18,000 of the first one's left: four more fit, less what is spent
    assert asyncio.run(_admitted(account, episodes[1:])) == 4
    for _ in range(3):
        episodes[0].run(pay, account, 400, 0.0)
        episodes[0].run(account.stepped)
    # four turns deep: twice that more, 12,000 an episode, 7,200 of the first one's left
    assert asyncio.run(_admitted(account, episodes[1:])) == 7
    episodes[0].run(pay, account, 8000, 0.0)
    episodes[0].run(account.stepped)
    # 1,920 a turn, 53,500 an episode, 26,800 of the first one's left
    assert asyncio.run(_admitted(account, episodes[1:])) == 1


def test_what_nine_of_ten_episodes_need_is_known_after_nine() -> None:
    account = Account(max_tokens=1000)
    account.estimate.limit = 10
    for tokens in range(10, 19):
        episode = started_episode(account)
        for _ in range(5):
            episode.run(pay, account, tokens / 5, 0.0)
            episode.run(account.stepped)
        episode.run(account.end, True)
    rest = account.estimate.remaining_need([])
    deep = 1 + 4 / 5**0.5
    assert rest(Meter(99)) == pytest.approx(0.018)
    assert rest(Meter(99, 0.010, 5)) == pytest.approx(5 * 0.0028 * deep), (
        "eight are longer"
    )
    others = [Meter(n, 0.012) for n in range(5)]
    # ended: 3 of 10 by 12 tokens; five that go on count among those above
    assert account.estimate.remaining_need(others)(Meter(99)) == pytest.approx(
        10 * 0.0028 * deep
    )


def test_an_episode_that_waits_to_begin_is_refused_once_the_rest_would_not_finish_it() -> (
    None
):
    account = Account(max_tokens=100)
    account.estimate.limit = 10
    first = started_episode(account)
    second = started_episode(account)
    third = started_episode(account)
    first.run(pay, account, 10, 0.0)

    async def run() -> None:
        younger = asyncio.create_task(call_of(account), context=second)
        youngest = asyncio.create_task(call_of(account), context=third)
        await _settle()
        assert not younger.done()
        first.run(pay, account, 40, 0.0)
        first.run(account.end, True)  # 50 tokens an episode, and 62.5 kept for the next
        for waiting in (younger, youngest):
            with pytest.raises(BudgetExhausted, match="does not cover another episode"):
                await waiting
            (second if waiting is younger else third).run(account.end, False)

    asyncio.run(run())
    assert account.tokens == 50


def test_an_episode_s_calls_are_its_own() -> None:
    account = Account(max_tokens=100)
    first = started_episode(account)
    second = started_episode(account)
    for episode, tokens in ((first, 20), (second, 5), (first, 20)):
        episode.run(pay, account, tokens, 0.0)
    shares = [episode.run(EPISODE.get).share for episode in (first, second)]  # type: ignore[union-attr]
    assert shares == pytest.approx([0.4, 0.05])
    first.run(account.end, True)
    assert (account.estimate.ended, first.run(EPISODE.get)) == ([0.4], None)
    first.run(pay, account, 1, 0.0)
    assert account.estimate.ended == [0.4]
    first.run(EPISODE.set, second.run(EPISODE.get))
    first.run(pay, account, 10, 0.0)
    second.run(account.end, True)
    assert account.estimate.ended == pytest.approx([0.05 + 0.1, 0.4])


async def _settle() -> None:
    """Let every task go on as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("limit", [{"max_tokens": 10}, {"max_dollars": 1.0}])
def test_alongside_a_call_of_unknown_cost_no_other_is_made(
    limit: dict[str, int],
) -> None:
    account = Account(**limit)

    async def run() -> None:
        first_call = await call_of(account)
        other = asyncio.create_task(call_of(account))
        await _settle()
        assert (other.done(), account.pending) == (False, 1)
        # A tenth; two more at five times that would just fill the budget
        pay(account, 1, 0.1)
        account.landed(first_call.name)
        await _settle()
        assert (other.done(), account.pending) == (True, 1)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("billed", "tokens", "admitted"),
    [
        (1, 100, 1),  # 900 tokens are left, at 5 x 100 a call
        (1, 50, 3),  # 950 at 5 x 50
        (2, 60, 4),  # 880 at 3 x 60
        (4, 51, 7),  # 796 at 2 x 51
        (8, 51, 7),  # 592 at 1.5 x 51
        (1, 900, 1),  # one call alone is always made
    ],
)
def test_as_many_calls_are_made_at_once_as_the_rest_covers_with_a_margin(
    billed: int, tokens: int, admitted: int
) -> None:
    """Each may cost as much as the most expensive one, and a margin of four times that, divided by
    the number of bills."""
    account = Account(max_tokens=1000)
    for _ in range(billed):
        pay(account, tokens, None)
    outside = [copy_context() for _ in range(20)]
    assert asyncio.run(_admitted(account, outside)) == admitted


@pytest.mark.parametrize("requests", [[300], [150, 150], [100, 100, 100]])
def test_a_call_is_as_expensive_as_its_requests_together(requests: list[int]) -> None:
    account = Account(max_tokens=1000)
    for _ in range(100):
        pay(account, 1, 0.0)

    async def run() -> None:
        expensive = await call_of(account)
        for tokens in requests:
            pay(account, tokens, 0.0, expensive)
        account.landed(expensive.name)
        await call_of(account)
        # 400 tokens are spent; two more calls of 300 and a margin are too much
        other = asyncio.create_task(call_of(account))
        await _settle()
        assert not other.done()
        other.cancel()

    asyncio.run(run())


def test_of_calls_that_wait_the_oldest_episode_s_goes_first() -> None:
    account = Account(max_tokens=100)
    first = started_episode(account)
    second = started_episode(account)

    async def run() -> None:
        first_call = await call_of(account)
        younger = asyncio.create_task(call_of(account), context=second)
        await _settle()
        older = asyncio.create_task(call_of(account), context=first)
        await _settle()
        pay(account, 60, 0.0)  # as dear as that, one call at a time
        account.landed(first_call.name)
        await _settle()
        assert (older.done(), younger.done()) == (True, False)
        account.landed(older.result().name)
        await _settle()
        assert younger.done()

    asyncio.run(run())


def test_a_younger_episode_waits_while_an_older_one_needs_what_is_left() -> None:
    # 40 of 100 tokens an episode are expected, 50 kept. 30 + 25 are spent and 20 owed to the first;
    # the second would need 50.
    account = Account(max_tokens=100)
    account.expect([(40, 0.0)])
    first = started_episode(account)
    second = started_episode(account)
    first.run(pay, account, 30, 0.0)
    pay(account, 25, 0.0)

    async def run() -> None:
        younger = asyncio.create_task(call_of(account), context=second)
        await _settle()
        assert not younger.done()
        # the oldest never waits for them
        older = await asyncio.create_task(call_of(account), context=first)
        account.landed(older.name)
        first.run(account.end, True)
        await _settle()
        assert younger.done()

    asyncio.run(run())


def test_of_calls_that_wait_while_none_is_made_only_the_oldest_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "_STALL_S", 0.02)
    account = Account(max_tokens=100)
    account.expect([(40, 0.0)])
    first, second, third = (started_episode(account) for _ in range(3))
    first.run(pay, account, 30, 0.0)
    pay(account, 25, 0.0)

    async def run() -> None:
        # The youngest has waited for longest.
        youngest = asyncio.create_task(call_of(account), context=third)
        await _settle()
        younger = asyncio.create_task(call_of(account), context=second)
        await asyncio.wait([youngest, younger], return_when=asyncio.FIRST_COMPLETED)
        assert (younger.done(), youngest.done()) == (True, False)
        await asyncio.sleep(0.05)
        assert not youngest.done(), "a call is pending"
        account.landed(younger.result().name)
        await asyncio.wait_for(youngest, 1.0)

    asyncio.run(run())


# The ledger: what of a call is written down, and when.


class Listed:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.rows: list[LedgerRow] = []

    def write(self, row: LedgerRow) -> None:
        self.rows.append(row)

    @property
    def tokens(self) -> int:
        """By the totals of all rows."""
        totals = Totals()
        for row in self.rows:
            totals.add(row)
        return totals.tokens


def test_what_is_spent_and_queried_again_is_reported_as_it_happens() -> None:
    again: list[int] = []
    account = Account(ledger=(ledger := Listed()), on_retried=again.append)
    pay(account, 7, None)
    pay(account, -7, 0.25)
    account.retried()
    account.retried()
    # All but the time, which depends on the machine
    rows = [row._replace(at=0.0) for row in ledger.rows]
    assert rows == [LedgerRow(7, None), LedgerRow(0, 0.25)]
    assert (again, account.retries) == ([1, 2], 2)


def test_a_row_replaces_the_open_row_of_its_call_and_all_others_add_up() -> None:
    totals = Totals()
    for row in (
        LedgerRow(5, 0.5),
        LedgerRow(100, 1.0, "a", True),
        LedgerRow(70, 0.75, "b", True),
        LedgerRow(9, 0.5),
    ):
        totals.add(row)
    assert (totals.tokens, totals.dollars) == (184, 2.75)
    for row in (
        LedgerRow(120, 1.25, "a", True),
        LedgerRow(30, 0.25, "b"),
        LedgerRow(1, 0.0, "b"),
    ):
        totals.add(row)
    assert (totals.tokens, totals.dollars) == (165, 2.5)


def test_a_resumed_account_continues_from_the_totals_of_its_ledger() -> None:
    totals = Totals()
    totals.add(LedgerRow(30, 0.25))
    totals.add(LedgerRow(20, 0.125, "lost", True))
    account = Account(max_tokens=100, max_dollars=1.0)
    account.resume(ledger := Listed(), totals)
    assert (account.tokens, account.dollars, account.used) == (50, 0.375, 0.5)
    pay(account, 50, 0.0)
    assert [row.tokens for row in ledger.rows] == [50]
    with pytest.raises(BudgetExhausted):
        account.check()


class Server(Model):
    """A model that makes the requests of ``script``, one after the other, each announced.

    An entry is what a request was billed at; ``None`` never ends.
    """

    name = "server:1"

    def __init__(
        self, *script: Usage | ModelError | None, announces: bool = True
    ) -> None:
        self.script = list(script)
        self.announces = announces
        self.ledger = Listed()
        self.written_before: list[int] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        if not self.announces:
            return Completion(("done",), usage=await self._request(None))
        usage = Usage()
        for _ in range(sampling.n):
            async with sending(Usage(100, 20)) as request:
                request.billed = await self._request(request)
            usage += request.billed
        return Completion(("done",), usage=usage)

    async def _request(self, request: object) -> Usage:
        self.written_before.append(self.ledger.tokens)
        entry = self.script.pop(0)
        if entry is None:
            await asyncio.Event().wait()
            raise AssertionError
        if isinstance(entry, ModelError):
            raise entry
        return entry

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


def paid(server: Server, account: Account, n: int = 1, calls: int = 1) -> list[object]:
    """The answers or errors of calls, one after the other; the last is cancelled if it hangs."""
    account.ledger = server.ledger
    model = PaidModel(server, account, Price(1.0, 10.0))
    found = list[object]()

    async def go() -> None:
        for _ in range(calls):
            task = asyncio.create_task(
                model.complete("x", Sampling(max_tokens=20, n=n))
            )
            await _settle()
            task.cancel()
            found.extend(await asyncio.gather(task, return_exceptions=True))

    asyncio.run(go())
    return found


def test_the_most_a_call_may_cost_is_written_before_it_goes_out_and_settled_after() -> (
    None
):
    server = Server(Usage(80, 5), Usage(70, 4))
    account = Account()
    first, second = paid(server, account, calls=2)
    assert isinstance(first, Completion)
    assert isinstance(second, Completion)
    assert server.written_before == [120, 85 + 120]
    assert (server.ledger.tokens, account.tokens) == (159, 159)
    row = server.ledger.rows[-1]
    assert (row.tokens, row.open, row.dollars) == (74, False, pytest.approx(110e-6))
    assert second.cost == row.dollars


def test_each_further_request_of_a_call_raises_what_is_reserved() -> None:
    server = Server(Usage(80, 5), Usage(80, 6), None)
    account = Account()
    paid(server, account, n=3)
    assert [row.tokens for row in server.ledger.rows if row.open][1:4] == [120] * 3
    assert server.written_before[:2] == [120, 85 + 120]
    # the third one was cancelled and may be billed: like the other two, with a margin
    *_, cancelled = server.ledger.rows
    assert cancelled.open
    assert 85 + 86 + 85 < server.ledger.tokens < 85 + 86 + 120
    assert account.tokens == pytest.approx(server.ledger.tokens, abs=10)


def test_a_failure_is_settled_at_its_bill_and_one_without_a_bill_at_nothing() -> None:
    billed = ModelError("500", billed=Usage(110, 18))
    server = Server(billed, ModelError("429"))
    account = Account()
    assert [str(error) for error in paid(server, account, calls=2)] == ["500", "429"]
    assert server.written_before == [120, 128 + 120]
    assert (server.ledger.tokens, account.tokens, account.calls) == (128, 128, 1)


def test_the_ledger_says_which_bills_are_no_evidence() -> None:
    """Those of failures are estimates; lost answers stay open, with the time that they took."""
    script = [
        Usage(80, 5),
        ModelError("400", billed=Usage(100, 20)),
        ModelError("504", billed=Usage(100, 20), lost="error"),
        None,
    ]
    server = Server(*script)
    account = Account()
    paid(server, account, calls=4)
    *_, counted, _, failed, _, given_up, _, cancelled = server.ledger.rows
    assert not counted.open
    assert not counted.lost
    assert not failed.open
    assert failed.lost
    assert given_up.open
    assert given_up.lost
    assert cancelled.open
    assert not cancelled.lost
    assert account.calls == 4


def test_a_lost_answer_s_usage_and_cost_are_those_in_the_ledger() -> None:
    lost = ModelError("504", billed=Usage(100, 20), lost="error")
    server = Server(*[Usage(80, 5)] * 9, lost)
    account = Account()
    paid(server, account, calls=9)
    (error,) = paid(server, account)
    assert isinstance(error, ModelError)
    assert error.billed is not None
    assert error.billed.estimated
    assert 85 <= error.billed.prompt + error.billed.completion < 120
    assert account.tokens == 9 * 85 + error.billed.prompt + error.billed.completion


def test_a_lost_answer_never_has_fewer_than_no_tokens() -> None:
    lost = ModelError("504", billed=Usage(100, 20), lost="error")
    account = Account()
    server = Server(*[Usage(3, 5)] * 9, lost)
    paid(server, account, calls=9)
    (error,) = paid(server, account)
    assert isinstance(error, ModelError)
    assert error.billed is not None
    assert error.billed.prompt + error.billed.completion == account.tokens - 9 * 8
    assert (error.billed.prompt < 100, error.billed.completion) == (True, 0)


def test_a_model_that_announces_nothing_is_reserved_for_in_full() -> None:
    server = Server(Usage(5, 5), None, announces=False)
    account = Account()
    answer, stopped = paid(server, account, n=2, calls=2)
    assert isinstance(answer, Completion)
    assert isinstance(stopped, asyncio.CancelledError)
    most = 2 * (rough_tokens("x") + 20)
    assert server.written_before == [most, 10 + most]
    assert (server.ledger.tokens, account.tokens) == (10 + most, 10 + most)


def test_a_call_may_be_ended_twice_and_is_paid_once() -> None:
    account = Account()
    call = Call()
    asyncio.run(account.admit(call))
    asyncio.run(account.reserve(call.name, LedgerRow(100, 0.5)))
    account.landed(call.name)
    account.landed(call.name)
    assert (account.tokens, account.dollars, account.pending) == (100, 0.5, 0)


def test_no_request_is_made_again_once_the_budget_is_spent() -> None:
    server = Server(*[Usage(80, 5)] * 9)
    account = Account(max_tokens=200)
    (error,) = paid(server, account, n=9)
    assert isinstance(error, BudgetExhausted)
    assert (len(server.written_before), account.tokens, account.used) == (3, 255, 1.275)


def test_a_bill_without_tokens_is_one_unless_it_is_nothing() -> None:
    account = Account()
    pay(account, 0, 0.0)
    assert (account.calls, account.dollars, account.unpriced) == (0, 0.0, 0)
    pay(account, 0, 0.25)
    assert (account.calls, account.dollars, account.unpriced) == (1, 0.25, 0)
    pay(account, 0, None)
    assert (account.calls, account.dollars, account.unpriced) == (2, 0.25, 1)


def test_an_answer_of_unknown_price_has_no_cost() -> None:
    account = Account()
    model = PaidModel(Server(Usage(80, 5)), account)
    answer = asyncio.run(model.complete("x", Sampling()))
    assert answer.cost is None
    assert (account.tokens, account.dollars, account.unpriced) == (85, 0.0, 1)


def test_an_answer_from_the_cache_is_free() -> None:
    model = ScriptedModel(answers=[Completion(("b",), usage=Usage(30, 5), cached=True)])
    account = Account(max_tokens=100, ledger=(ledger := Listed()))
    asyncio.run(PaidModel(model, account).complete("x", Sampling()))
    assert (account.calls, account.tokens, account.dollars, ledger.tokens) == (
        0,
        0,
        0.0,
        0,
    )


def test_a_turn_was_rejected_if_its_answer_was_even_where_a_fallback_was_played() -> (
    None
):
    refused = Rejection("unknown", "no such exit")
    turns = (
        (Decision(STOP), False),
        (refused, True),
        (Decision(STOP, fallback_for=refused), True),
        (Decision(STOP), False),
        (None, False),
    )
    account = Account()
    episode = started_episode(account)
    meter = episode[EPISODE]
    for number, (decision, rejected) in enumerate(turns, 1):
        episode.run(account.stepped, decision)
        assert (meter.turns, meter.rejected) == (number, rejected)
    account.stepped(refused)  # outside of an episode
    assert meter.turns == len(turns)


@pytest.mark.parametrize("dollars", [0.5, None])
def test_a_request_of_an_earlier_session_counts_once(
    dollars: float | None,
) -> None:
    """At its probable cost until a call adopts it, then at its bill."""
    totals = Totals()
    totals.add(LedgerRow(40, 0.25))
    for number in (1, 2):
        totals.add(LedgerRow(100, dollars, call=f"old-{number}", open=True))
    account = Account()
    account.resume(Listed(), totals)
    each = dollars or 0.0
    assert (account.tokens, account.dollars) == (240, 0.25 + 2 * each)

    async def pay_for(name: str) -> bool:
        call = Call()
        await account.admit(call)
        row = LedgerRow(100, dollars, call=name)
        if is_adopted := await account.adopt(call.name, row):
            assert account.totals.tokens == 140, "the other one is still open"
            await account.settle(call.name, LedgerRow(30, 0.125, call=name))
        account.landed(call.name)
        return is_adopted

    assert asyncio.run(pay_for("old-1"))
    assert (account.tokens, account.dollars) == (170, 0.375 + each)
    assert not asyncio.run(pay_for("old-1")), "paid already"
    assert (account.tokens, account.dollars) == (170, 0.375 + each)
    assert (account.totals.tokens, account.totals.dollars) == (170, 0.375 + each)


def test_an_adopted_request_gives_back_what_it_was_counted_at() -> None:
    totals = Totals()
    for number in range(20):
        name = f"old-{number}"
        totals.add(LedgerRow(100, 0.5, call=name, open=True, at=number))
        totals.add(LedgerRow(30, 0.125, call=name, at=number + 1))
    totals.add(LedgerRow(100, 0.5, call="old-20", open=True, at=20))
    account = Account(max_tokens=1000)
    account.resume(Listed(), totals)
    assert account.tokens < 20 * 30 + 50, "less than its reservation"

    async def pay_for(name: str) -> None:
        call = Call(gathered=True)
        await account.admit(call)
        assert await account.adopt(call.name, LedgerRow(100, 0.5, call=name))
        await account.settle(call.name, LedgerRow(30, 0.125, call=name))
        account.landed(call.name)

    async def reserve(tokens: int) -> None:
        call = Call(gathered=True)
        await account.admit(call)
        await account.reserve(call.name, LedgerRow(tokens, None))

    asyncio.run(pay_for("old-20"))
    assert (account.tokens, account.dollars) == (630, pytest.approx(21 * 0.125))
    # The rest is free again, and no more than that.
    with pytest.raises(BudgetExhausted, match="does not cover the most"):
        asyncio.run(reserve(371))
    asyncio.run(reserve(370))


def test_episodes_of_earlier_sessions_are_expected_by_the_tighter_limit() -> None:
    account = Account(max_tokens=1000, max_dollars=1.0)
    account.expect([(100, 0.25), (400, 0.05)])
    assert account.estimate.ended == [0.25, 0.4]


def test_a_cancelled_request_stays_open_with_its_duration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = Account()
    times = count(1.0, 2.5)
    monkeypatch.setattr(account, "_now", lambda: next(times))
    server = Server(None)
    (stopped,) = paid(server, account)
    assert isinstance(stopped, asyncio.CancelledError)
    *_, reserved, cancelled = server.ledger.rows
    assert reserved.seconds == 0.0
    assert cancelled == reserved._replace(at=reserved.at + 2.5, seconds=2.5)
