"""Trouble is told by mail and webhook, through a real SMTP server, whatever that server does.

An upstream throttles apps until it is told to stop; time runs sixty times faster. The SMTP server
(aiosmtpd) takes mail, refuses it, hangs, drops connections, or is gone. What must hold: one mail
when trouble lasts and one when it is over, none of them lost and none twice, although the server
under test is killed again and again; a mail that nobody can know the fate of comes again under the
same Message-ID.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import email
import email.policy
import hashlib
import hmac
import http.server
import json
import pathlib
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import typing
import urllib.error
import urllib.request

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from server import PATIENCE_S, Log, binary, environment

SCALE = 60
SECRET = b"an example of a secret that is long enough"
KILLS = 25

# Chooses when processes are killed; printed, so that a run can be repeated.
SEED = random.SystemRandom().randrange(2**32)


class Post:
    """Takes mail as a test says: `how` is looked at for each."""

    def __init__(self) -> None:
        self.how = "take"
        self.mails: list[email.message.EmailMessage] = []
        self.tries = collections.Counter[str]()
        self.hanging = threading.Event()

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802, ANN001
        self.tries[self.how] += 1
        if self.how == "busy":
            return "450 4.2.1 come back later"
        if self.how == "refuse" or address.startswith("nobody@"):
            return "550 5.1.1 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802, ANN001
        if self.how == "drop":
            # It has all of it, and nobody is told.
            server.transport.abort()
            return "451 gone"
        parsed = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.mails.append(parsed)
        return "250 taken"

    def subjects(self) -> list[str]:
        """What the mails are about, each once, in the order in which they came."""
        return [mail["Subject"] for mail in self.once()]

    def once(self) -> list[email.message.EmailMessage]:
        """The mails, each Message-ID once."""
        return list({mail["Message-ID"]: mail for mail in self.mails}.values())


class Hook:
    """A webhook's program."""

    def __init__(self) -> None:
        self.status = 204
        self.messages: list[dict[str, typing.Any]] = []
        self.wrong: list[str] = []


class Upstream:
    """Throttles the apps that it is told to."""

    def __init__(self) -> None:
        self.throttled: set[str] = set()


