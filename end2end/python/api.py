"""The API does what its OpenAPI document says, and answers whatever else is sent to it.

schemathesis reads /api/openapi.json of a running server and sends what the document allows and
what it forbids. Nothing may be answered that is not documented, by status, type, headers and
body; nothing forbidden may be accepted; nothing may end in 500.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile

from server import serve

HERE = pathlib.Path(__file__).resolve().parent

# The same numbers, the same requests.
SEED = 20261130

# Of each operation, in each phase that makes requests up.
EXAMPLES = 15

# A stream has no end: the Rust tests read it.
ENDLESS = "/api/v1/live"

UPSTREAMS = """
[upstreams.graph]
base_url = "http://127.0.0.1:9/"
presets = ["onenote"]
hold_max_ms = 100
"""

RUNS = {
    "made up": "schemathesis.toml",
    "of what there is": "schemathesis-known.toml",
}


def run(url: str, config: str, folder: str) -> bool:
    """One run of schemathesis; what it says goes to standard output."""
    command = [
        pathlib.Path(sys.executable).parent / "schemathesis",
        *("--config-file", HERE / config),
        "run",
        f"{url}/api/openapi.json",
        *("--exclude-path", ENDLESS),
        *("--seed", str(SEED), "--max-examples", str(EXAMPLES), "--no-shrink"),
        *("--request-timeout", "20", "--continue-on-failure", "--warnings", "off"),
    ]
    return subprocess.run(command, cwd=folder, check=False).returncode == 0


def main() -> int:
    failed = 0
    with serve(UPSTREAMS) as server, tempfile.TemporaryDirectory() as folder:
        for name, config in RUNS.items():
            print(f"api: requests {name}", flush=True)
            failed += not run(server.dashboard, config, folder)
    print(f"  {len(RUNS) - failed} passed")
    if failed:
        print(f"  {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
