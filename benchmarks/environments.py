"""Steps a second of the text environment, against the bare world.

*Bare* is what a step cannot do without: carry the action out, look, and put both into words. *Ours*
is ``env.step``: it reads an answer, checks that it is legal, records the step, and tells the reward
and an info. Both take the same actions in the same homes, in turns, block by block, so that a busy
machine blurs both alike; each block's best time over the rounds counts. Homes have one room; the
number of objects in it is printed.

``python -m benchmarks.environments`` exits with 1 where a bound is missed: 1.3 times the bare
world, a round trip to the server under 3 ms, memory flat (under 5% more after 100,000 steps than
after the first tenth), and processes at 1.5 times one process where there are two idle cores.
``--memory 1000000`` measures memory alone, over that many steps.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import gymnasium

from benchmarks._rows import Rows
from wayword.core.action import Action
from wayword.envs import Environment, make
from wayword.verbalize import generic

HOMES: dict[str, Any] = {"homes": 4, "episodes": 8, "rooms": 1}
NEW_HOMES = "household:generated_train"
MOVES = ("move_ahead", "move_ahead", "turn_left", "turn_right", "pan_left", "pan_right")
BLOCK = 4
BLOCKS = 60
ROUNDS = 25
STEPS = 100_000
"""For memory."""
GROWTH = 1.05


def walk() -> list[str]:
    """The same moves for both."""
    rng = random.Random(0)
    return [rng.choice(MOVES) for _ in range(BLOCK * BLOCKS)]


class Bare:
    """The world and its words alone."""

    def __init__(self, env: Environment) -> None:
        task = env.tasks[0]
        self.world = env.dataset.world(task.episode)
        self.world.reset(task.episode)
        self.voice = generic.verbalizer(self.world.observe("agent"))

    def step(self, move: str) -> str:
        feedback = self.world.step("agent", Action(move))
        seen = self.world.observe("agent")
        feedback_text = generic.feedback(feedback, self.voice)
        state = self.voice.self_state(seen)[1]
        return "\n".join((feedback_text, state, self.voice.around(seen, None)))


def block(step: Any, moves: list[Any]) -> float:
    """Seconds for a block of steps."""
    began = time.perf_counter()
    for move in moves:
        step(move)
    return time.perf_counter() - began


def against_bare() -> tuple[float, float]:
    """Milliseconds a step: bare, and through the environment."""
    env = make("household", settings=HOMES, max_steps=10**9)
    moves = walk()
    plain = [math.inf] * BLOCKS
    full = [math.inf] * BLOCKS
    for number in range(ROUNDS):
        bare = Bare(env)
        env.reset(episode=0)
        for n in range(BLOCKS):
            part = moves[n * BLOCK : (n + 1) * BLOCK]
            sides = [(plain, bare.step), (full, env.step)]
            for times, step in sides if number % 2 else reversed(sides):
                times[n] = min(times[n], block(step, part))
    if bare.world.pose("agent") != env.game.world.pose("agent"):
        raise AssertionError("the two went different ways")
    print(f"objects in the home   {len(env.game.world.state()['objects']):7d}")
    steps = BLOCK * BLOCKS
    return 1e3 * sum(plain) / steps, 1e3 * sum(full) / steps


def resident() -> int:
    """Bytes of this process that lie in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(steps: int) -> float:
    """Memory at the end over memory after the first tenth, episodes of 200 steps one by one."""
    env = make("household", settings=HOMES, max_steps=200)
    moves = walk()
    tenths = list[int]()
    over = True
    for n in range(1, steps + 1):
        if over:
            env.reset()
        over = any(env.step(moves[n % len(moves)])[2:4])
        if n % (steps // 10) == 0:
            tenths.append(resident())
            print(f"{n:13,} steps   {tenths[-1] / 2**20:7.1f} MiB", flush=True)
    return tenths[-1] / tenths[0]


def vectors(count: int = 16, steps: int = 40, rounds: int = 3) -> tuple[float, float]:
    """Steps a second of that many environments in this process, and in a process each,
    with an expert's advice in each info: pipes cost more than a plain step.

    Both take the same steps from the same start, round by round in turns; each step's best time
    over the rounds counts, as above.
    """
    moves = [(move,) * count for move in walk()[:steps]]
    name = "wayword.envs.gymnasium:Wayword-v0"
    options = {"dataset": "household", "settings": HOMES, "include": ["expert_action"]}
    sides = [
        gymnasium.make_vec(name, count, parallel=each, **options)
        for each in (False, True)
    ]
    times = [[math.inf] * steps for _ in sides]
    for _ in range(rounds):
        for envs, found in zip(sides, times, strict=True):
            envs.reset(seed=0)
            for n, move in enumerate(moves):
                found[n] = min(found[n], block(envs.step, [move]))
    for envs in sides:
        envs.close()
    one, many = (steps * count / sum(found) for found in times)
    return one, many


def scenes(count: int = 8, steps: int = 150, rounds: int = 3) -> tuple[float, float]:
    """Milliseconds of this process for an episode in a new home, and in one made ahead by another.

    Both play the same moves in the same homes, round by round in turns; the best round counts.
    Processor time, so that it holds on a busy machine; the other process needs a core of its own.
    """
    moves = (walk() * steps)[:steps]
    best = [math.inf, math.inf]
    options: dict[str, Any] = {"new_scenes": True, "max_steps": steps + 1}
    with ProcessPoolExecutor(1) as worker:
        sides = [make(NEW_HOMES, executor=each, **options) for each in (None, worker)]
        for number in range(rounds):
            for n, env in enumerate(sides):
                env.reset(seed=number)
                began = time.process_time()
                for _ in range(count):
                    block(env.step, moves)
                    env.reset()
                best[n] = min(best[n], 1e3 * (time.process_time() - began) / count)
            if sides[0].game.task != sides[1].game.task:
                raise AssertionError("the two played other homes")
    return best[0], best[1]


def round_trip(steps: int = 300) -> float:
    """Milliseconds of a step over a WebSocket on loopback, the world's own time taken off."""
    from websockets.sync.client import connect

    from wayword.envs.openenv import serve

    server = serve("two_phase", "127.0.0.1", 0, max_steps=10**9)
    socket = server.config.bind_socket()
    threading.Thread(
        target=server.run, kwargs={"sockets": [socket]}, daemon=True
    ).start()
    while not server.started:
        time.sleep(0.01)
    with connect(f"ws://127.0.0.1:{socket.getsockname()[1]}/ws", proxy=None) as client:

        def send(message: dict[str, Any]) -> None:
            client.send(json.dumps(message))
            client.recv()

        send({"type": "reset"})
        action = {"type": "step", "data": {"text": "sing"}}
        times = sorted(block(send, [action]) for _ in range(steps))
    server.should_exit = True
    return 1e3 * times[len(times) // 10]  # a busy machine holds most of them up


def main() -> int:
    """Print the figures; 1 where a bound is missed. ``--memory STEPS``: the memory alone."""
    if "--memory" in sys.argv:
        growth = memory(int(sys.argv[sys.argv.index("--memory") + 1]))
        print(f"memory {growth:.3f} times that after the first tenth")
        return int(growth >= GROWTH)
    one, many = vectors()
    plain, ahead = scenes()
    bare, full = against_bare()
    trip = round_trip()
    growth = memory(STEPS)
    cores = len(os.sched_getaffinity(0))
    idle = cores > 1 and os.getloadavg()[0] < cores - 0.5
    print(f"bare world and words  {bare:7.3f} ms a step")
    print(
        f"text environment      {full:7.3f} ms a step, {1e3 / full:,.0f} steps a second"
    )
    print(
        f"advised, 16 at once   {one:7,.0f} steps a second; in 16 processes {many:,.0f}"
    )
    print(
        f"150 steps, new home   {plain:7.1f} ms; made ahead by another process {ahead:.1f} ms"
    )
    print(f"round trip            {trip:7.3f} ms (fastest tenth, WebSocket, loopback)")
    print(f"memory                {growth:7.3f} times after {STEPS:,} steps")
    rows = Rows("environments")
    rows.add("step_of_bare_world", full / bare, at_most=1.3)
    rows.add("scene_made_ahead", plain / ahead, at_least=1.5)
    rows.add("round_trip_ms", trip, at_most=3)
    rows.add("memory_growth", growth, at_most=1.05)
    if idle:
        rows.add("processes_16", many / one, at_least=1.5)
    else:
        print("not judged: 16 processes; the cores are not idle")
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())
