"""Wayword's server as OpenEnv's tools expect it in a container: `python -m server.app`.

Set in the environment: WAYWORD_DATASET, WAYWORD_REWARD, PORT, HOST, and WAYWORD_ENV_TOKEN, without
which it listens on loopback only.
"""

import os

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from wayword.envs.openenv import OpenEnvServer

TOKEN = os.environ.get("WAYWORD_ENV_TOKEN", "")
NO_TOOLS = {"code": -32601, "message": "no tools here: a session is a WebSocket at /ws"}


async def openapi(request: Request) -> JSONResponse:
    """The version of the runtime contract; sessions need no HTTP paths."""
    about = {"title": "wayword", "version": "1.0.0"}
    paths: dict[str, object] = {
        f"/{name}": {"get": {}} for name in ("health", "metadata", "schema")
    }
    paths["/mcp"] = {"post": {}}
    return JSONResponse({"openapi": "3.1.0", "info": about, "paths": paths})


async def mcp(request: Request) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": NO_TOOLS})


server = OpenEnvServer(
    os.environ.get("WAYWORD_DATASET", "houses:train"),
    TOKEN,
    reward=os.environ.get("WAYWORD_REWARD", "success"),
)
app = server.app()
for prefix in ("", "/{token}"):
    app.routes.append(Route(f"{prefix}/openapi.json", openapi))
    app.routes.append(Route(f"{prefix}/mcp", mcp, methods=["POST"]))


def main() -> None:
    host = os.environ.get("HOST", "127.0.0.1")
    if host not in ("127.0.0.1", "localhost") and not TOKEN:
        raise SystemExit(
            f"HOST={host} is reachable by other machines; set WAYWORD_ENV_TOKEN"
        )
    uvicorn.run(
        app, host=host, port=int(os.environ.get("PORT", "8000")), ws_max_size=2**20
    )


if __name__ == "__main__":
    main()
