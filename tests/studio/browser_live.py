# SPDX-License-Identifier: Apache-2.0
"""Studio's Run screen beside true runs in a real Chromium: kills of the run and of the server, half lines, a resume that drops
steps, a hundred thousand steps, 64 runs, two tabs, a tab that sleeps, a server that is started again with the page open."""
import contextlib
import json
import signal
import subprocess
import time

from browser_runs import LOSSES, STEPS, append, line, open_runs, write_run
from cdp import browser
from runs import finish, runs_of
from studio_server import studio

MARKS = "import('/run_screen.js').then(({opened_run}) => opened_run().marks.map(mark => mark.text))"
BOTH = "import('/run_screen.js').then(({opened_run}) => [opened_run().step, opened_run().high.get('loss') ?? []])"
LOST = "document.querySelector('#run_connection').innerText"


def train(binary, out, steps, *more):
    words = [str(binary), "train", "--model", "tiny", "--batch", "2", "--seq", "16", "--steps", str(steps), "--out", str(out), *more]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def recorded(run):
    """Steps and losses of the file, as whole lines tell them."""
    lines = [json.loads(text) for text in (run / "metrics.jsonl").read_text().split("\n")[:-1]]
    return [one["step"] for one in lines], [one["loss"] for one in lines]


def shows(page, run):
    """Whether the page shows what the file holds, step for step and loss for loss."""
    steps, values = recorded(run)
    shown, known = page.evaluate(BOTH)
    return shown == steps and len(known) == len(values) and all(abs(a - b) <= 1e-6 * abs(b) for a, b in zip(known, values, strict=True))


def wait_until_shown(page, run, what):
    page.wait(lambda: shows(page, run), what)


def wait_for_lines(run, count):
    file = run / "metrics.jsonl"
    end = time.monotonic() + 60
    while not file.exists() or file.read_bytes().count(b"\n") < count:
        assert time.monotonic() < end, "the run writes no steps"
        time.sleep(0.02)


@contextlib.contextmanager
def ended(process):
    """Also where a check fails."""
    try:
        yield process
    finally:
        process.kill()


def a_killed_run_that_drops_steps_is_drawn_as_it_is(binary, folder):
    """kill -9 of the run, half a line as a machine that stops leaves it, and a resume that goes back to a checkpoint."""
    run = folder / "a"
    with ended(train(binary, run, 1000000, "--save-every", "37")) as process, studio(binary, folder) as server, browser() as chromium:
        wait_for_lines(run, 60)
        page = open_runs(chromium, server)
        page.wait(f"{STEPS}.then(steps => steps.length > 60)", "a run that goes on")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        wait_until_shown(page, run, "all steps before the kill")
        append(run / "metrics.jsonl", '{"step":999999,"loss":99')
        reached = recorded(run)[0][-1]
        time.sleep(0.6)
        assert page.evaluate(STEPS)[-1] == reached, "half a line is no step"
        saved = max(int(path.name.split("-")[1]) for path in (run / "checkpoints").glob("step-????????"))
        finish(train(binary, run, saved + 5, "--resume"))  # fewer steps than before
        wait_until_shown(page, run, "the steps after the resume, and none of those that were dropped")
        assert recorded(run)[0] == list(range(1, saved + 6)), recorded(run)[0][-3:]
        page.wait(f"{MARKS}.then(marks => marks.at(-1) === 'end')", "its end")
        marks = page.evaluate(MARKS)
        again = f"the run was killed after step {reached}; resumed from step {saved}: {reached - saved} step{'s' if reached - saved > 1 else ''} computed again, "
        assert any(mark.startswith(again) and mark.endswith(" lost") for mark in marks) and marks.count("end") == 1, marks
        finish(train(binary, run, saved + 400, "--resume"))  # more than the page has read, in a file that is another one
        wait_until_shown(page, run, "the steps after the second resume")
        assert not page.problems, page.problems


@contextlib.contextmanager
def kept_port(binary, folder, port=0):
    with studio(binary, folder, "--port", port) as server:
        yield server


def a_server_that_is_killed_and_started_again(binary, folder):
    """The page says that nobody answers and keeps what it shows; with the new address it goes on in the same tab."""
    run = write_run(folder, "live", 20)
    with browser() as chromium:
        with kept_port(binary, folder) as first:
            port = first.port
            page = open_runs(chromium, first)
            page.wait(f"{STEPS}.then(steps => steps.length === 20)", "the steps")
            before = page.evaluate("location.hash")
            first.process.send_signal(signal.SIGKILL)
            first.process.wait()
        page.wait(f"{LOST}.includes('does not answer')", "the page to say so")
        assert page.evaluate(STEPS) == list(range(1, 21)), "what is shown stays"
        append(run / "metrics.jsonl", line(21, 1.0) + line(22, 0.9))
        with kept_port(binary, folder, port) as second:
            assert second.port == port
            page.wait(f"{LOST}.includes('started again')", "the page to tell a new server from a dead one")
            page.go(second.address + "&" + before.lstrip("#"))  # pasted into the same tab
            page.wait(f"{STEPS}.then(steps => steps.length === 22)", "the steps that came meanwhile")
            page.wait(f"{LOST} === ''", "the page to say no more")
            assert page.evaluate("location.hash") == before
            append(run / "metrics.jsonl", line(23, 0.8))
            page.wait(f"{STEPS}.then(steps => steps.length === 23)", "the next step")


