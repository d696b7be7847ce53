"""Loaded before a program (it is on PYTHONPATH): notes each request that leaves it, and how it was answered.

It changes nothing.
"""

import json
import os

import httpx

_send = httpx.AsyncHTTPTransport.handle_async_request


async def _observed(self, request: httpx.Request) -> httpx.Response:
    answer = await _send(self, request)
    seen = {
        "method": request.method,
        "path": request.url.path,
        "attempt": int(request.headers.get("Retry-Attempt", 0)),
        "status": answer.status_code,
        "told": answer.headers.get("Retry-After"),
        "blockedBy": answer.headers.get("Spillway-Blocked-By"),
        "version": answer.extensions.get("http_version", b"").decode(),
    }
    with open(os.environ["OBSERVED"], "a", encoding="utf-8") as log:
        log.write(json.dumps(seen) + "\n")
    return answer


if "OBSERVED" in os.environ:
    httpx.AsyncHTTPTransport.handle_async_request = _observed  # type: ignore[method-assign]
