"""The real binary on ports of its own, with files of its own, for the tests in this folder."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]

# How long anything may take before a test fails instead of hanging, in seconds.
PATIENCE_S = 60


def binary() -> pathlib.Path:
    """The server to test: SPILLWAY_BIN, else what `cargo build` made."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return pathlib.Path(os.environ.get("SPILLWAY_BIN", target / "debug" / "spillway"))


class Server(typing.NamedTuple):
    """A server that takes calls."""

    dashboard: str
    gateway: str
    process: subprocess.Popen[str]
    config: pathlib.Path

    def token(self, name: str, *options: str) -> str:
        """What `spillway token create` prints."""
        command = [binary(), "token", "create", "--config", self.config, "--name", name, *options]
        made = subprocess.run(
            command, cwd=self.config.parent, env=environment(), text=True, stdout=subprocess.PIPE, check=True
        )
        return made.stdout


def environment() -> dict[str, str]:
    """The environment without what would change the server's configuration."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("SPILLWAY", "OTEL"))}


@contextlib.contextmanager
def serve(upstreams: str, *, for_anyone: bool = True) -> typing.Iterator[Server]:
    """Runs `spillway serve` with these `[upstreams.…]` sections, and ends it well.

    With `--open`, unless it is not for anyone: then callers bring tokens.
    """
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        config = pathlib.Path(folder) / "spillway.toml"
        config.write_text(
            '[server]\nlisten = "127.0.0.1:0"\ngateway_listen = "127.0.0.1:0"\n'
            f'state_dir = "state"\nsite_dir = "site"\n{upstreams}'
        )
        command = [str(binary()), "--log-format", "json", "serve", "--config", str(config)]
        if for_anyone:
            command.append("--open")
        process = subprocess.Popen(
            command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True
        )
        log = Log(process)
        try:
            ready = log.ready()
            yield Server(ready["dashboard"], ready["gateway"], process, config)
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait(timeout=PATIENCE_S)
        if status != 0 or log.panics():
            raise SystemExit(f"the server ended with {status}:\n" + "\n".join(log.lines[-50:]))


class Log:
    """What a server says, read as it comes, so that it never waits for its reader."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.lines: list[str] = []
        self._ready: dict[str, str] = {}
        self._told = threading.Event()
        self._process = process
        threading.Thread(target=self._read, daemon=True).start()

    def ready(self) -> dict[str, str]:
        """Where it listens."""
        if not self._told.wait(PATIENCE_S) or not self._ready:
            raise SystemExit("the server did not get ready:\n" + "\n".join(self.lines))
        return self._ready

    def panics(self) -> bool:
        """Whether something in it went wrong that must not."""
        return any("panicked" in line for line in self.lines)

    def _read(self) -> None:
        for line in self._process.stderr or ():
            self.lines.append(line.rstrip())
            with contextlib.suppress(ValueError):
                said = json.loads(line)
                if said.get("message") == "ready" and "dashboard" in said:
                    self._ready = said
                    self._told.set()
        self._told.set()
