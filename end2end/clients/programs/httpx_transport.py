"""A program with a transport of its own (examples/httpx-transport), which calls the upstream itself."""

import asyncio
import dataclasses
import json
import os
import sys

sys.path.append("../examples/httpx-transport")

# docs: use
import httpx
from spillway_httpx import Spillway, SpillwayTransport

limits = Spillway(
    os.environ.get("SPILLWAY_URL", "https://spillway.example"),
    token=os.environ.get("SPILLWAY_TOKEN"),
    upstream="graph",
    workload="onenote",
    user=os.environ.get("USER_KEY", "u1"),
    lane="background",
)
client = httpx.AsyncClient(transport=SpillwayTransport(limits))
# docs: end


async def main() -> None:
    base = f"{os.environ['UPSTREAM_URL']}/v1.0/me/onenote"
    client.headers["Authorization"] = f"Bearer {os.environ['GRAPH_TOKEN']}"
    listed = await client.get(f"{base}/pages", params={"$top": "100", "$select": "id"})
    lanes = asyncio.Semaphore(16)

    async def read(page: dict[str, str]) -> int:
        async with lanes:
            return (await client.get(f"{base}/pages/{page['id']}/content")).status_code

    statuses = await asyncio.gather(*map(read, listed.json()["value"]))
    missing = await client.get(f"{base}/pages/1-none")
    await client.aclose()

    # One that is given up in the middle of its answer.
    other = dataclasses.replace(limits, user=f"{limits.user}-gives-up")
    async with httpx.AsyncClient(transport=SpillwayTransport(other), headers=client.headers) as giving_up:
        async with giving_up.stream("GET", f"{base}/resources/large-10000000/$value") as large:
            await anext(large.aiter_bytes())
    print(json.dumps({"statuses": statuses, "missing": missing.status_code}))


asyncio.run(main())
