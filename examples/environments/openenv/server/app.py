"""Wayword's server as OpenEnv's tools expect it in a container: `python -m server.app`.

Set in the environment: WAYWORD_DATASET, WAYWORD_REWARD, PORT, HOST, and WAYWORD_ENV_TOKEN, without
which it listens on loopback only.
"""

import os

import uvicorn

from wayword.envs.openenv import OpenEnvServer

TOKEN = os.environ.get("WAYWORD_ENV_TOKEN", "")


server = OpenEnvServer(
    os.environ.get("WAYWORD_DATASET", "houses:train"),
    TOKEN,
    reward=os.environ.get("WAYWORD_REWARD", "success"),
)
app = server.app()


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
