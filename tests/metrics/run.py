#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tessera train --json-lines` and `--metrics-port`, from end to end: the lines are those of metrics.jsonl and events.jsonl and
nothing else, as they happen, also from processes and over restarts; the page is as Prometheus wants it, has the newest figures, and
is given to this machine alone. docs/metrics.md names every key and metric."""
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time

import prometheus_text

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "recovery")]
from checks import run_checks  # noqa: E402
from small_run import steps_done, wait_until  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
LONG = 1000000  # steps that nobody waits for
SECONDS = 300  # that anything may take on a busy machine
STOPPED = 7  # the exit code of a run that was asked to stop, and saved
SMALL = ("--set model.layers=1 --set model.width=16 --set model.heads=2 --set model.kv_heads=2 --set model.head_size=8 --set model.mlp_size=16 "
         "--set train.batch=4 --set train.seq=8 --set data.story_bytes=65536 --set run.peak_gflops=1 --set train.threads=1 "
         "--set train.eval_batches=1").split()
CRASH = "rank=1,phase=update,step=12,action=kill"


class Run:
    """A run that is watched while it trains. Its standard error goes to a file: a pipe that nobody reads would stop it."""

    def __init__(self, binary, folder, *words, fault=""):
        environment = {key: value for key, value in os.environ.items() if key != "TESSERA_FAULT"}
        if fault:
            environment["TESSERA_FAULT"] = fault
        self.said = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen([binary, "train", *SMALL, *map(str, words)], cwd=folder, env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=self.said)
        self.lines = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.said.close()

    def error(self):
        return pathlib.Path(self.said.name).read_text(encoding="utf-8")

    def read_until(self, wanted):
        """Lines come while it trains; each is a whole JSON object."""
        for text in self.process.stdout:
            self.lines.append(json.loads(text))
            if wanted(self.lines[-1]):
                return self.lines[-1]
        raise AssertionError(f"it ended without that line: {self.error()}")

    def end(self, stop=True):
        """What it has said, after the last of its lines."""
        if stop:
            self.process.send_signal(signal.SIGINT)
        # By the same reader: what that holds already is not in the pipe.
        self.lines += [] if self.process.stdout.closed else [json.loads(text) for text in self.process.stdout]
        code = self.process.wait(timeout=SECONDS)
        assert code == (STOPPED if stop else 0), (code, self.error())
        return self.error()


def is_step(line):
    return "event" not in line


def is_event(kind):
    return lambda line: line.get("event") == kind


def free_port():
    """Below those that the system gives to whoever asks for any."""
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def ask(port, path="/metrics", method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.getheader("Content-Type"), answer.read().decode()


def read_page(port):
    status, kind, text = ask(port)
    assert status == 200 and kind == "text/plain; version=0.0.4; charset=utf-8", (status, kind)
    return prometheus_text.parse(text)


def value(page, name, **labels):
    return page[name][1][tuple(sorted(labels.items()))]


def recorded(run):
    """All lines of the files."""
    return [line for name in ("events.jsonl", "metrics.jsonl") for line in (run / name).read_text().splitlines()]


def require_on_the_page_of_the_docs(names):
    text = PAGE.read_text()
    missing = [name for name in sorted(names) if f"`{name}`" not in text]
    assert not missing, f"docs/metrics.md does not name {missing}"


def lines_are_those_of_the_files(binary, folder):
    with Run(binary, folder, "--json-lines", "--steps", 6, "--save-every", 3, "--out", "lines", "--set", "train.eval_every=2") as run:
        run.end(stop=False)
    *lines, summary = run.lines
    assert summary["event"] == "summary" and summary["steps"] == 6, summary
    assert sorted(map(json.dumps, lines)) == sorted(json.dumps(json.loads(line)) for line in recorded(folder / "lines"))
    assert [line["step"] for line in lines if is_step(line)] == [1, 2, 3, 4, 5, 6]
    kinds = [line.get("event") for line in lines]
    assert kinds[0] == "start" and kinds[-1] == "end", kinds
    assert {"evaluation", "checkpoint", "saved"} <= set(kinds), kinds
    require_on_the_page_of_the_docs({key for line in lines if is_step(line) for key in line} | set(filter(None, kinds)) | {"summary"})


def a_reader_that_leaves_ends_no_run(binary, folder):
    with Run(binary, folder, "--json-lines", "--steps", LONG, "--out", "left") as run:
        run.read_until(is_step)
        run.process.stdout.close()
        assert wait_until(lambda: "standard output takes no more lines" in run.error(), SECONDS) is not None, run.error()
        seen = steps_done(folder / "left")
        assert wait_until(lambda: steps_done(folder / "left") > seen + 20, SECONDS) is not None, run.error()
        run.end()


def lines_wait_for_a_pipe_that_does_not_block(binary, folder):
    """As an event loop that shares it may have left it: full, it takes the rest later."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with tempfile.NamedTemporaryFile() as said:
        run = subprocess.Popen([binary, "train", *SMALL, "--json-lines", "--steps", "2000", "--out", "waits", "--set", "train.eval_every=0"],
                               cwd=folder, stdout=writer, stderr=said)
        os.close(writer)
        full = lambda: int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder) > 3000
        assert wait_until(full, SECONDS) is not None
        time.sleep(0.3)  # for the line that no longer fits
        with os.fdopen(reader, encoding="utf-8") as lines:
            steps = [line["step"] for line in map(json.loads, lines) if is_step(line)]
        assert run.wait(timeout=SECONDS) == 0 and steps == list(range(1, 2001)), (len(steps), pathlib.Path(said.name).read_text(encoding="utf-8"))


