"""An origin and a receiver of webhooks whose answers a test decides."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Server:
    """A server on a free port of loopback."""

    def __init__(self, handler):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.owner = self
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class Origin(Server):
    """Answers with files: those below `/held` stop half-way until `release` is called, those below
    `/mute` before they begin, and those below `/locked` need a credential."""

    size = 400_000

    def __init__(self):
        self.gate = threading.Event()
        self.missing = b"Not here."
        self.fields = {}
        super().__init__(OriginHandler)

    def release(self):
        self.gate.set()


class OriginHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        origin = self.server.owner
        kind = urlsplit(self.path).path.split("/")[1]
        if kind == "missing":
            return self.answer(404, origin.missing)
        if kind == "locked" and self.headers["Authorization"] != "Bearer open":
            return self.answer(401, b"Who are you?")
        if kind == "broken":
            return self.answer(503, b"Later.")
        if kind == "mute":
            origin.gate.wait(60)
        body = bytes(origin.size)
        if kind != "held":
            return self.answer(200, body[:3000])
        self.head(200, len(body))
        half = len(body) // 2
        try:
            self.wfile.write(body[:half])
            self.wfile.flush()
            origin.gate.wait(60)
            self.wfile.write(body[half:])
        except OSError:
            self.close_connection = True

    def answer(self, status, body):
        self.head(status, len(body))
        self.wfile.write(body)

    def head(self, status, length):
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in self.server.owner.fields.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_):
        pass


class Receiver(Server):
    """Receives webhooks: answers with `status` and `answer`, and keeps their identifiers."""

    def __init__(self, status=204, answer=b""):
        self.status = status
        self.answer = answer
        self.received = []
        super().__init__(ReceiverHandler)


class ReceiverHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        receiver = self.server.owner
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = receiver.status
        receiver.received.append((self.headers["webhook-id"], json.loads(body)["type"], status))
        self.send_response(status)
        answer = b"" if status == 204 else receiver.answer
        if status != 204:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass
