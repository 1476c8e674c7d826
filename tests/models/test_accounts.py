"""What a run may spend, worked out by hand: shares, expected episodes, and who may still begin."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context

import pytest

from wayword.core.errors import BudgetExhausted
from wayword.core.model import Completion, Usage
from wayword.models.middleware.budget import Account, play_as, under_way


def begun(account: Account) -> Context:
    """An episode under way, in a context of its own."""
    context = copy_context()
    context.run(account.begin)
    return context


def played(account: Account, tokens: int, whole: bool = True) -> None:
    """An episode that took so many tokens and ended."""
    episode = begun(account)
    episode.run(account.pay, tokens, 0.0)
    episode.run(account.end, whole)


def test_the_tighter_limit_counts() -> None:
    account = Account(max_tokens=100, max_dollars=1.0)
    account.pay(20, 0.5)
    assert account.used == 0.5
    account.pay(60, 0.0)
    assert account.used == 0.8
    assert (account.calls, account.tokens, account.dollars) == (2, 80, 0.5)
    boundless = Account()
    boundless.pay(10**9, 1e6)
    assert boundless.used == 0.0


@pytest.mark.parametrize("limit", [{"max_tokens": 0}, {"max_dollars": 0.0}])
def test_a_limit_of_nothing_is_spent_at_once(limit: dict[str, int]) -> None:
    account = Account(**limit)
    assert account.used == 1.0
    with pytest.raises(BudgetExhausted):
        account.check()


def test_a_limit_is_reached_at_its_last_token_and_later_calls_were_under_way() -> None:
    account = Account(max_tokens=1000)
    account.pay(999, None)
    account.check()
    account.pay(1, None)
    with pytest.raises(BudgetExhausted, match=r"of 1,000 tokens is spent \(1,000 used\)$"):
        account.check()
    account.pay(10, None)
    assert (account.late, account.unpriced) == (1, 3)
    with pytest.raises(BudgetExhausted, match=r"\(1,010 used; 1 calls were under way\)"):
        account.check()


def test_a_limit_is_told_in_its_own_unit() -> None:
    both = Account(max_tokens=1000, max_dollars=0.005)
    both.pay(10, 0.006)
    with pytest.raises(BudgetExhausted, match=r"the budget of \$0.005 is spent \(\$0.0060 used\)"):
        both.check()
    dear = Account(max_dollars=2.0)
    dear.pay(10, 2.5)
    with pytest.raises(BudgetExhausted, match=r"the budget of \$2.00 is spent \(\$2.5000 used\)"):
        dear.check()


def test_the_mean_of_whole_episodes_is_expected_of_the_next() -> None:
    account = Account(max_tokens=100)
    assert account.expected is None
    played(account, 10)
    played(account, 30)
    played(account, 5, whole=False)
    assert account.expected == pytest.approx(0.2)
    other = Account(max_tokens=100)
    other.expect_share(account.expected)
    assert other.expected == pytest.approx(0.2)
    other.expect_share(None)
    assert other.expected is None
    other.expect(60, 0.0, episodes=0)
    assert other.expected is None, "of no episode nothing is learned"
    other.expect(60, 0.0, episodes=4)
    assert other.expected == pytest.approx(0.15)


def test_no_episode_begins_that_the_rest_would_not_finish() -> None:
    # Two took 10 and 30 of 100 tokens: 20 each, and 25 are kept for one under way.
    account = Account(max_tokens=100)
    played(account, 10)
    played(account, 30)
    third = begun(account)
    third.run(account.pay, 5, 0.0)
    # 45 are spent, 20 more are owed to the third, and 25 to the fourth: 90 in all.
    fourth = begun(account)
    with pytest.raises(BudgetExhausted, match="100 tokens would not finish another episode"):
        begun(account)  # it would be 115
    fourth.run(account.pay, 40, 0.0)  # more than was kept: nothing is owed to it, nor by it
    third.run(account.end, True)
    assert account.expected == pytest.approx((0.1 + 0.3 + 0.05) / 3)
    with pytest.raises(BudgetExhausted):
        begun(account)  # 85 are spent, and 18.75 would be kept


@pytest.mark.parametrize(("spent", "fits"), [(54, True), (55, False)])
def test_an_episode_that_just_fits_begins(spent: int, fits: bool) -> None:
    # 8 of 64 tokens each: 10 are kept for the next, and 64 - 54 are left.
    account = Account(max_tokens=64)
    played(account, 8)
    played(account, 8)
    played(account, spent - 16, whole=False)
    if fits:
        begun(account)
    else:
        with pytest.raises(BudgetExhausted, match="would not finish"):
            begun(account)


def test_no_episode_begins_once_all_is_spent() -> None:
    account = Account(max_tokens=10)
    account.pay(10, None)
    with pytest.raises(BudgetExhausted, match="is spent"):
        begun(account)


def test_before_any_has_ended_the_one_that_took_most_may_be_at_its_half() -> None:
    account = Account(max_tokens=100)
    first, second = begun(account), begun(account)
    assert (first.run(under_way), second.run(under_way)) != (None, None)
    first.run(account.pay, 20, 0.0)
    # Each may take 40: 20 are spent, 20 + 40 owed. 80 for these, and 40 more do not fit.
    with pytest.raises(BudgetExhausted):
        begun(account)
    second.run(account.pay, 0, 0.0)
    second.run(account.end, False)
    begun(account)  # 20 spent, 20 owed, 40 needed


def test_an_episode_s_calls_are_its_own() -> None:
    account = Account(max_tokens=100)
    first, second = begun(account), begun(account)
    for episode, tokens in ((first, 20), (second, 5), (first, 20)):
        episode.run(account.pay, tokens, 0.0)
    shares = [episode.run(under_way).share for episode in (first, second)]  # type: ignore[union-attr]
    assert shares == pytest.approx([0.4, 0.05])
    first.run(account.end, True)
    assert (account.expected, first.run(under_way)) == (0.4, None)
    first.run(account.pay, 1, 0.0)
    assert account.expected == 0.4
    first.run(play_as, second.run(under_way))
    first.run(account.pay, 10, 0.0)
    second.run(account.end, True)
    assert account.expected == pytest.approx((0.4 + 0.05 + 0.1) / 2)


def test_an_answer_from_the_cache_is_free() -> None:
    account = Account(max_tokens=100)
    account.add(Completion(("b",), usage=Usage(30, 5), cost=0.5, cached=True))
    assert (account.calls, account.tokens, account.dollars) == (0, 0, 0.0)
    account.add(Completion(("b",), usage=Usage(30, 5), cost=0.5))
    assert (account.calls, account.tokens, account.dollars) == (1, 35, 0.5)


async def _settle() -> None:
    """Let every task go on as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("limit", [{"max_tokens": 10}, {"max_dollars": 1.0}])
