"""Letters to the admins of sites, through a real SMTP server (aiosmtpd), whatever that server does.

What must hold: a mail server that is gone, refuses, hangs or drops connections for ten minutes (time
runs sixty times faster) slows no event down, and afterwards each letter that is owed arrives, once. The
link of a letter lets its reader re-enable the list. TLS is spoken where it is to be, and with nobody
whose certificate is another's.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import http.client
import json
import logging
import pathlib
import random
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import typing
import urllib.parse

from aiosmtpd.controller import Controller

from mail import UPSTREAMS, Post, Spillway, free_port, until
from server import PATIENCE_S, binary, environment

# Ten minutes of the server's, in seconds.
OUTAGE_S = 10.0

# How long events are counted to say how many a second there are.
WINDOW_S = 4.0

# At least so much of the events a second must be left while the mail server misbehaves, of the fewer
# of those before and after; the rest is what the machine's other work may take.
LEFT_MIN = 0.7

# What the mail server says of clients that break off, as they are to do.
logging.getLogger("mail.log").setLevel(logging.CRITICAL)

KILLS = 25

# Chooses when processes are killed; printed, so that a run can be repeated.
SEED = random.SystemRandom().randrange(2**32)

ADMINS = ("ann@example.org", "bob@example.org")
LISTS = 20


class Slow(Post):
    """Also hangs: takes a whole message, says nothing until it is told to go on, and then breaks off."""

    def __init__(self) -> None:
        super().__init__()
        self.by_tls: list[bool] = []

    async def handle_DATA(self, server, session, envelope):  # noqa: N802, ANN001
        self.by_tls.append(server.transport.get_extra_info("ssl_object") is not None)
        hung = self.how == "hang"
        while self.how == "hang":
            await asyncio.sleep(0.05)
        if hung:
            server.transport.abort()
            return "451 gone"
        return await super().handle_DATA(server, session, envelope)


class World(typing.NamedTuple):
    """A server with a site, and its mail server."""

    post: Slow
    spillway: Spillway
    # The mail server, and those that took its place.
    smtp: list[Controller]

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, typing.Any]:
        """Asks the API; the status, and the JSON or text."""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.spillway.dashboard).netloc, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            if answer.headers.get("etag") and body is None:
                return answer.status, answer.headers["etag"]
            with contextlib.suppress(ValueError):
                return answer.status, json.loads(text)
            return answer.status, text

    def flood(self, list_: str) -> list[str]:
        """Two events reach the threshold: four are in two minutes at most."""
        event = {"site": "s1", "list": list_, "component": "action", "trigger": "event"}
        status, told = self.ask("POST", "/api/v1/events", [event] * 4)
        assert status == 200, told
        return [it["decision"] for it in told]

    def owed(self) -> collections.Counter[str]:
        """The letters there are, settled or not, by their Message-ID."""
        rows = self.spillway.rows("SELECT uid FROM flood_letters JOIN outbox ON id = outbox_id")
        return collections.Counter(f"<{uid}@example.org>" for (uid,) in rows)

    def arrived(self) -> collections.Counter[str]:
        return collections.Counter(mail["Message-ID"] for mail in self.post.mails)

    def disabled(self) -> int:
        (number,) = self.spillway.rows("SELECT COUNT(*) FROM flood_history WHERE disables = 1")[0]
        return number


@contextlib.contextmanager
def world() -> typing.Iterator[World]:
    post = Slow()
    smtp = Controller(post, hostname="127.0.0.1", port=free_port())
    smtp.start()
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        config = UPSTREAMS.format(upstream="http://127.0.0.1:9")
        config += f'[mail]\nsmtp_url = "smtp://127.0.0.1:{smtp.port}"\nfrom = "Spillway <spillway@example.org>"\n'
        spillway = Spillway(pathlib.Path(folder), config)
        spillway.start()
        it = World(post, spillway, [smtp])
        try:
            site = {"title": "Orders", "admins": ADMINS, "time_zone": "Europe/Berlin"}
            assert it.ask("PUT", "/api/v1/sites/s1", site)[0] == 200
            path = "/api/v1/flood-policies/action"
            _, etag = it.ask("GET", path)
            policy = {"per_minute": 2, "strikes_per_day": 1, "grace": 0}
            assert it.ask("PUT", path, {"policy": policy, "reason": "a test"}, If_Match=etag)[0] == 200
            yield it
        finally:
            spillway.stop()
            for smtp in it.smtp:
                with contextlib.suppress(Exception):
                    smtp.stop()


def events_a_second(it: World) -> float:
    """How many single events are answered a second, by four connections that are kept."""
    end = time.monotonic() + WINDOW_S
    counts = [0] * 4

    def ask(place: int) -> None:
        host = urllib.parse.urlsplit(it.spillway.dashboard).netloc
        with contextlib.closing(http.client.HTTPConnection(host, timeout=PATIENCE_S)) as connection:
            event = {"site": "quiet", "list": f"q{place}", "component": "alert", "trigger": "manual"}
            body = json.dumps(event)
            while time.monotonic() < end:
                connection.request("POST", "/api/v1/events", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200, answer.status
                counts[place] += 1

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(counts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(counts), "each connection was answered"
    return sum(counts) / WINDOW_S


def an_outage(how: str, begin: typing.Callable[[World], typing.Callable[[], None]]) -> None:
    """Lists are disabled while the mail server misbehaves: events go on, then each letter comes once."""
    with world() as it:
        events_a_second(it)
        before = events_a_second(it)
        end = begin(it)
        began = time.monotonic()
        for number in range(LISTS):
            assert "disabled" in it.flood(f"l{number}"), number
        during = events_a_second(it)
        time.sleep(max(0.0, OUTAGE_S - (time.monotonic() - began)))
        assert not it.arrived(), "nothing arrives meanwhile"
        assert len(it.owed()) == LISTS * len(ADMINS) == it.disabled() * len(ADMINS)
        end()
        until("all letters arrive", lambda: set(it.arrived()) >= set(it.owed()))
        until("nothing is owed", lambda: it.spillway.rows("SELECT COUNT(*) FROM outbox WHERE settled_at_ms IS NULL") == [(0,)])
        assert it.arrived() == it.owed(), "exactly what is owed, each once"
        to = collections.Counter(str(mail["To"]) for mail in it.post.mails)
        assert to == dict.fromkeys(ADMINS, LISTS), to
        after = events_a_second(it)
        rates = f"{before:.0f} events/s before, {during:.0f} meanwhile, {after:.0f} after"
        print(f"letters: {how}: {rates}; {it.arrived().total()} letters")
        assert during >= LEFT_MIN * min(before, after), rates


def a_server_that_misbehaves(how: str) -> typing.Callable[[World], typing.Callable[[], None]]:
    def begin(it: World) -> typing.Callable[[], None]:
        it.post.how = how
        return lambda: setattr(it.post, "how", "take")

    return begin


def gone(it: World) -> typing.Callable[[], None]:
    (first,) = it.smtp
    first.stop()

    def end() -> None:
        again = Controller(it.post, hostname="127.0.0.1", port=first.port)
        again.start()
        it.smtp.append(again)

    return end


def being_gone_delays_letters_and_no_event() -> None:
    an_outage("gone", gone)


def refusing_delays_letters_and_no_event() -> None:
    an_outage("refusing", a_server_that_misbehaves("busy"))


def hanging_delays_letters_and_no_event() -> None:
    an_outage("hanging", a_server_that_misbehaves("hang"))


def dropping_delays_letters_and_no_event() -> None:
    an_outage("dropping", a_server_that_misbehaves("drop"))


def killed_at_random_no_letter_is_lost_or_owed_twice() -> None:
    chance = random.Random(SEED)
    with world() as it:
        answered: set[str] = set()

        def flooding(round_: int, stop: threading.Event) -> None:
            number = 0
            while not stop.is_set():
                list_ = f"l{round_}-{number}"
                with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                    it.flood(list_)
                    answered.add(list_)
                number += 1

        for round_ in range(KILLS):
            stop = threading.Event()
            thread = threading.Thread(target=flooding, args=(round_, stop))
            thread.start()
            time.sleep(chance.uniform(0.02, 0.4))
            it.spillway.kill()
            stop.set()
            thread.join()
            it.spillway.start()
        until("nothing is owed", lambda: it.spillway.rows("SELECT COUNT(*) FROM outbox WHERE settled_at_ms IS NULL") == [(0,)])
        disabled = {name for (name,) in it.spillway.rows("SELECT list FROM flood_disabled")}
        assert answered <= disabled, "what was answered is written down"
        told = collections.Counter(it.spillway.rows("SELECT list, recipient FROM flood_letters JOIN outbox ON id = outbox_id"))
        assert told == {(name, to): 1 for name in disabled for to in ADMINS}, "one letter for each admin of each"
        assert set(it.arrived()) == set(it.owed()), "what arrived is what was owed"
        twice = it.arrived().total() - it.owed().total()
        # Four are on their way at a time; of those nobody knows whether they had arrived.
        assert twice <= 4 * KILLS, f"{twice} came again after {KILLS} kills"
        print(f"letters: seed {SEED}: {KILLS} kills, {len(disabled)} disablements, {it.owed().total()} letters, {twice} came twice under their Message-ID")


def the_link_of_a_letter_re_enables_and_the_next_flood_is_told_again() -> None:
    with world() as it:
        it.flood("l1")
        until("two letters", lambda: len(it.post.mails) == len(ADMINS))
        (letter,) = (mail for mail in it.post.mails if mail["To"] == ADMINS[0])
        assert letter["Subject"] == "[Spillway] Orders: action is disabled on l1", letter["Subject"]
        text = letter.get_body(("plain",)).get_content()
        html = letter.get_body(("html",)).get_content()
        link = re.search(r"^http\S+/site\?key=\S+", text, re.MULTILINE)
        assert link and link[0].replace("&", "&amp;") in html, text
        assert "Europe/Berlin" in text and "UTC)" in text, text
        split = urllib.parse.urlsplit(link[0])
        status, page = it.ask("GET", f"{split.path}?{split.query}")
        assert status == 200 and "Re-enable action" in page, page
        fields = {**dict(urllib.parse.parse_qsl(split.query)), "component": "action"}
        status = post_form(it, "/site/enable", fields)
        assert status == 303, status
        assert "disabled" in it.flood("l1")
        until("two more", lambda: len(it.post.mails) == 2 * len(ADMINS))
        logged = "\n".join(it.spillway.log.lines)
        assert fields["key"] not in logged and fields["key"].split(".")[1] not in logged, "the link is in no log"
        bodies = it.spillway.rows("SELECT body || html FROM outbox")
        assert not any(fields["key"] in body for (body,) in bodies), "the link is in no row"


def post_form(it: World, path: str, fields: dict[str, str]) -> int:
    host = urllib.parse.urlsplit(it.spillway.dashboard).netloc
    with contextlib.closing(http.client.HTTPConnection(host, timeout=PATIENCE_S)) as connection:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        connection.request("POST", path, urllib.parse.urlencode(fields), form)
        return connection.getresponse().status


class Papers(typing.NamedTuple):
    """An authority, and a certificate of its for `localhost` and one for another host."""

    authority: pathlib.Path
    localhost: ssl.SSLContext
    another: ssl.SSLContext


def papers(folder: pathlib.Path) -> Papers:
    def run(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    run(*new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=an authority of this test",
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    contexts = []
    for host in ("localhost", "mail.example.org"):
        run(*new, "-keyout", f"{host}.key", "-out", f"{host}.pem", "-subj", f"/CN={host}", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-addext", f"subjectAltName=DNS:{host}", "-addext", "basicConstraints=critical,CA:FALSE")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / f"{host}.pem", folder / f"{host}.key")
        contexts.append(context)
    return Papers(folder / "ca.pem", *contexts)


@contextlib.contextmanager
def smtp_by_tls(context: ssl.SSLContext, *, implicit: bool) -> typing.Iterator[tuple[Slow, int]]:
    """A server that speaks TLS from the first byte, or takes nothing before STARTTLS."""
    post, port = Slow(), free_port()
    if implicit:
        smtp = Controller(post, hostname="127.0.0.1", port=port, ssl_context=context)
    else:
        smtp = Controller(post, hostname="127.0.0.1", port=port, tls_context=context, require_starttls=True)
    smtp.start()
    try:
        yield post, port
    finally:
        smtp.stop()


def send(url: str, authority: pathlib.Path | None) -> subprocess.CompletedProcess[str]:
    """`spillway mail test` by a system that trusts this authority alone."""
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        config = UPSTREAMS.format(upstream="http://127.0.0.1:9")
        config += f'[mail]\nsmtp_url = "{url}"\nfrom = "spillway@example.org"\nto = ["ops@example.org"]\n'
        (pathlib.Path(folder) / "spillway.toml").write_text(config)
        trusting = {"SSL_CERT_FILE": str(authority)} if authority else {}
        return subprocess.run(
            [binary(), "mail", "test"],
            cwd=folder, env={**environment(), **trusting}, text=True, capture_output=True, timeout=PATIENCE_S, check=False,
        )


def tls_is_spoken_and_with_nobody_whose_certificate_is_another_s() -> None:
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        paper = papers(pathlib.Path(folder))
        for scheme, query, implicit in (("smtps", "", True), ("smtp", "?tls=required", False)):
            with smtp_by_tls(paper.localhost, implicit=implicit) as (post, port):
                url = f"{scheme}://localhost:{port}{query}"
                done = send(url, paper.authority)
                assert done.returncode == 0 and len(post.mails) == 1, (url, done)
                assert post.by_tls == [True], url
                # Of an authority that this system does not know.
                done = send(url, None)
                assert done.returncode == 1 and len(post.mails) == 1, (url, done)
                assert "certificate" in done.stderr.lower() or "UnknownIssuer" in done.stderr, done.stderr
            with smtp_by_tls(paper.another, implicit=implicit) as (post, port):
                done = send(f"{scheme}://localhost:{port}{query}", paper.authority)
                assert done.returncode == 1 and not post.mails, (scheme, done)
        # STARTTLS that is required and not offered: nothing is sent.
        post = Slow()
        smtp = Controller(post, hostname="127.0.0.1", port=free_port())
        smtp.start()
        try:
            done = send(f"smtp://localhost:{smtp.port}?tls=required", paper.authority)
            assert done.returncode == 1 and "STARTTLS" in done.stderr and not post.mails, done
        finally:
            smtp.stop()


TESTS = (
    tls_is_spoken_and_with_nobody_whose_certificate_is_another_s,
    the_link_of_a_letter_re_enables_and_the_next_flood_is_told_again,
    killed_at_random_no_letter_is_lost_or_owed_twice,
    being_gone_delays_letters_and_no_event,
    refusing_delays_letters_and_no_event,
    hanging_delays_letters_and_no_event,
    dropping_delays_letters_and_no_event,
)


def main() -> int:
    failed = run = 0
    for test in TESTS:
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        began = time.monotonic()
        run += 1
        try:
            test()
        except Exception as error:  # noqa: BLE001
            failed += 1
            print(f"letters: {test.__name__}: FAILED: {error!r}", flush=True)
        else:
            print(f"letters: {test.__name__}: ok in {time.monotonic() - began:.1f} s", flush=True)
    print(f"  {run - failed} passed")
    if failed:
        print(f"  {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
