"""An httpx transport under Spillway's limits, for programs that call the upstream themselves.

Each request takes a permit, is made, and is reported once its answer has been read to the end:

    limits = Spillway("https://spillway.example", upstream="graph", workload="onenote", user="u1")
    async with httpx.AsyncClient(transport=SpillwayTransport(limits)) as client: ...

Redirects and retries of the client above it come through here again, so that each takes a permit of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx

# Headers of an answer that speak of limits; others are nobody's business.
_OF_LIMITS = ("retry-after", "ratelimit", "x-ms-throttle-", "x-ms-resource-unit", "x-ms-retry-after-ms")


class Throttled(httpx.TransportError):
    """There is no room for the call within the caller's patience. Nothing was sent upstream."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"no room for the call before {retry_after_s:.1f} s have passed")
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Spillway:
    """Where permits come from, and whose budget the calls are charged to."""

    server: str
    upstream: str
    user: str
    workload: str | None = None
    tenant: str | None = None
    app: str | None = None
    lane: str = "foreground"
    #: A token with the scope ``permits``; none for a server that is open.
    token: str | None = None
    #: How long Spillway may hold each ask.
    wait_s: float = 10.0
    #: How long to go on asking in all.
    patience_s: float = 300.0

    def ask(self) -> dict[str, Any]:
        """What is asked for, as the API wants it."""
        names = ("upstream", "workload", "user", "tenant", "app", "lane")
        asked = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return asked | {"wait_ms": int(self.wait_s * 1000)}


class SpillwayTransport(httpx.AsyncBaseTransport):
    """Lets a request through once Spillway has room for it."""

    def __init__(
        self,
        limits: Spillway,
        inner: httpx.AsyncBaseTransport | None = None,
        api: httpx.AsyncClient | None = None,
    ) -> None:
        self._limits = limits
        self._inner = inner or httpx.AsyncHTTPTransport()
        headers = {"Authorization": f"Bearer {limits.token}"} if limits.token else {}
        self._api = api or httpx.AsyncClient(headers=headers, timeout=limits.wait_s + 30)
        self._permits = f"{limits.server}/api/v1/permits"

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        permit = await self._take()
        renewing = asyncio.create_task(self._renew(permit))
        try:
            # Where this fails, the upstream may be at work all the same: the permit stays taken until it expires.
            answer = await self._inner.handle_async_request(request)
        except BaseException:
            renewing.cancel()
            raise
        stream = _Watched(self, permit["id"], answer, renewing)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=stream, extensions=answer.extensions)

    async def aclose(self) -> None:
        await self._inner.aclose()
        await self._api.aclose()

    async def complete(self, permit: str, answer: httpx.Response) -> None:
        """Says how a call ended. If that does not arrive, the permit expires by itself."""
        headers = {name: value for name, value in answer.headers.items() if name.lower().startswith(_OF_LIMITS)}
        report = {"status": answer.status_code, "headers": headers}
        try:
            await self._api.post(f"{self._permits}/{permit}/complete", json=report)
        except httpx.TransportError:
            pass

    async def _take(self) -> dict[str, Any]:
        """Asks until there is room, or until the patience is over."""
        until = time.monotonic() + self._limits.patience_s
        while True:
            answer = await self._api.post(self._permits, json=self._limits.ask())
            if answer.status_code != 429:
                answer.raise_for_status()
                permit: dict[str, Any] = answer.json()
                return permit
            wait_s: float = answer.json()["retry_after_ms"] / 1000
            if time.monotonic() + wait_s > until:
                raise Throttled(wait_s)
            await asyncio.sleep(wait_s)

    async def _renew(self, permit: dict[str, Any]) -> None:
        while True:
            await asyncio.sleep(permit["ttl_ms"] / 3000)
            try:
                await self._api.post(f"{self._permits}/{permit['id']}/renew")
            except httpx.TransportError:
                continue


class _Watched(httpx.AsyncByteStream):
    """A body whose end ends the permit. One that is given up may still run upstream, and keeps it."""

    def __init__(
        self, transport: SpillwayTransport, permit: str, answer: httpx.Response, renewing: asyncio.Task[None]
    ) -> None:
        self._transport = transport
        self._permit = permit
        self._answer = answer
        self._renewing = renewing

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._answer.stream, httpx.AsyncByteStream)
        async for part in self._answer.stream:
            yield part
        await self._transport.complete(self._permit, self._answer)

    async def aclose(self) -> None:
        self._renewing.cancel()
        await self._answer.aclose()
