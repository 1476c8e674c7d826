"""``wayword perceive``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wayword.cli import show


def perceive(
    folder: Annotated[Path, typer.Argument(help="A folder of equirectangular panoramas.")],
    out: Annotated[Path, typer.Option(help="Folder for the observation files.")],
    layout: Annotated[
        str, typer.Option(help="Views to look at: navgpt24, navgpt12, navgpt36, discussnav12.")
    ] = "navgpt24",
    captioner: Annotated[
        str, typer.Option(help="blip2:WEIGHTS, vlm:WEIGHTS, chat:openai:NAME …")
    ] = "",
    detector: Annotated[
        str, typer.Option(help="detr:WEIGHTS, ssd:FOLDER, groundingdino:WEIGHTS, owlv2:WEIGHTS.")
    ] = "",
    phrases: Annotated[
        str, typer.Option(help="What groundingdino and owlv2 look for: 'chair,door,red carpet'.")
    ] = "",
    tagger: Annotated[str, typer.Option(help="tags:WEIGHTS[,FILE]: words that fit a view.")] = "",
    depth: Annotated[str, typer.Option(help="depth:WEIGHTS, for distances to what is found.")] = "",
    model: Annotated[
        str, typer.Option(help="A language model that merges captions and sums places up.")
    ] = "",
    scan: Annotated[str, typer.Option(help="The scan's name in the files.")] = "tour",
    norths: Annotated[
        Path | None, typer.Option(help="JSON: place -> heading of the picture's middle, degrees.")
    ] = None,
    within: Annotated[
        float, typer.Option(help="Leave out things known to be farther, metres.")
    ] = 3.0,
    batch: Annotated[int, typer.Option(help="Views a network is given at once.")] = 16,
) -> None:
    """Look at panoramas and write what is there, in the layout of NavGPT's observation files.

    The same command again goes on where it stopped; once done it asks no network.

    \b
    Examples:
      wayword perceive pictures --captioner blip2:Salesforce/blip2-flan-t5-xl \\
        --detector detr:facebook/detr-resnet-50 --model openai:gpt-5-mini --out seen
      wayword perceive pictures --layout discussnav12 --captioner chat:openai:gpt-5-mini --out seen
    """
    from wayword.experiment.perceiving import Perceiving, perceive

    plan = Perceiving(
        folder,
        out,
        layout,
        captioner,
        detector,
        depth,
        tagger,
        tuple(phrase.strip() for phrase in phrases.split(",") if phrase.strip()),
        model,
        scan,
        norths,
        within,
        batch,
    )
    with show.progress("places") as tell:
        seen = perceive(plan, lambda _, number, count: tell(number, count, {}))
    typer.echo(
        f"{seen.places} places, {seen.views} views, {seen.found} things found; "
        f"{seen.asked} answers were worked out, the rest were known"
    )
    typer.echo(f"{out / 'index.html'}")
