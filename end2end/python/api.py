"""The API does what its OpenAPI document says, and answers whatever else is sent to it.

schemathesis reads /api/openapi.json of a running server and sends what the document allows and
what it forbids. Nothing may be answered that is not documented, by status, type, headers and
body; nothing forbidden may be accepted; nothing may end in 500. That holds for a server that is
open, and for callers with a token for everything, with one for little, and with none.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import typing

from server import Server, serve

HERE = pathlib.Path(__file__).resolve().parent

# The same numbers, the same requests.
SEED = 20261130

# A stream has no end: the Rust tests read it.
ENDLESS = "/api/v1/live"

UPSTREAMS = """
[upstreams.graph]
base_url = "http://127.0.0.1:9/"
presets = ["onenote"]
hold_max_ms = 100
"""



class Run(typing.NamedTuple):
    """One run of schemathesis."""

    name: str
    config: str
    # How many requests are made up of each operation in each phase. A token changes who may ask,
    # not what can be asked: a few will do there.
    examples: int
    # What makes the token, as `spillway token create` takes it; none: none is sent.
    token: tuple[str, ...] | None = None
    # What is not asked: a run must not take away what it asks with.
    spares: tuple[str, ...] = ()


ALL_SCOPES = "gateway,permits,events,metrics,jobs,read,write"

OPEN = (
    Run("made up", "schemathesis.toml", 15),
    Run("of what there is", "schemathesis-known.toml", 15),
)

CLOSED = (
    Run(
        "with a token for everything",
        "schemathesis-known.toml",
        4,
        ("--role", "admin", "--scope", ALL_SCOPES, "--act-for-users"),
        ("revokeToken",),
    ),
    Run(
        "with a token for little",
        "schemathesis-denied.toml",
        4,
        ("--role", "operator", "--scope", "permits,write", "--upstream", "graph", "--app", "a"),
    ),
    Run("without a token", "schemathesis-denied.toml", 2),
)


def succeeds(run: Run, server: Server, folder: str) -> bool:
    """Whether schemathesis finds nothing; what it says goes to standard output."""
    print(f"api: requests {run.name}", flush=True)
    command = [
        pathlib.Path(sys.executable).parent / "schemathesis",
        *("--config-file", HERE / run.config),
        "run",
        f"{server.dashboard}/api/openapi.json",
        *("--exclude-path", ENDLESS),
        *("--seed", str(SEED), "--max-examples", str(run.examples), "--no-shrink"),
        *("--request-timeout", "20", "--continue-on-failure", "--warnings", "off"),
    ]
    for operation in run.spares:
        command += ["--exclude-operation-id", operation]
    if run.token:
        token = server.token(run.name.replace(" ", "-"), *run.token).strip()
        command += ["--header", f"Authorization: Bearer {token}"]
    return subprocess.run(command, cwd=folder, check=False).returncode == 0


def main() -> int:
    outcomes = []
    for for_anyone, runs in ((True, OPEN), (False, CLOSED)):
        with serve(UPSTREAMS, for_anyone=for_anyone) as server:
            with tempfile.TemporaryDirectory() as folder:
                outcomes += [succeeds(run, server, folder) for run in runs]
    failed = outcomes.count(False)
    print(f"  {outcomes.count(True)} passed")
    if failed:
        print(f"  {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
