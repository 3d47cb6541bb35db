"""The running service as its clients use it."""

import json
import urllib.error
import urllib.request
from urllib.parse import quote, urlencode


class Service:
    def __init__(self, port, key):
        self.address = f"http://127.0.0.1:{port}"
        self.key = key

    def send(self, method, path, body=None):
        """Sends a request and answers with its document; a problem fails the test."""
        request = urllib.request.Request(
            self.address + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.key}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from error

    def session(self, identifier, client=None, configuration=None):
        path = self.path(identifier, client=client)
        body = {"configuration": configuration} if configuration else None
        return self.send("PUT", path, body)

    def path(self, identifier, suffix="", client=None, **query):
        if client:
            query["client"] = client
        text = f"?{urlencode(query)}" if query else ""
        return f"/v1/sessions/{quote(identifier, safe='')}{suffix}{text}"

    def submit(self, identifier, tasks):
        """Submits tasks and answers with their identifiers."""
        receipt = self.send("POST", self.path(identifier, "/tasks"), tasks)
        return [item["id"] for item in receipt["items"]]

    def task(self, identifier):
        return self.send("GET", f"/v1/tasks/{identifier}")
