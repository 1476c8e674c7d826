"""navcot: imagines the next view, filters the next places by it, then acts (Lin et al. 2024).

    wayword run navcot --on houses --model openai:gpt-5-mini
    wayword export runs/gold --as navcot --out labels.jsonl

Any model writes the three fields in one answer, without training. The paper fine-tunes a model on
labels of these fields; ``wayword export`` writes such labels from an oracle's walks and the
perceiver: the imagination is the part of the next view that the instruction mentions, else the
view's caption. Options are the actions of the world; the paper's have letters. Source: sections 3.2
and 3.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import shorten

from wayword.agents.answers import StrategyRecipe
from wayword.agents.strategies.strategy import Strategy, StrategySettings
from wayword.core.action import Action
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.geometry import sector
from wayword.core.world import Observation
from wayword.worlds.indoor.world import IndoorObservation

END_OF_ROUTE = "the end of the route"
_PHRASE_END = re.compile(r"[,.;]| and ")
_ARTICLE = re.compile(r"^(?:and )?(?:an?|the|you see|there (?:is|are)) (?:an? )?", re.I)
# Objects in the label of an imagination, and words of each
MOST_NAMED, MOST_WORDS = (
    2,
    5,
)
LABEL_LENGTH = 80  # characters of a caption that stands for an imagination


@dataclass(frozen=True)
class NavCoTSettings(StrategySettings):
    """As for every strategy. ``imagine``, ``filter``: the answer contains an imagination, and the
    action that matches it. Turning one off is an ablation."""

    imagine: bool = True
    filter: bool = True


class NavCoT(Strategy):
    """Imagines the next view, filters the next places by it, then acts (Lin et al. 2024)."""

    recipe = "navcot"
    Settings = NavCoTSettings
    families = frozenset({"indoor"})

    def __init__(self, settings: NavCoTSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        is_asked = {"imagination": settings.imagine, "match": settings.filter}
        lines = zip(self._recipe.fields, self._recipe.text.splitlines(), strict=True)
        text = "\n".join(line for field, line in lines if is_asked.get(field.key, True))
        self._recipe = StrategyRecipe(text, "navcot")

    @property
    def unknown(self) -> list[str]:
        """Return no labels where the next view is unknown."""
        return []

    def labels(
        self, action: Action, observation: Observation, episode: Episode | None
    ) -> Mapping[str, str]:
        """Return the view behind a move, as the label that the model should have
        imagined."""
        perceiver = self._toolkit.perceiver
        if perceiver is None or not isinstance(observation, IndoorObservation):
            return {}
        next_place = (
            one for one in observation.neighbors if (one.viewpoint,) == action.arguments
        )
        neighbor = next(next_place, None)
        if neighbor is None:
            return {"imagination": END_OF_ROUTE, "match": str(action)}
        sectors = perceiver.perceive(observation.scene, observation.viewpoint).sectors
        part = sectors[sector(neighbor.heading, len(sectors))]
        caption = shorten(
            part.caption.strip().rstrip("."), LABEL_LENGTH, placeholder=" …"
        )
        objects = dict.fromkeys(sighting.name for sighting in part.sightings)
        phrases = [
            _ARTICLE.sub("", phrase.strip())
            for phrase in _PHRASE_END.split(part.caption)
        ]
        short = [
            *objects,
            *(each for each in phrases if 0 < len(each.split()) <= MOST_WORDS),
        ]
        if episode:
            words = set(re.findall(r"\w+", episode.instruction.lower()))
        else:
            words = set()
        # The last word of a phrase is its noun, which the instruction must name.
        named = dict.fromkeys(
            each for each in short if each.lower().split()[-1] in words
        )
        # What the instruction names says most; a caption says more than objects.
        label = (
            ", ".join([*named][:MOST_NAMED])
            or caption
            or ", ".join([*objects][:MOST_NAMED])
        )
        return {"imagination": label, "match": f"{action}: {label}"}


agent = NavCoT