@contextlib.contextmanager
def http_server(answer: typing.Callable[[http.server.BaseHTTPRequestHandler], None]) -> typing.Iterator[str]:
    """Answers each request so; gives its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # noqa: N802
            answer(self)

        def do_POST(self) -> None:  # noqa: N802
            answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def throttling(upstream: Upstream) -> typing.Callable[[http.server.BaseHTTPRequestHandler], None]:
    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        app = request.path.rsplit("/", 1)[-1]
        if app in upstream.throttled:
            request.send_response(429)
            request.send_header("Retry-After", "1")
            request.send_header("x-ms-throttle-scope", "Application/ReadWrite/app")
        else:
            request.send_response(200)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def hooked(hook: Hook) -> typing.Callable[[http.server.BaseHTTPRequestHandler], None]:
    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        signed = b".".join(
            [request.headers["webhook-id"].encode(), request.headers["webhook-timestamp"].encode(), body]
        )
        mac = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
        if request.headers["webhook-signature"] != f"v1,{mac}":
            hook.wrong.append("signature")
        if abs(time.time() - int(request.headers["webhook-timestamp"])) > 60:
            hook.wrong.append("timestamp")
        if hook.status < 300:
            hook.messages.append(json.loads(body))
        request.send_response(hook.status)
        if hook.status == 302:
            request.send_header("Location", "http://127.0.0.1:1/elsewhere")
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


class Spillway:
    """The real binary, which can be killed and started again on the same files."""

    def __init__(self, folder: pathlib.Path, config: str) -> None:
        self.folder = folder
        (folder / "hook.secret").write_bytes(SECRET)
        (folder / "spillway.toml").write_text(
            '[server]\nlisten = "127.0.0.1:0"\ngateway_listen = "127.0.0.1:0"\n'
            f'state_dir = "state"\nsite_dir = "site"\n{config}'
        )
        self.process: subprocess.Popen[str] | None = None
        self.gateway = self.dashboard = ""

    def start(self) -> None:
        command = [
            *(binary(), "--log-format", "json", "serve", "--config", "spillway.toml"),
            *("--open", "--time-scale", str(SCALE)),
        ]
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment(), stderr=subprocess.PIPE, text=True
        )
        self.log = Log(self.process)
        ready = self.log.ready()
        self.gateway, self.dashboard = ready["gateway"], ready["dashboard"]

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait(timeout=PATIENCE_S)

    def stop(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=PATIENCE_S)
        assert status == 0 and not self.log.panics(), "\n".join(self.log.lines[-50:])

    def call(self, app: str) -> None:
        """Makes one call in the name of an app; whatever is answered."""
        headers = {"Spillway-User": "ana", "Spillway-App": app, "Spillway-Wait-Ms": "0"}
        request = urllib.request.Request(f"{self.gateway}/graph/v1.0/{app}", headers=headers)
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(request, timeout=PATIENCE_S).close()

    def rows(self, statement: str) -> list[tuple[typing.Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.folder / "spillway.db", timeout=PATIENCE_S)) as it:
            return it.execute(statement).fetchall()


class World(typing.NamedTuple):
    """Everything that a test needs."""

    post: Post
    hook: Hook
    upstream: Upstream
    spillway: Spillway
    smtp: Controller


UPSTREAMS = """
[upstreams.graph]
base_url = "{upstream}/"
user_from = "header"
[[upstreams.graph.workloads]]
name = "all"
paths = ["/**"]
layers = [{{ scope = "app", dimension = "concurrency", limit = 5 }}]
"""


@contextlib.contextmanager
def world(alerts: str = "", *, webhook: bool = True, to: str = '"Operators <ops@example.org>"') -> typing.Iterator[World]:
    """An upstream, a mail server, a webhook's program and the server between them."""
    post, hook, upstream = Post(), Hook(), Upstream()
    smtp = Controller(post, hostname="127.0.0.1", port=free_port())
    smtp.start()
    with (
        http_server(throttling(upstream)) as upstream_url,
        http_server(hooked(hook)) as hook_url,
        tempfile.TemporaryDirectory(prefix="spillway-") as folder,
    ):
        hooks = f'webhooks = [{{ name = "chat", url = "{hook_url}/in?key=1", secret_file = "hook.secret", private = true }}]'
        config = (
            UPSTREAMS.format(upstream=upstream_url)
            + f'[mail]\nsmtp_url = "smtp://127.0.0.1:{smtp.port}"\nfrom = "Spillway <spillway@example.org>"\n'
            + f"to = [{to}]\n[alerts]\ntell_after_s = 60\nover_after_s = 60\n{alerts}\n"
            + (hooks if webhook else "")
        )
        spillway = Spillway(pathlib.Path(folder), config)
        spillway.start()
        try:
            yield World(post, hook, upstream, spillway, smtp)
        finally:
            spillway.stop()
            with contextlib.suppress(Exception):
                smtp.stop()


