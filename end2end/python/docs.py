"""What the docs tell people to type does what they say.

Each shell block of these pages that calls the API is run as it stands, in order, against a server of
the page's own; only the server's address is another. A call that is refused fails the block.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.parse

from server import PATIENCE_S, ROOT, Server, serve

PAGES = ("OPERATING.md", "PERMITS.md", "METRICS.md", "FLOODS.md")

# Where the docs have the server.
DOCUMENTED = "127.0.0.1:3000"

UPSTREAMS = """
[upstreams.graph]
base_url = "http://127.0.0.1:9/"
presets = ["onenote"]
"""

# Refused is failed, wherever in a block.
PRELUDE = "set -euo pipefail\ncurl() { command curl --fail-with-body --max-time 30 \"$@\"; }\n"


def blocks(page: str) -> list[str]:
    """The shell blocks of a page that call the API."""
    text = (ROOT / "docs" / page).read_text()
    return [it for it in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if DOCUMENTED in it]


def runs(server: Server, page: str, block: str) -> bool:
    """Whether nothing in it is refused; else says what was."""
    address = urllib.parse.urlsplit(server.dashboard).netloc
    script = PRELUDE + block.replace(DOCUMENTED, address)
    command = ["bash", "-c", script]
    done = subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        print(f"docs: {page} is refused:\n{block}{done.stdout}{done.stderr}")
    return done.returncode == 0


def main() -> int:
    passed = failed = 0
    for page in PAGES:
        # A page may leave a pause behind that the next does not know of.
        with serve(UPSTREAMS) as server:
            for block in blocks(page):
                if runs(server, page, block):
                    passed += 1
                else:
                    failed += 1
    # As many as there are; a page that is written anew must not lose them unseen.
    if passed + failed < 8:
        print(f"docs: only {passed + failed} blocks were found")
        failed += 1
    print(f"  {passed} passed")
    if failed:
        print(f"  {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
