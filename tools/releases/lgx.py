"""Run LGX's released episode on given answers and print its prompts.

Reads clone and games as JSON from stdin. A game has the target's type, whether its prompts are of
captions, the answers, and for each turn what is around: a list of names, or four captions. The
simulator, ROS, the detectors and the planner are stand-ins.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import defaultdict
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from stubs import Anything, replace_packages

PACKAGES = (
    *(
        "GLIP_utils",
        "tf2_ros",
        "tqdm",
        "ai2thor",
        "cv2",
        "open3d",
        "matplotlib",
        "IPython",
    ),
    *("torch", "openai", "PIL", "rospy", "cv_bridge", "sensor_msgs", "nav_msgs", "tf"),
    *(
        "geometry_msgs",
        "notify_run",
        "std_srvs",
        "open3d_ros_helper",
        "lavis",
        "transformers",
    ),
)
TURNS = 5  # the release's default


def prompts(given: dict[str, Any]) -> list[list[str]]:
    """The prompts of each game."""
    clone = Path(given["clone"])
    sys.path.insert(0, str(clone))
    replace_packages(*PACKAGES)
    spec = importlib.util.spec_from_file_location("released", clone / "lgx-run.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # constants of the main block, and its world
    module.STEP_SIZE = TURNS
    module.GLIP_THRESHOLD = 0.7
    module.FORWARD_STEPS = 0
    module.respath = "."
    module.run_num = 0
    module.controller = module.PILImage = Anything()
    module.ros_publish = lambda event: None
    module.move_forward_ros = lambda *args, **kwargs: []
    module.finish_episode = lambda *args: None
    numpy = module.np
    numpy.mean = lambda image: 0.0
    streams = []
    for game in given["games"]:
        module.LAVIS_PASS = game["captions"]
        seen = list(game["seen"])
        answers = list(game["answers"])
        stream: list[str] = []

        def around(target: str, thresh: float, seen: list[Any] = seen) -> Any:
            found = defaultdict(list)
            listed = seen.pop(0)
            if isinstance(listed, dict):
                sides = ("Front", "Right", "Behind", "Left")
                return {90 * n: [[listed[side]]] for n, side in enumerate(sides)}
            for name in listed:
                found[name].append((0, []))
            return found

        def ask(
            prompt: str, stream: list[str] = stream, answers: list[str] = answers
        ) -> str:
            stream.append(prompt)
            return answers.pop(0)

        module.rotate_in_place = around
        module.gpt_pass = ask
        module.STEP_SIZE = len(seen)
        place = {"scene": "", "object_type": game["target"]}
        start = {"initial_position": {}, "initial_orientation": 0}
        module.parse_scene({**place, **start})
        streams.append(stream)
    return streams


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        found = prompts(json.load(sys.stdin))
    json.dump(found, sys.stdout)
