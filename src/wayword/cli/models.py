"""``wayword models``: the local model's weights, and a server for them."""

from __future__ import annotations

from typing import Annotated

import typer

models = typer.Typer(help="Models on this machine.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="A model's name, such as smollm2.")]


@models.command("list")
def models_list() -> None:
    """The models that can be had by name, and which are here."""
    from wayword.models import fetch

    for status in fetch.statuses():
        where = status.path or f"not here; run `wayword models fetch {status.name}`"
        typer.echo(f"{status.name}  {status.size / 1e6:.0f} MB  {status.licence}  {where}")


@models.command("fetch")
def models_fetch(name: Name = "smollm2") -> None:
    """Bring a model's weights here, checked by their SHA-256."""
    from wayword.models import fetch

    typer.echo(f"{name}: {fetch.fetch(name)}")


@models.command("check")
def models_check(name: Name = "smollm2") -> None:
    """Verify a model's weights, and have it write a few words if it can."""
    import asyncio

    from wayword.core.model import Sampling, user
    from wayword.models import fetch
    from wayword.models.opening import open_model

    typer.echo(f"{fetch.checked(name)}: the SHA-256 is right")
    if not fetch.writes(name):
        return
    asked = [user("Name a colour.")]
    model = open_model(f"local:{name.removeprefix('local:')}")
    answer = asyncio.run(model.complete(asked, Sampling(max_tokens=12)))
    typer.echo(f"it says: {answer.text.strip()!r}")


@models.command("serve")
def models_serve(
    name: Name = "smollm2",
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 8080,
) -> None:
    """Serve a model with OpenAI's interface, on this machine only, until Ctrl-C.

    \b
    Example:
      wayword models serve smollm2 --port 8080
      OPENAI_BASE_URL=http://127.0.0.1:8080/v1 wayword run navgpt --model openai:smollm2
    """
    import time

    from wayword.models.serving import serve
    from wayword.models.weights import located

    with serve(located(name), port) as address:
        typer.echo(f"serving {name} at {address}  (Ctrl-C ends it)")
        while True:
            time.sleep(3600)
