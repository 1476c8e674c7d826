"""Wayword as rollouts for ART (openpipe-art 0.5): trajectories of a served model, to train on.

groups = await art.gather_trajectory_groups(
    art.TrajectoryGroup(rollout(model, "houses:train", n) for _ in range(8))
    for n in range(32)
)
result = await backend.train(model, groups)
"""

import asyncio

import art

from wayword.envs import make

MAX_STEPS = 30


async def rollout(model: art.Model, name: str, number: int) -> art.Trajectory:
    """Play episode ``number`` of a dataset by chat, and return it with the sum of its rewards."""
    env = make(name, episodes=number + 1, max_steps=MAX_STEPS)
    episode = env.tasks[number].episode.id
    observation, info = await asyncio.to_thread(env.reset, episode=episode)
    messages = [
        {"role": "system", "content": env.view.rules()},
        {"role": "user", "content": str(observation)},
    ]
    walk = art.Trajectory(messages_and_choices=messages, metadata={"episode": episode})
    over = False
    while not over:
        reply = await model.openai_client().chat.completions.create(
            model=model.get_inference_name(), messages=walk.messages()
        )
        choice = reply.choices[0]
        walk.messages_and_choices.append(choice)
        answer = choice.message.content or ""
        observation, reward, terminated, truncated, info = await asyncio.to_thread(
            env.step, answer
        )
        walk.reward += float(reward)
        over = terminated or truncated
        if not over:
            walk.messages_and_choices.append(
                {"role": "user", "content": str(observation)}
            )
    walk.metrics["success"] = bool(info["success"])
    return walk.finish()