def test_beside_a_call_of_unknown_cost_no_other_is_made(limit: dict[str, int]) -> None:
    account = Account(**limit)

    async def run() -> None:
        await account.admit()
        other = asyncio.create_task(account.admit())
        await _settle()
        assert (other.done(), account.flying) == (False, 1)
        account.pay(1, 0.1)  # a tenth; two more at five times that would just fill the budget
        account.landed()
        await _settle()
        assert (other.done(), account.flying) == (True, 1)

    asyncio.run(run())


def test_of_calls_that_wait_the_oldest_episode_s_goes_first() -> None:
    account = Account(max_tokens=100)
    first, second = begun(account), begun(account)

    async def run() -> None:
        await account.admit()
        younger = asyncio.create_task(account.admit(), context=second)
        await _settle()
        older = asyncio.create_task(account.admit(), context=first)
        await _settle()
        account.pay(60, 0.0)  # as dear as that, one call at a time
        account.landed()
        await _settle()
        assert (older.done(), younger.done()) == (True, False)
        account.landed()
        await _settle()
        assert younger.done()

    asyncio.run(run())


def test_a_younger_episode_waits_while_an_older_one_needs_what_is_left() -> None:
    # 40 of 100 tokens an episode are expected, 50 kept. 30 + 25 are spent and 20 owed to the first;
    # the second would need 50.
    account = Account(max_tokens=100)
    account.expect(40, 0.0, episodes=1)
    first, second = begun(account), begun(account)
    first.run(account.pay, 30, 0.0)
    account.pay(25, 0.0)

    async def run() -> None:
        younger = asyncio.create_task(account.admit(), context=second)
        await _settle()
        assert not younger.done()
        await asyncio.create_task(account.admit(), context=first)  # the oldest never waits for them
        account.landed()
        first.run(account.end, True)
        await _settle()
        assert younger.done()

    asyncio.run(run())


def test_what_is_spent_and_asked_again_is_reported_as_it_happens() -> None:
    spent: list[tuple[int, float]] = []
    again: list[int] = []
    account = Account(on_spent=lambda *paid: spent.append(paid), on_retried=again.append)
    account.pay(7, None)
    account.pay(-7, 0.25)
    account.retried()
    account.retried()
    assert (spent, again, account.retries) == ([(7, 0.0), (0, 0.25)], [1, 2], 2)
