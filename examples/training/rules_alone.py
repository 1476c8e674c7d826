"""A model that trusts the rules: yes where a line ends in `next`, no elsewhere.

    wayword run act --on household --set layout=walk --model ./examples/training/rules_alone.py:next

What a trained model is worth in home tasks is how far it is above this one.
"""

from dataclasses import dataclass

from wayword.core.errors import UsageError
from wayword.core.model import Choice, Model, Usage


@dataclass(frozen=True)
class Settings:
    """Nothing to set."""


class RulesAlone(Model):
    Settings = Settings

    def __init__(self, name, settings=None):
        self.name = f"rules:{name}"

    async def choose(self, prompt, options):
        yes = prompt.endswith("next?") + prompt.endswith("with the other, next?")
        return Choice(tuple(options), tuple(yes * (o == "yes") - 1.0 for o in options), Usage())

    async def complete(self, prompt, sampling):
        raise UsageError("only yes or no can be asked for: set layout=walk")

    async def aclose(self):
        pass


model = RulesAlone
