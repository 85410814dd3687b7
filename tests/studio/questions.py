#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions over HTTP: streams come line by line, closing the connection or asking again cancels, one search runs at a time, and
answers are those of --ask. --only chooses some."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "recovery")]
from checks import run_checks  # noqa: E402
from small_run import wait_until  # noqa: E402
from studio_server import SECONDS, studio, why_not  # noqa: E402

# Long enough to be cancelled in the middle on any machine.
SEARCH = {"run": {"model": "llama3-405b", "cluster": "llama3-h100", "set": {"train.batch": "2048", "train.seq": "8192", "mesh": "fsdp=16384"}}}
QUICK = {"run": {"model": "llama3-8b", "cluster": "llama3-h100", "set": {"train.batch": "512", "train.seq": "8192", "mesh": "fsdp=32,tp=2"}}}


@contextlib.contextmanager
def streaming(server, kind, fields, headers=()):
    """The reply to a question, whose lines come as they are told; the connection ends with the block."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    connection.request("POST", f"/ask/{kind}", json.dumps(fields), {**server.own_headers(), **dict(headers)})
    reply = connection.getresponse()
    try:
        assert reply.status == 200, (reply.status, reply.read())
        yield reply
    finally:
        reply.close()
        connection.close()


def next_object(stream):
    """Nothing at the end, and where the server has cut it off."""
    with contextlib.suppress(http.client.IncompleteRead, ConnectionResetError):
        if line := stream.readline():
            return json.loads(line)
    return None


def cpu_seconds(server):
    words = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def has_running_thread(server):
    """One that waits for a core counts, so a busy machine does not look like an idle server."""
    states = []
    for task in pathlib.Path(f"/proc/{server.process.pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            states.append(task.read_text().rsplit(")", 1)[1].split()[0])
    return "R" in states


def is_at_work(server):
    """Whether the server comes to compute something."""
    begin = cpu_seconds(server)
    return wait_until(lambda: cpu_seconds(server) - begin > 0.1, SECONDS) is not None


def is_idle_within(server, seconds):
    """Whether the server stops to compute before each core has done so for that time. Its own clock counts, not that of a wall: a busy
    machine is given as much work as an idle one."""
    begin, quiet = cpu_seconds(server), 0
    while cpu_seconds(server) - begin < seconds * os.cpu_count():
        quiet = 0 if has_running_thread(server) else quiet + 1
        if quiet == 10:
            return True
        time.sleep(0.02)
    return False


def answers_are_those_of_the_command_line(binary, _):
    with studio(binary) as server:
        for kind, fields in (("presets", {}), ("keys", {}), ("clusters", {}), ("try", QUICK), ("try", {"run": {"model": "nothing"}})):
            asked = subprocess.run([binary, "studio", "--ask", kind], input=json.dumps(fields), capture_output=True, text=True)
            reply = server.ask(kind, fields)
            assert reply.json() == json.loads(asked.stdout), kind
            assert (reply.status == 200) == (asked.returncode == 0), kind


def columns_come_as_bytes(binary, _):
    with studio(binary) as server:
        asked = subprocess.run([binary, "studio", "--ask", "slices"], input=json.dumps(QUICK).encode(), capture_output=True, check=True)
        reply = server.ask("slices", QUICK)
        assert reply.headers["content-type"] == "application/octet-stream" and reply.body == asked.stdout
        head = json.loads(reply.body[4:4 + int.from_bytes(reply.body[:4], "little")])
        assert head["columns"], head


def a_search_streams_and_ends_with_done(binary, _):
    with studio(binary) as server, streaming(server, "search", {"run": {"model": "tiny", "set": {"mesh": "dp=2"}}}) as stream:
        lines = []
        while (line := next_object(stream)) is not None:
            lines.append(line)
        assert lines and lines[-1]["done"] is True and not any(line.get("done") for line in lines[:-1]), lines


def an_error_of_a_stream_is_a_reply(binary, _):
    with studio(binary) as server:
        reply = server.ask("search", {"run": {"model": "nothing"}})
        assert reply.status == 400 and "nothing" in reply.json()["error"]["what"], reply


def closing_the_connection_cancels_a_search(binary, _):
    with studio(binary) as server:
        with streaming(server, "search", SEARCH) as stream:
            assert next_object(stream) is not None and next_object(stream) is not None
            assert is_at_work(server)
        assert is_idle_within(server, 2), "it goes on without a listener"
        assert server.is_well()


def one_search_runs_at_a_time(binary, _):
    with studio(binary) as server, streaming(server, "search", SEARCH, {"X-Tessera-Tab": "one"}) as first:
        assert next_object(first) is not None
        reply = server.ask("search", SEARCH, {"X-Tessera-Tab": "two"})
        assert reply.status == 409 and "running" in reply.json()["error"]["what"], reply
        assert next_object(first) is not None  # which is not disturbed
        assert server.ask("try", QUICK).status == 200  # other questions are answered meanwhile


def a_newer_question_of_the_tab_cancels_the_older(binary, _):
    with studio(binary) as server:
        with streaming(server, "search", SEARCH, {"X-Tessera-Tab": "one"}) as first:
            assert next_object(first) is not None
            with streaming(server, "search", SEARCH, {"X-Tessera-Tab": "one"}) as second:
                assert next_object(second) is not None
                while (line := next_object(first)) is not None:
                    assert not line.get("done"), line
        assert is_idle_within(server, 2)


def ten_fast_questions_of_a_tab_leave_the_last_answer(binary, _):
    with studio(binary) as server, concurrent.futures.ThreadPoolExecutor(10) as pool:
        for _ in range(20):  # on a busy machine the last one does not always come last
            asked = []
            for number in range(10):
                fields = {"run": {**QUICK["run"], "set": {**QUICK["run"]["set"], "train.batch": str(64 * (number + 1))}}}
                asked.append(pool.submit(server.ask, "try", fields, {"X-Tessera-Tab": "one"}))
                time.sleep(0.002)
            replies = [one.result() for one in asked]
            if replies[-1].status == 200:
                break
        assert replies[-1].status == 200, replies[-1]
        assert all(reply.status in (200, 409) for reply in replies), replies
        assert "640" in replies[-1].json()["title"], replies[-1].json()["title"]


def a_stream_that_is_not_read_waits_and_ends_with_its_client(binary, _):
    with studio(binary) as server:
        with streaming(server, "search", SEARCH):
            time.sleep(1)
        assert is_idle_within(server, 2)
        assert server.is_well()


def ctrl_c_ends_a_search(binary, _):
    with studio(binary) as server, streaming(server, "search", SEARCH) as stream:
        assert next_object(stream) is not None
        status, seconds = server.stop()
        assert status == 0 and seconds < 60, (status, seconds)


CHECKS = [
    answers_are_those_of_the_command_line,
    columns_come_as_bytes,
    a_search_streams_and_ends_with_done,
    an_error_of_a_stream_is_a_reply,
    closing_the_connection_cancels_a_search,
    one_search_runs_at_a_time,
    a_newer_question_of_the_tab_cancels_the_older,
    ten_fast_questions_of_a_tab_leave_the_last_answer,
    a_stream_that_is_not_read_waits_and_ends_with_its_client,
    ctrl_c_ends_a_search,
]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS, why_not(sys.argv))
