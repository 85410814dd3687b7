# SPDX-License-Identifier: Apache-2.0
"""Studio's Run screen in a real Chromium: a run that is being written, half lines, steps that are done again, hostile names."""
import json

from cdp import browser
from studio_server import studio

STEPS = "import('/run_screen.js').then(({opened_run}) => opened_run().step)"
LOSSES = "import('/run_screen.js').then(({opened_run}) => opened_run().high.get('loss'))"


def line(step, loss):
    return json.dumps({"step": step, "loss": loss, "grad_norm": 1.0, "lr": 0.001, "tokens": 2048 * step, "tokens_per_second": 1000.0, "mfu": 0.3, "hfu": 0.3,
                       "step_seconds": 1.0, "compute_seconds": 0.9, "exposed_communication_seconds": 0.05, "bubble_seconds": 0.0, "data_seconds": 0.0,
                       "elapsed_seconds": float(step), "peak_bytes": 1000}) + "\n"


def write_run(folder, name, steps):
    run = folder / name
    run.mkdir(parents=True)
    (run / "events.jsonl").write_text(json.dumps({"event": "start", "step": 0, "unix_time": 1}) + "\n")
    (run / "metrics.jsonl").write_text("".join(line(step, 5 - step / 10) for step in range(1, steps + 1)))
    return run


def open_runs(chromium, server):
    return chromium.open(f"{server.address}&run/tiny")


def append(file, text):
    with open(file, "a", encoding="utf-8") as out:
        out.write(text)


def a_run_is_followed_while_it_is_written(binary, folder):
    run = write_run(folder, "live", 5)
    with studio(binary, folder) as server, browser() as chromium:
        page = open_runs(chromium, server)
        page.wait(f"{STEPS}.then(steps => steps.length === 5)", "five steps")
        append(run / "metrics.jsonl", line(6, 4.4) + line(7, 4.3)[:20])
        page.wait(f"{STEPS}.then(steps => steps.length === 6)", "the sixth step")
        append(run / "metrics.jsonl", line(7, 4.3)[20:])
        page.wait(f"{STEPS}.then(steps => steps.length === 7)", "the step whose line came in two parts")
        append(run / "events.jsonl", json.dumps({"event": "failure", "step": 7, "text": "rank 1 was killed"}) + "\n")
        page.wait("document.querySelector('.run_events').innerText.includes('rank 1 was killed')", "the failure")
        append(run / "metrics.jsonl", line(5, 4.0) + line(6, 3.9))  # resumed from step 4
        page.wait(f"{LOSSES}.then(losses => losses.at(-1) < 3.95)", "steps that were done again")
        assert page.evaluate(STEPS) == [1, 2, 3, 4, 5, 6]
        assert not page.problems, page.problems


def hostile_names_are_text(binary, folder):
    name = "<img src=x onerror=document.title='owned'>"
    write_run(folder, name, 3)
    with studio(binary, folder) as server, browser() as chromium:
        page = open_runs(chromium, server)
        page.wait("document.querySelector('.run_list button') !== null", "a run")
        assert "<img" in page.text(".run_list"), page.text(".run_list")
        assert page.evaluate("document.querySelector('.run_list img') === null && document.title !== 'owned'")


def many_steps_keep_their_spike(binary, folder):
    run = write_run(folder, "long", 0)
    (run / "metrics.jsonl").write_text("".join(line(step, 99.0 if step == 12345 else 2.0) for step in range(1, 30001)))
    with studio(binary, folder) as server, browser() as chromium:
        page = open_runs(chromium, server)
        page.wait(f"{STEPS}.then(steps => steps.at(-1) === 30000)", "all steps")
        losses = page.evaluate(LOSSES)
        assert len(losses) <= 4000 and max(losses) == 99.0, (len(losses), max(losses))


CHECKS = [a_run_is_followed_while_it_is_written, hostile_names_are_text, many_steps_keep_their_spike]
SAMPLE = [a_run_is_followed_while_it_is_written]
