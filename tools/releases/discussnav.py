"""Run DiscussNav's released walk on given answers and print its prompts.

Reads clone and games as JSON from stdin. A game has the R2R path (``item``), what is in the twelve
directions of each place (``places``), the answers of each function that asks a model (``answers``),
and the ``asked`` prompts of ours: function and place. The simulator and the vision models are
stand-ins. The prompts of the same functions and places are printed in that order; the two
questions on a step, of its observation and its thought, become one.

The release also asks for a translation, for the actions completed at the start, for the fusion of
thoughts that agree or are alone, and for a summary of the last step. Any other prompt that has no
counterpart is printed at the end.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stubs import Anything, replace_packages

PACKAGES = ("MatterSim", "cv2", "torch", "networkx", "PIL", "lavis", "ram")
PACKAGES += ("tasks", "tqdm", "requests")
DATASET = Path("tasks/R2R/data/R2R_val_unseen.json")  # where the release reads it
SUMMARIES = ("summarize_observation", "summarize_thought")
# the functions whose prompts may have no counterpart
EXTRA_FUNCTIONS = {"translate", "estimate_completion", "thought_fusion", *SUMMARIES}
Messages = list[dict[str, str]]


class Walk:
    """The simulator: the exits in the direction that it faces, at one place after another."""

    def __init__(self, games: list[Any]) -> None:
        self.game: Any = None
        self._games = iter(games)
        self.place = 0
        self._turns = 0

    def newEpisode(self, *start: Any) -> None:  # noqa: N802 - the simulator's name
        self.game = next(self._games)
        self.place = 0
        self._turns = 0

    @property
    def direction(self) -> Any:
        return self.game["places"][self.place]["directions"][self._turns % 12]

    def getState(self) -> list[Any]:  # noqa: N802
        here = _location(self.game["places"][self.place]["viewpoint"])
        exits = [_location(each) for each in self.direction["exits"]]
        state = SimpleNamespace(location=here, navigableLocations=[here, *exits])
        return [SimpleNamespace(**vars(state), rgb=[])]

    def makeAction(  # noqa: N802
        self, exits: list[int], turns: list[float], raises: list[float]
    ) -> None:
        self._turns += turns[0] > 0
        if exits[0]:
            self.place += 1
            self._turns = 0


def _location(viewpoint: str) -> SimpleNamespace:
    return SimpleNamespace(viewpointId=viewpoint, rel_elevation=0.0)


class Model:
    """Gives the answers of each function in order, and keeps the prompts by function and place."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self.prompts: dict[int, list[tuple[str, int, Messages]]] = {}

    def ask(
        self, prompt: Messages, model: str, number: int, temperature: float = 1
    ) -> list[Any]:
        function = sys._getframe(1).f_code.co_name
        game = self._walk.game
        if function == "detect_actions" and len(prompt) == 1:
            function = "translate"
        placed_prompts = self.prompts.setdefault(id(game), [])
        # The walk has moved on before a step is summarized.
        place = self._walk.place
        placed_prompts.append((function, place, prompt))
        answers = game["answers"][function][str(place)]
        texts = [answers.pop(0) for _ in range(number)]
        return [{"message": {"content": text}} for text in texts]


def aligned(
    prompts: list[tuple[str, int, Messages]], places_of_functions: list[Any]
) -> list[Messages]:
    """The prompts of ``places_of_functions``, in its order, then unexpected ones."""
    rest = list(prompts)
    stream = []
    for function, place in places_of_functions:
        names = SUMMARIES if function == "summary" else (function,)
        parts = []
        for name in names:
            found = next((each for each in rest if each[:2] == (name, place)), None)
            if found is not None:
                rest.remove(found)
                parts.append(found[2])
        stream.append(_joined(parts))
    stream += [
        prompt for function, _, prompt in rest if function not in EXTRA_FUNCTIONS
    ]
    return stream


def _joined(parts: list[Messages]) -> Messages:
    if len(parts) == 1:
        return parts[0]
    joined = []
    for messages in zip(*parts, strict=True):
        text = "\n".join(each["content"].strip() for each in messages)
        joined.append({"role": messages[0]["role"], "content": text})
    return joined


def _open_experts(self: Any, *weights: str) -> None:
    """Without the vision models, which the release would try to load forever."""
    self.current_rgb_path = "view.jpg"
    self.view_record_path = "views.json"
    self.view_record = {}


def prompts(given: dict[str, Any]) -> list[list[Messages]]:
    """The prompts of each game."""
    replace_packages(*PACKAGES)
    torch: Any = importlib.import_module("torch")
    torch.cuda = Anything()
    # the release writes a log named like the program
    sys.argv = ["DiscussNav.py"]
    spec = importlib.util.spec_from_file_location(
        "released", Path(given["clone"]) / "DiscussNav.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    games = given["games"]
    DATASET.parent.mkdir(parents=True)
    DATASET.write_text(json.dumps([game["item"] for game in games]))
    walk = Walk(games)
    model = Model(walk)
    module.sim = walk
    module.tqdm = iter
    module.gpt_response = model.ask
    module.open_image = lambda path: Anything()
    module.get_all_distances = lambda dataset: {}
    module.eval_pred = lambda *args: {}
    experts = module.Vision_Perception_Experts
    experts.__init__ = _open_experts
    experts.ram_img_tagging = lambda self, image: walk.direction["tags"]
    experts.instructblip_description = lambda self, *args: walk.direction["caption"]
    module.main("R2R", "")
    return [aligned(model.prompts[id(game)], game["asked"]) for game in games]


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        found = prompts(json.load(sys.stdin))
    json.dump(found, sys.stdout)
