# SPDX-License-Identifier: Apache-2.0
"""A server that `tessera studio` started for a test, and requests to it, down to single bytes."""
import argparse
import contextlib
import json
import re
import signal
import socket
import subprocess
import time

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin-allow-popups",
}
SECONDS = 60  # that a reply may take on a busy machine


class NoServer(Exception):
    """The binary was built without one."""


class Reply:
    """The status (0: closed without a reply), the headers in lower case and the body of a reply."""

    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0].startswith("HTTP/") else 0
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:300]!r}"


class Studio:
    def __init__(self, process):
        self.process = process
        self.address = ""
        for line in process.stdout:
            found = re.search(r"(http://127\.0\.0\.1:(\d+)/)#token=([0-9a-f]{32})(?:&[\w:/+=,.-]+)?$", line.strip())
            if found:
                self.address, self.page, self.port, self.token = found.group(0), found.group(1), int(found.group(2)), found.group(3)
                break
        if not self.address:
            said = process.stderr.read()
            raise NoServer(said) if "has no web server" in said else AssertionError(f"tessera studio printed no address: {said}")

    def connect(self, host="127.0.0.1"):
        return socket.create_connection((host, self.port), timeout=SECONDS)

    def send(self, data, host="127.0.0.1"):
        """The reply to exactly these bytes."""
        with self.connect(host) as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            return Reply(receive_all(connection))

    def own_headers(self):
        return {"Host": f"127.0.0.1:{self.port}", "X-Tessera-Token": self.token, "Content-Type": "application/json"}

    def request(self, method, path, headers=(), body=b"", host="127.0.0.1"):
        """A header that is None is left out."""
        all_headers = {**({"Host": f"127.0.0.1:{self.port}"} if method != "POST" else self.own_headers()), **dict(headers)}
        if method == "POST":
            all_headers.setdefault("Content-Length", str(len(body)))
        lines = [f"{method} {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in all_headers.items() if value is not None]
        return self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body, host)

    def ask(self, kind, fields=None, headers=()):
        return self.request("POST", f"/ask/{kind}", headers, json.dumps(fields or {}).encode())

    def is_well(self):
        """Whether it still serves the page and answers a question."""
        return self.process.poll() is None and self.request("GET", "/").status == 200 and self.ask("presets").status == 200

    def stop(self):
        """Its exit status after Ctrl-C, and the seconds that it took."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=SECONDS), time.monotonic() - begin


def receive_all(connection):
    data = b""
    with contextlib.suppress(ConnectionResetError, TimeoutError):
        while part := connection.recv(65536):
            data += part
    return data


@contextlib.contextmanager
def studio(binary, *options, environment=None):
    words = [str(binary), "studio", "--no-browser", *map(str, options)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield Studio(process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def why_not(words):
    """Why checks with this command line are to be skipped; empty where they are not."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--binary")
    binary = parser.parse_known_args(words)[0].binary
    try:
        if binary:
            with studio(binary):
                pass
    except NoServer:
        return "tessera was built without libmicrohttpd"
    return ""
