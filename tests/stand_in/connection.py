"""HTTP on the loopback interface: reads requests, and writes or withholds what the stand-in says to them."""

from __future__ import annotations

import contextlib
import http
import socket
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Incoming:
    """A request as it was sent, with the names of its headers in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    content: bytes

    @property
    def path(self) -> str:
        return urllib.parse.unquote(urllib.parse.urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, list[str]]:
        return urllib.parse.parse_qs(urllib.parse.urlsplit(self.target).query, keep_blank_values=True)


@dataclass(frozen=True)
class Reply:
    """What is sent back."""

    status: int
    headers: dict[str, str]
    content: bytes
    kept: int | None = None
    """Bytes of the content after which the connection is closed; None: all are sent."""


@dataclass(frozen=True)
class Silence:
    """The connection is closed without an answer, after the client did so or after so many seconds."""

    seconds: float


class Server(ThreadingHTTPServer):
    """A server that can be closed at once, whatever its clients still hold open."""

    daemon_threads = False  # so that they are waited for
    request_queue_size = 64

    def __init__(self, respond: Callable[[Incoming], Reply | Silence]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.respond = respond
        self._open: set[socket.socket] = set()
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def enter(self, connection: socket.socket) -> None:
        """A client has come."""
        with self._lock:
            self._open.add(connection)
            if self._closed:
                connection.shutdown(socket.SHUT_RDWR)

    def leave(self, connection: socket.socket) -> None:
        """A client has gone."""
        with self._lock:
            self._open.discard(connection)

    def refuse(self) -> None:
        """Listen no longer, and hang up on everyone."""
        if self._closed:
            return
        self.shutdown()
        self._thread.join()
        self.socket.close()
        with self._lock:
            self._closed = True
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Refuse, and wait until every connection has ended."""
        self.refuse()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Hand on nothing: a client may go away at any time."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.enter(self.connection)

    def finish(self) -> None:
        self.server.leave(self.connection)
        super().finish()

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.respond(Incoming(self.command, self.path, headers, content))
        if isinstance(reply, Silence):
            self._hang_up(reply.seconds)
        else:
            self._send(reply)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = serve  # noqa: N815 - these names are called

    def _send(self, reply: Reply) -> None:
        self.send_response_only(reply.status, http.HTTPStatus(reply.status).phrase)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != http.HTTPStatus.NO_CONTENT:
            self.send_header("content-length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content[: reply.kept])
        self.wfile.flush()
        if reply.kept is not None:
            self._hang_up(0)

    def _hang_up(self, seconds: float) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            if seconds:
                self.connection.settimeout(seconds)
                self.connection.recv(1)
            self.connection.shutdown(socket.SHUT_RDWR)