def free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def until(what: str, holds: typing.Callable[[], bool], meanwhile: typing.Callable[[], None] = lambda: None) -> None:
    """Waits until something holds, and does something meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, f"never: {what}"
        meanwhile()
        time.sleep(0.05)


def trouble(it: World, app: str) -> typing.Callable[[], None]:
    """From now on the upstream throttles this app, and somebody calls it."""
    it.upstream.throttled.add(app)
    it.spillway.call(app)
    return lambda: it.spillway.call(app)


def one_mail_when_it_lasts_and_one_when_it_is_over() -> None:
    with world() as it:
        calling = trouble(it, "bridge")
        until("a mail of trouble", lambda: len(it.post.mails) == 1, calling)
        it.upstream.throttled.clear()
        until("a mail of its end", lambda: len(it.post.mails) == 2, calling)
        until("webhooks", lambda: len(it.hook.messages) == 2)
        until("nothing is owed", lambda: not owed(it))
        opened, over = it.post.mails
        assert opened["Subject"].startswith("[Spillway] "), opened["Subject"]
        assert "app bridge at graph/all" in opened["Subject"] and "Over" not in opened["Subject"]
        assert over["Subject"].startswith("[Spillway] Over: "), over["Subject"]
        assert opened["Auto-Submitted"] == "auto-generated"
        assert str(opened["To"]) == "Operators <ops@example.org>", opened["To"]
        text = opened.get_body(("plain",)).get_content()
        html = opened.get_body(("html",)).get_content()
        assert "The upstream said that it throttles." in text, text
        assert f"{it.spillway.dashboard}/alerts" in text and "<h1" in html
        states = [message["incidents"][0]["state"] for message in it.hook.messages]
        assert states == ["open", "over"] and not it.hook.wrong, (states, it.hook.wrong)
        rows = it.spillway.rows("SELECT state, attempts FROM outbox")
        assert rows == [("sent", 1)] * 4, rows


def a_server_that_is_down_gets_one_mail_afterwards() -> None:
    with world() as it:
        it.smtp.stop()
        calling = trouble(it, "bridge")
        until("that mail does not go out is told", lambda: len(it.hook.messages) >= 2, calling)
        assert it.hook.messages[1]["incidents"][0]["kind"] == "mail", it.hook.messages
        # More happens meanwhile, and it is over.
        trouble(it, "other")
        until("the other", lambda: len(it.hook.messages) >= 3, lambda: it.spillway.call("other"))
        it.upstream.throttled.clear()
        ended = "SELECT COUNT(*) FROM incidents WHERE ended_at_ms IS NOT NULL AND told_at_ms IS NOT NULL"
        both = lambda: (it.spillway.call("bridge"), it.spillway.call("other"))  # noqa: E731
        until("both are over", lambda: it.spillway.rows(ended) == [(2,)], both)
        again = Controller(it.post, hostname="127.0.0.1", port=it.smtp.port)
        again.start()
        try:
            until("a mail afterwards", lambda: bool(it.post.mails))
            until("nothing is owed", lambda: not owed(it))
            assert len(it.post.mails) == 1, it.post.subjects()
            text = it.post.mails[0].get_body(("plain",)).get_content()
            assert "Over: " in text and "bridge" in text and "other" in text, text
        finally:
            again.stop()


def owed(it: World) -> bool:
    return it.spillway.rows("SELECT COUNT(*) FROM outbox WHERE settled_at_ms IS NULL") != [(0,)]


def who_is_busy_is_asked_again_and_who_refuses_is_not() -> None:
    with world(to='"ops@example.org", "nobody@example.org"') as it:
        it.post.how = "busy"
        calling = trouble(it, "bridge")
        until("it was tried", lambda: it.post.tries["busy"] >= 2, calling)
        it.post.how = "take"
        until("it arrives", lambda: len(it.post.mails) == 1, calling)
        refused = "SELECT error FROM outbox WHERE recipient = 'nobody@example.org' AND state = 'failed'"
        until("the other is given up", lambda: bool(it.spillway.rows(refused)), calling)
        assert "550" in it.spillway.rows(refused)[0][0]
        # Mail that is refused is mail that does not go out.
        kinds = lambda: {one["kind"] for message in it.hook.messages for one in message["incidents"]}  # noqa: E731
        until("programs are told", lambda: "mail" in kinds(), calling)


def a_dropped_connection_delays_and_doubles_nothing_but_what_nobody_can_know() -> None:
    with world() as it:
        it.post.how = "drop"
        calling = trouble(it, "bridge")
        until("it was tried", lambda: it.post.tries["drop"] >= 2, calling)
        it.post.how = "take"
        until("it arrives", lambda: bool(it.post.mails), calling)
        until("nothing is owed", lambda: not owed(it))
        assert len(it.post.once()) == len(it.post.mails) == 1, it.post.subjects()


def a_server_that_hangs_delays_no_webhook() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, world() as it:
        toml = it.spillway.folder / "spillway.toml"
        port = silent.getsockname()[1]
        it.spillway.stop()
        toml.write_text(toml.read_text().replace(f"127.0.0.1:{it.smtp.port}", f"127.0.0.1:{port}"))
        it.spillway.start()
        calling = trouble(it, "bridge")
        until("the webhook", lambda: len(it.hook.messages) == 1, calling)
        it.upstream.throttled.clear()
        until("the webhook again", lambda: len(it.hook.messages) >= 2, calling)
        # The end waits for no delivery: `stop` checks how long it takes.


def a_webhook_that_redirects_is_not_followed() -> None:
    with world() as it:
        it.hook.status = 302
        calling = trouble(it, "bridge")
        said = "SELECT error FROM outbox WHERE kind = 'webhook' AND error IS NOT NULL"
        until("it failed", lambda: bool(it.spillway.rows(said)), calling)
        assert it.spillway.rows(said)[0][0] == "answered 302: redirects are not followed"
        it.hook.status = 204
        until("it arrives", lambda: bool(it.hook.messages), calling)


def a_webhook_at_a_private_address_is_not_asked() -> None:
    with world(webhook=False) as it:
        config = it.spillway.folder / "spillway.toml"
        it.spillway.stop()
        hook = '[{ name = "chat", url = "https://127.0.0.1:9/", secret_file = "hook.secret" }]'
        config.write_text(config.read_text() + f"webhooks = {hook}\n")
        it.spillway.start()
        calling = trouble(it, "bridge")
        said = "SELECT error FROM outbox WHERE kind = 'webhook' AND error IS NOT NULL"
        until("it failed", lambda: bool(it.spillway.rows(said)), calling)
        assert "private network" in it.spillway.rows(said)[0][0], it.spillway.rows(said)


def killed_at_random_nothing_is_lost_or_told_twice() -> None:
    chance = random.Random(SEED)
    apps = [f"app{n}" for n in range(6)]
    kills = 0
    with world("per_hour_max = 1000") as it:
        for _ in range(KILLS):
            if chance.random() < 0.5:
                it.upstream.throttled ^= {chance.choice(apps)}
            end = time.monotonic() + chance.uniform(0.05, 1.5)
            while time.monotonic() < end:
                it.spillway.call(chance.choice(apps))
            it.spillway.kill()
            kills += 1
            it.spillway.start()
        # At the end all is in trouble and told, and all is over and told.
        it.upstream.throttled = set(apps)
        going_on = "SELECT COUNT(*) FROM incidents WHERE ended_at_ms IS NULL AND told_at_ms IS NOT NULL"
        calling = lambda: [it.spillway.call(app) for app in apps]  # noqa: E731
        until("all are told", lambda: it.spillway.rows(going_on) == [(len(apps),)], calling)
        it.upstream.throttled.clear()
        until("all are over", lambda: it.spillway.rows("SELECT COUNT(*) FROM incidents WHERE is_settled = 0") == [(0,)], calling)
        until("nothing is owed", lambda: not owed(it))

        sent = {f"<{uid}@example.org>" for (uid,) in it.spillway.rows("SELECT uid FROM outbox WHERE kind = 'mail' AND state = 'sent'")}
        got = collections.Counter(mail["Message-ID"] for mail in it.post.mails)
        assert set(got) == sent, "what arrived is what was sent"
        twice = sum(got.values()) - len(got)
        assert twice <= kills, f"{twice} mails came again after {kills} kills"
        tell_alike = told_by(it)
        for (facts,) in it.spillway.rows("SELECT facts FROM incidents WHERE told_at_ms IS NOT NULL"):
            incident = json.loads(facts)
            key = (incident["subject"]["app"], incident["began_at_ms"])
            opened, over = tell_alike[key]
            assert opened <= 1 and over == 1, f"{key}: {opened} of its beginning, {over} of its end"
        untold = it.spillway.rows("SELECT COUNT(*) FROM incidents WHERE told_at_ms IS NULL AND is_settled = 0")
        assert untold == [(0,)]
        print(f"mail: {kills} kills, {len(sent)} mails, {twice} came twice under their Message-ID")


def told_by(it: World) -> dict[tuple[str, int], tuple[int, int]]:
    """How often each incident was told, and its end, by the mails that were sent."""
    told: dict[tuple[str, int], list[int]] = collections.defaultdict(lambda: [0, 0])
    for (payload,) in it.spillway.rows("SELECT payload FROM outbox WHERE kind = 'mail' AND state = 'sent'"):
        for incident in json.loads(payload):
            key = (incident["subject"].get("app", ""), incident["began_at_ms"])
            told[key][incident["ended_at_ms"] is not None] += 1
    return {key: (opened, over) for key, (opened, over) in told.items()}


def the_command_says_how_a_test_mail_was_taken() -> None:
    def send(*options: str, url: str, to: str = "") -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
            config = UPSTREAMS.format(upstream="http://127.0.0.1:9")
            config += f'[mail]\nsmtp_url = "{url}"\nfrom = "spillway@example.org"\nto = [{to}]\n'
            (pathlib.Path(folder) / "spillway.toml").write_text(config)
            return subprocess.run(
                [binary(), "mail", "test", *options],
                cwd=folder, env=environment(), text=True, capture_output=True, timeout=PATIENCE_S, check=False,
            )

    post = Post()
    controller = Controller(
        post, hostname="127.0.0.1", port=free_port(), auth_require_tls=False,
        authenticator=lambda *a: AuthResult(success=a[4] == LoginPassword(b"me", b"p/w"), handled=False),
    )
    controller.start()
    at = f"127.0.0.1:{controller.port}"
    try:
        done = send(url=f"smtp://me:p%2Fw@{at}", to='"ops@example.org"')
        assert (done.returncode, done.stdout) == (0, f"ops@example.org: taken by {at}\n"), done
        assert post.mails[0]["Subject"] == "[Spillway] A test"
        done = send("--to", "nobody@example.org", url=f"smtp://{at}")
        assert done.returncode == 1 and "550" in done.stderr, done
        done = send("--to", "a@example.org", url=f"smtp://me:wrong@{at}")
        assert done.returncode == 1 and "535" in done.stderr and "wrong" not in done.stderr, done
        done = send(url=f"smtp://{at}")
        assert done.returncode == 2 and "mail.to" in done.stderr, done
    finally:
        controller.stop()
    done = send("--to", "a@example.org", url=f"smtp://{at}")
    assert done.returncode == 1 and "connecting" in done.stderr, done


TESTS = (
    the_command_says_how_a_test_mail_was_taken,
    one_mail_when_it_lasts_and_one_when_it_is_over,
    a_server_that_is_down_gets_one_mail_afterwards,
    who_is_busy_is_asked_again_and_who_refuses_is_not,
    a_dropped_connection_delays_and_doubles_nothing_but_what_nobody_can_know,
    a_server_that_hangs_delays_no_webhook,
    a_webhook_that_redirects_is_not_followed,
    a_webhook_at_a_private_address_is_not_asked,
    killed_at_random_nothing_is_lost_or_told_twice,
)


def main() -> int:
    print(f"mail: seed {SEED}")
    failed = 0
    for test in TESTS:
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        began = time.monotonic()
        try:
            test()
        except Exception as error:  # noqa: BLE001
            failed += 1
            print(f"mail: {test.__name__}: FAILED: {error!r}", flush=True)
        else:
            print(f"mail: {test.__name__}: ok in {time.monotonic() - began:.1f} s", flush=True)
    print(f"  {len(TESTS) - failed} passed")
    if failed:
        print(f"  {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