def page_of_a_run(binary, folder):
    words = ("--mesh", "dp=2", "--metrics-port", 0, "--json-lines", "--steps", LONG, "--save-every", 5, "--out", "page",
             "--set", "train.eval_every=5")
    with Run(binary, folder, *words) as run:
        port = run.read_until(is_event("metrics"))["port"]
        run.read_until(is_event("saved"))
        newest = run.read_until(lambda line: "held_out_loss" in line)
        page = read_page(port)
        assert value(page, "tessera_steps_total") >= newest["step"] > 0
        assert value(page, "tessera_tokens_total") == 32 * value(page, "tessera_steps_total")
        assert value(page, "tessera_restarts_total") == 0
        assert value(page, "tessera_steps_planned") == LONG
        assert value(page, "tessera_checkpoints_total", result="saved") >= 1
        assert 0 <= value(page, "tessera_checkpoint_age_seconds") < 600
        assert value(page, "tessera_rank_seconds", rank="1", part="compute") > 0
        for name in ("tessera_loss", "tessera_held_out_loss", "tessera_step_seconds", "tessera_mfu_ratio", "tessera_peak_bytes",
                     "tessera_resident_peak_bytes"):
            assert value(page, name) > 0, name
        assert page["tessera_tokens_total"][0] == "counter" and page["tessera_loss"][0] == "gauge"
        require_on_the_page_of_the_docs({*page, "metrics"})
        to_this_machine_alone(port)
        on_one_port_at_a_time(binary, folder, port)
        error = run.end()
    assert f"metrics: http://127.0.0.1:{port}/metrics" in error, error


def to_this_machine_alone(port):
    assert ask(port, "/")[0] == ask(port, "/metrics/")[0] == ask(port, "/config.toml")[0] == 404
    assert ask(port, method="POST")[0] == 405
    assert ask(port, host="example.org")[0] == 403
    listening = subprocess.run(["ss", "-ltnH", f"sport = :{port}"], capture_output=True, text=True, check=False)
    addresses = re.findall(rf"(\S+):{port}\b", listening.stdout)
    assert set(addresses) <= {"127.0.0.1", "[::1]"}, listening.stdout


def on_one_port_at_a_time(binary, folder, port):
    with Run(binary, folder, "--metrics-port", port, "--steps", 1, "--out", "second") as second:
        status, error = second.process.wait(timeout=SECONDS), second.error()
    assert status == 2, error
    expected = [f"error: cannot listen on port {port} of this machine: address already in use", "   at: run.metrics_port",
                " help: choose another port; with 0 any free one is taken"]
    assert error.splitlines() == expected, error
    assert not (folder / "second").exists()


def restarts_of_a_supervised_run(binary, folder):
    """One rank is killed: the second start goes on with the lines, and with the page on the same port."""
    port = free_port()
    words = ("--mesh", "dp=2", "--supervise", "--json-lines", "--metrics-port", port, "--steps", LONG, "--save-every", 5, "--out", "again",
             "--set", "train.eval_every=0")
    with Run(binary, folder, *words, fault=CRASH) as run:
        ended = run.read_until(is_event("start_ended"))
        assert ended["end"] == "failed", ended
        start = run.read_until(is_event("start"))
        assert start["step"] in (5, 10), start
        run.read_until(is_step)
        page = read_page(port)
        assert value(page, "tessera_restarts_total") == 1
        run.end()
    kinds = [line.get("event") for line in run.lines]
    assert kinds.count("start") == 2 and kinds[-2:] == ["summary", "start_ended"], kinds[-5:]
    require_on_the_page_of_the_docs(set(filter(None, kinds)))


if __name__ == "__main__":
    run_checks(__doc__, [lines_are_those_of_the_files, a_reader_that_leaves_ends_no_run, lines_wait_for_a_pipe_that_does_not_block, page_of_a_run,
                         restarts_of_a_supervised_run])
