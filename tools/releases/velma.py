"""Run VELMA's released agent on given answers and print its prompts.

Reads clone, graph, name and games (each with item, shots and answers) as JSON
from stdin: the folder of the street graph, and each game's route and examples.
Landmarks are seen by the scores of ``stubs.similarity`` in place of CLIP's.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from stubs import Anything, replace_packages, similarity

TEMPLATE = "llm/prompts/map2seq/navigation/2shot.txt"
VIEWS = (-90, -45, 0, 45, 90)


class Scores(Anything):
    """Scores in place of CLIP's, already standardized."""

    def get_scores(
        self, panorama: str, yaw: int, heading: int, landmarks: list[str], prompt: str
    ) -> dict[str, list[float]]:
        return {
            name: [similarity(panorama, heading + view, name) for view in VIEWS]
            for name in landmarks
        }

    def get_landmarks_mean_std(
        self, landmarks: list[str], prompt: str, panoids: set[str]
    ) -> dict[str, tuple[float, float]]:
        return dict.fromkeys(landmarks, (0.0, 1.0))


def prompts(given: dict[str, Any]) -> list[list[str]]:
    """The prompts of each game."""
    sys.path.insert(0, given["clone"])
    replace_packages("networkx", "openai", "tqdm", "cv2", "torch", "transformers")
    from llm.query_llm import LLM
    from vln.agent import LLMAgent
    from vln.dataset import preprocess_touchdown_instance
    from vln.env import ClipEnv, get_gold_nav
    from vln.landmarks import filter_landmarks_5shot
    from vln.prompt_builder import get_navigation_lines

    env = ClipEnv(given["graph"], Scores())
    template = (Path(given["clone"]) / TEMPLATE).read_text()

    class ScriptedModel(LLM):  # type: ignore[misc]  # the clone has no types
        """Gives answers in order, as the release adds those of a chat model to its cache."""

        def __init__(self, answers: list[str]) -> None:
            self.cache: dict[str, list[str]] = {}
            self.answers = answers
            self.prompts: list[str] = []

        def query_api(self, prompt: str) -> str:
            self.prompts.append(prompt)
            answer = self.answers[len(self.prompts) - 1]
            return f"{prompt} {answer.removeprefix(' ')}"

    def prepared(item: dict[str, Any]) -> dict[str, Any]:
        landmarks = filter_landmarks_5shot(item["unfiltered"])
        ready = {**item, "landmarks": landmarks, "idx": str(item["id"])}
        if given["name"] == "touchdown":
            ready = preprocess_touchdown_instance(
                env, {**ready, "route_id": item["id"]}
            )
        return {
            **ready,
            "dataset_name": given["name"],
            "is_map2seq": given["name"] == "map2seq",
        }

    streams = []
    for game in given["games"]:
        filled = []
        for shot in map(prepared, game["shots"]):
            walk = get_gold_nav(shot, env)
            lines, _ = get_navigation_lines(walk, env, shot["landmarks"], None)
            filled += [shot["navigation_text"], "\n".join(lines)]
        model = ScriptedModel(game["answers"])
        agent = LLMAgent(
            model, env, prepared(game["item"]), template.format(*filled, "{}")
        )
        agent.run(55)  # the default of the release
        streams.append(model.prompts)
    return streams


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        found = prompts(json.load(sys.stdin))
    json.dump(found, sys.stdout)
