"""Prometheus can read /metrics, and users make no series.

Debian's Prometheus scrapes a running server, with and without tokens, as docs/METRICS.md has it;
`promtool` finds nothing to say of the text or of the alerts; ten thousand users change values and
no names.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import typing
import urllib.parse
import urllib.request

from server import PATIENCE_S, ROOT, Server, serve

USERS = 10_000
LIST = 100

# A scrape of so many users may take this long, in seconds, on a busy machine.
SCRAPE_S_MAX = 1.0

UPSTREAMS = """
[upstreams.graph]
base_url = "http://127.0.0.1:9/"
presets = ["onenote"]
hold_max_ms = 100

[upstreams.big]
base_url = "http://127.0.0.1:9/"
[[upstreams.big.workloads]]
name = "all"
paths = ["/**"]
layers = [
  { scope = "user", dimension = "rate", window_ms = 3600000, limit = 100 },
  { scope = "app", dimension = "rate", window_ms = 3600000, limit = 1000000 },
]
"""


def get(url: str) -> str:
    """What is at an address."""
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return answer.read().decode()


def post(url: str, body: typing.Any) -> typing.Any:
    """What is answered to JSON; None to nothing."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def series(text: str) -> set[str]:
    """Names with their labels."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return {line.rsplit(" ", 1)[0] for line in lines}


def value(text: str, name: str) -> float:
    """The sample of this name and labels."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found, f"there is no {name}"
    return float(found[1])


def promtool(text: str) -> None:
    """Prometheus's own linter has nothing to say."""
    command = ["promtool", "check", "metrics"]
    said = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    assert said.returncode == 0 and not (said.stdout + said.stderr).strip(), said


def documented(section: str) -> str:
    """The YAML of docs/METRICS.md that begins with this key."""
    text = (ROOT / "docs" / "METRICS.md").read_text()
    return next(it for it in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if it.startswith(section))


def check_alerts() -> None:
    """Prometheus would take the documented alerts."""
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as rules:
        rules.write(documented("groups:"))
        rules.flush()
        command = ["promtool", "check", "rules", rules.name]
        said = subprocess.run(command, text=True, capture_output=True, check=False)
    assert said.returncode == 0 and "FAILED" not in said.stdout, said


def scrape_config(server: Server, token_file: pathlib.Path | None) -> str:
    """The documented configuration for this server; without a token if there is no file."""
    config = documented("scrape_configs:")
    for there, here in (
        ("127.0.0.1:3000", urllib.parse.urlsplit(server.dashboard).netloc),
        ("/etc/prometheus/spillway-token", str(token_file)),
    ):
        assert config.count(there) == 1, config
        config = config.replace(there, here)
    if token_file is None:
        config = re.sub(r"^ *authorization:.*\n", "", config, flags=re.MULTILINE)
    return config


@contextlib.contextmanager
def prometheus(scrape_configs: str) -> typing.Iterator[str]:
    """A Prometheus that scrapes every second, and where its API is."""
    with socket.socket() as probe, tempfile.TemporaryDirectory() as folder:
        probe.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{probe.getsockname()[1]}"
        probe.close()
        config = pathlib.Path(folder) / "prometheus.yml"
        config.write_text(f"global: {{ scrape_interval: 1s }}\n{scrape_configs}")
        command = [
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={listen}",
            "--log.level=error",
        ]
        process = subprocess.Popen(command, cwd=folder)
        try:
            yield f"http://{listen}"
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)


def ask(api: str, query: str) -> float | None:
    """The value of a query that has one; None where Prometheus is not there yet or has none."""
    with contextlib.suppress(OSError):
        answer = json.loads(get(f"{api}/api/v1/query?query={urllib.parse.quote(query)}"))
        result = answer["data"]["result"]
        return float(result[0]["value"][1]) if result else None
    return None


def until(api: str, query: str, wanted: float) -> None:
    """Waits until a query has this value."""
    deadline = time.monotonic() + PATIENCE_S
    found = None
    while time.monotonic() < deadline:
        found = ask(api, query)
        if found == wanted:
            return
        time.sleep(0.2)
    raise AssertionError(f"{query} is {found} and never became {wanted}")


def take(server: Server, users: typing.Iterable[int]) -> list[typing.Any]:
    """Takes a permit for each of these users."""
    wanted = [{"upstream": "big", "user": f"u{n}"} for n in users]
    return post(f"{server.dashboard}/api/v1/permits", wanted)


def check(server: Server) -> None:
    """All of it."""
    url = f"{server.dashboard}/metrics"
    permits = f"{server.dashboard}/api/v1/permits"
    first = take(server, [0])[0]["id"]
    post(f"{permits}/{first}/complete", {"status": 429})
    before = get(url)
    promtool(before)
    answers = 'spillway_upstream_answers_total{class="429",upstream="big",via="permit",workload="all"}'
    assert value(before, answers) == 1
    with prometheus(scrape_config(server, None)) as api:
        until(api, 'up{job="spillway"}', 1)
        until(api, 'spillway_users{upstream="big"}', 1)
        samples = ask(api, "scrape_samples_scraped")
        for begin in range(1, USERS, LIST):
            taken = take(server, range(begin, min(begin + LIST, USERS)))
            assert all("id" in item for item in taken), taken
        until(api, 'spillway_users{upstream="big"}', USERS)
        until(api, 'spillway_permits_out{upstream="big"}', USERS - 1)
        until(api, 'spillway_calls_admitted_total{upstream="big",lane="foreground"}', USERS)
        assert ask(api, "scrape_samples_scraped") == samples
    after, took_s = scraped(url)
    promtool(after)
    assert series(after) == series(before), series(after) ^ series(before)
    print(f"metrics: {len(series(after))} series of {USERS} users, read in {took_s * 1000:.1f} ms")
    assert took_s < SCRAPE_S_MAX, took_s


def scrape_error(api: str) -> str:
    """Why the last scrape of the only target failed; empty before the first, and after one that did not."""
    with contextlib.suppress(OSError):
        targets = json.loads(get(f"{api}/api/v1/targets"))["data"]["activeTargets"]
        return targets[0]["lastError"] if targets else ""
    return ""


def check_tokens(server: Server) -> None:
    """With a token for metrics it is scraped; with another, or none, Prometheus says why not."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "spillway-token"
        for name, scope, error in (
            ("prometheus", "metrics", None),
            ("reader", "read", "server returned HTTP status 403"),
            (None, None, "server returned HTTP status 401"),
        ):
            if name:
                file.write_text(server.token(name, "--role", "viewer", "--scope", scope))
            with prometheus(scrape_config(server, file if name else None)) as api:
                until(api, 'up{job="spillway"}', 0 if error else 1)
                said = scrape_error(api)
                assert (error or "") in said and bool(said) == bool(error), said


def scraped(url: str) -> tuple[str, float]:
    """A scrape that is computed for it, and how long it took, in seconds."""
    time.sleep(1)  # An older one would be given again for half a second.
    begun = time.monotonic()
    text = get(url)
    return text, time.monotonic() - begun


def main() -> int:
    try:
        check_alerts()
        with serve(UPSTREAMS) as server:
            check(server)
        with serve(UPSTREAMS, for_anyone=False) as server:
            check_tokens(server)
    except AssertionError as error:
        print(f"metrics: {error}\n  1 failed")
        return 1
    print("  1 passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
