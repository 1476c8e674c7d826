"""Ceilings: what a player that sees the answers scores on the episodes of LangSuitE's recipes.

    python tools/ceilings.py --data /path/to/data --out runs/ceilings

Each line of the output is a recipe's data, with the score of `expert` (of `team` for several
actors) under the recipe's body, actions and step limit, and the best published figure. The scores
belong into `expert` of the data in the recipe's file, where `wayword reproduce` compares them with
the published ones. Finished episodes are kept in `--out`: the same command resumes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from wayword.runs import reproduce
from wayword.runs.reproduce import Recipe, RecipeOptions, RecipeRow
from wayword.runs.running import run

RECIPES = [f"langsuite/table-{number}" for number in (3, 4, 5, 7)]


def by_data(recipe: Recipe) -> list[list[RecipeRow]]:
    """Rows in groups with the same published data."""
    groups: dict[str, list[RecipeRow]] = {}
    for row in recipe.playable:
        groups.setdefault(repr(row.sources[0]), []).append(row)
    return list(groups.values())


def ceiling(recipe: Recipe, row: RecipeRow, options: RecipeOptions) -> dict[str, float]:
    """Scores of the player that sees the answers, by metric, in percent where it is a rate."""
    several = row.sources[0].split.startswith("ma_")
    player = replace(
        row,
        agent="team" if several else "expert",
        models={},
        settings={},
        seeds=(0,),
        sources=(replace(row.sources[0], settings={}),),
    )
    only = replace(recipe, rows=(player,))
    (prepared,) = reproduce.prepare(only, options)
    for plan in prepared.plans:
        run(plan)
    compared = reproduce.compare_row(prepared, list(recipe.metrics))
    return {key: value.mean for key, value in compared.ours.items()}


def main() -> None:
    """Print a line for each recipe's data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/ceilings"))
    parser.add_argument("--only", default="", help="only splits that contain this text")
    given = parser.parse_args()
    options = RecipeOptions(data=given.data, out=given.out)
    for name in RECIPES:
        recipe = reproduce.open_recipe(name)
        for rows in by_data(recipe):
            source = rows[0].sources[0]
            if given.only not in source.split:
                continue
            scores = ceiling(recipe, rows[0], options)
            words = []
            for key, score in scores.items():
                published = [row.published[key] for row in rows if key in row.published]
                if published:
                    words.append(f"{key} {score:.1f} (published {max(published):g})")
            actions = source.dataset.get("actions", "")
            kind = source.dataset.get("kind", "")
            data = " ".join(word for word in (source.split, actions, kind) if word)
            print(f"{name} {data}: {', '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
