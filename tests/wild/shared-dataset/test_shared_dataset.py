"""Threads that share a generated dataset see what each would see alone."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import websockets

from wayword.core.dataset import DrawnItems
from wayword.core.errors import DataError
from wayword.core.files import reading
from wayword.envs import make
from wayword.envs.openenv import serve

THREADS = 6
EPISODES = 12
GENERATED = (
    *("houses", "towns", "household", "apartments", "grounding", "iqa"),
    *("ma_household", "rearrangement", "two_phase"),
)


def start_and_first_step(env: object, number: int) -> str:
    observation, info = env.reset(episode=number)  # type: ignore[attr-defined]
    actions = env.game.legal_actions(env.actor)  # type: ignore[attr-defined]
    result = env.step(actions[0])  # type: ignore[attr-defined]
    return json.dumps([observation, info["episode"], result[0]], default=str)


@pytest.mark.parametrize("name", GENERATED)
def test_threads_see_what_each_sees_alone(name: str) -> None:
    alone = make(name)
    numbers = range(min(EPISODES, len(alone.tasks)))
    expected = {number: start_and_first_step(alone, number) for number in numbers}
    dataset = make(name).dataset
    barrier = threading.Barrier(THREADS)

    def play(thread: int) -> dict[int, str]:
        env = make(name, dataset=dataset)
        order = list(numbers)
        random.Random(thread).shuffle(order)
        barrier.wait(30)
        return {number: start_and_first_step(env, number) for number in order}

    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(play, range(THREADS)))

    assert seen == [expected] * THREADS


def test_items_are_drawn_one_at_a_time() -> None:
    drawn = DrawnItems(iter(range(2000)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(drawn.get, range(2100)))
    assert found == [*range(2000), *[None] * 100]


def test_sessions_of_a_server_do_not_disturb_each_other() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = serve("houses", "127.0.0.1", port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    seen: Counter[str] = Counter()

    async def session(number: int) -> None:
        address = f"ws://127.0.0.1:{port}/ws"
        async with websockets.connect(address, max_size=None, proxy=None) as client:
            for each in range(10):
                seed = each * 31 + number
                await client.send(json.dumps({"type": "reset", "data": {"seed": seed}}))
                seen[json.loads(await client.recv())["type"]] += 1

    async def sessions() -> None:
        while not server.started:
            await asyncio.sleep(0.02)
        await asyncio.gather(*[session(number) for number in range(8)])

    asyncio.run(sessions())
    server.should_exit = True
    thread.join(20)
    assert seen == {"observation": 80}


def test_no_advice_to_fetch_data_where_no_file_was_read() -> None:
    with pytest.raises(DataError) as error, reading("houses"):
        raise ValueError("generator already executing")
    assert "fetch" not in str(error.value)