def a_connection_that_breaks_is_made_again(binary, folder):
    """The same server: a laptop that slept, a stream that was cut. Nothing is lost, nothing comes twice."""
    run = write_run(folder, "live", 20)
    with studio(binary, folder) as server, browser() as chromium:
        page = open_runs(chromium, server)
        page.wait(f"{STEPS}.then(steps => steps.length === 20)", "the steps")
        server.process.send_signal(signal.SIGSTOP)
        page.call("Network.emulateNetworkConditions", {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
        append(run / "metrics.jsonl", "".join(line(step, 1.0) for step in range(21, 31)))
        append(run / "events.jsonl", json.dumps({"event": "failure", "step": 25, "text": "while nobody looked"}) + "\n")
        page.wait(f"{LOST}.includes('does not answer')", "the page to say so")
        server.process.send_signal(signal.SIGCONT)
        page.call("Network.emulateNetworkConditions", {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
        page.wait(f"{STEPS}.then(steps => steps.length === 30)", "the steps that came meanwhile")
        page.wait(f"{LOST} === ''", "the page to say no more")
        assert page.evaluate(MARKS) == ["failure: while nobody looked"], page.evaluate(MARKS)


def two_tabs_show_the_same_and_a_sleeping_one_asks_nothing(binary, folder):
    run = write_run(folder, "live", 20)
    with studio(binary, folder) as server, browser() as chromium:
        one = open_runs(chromium, server)
        one.wait(f"{STEPS}.then(steps => steps.length === 20)", "the steps in one tab")
        one.evaluate("document.querySelector('.run_list button').click()")  # hidden while it asks
        two = open_runs(chromium, server)
        two.wait(f"{STEPS}.then(steps => steps.length === 20)", "the steps in the other")
        one.wait("document.hidden", "the first tab to be hidden")
        one.settle()
        asked = len(one.requests)
        append(run / "metrics.jsonl", "".join(line(step, 1.0) for step in range(21, 31)))
        append(run / "events.jsonl", json.dumps({"event": "checkpoint", "step": 30}) + "\n")
        two.wait(f"{STEPS}.then(steps => steps.length === 30)", "new steps in the tab that is seen")
        time.sleep(2.5)
        one.evaluate("0")
        assert len(one.requests) == asked and one.evaluate(f"{STEPS}.then(steps => steps.length)") == 20, one.requests[asked:]
        one.front()
        one.wait(f"{STEPS}.then(steps => steps.length === 30)", "the steps that it has slept through")
        one.wait(f"{MARKS}.then(marks => marks.length === 1)", "their mark, once")
        assert one.evaluate(STEPS) == two.evaluate(STEPS)
        two.front()
        append(run / "metrics.jsonl", line(31, 1.0))
        two.wait(f"{STEPS}.then(steps => steps.length === 31)", "a step after it was hidden itself")
        assert two.evaluate(MARKS) == ["checkpoint"] and not one.problems and not two.problems


def a_hundred_thousand_steps_among_64_runs(binary, folder):
    for number in range(63):
        write_run(folder, f"run{number:02}", 3)
    run = write_run(folder, "zlong", 0)
    with (run / "metrics.jsonl").open("w") as file:
        for step in range(1, 100_001):
            file.write(line(step, 77.0 if step == 54_321 else 2.0))
    with studio(binary, folder) as server, browser() as chromium:
        page = open_runs(chromium, server)
        page.wait("document.querySelectorAll('.run_list button').length === 64", "64 runs")
        page.evaluate(f"document.querySelector('[data-run=\"{runs_of(server)['zlong']['id']}\"]').click()")
        page.wait(f"{STEPS}.then(steps => steps.at(-1) === 100000)", "all steps")
        losses = page.evaluate(LOSSES)
        assert len(losses) <= 4000 and max(losses) == 77.0, (len(losses), max(losses))
        history = page.replies[f"{server.page}ask/history"]
        assert history[0] == 200 and history[1] < 2_000_000, history
        read_once = len(page.requests)
        append(run / "metrics.jsonl", line(100_001, 1.5))
        page.wait(f"{STEPS}.then(steps => steps.at(-1) === 100001)", "the next step")
        assert page.evaluate(LOSSES)[-1] == 1.5
        assert not any(address.endswith("/ask/history") for address in page.requests[read_once:]), "the history is read once"
        assert not page.problems, page.problems


CHECKS = [a_killed_run_that_drops_steps_is_drawn_as_it_is, a_server_that_is_killed_and_started_again, a_connection_that_breaks_is_made_again,
          two_tabs_show_the_same_and_a_sleeping_one_asks_nothing, a_hundred_thousand_steps_among_64_runs]
SAMPLE = [a_killed_run_that_drops_steps_is_drawn_as_it_is]
