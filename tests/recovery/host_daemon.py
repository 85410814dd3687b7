#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sshd and ssh are to real hosts: `serve ADDRESS` runs the commands that `call ADDRESS COMMAND...` sends over the network,
and gives their exit codes back. A host that is cut off does not answer. It listens inside a network namespace of the tests only."""
import json
import socket
import socketserver
import subprocess
import sys

PORT = 22022
ANSWER_SECONDS = 5


class Command(socketserver.StreamRequestHandler):
    def handle(self):
        words = json.loads(self.rfile.readline())
        # Not our child for long: daemons of mpirun leave it.
        code = subprocess.run(["sh", "-c", " ".join(words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode
        self.wfile.write(f"{code}\n".encode())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def call(address, words):
    try:
        with socket.create_connection((address, PORT), ANSWER_SECONDS) as connection:
            connection.settimeout(None)
            connection.sendall(json.dumps(words).encode() + b"\n")
            return int(connection.makefile().readline() or 255)
    except OSError as error:
        print(f"host {address} does not answer: {error}", file=sys.stderr)
        return 255


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        Server((sys.argv[2], PORT), Command).serve_forever()
    sys.exit(call(sys.argv[2], sys.argv[3:]))
