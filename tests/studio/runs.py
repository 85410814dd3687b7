#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the folders of `tessera studio`, live and hostile: what a page is told while a run goes on, is killed, writes half a
line or is started again, and what it is not told of other files. --only chooses some."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402
from questions import cpu_seconds, next_object, streaming  # noqa: E402
from studio_server import SECONDS, studio, why_not  # noqa: E402

TINY = ["--model", "mlp", "--set", "model.layers=2", "--set", "model.width=64", "--batch", "8"]


def fresh(folder, name):
    (folder / name).mkdir()
    return folder / name


def train(binary, out, steps, *more):
    words = [str(binary), "train", *TINY, "--steps", str(steps), "--out", str(out), *more]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process):
    said = process.communicate(timeout=4 * SECONDS)[1]
    assert process.returncode == 0, said


def runs_of(server):
    reply = server.ask("runs")
    assert reply.status == 200, reply
    return {pathlib.Path(run["name"]).name: run for run in reply.json()["runs"]}


def table(reply):
    """The head of an answer with columns."""
    assert reply.status == 200, reply
    return json.loads(reply.body[4:4 + int.from_bytes(reply.body[:4], "little")])


def steps_told(server, run, start=None):
    """All steps that a page learns of: their numbers, in the order in which it hears of them, and where to go on."""
    told, fields = [], {"run": run, "once": True, **({"from": start} if start else {})}
    with streaming(server, "follow", fields) as stream:
        while (part := next_object(stream)) is not None:
            told += [step["step"] for step in part["metrics"]]
            if part.get("done"):
                return told, part["next"]
    raise AssertionError("the stream ended without done")


def a_live_run_is_followed_to_its_end(binary, folder):
    folder = fresh(folder, "live0")
    run = train(binary, folder / "a", 400)
    with studio(binary, folder) as server:
        while "a" not in (found := runs_of(server)):
            time.sleep(0.05)
        steps, ends = [], []
        with streaming(server, "follow", {"run": found["a"]["id"]}) as stream:
            while not ends:
                part = next_object(stream)
                steps += [step["step"] for step in part["metrics"]]
                ends = [event for event in part["events"] if event["event"] == "end"]
        finish(run)
        told, _ = steps_told(server, found["a"]["id"])
        assert told == list(range(1, 401)) and steps == told[:len(steps)], (len(steps), told[-3:])
        assert runs_of(server)["a"]["state"] == "finished" and runs_of(server)["a"]["step"] == 400


def a_server_that_was_killed_changes_nothing(binary, folder):
    folder = fresh(folder, "server1")
    finish(train(binary, folder / "a", 50))
    with studio(binary, folder) as first:
        run = runs_of(first)["a"]["id"]
        told, next_bytes = steps_told(first, run)
        first.process.send_signal(signal.SIGKILL)
    with studio(binary, folder) as second:  # the id is the same: a page goes on where it was
        assert runs_of(second)["a"]["id"] == run
        assert steps_told(second, run, next_bytes)[0] == [] and steps_told(second, run)[0] == told == list(range(1, 51))


def a_run_that_was_killed_and_resumed_has_each_step(binary, folder):
    """The steps after the last checkpoint are done again; the last word on a step holds."""
    folder = fresh(folder, "run2")
    run = train(binary, folder / "a", 100000, "--save-every", "20")
    metrics = folder / "a" / "metrics.jsonl"
    while not metrics.exists() or metrics.read_bytes().count(b"\n") < 50:
        time.sleep(0.02)
    run.kill()
    run.communicate()
    with metrics.open("ab") as file:
        file.write(b'{"step":99999,"lo')  # as a machine that stops may leave it
    with studio(binary, folder) as server:
        name = runs_of(server)["a"]["id"]
        before, at = steps_told(server, name)
        assert before == list(range(1, len(before) + 1)), before
        finish(train(binary, folder / "a", len(before) + 30, "--resume"))
        head = table(server.ask("history", {"run": name}))
        again, _ = steps_told(server, name, at)
        assert again[-1] == len(before) + 30, again
        assert head["steps"] == len(before) + 30, head["steps"]


def a_folder_that_is_replaced_is_read_again(binary, folder):
    folder = fresh(folder, "folder3")
    finish(train(binary, folder / "a", 40))
    with studio(binary, folder) as server:
        with streaming(server, "follow", {"run": runs_of(server)["a"]["id"]}) as stream:
            assert len(next_object(stream)["metrics"]) == 40
            finish(train(binary, folder / "a", 10, "--overwrite"))
            part = next_object(stream)
            while not part["metrics"]:
                part = next_object(stream)
            assert part.get("reset") or part["metrics"][0]["step"] == 1, part


def hostile_runs_are_text_and_show_no_other_file(binary, folder):
    folder = fresh(folder, "runs4")
    secret = folder / "secret"
    secret.mkdir()
    (secret / "metrics.jsonl").write_text('{"step": 1, "loss": 4242.5}\n')
    runs = folder / "runs"
    name = "<script>alert(1)</script>"
    (runs / name.replace("/", "_")).mkdir(parents=True)
    (runs / name.replace("/", "_") / "metrics.jsonl").write_text('{"step": 1, "loss": 2}\n{"step": 2, "loss": 1e999}\n[[[[\n' + "{" * 10000 + "\n")
    (runs / name.replace("/", "_") / "events.jsonl").write_text(json.dumps({"event": "failure", "text": name}) + "\n" + "x" * 3_000_000 + "\n")
    (runs / "linked").symlink_to(secret)
    (runs / "files").mkdir()
    (runs / "files" / "metrics.jsonl").symlink_to(secret / "metrics.jsonl")
    (runs / "pipe").mkdir()
    os.mkfifo(runs / "pipe" / "metrics.jsonl")
    (runs / "zero").mkdir()
    (runs / "zero" / "run.json").write_text("{}")
    (runs / "zero" / "metrics.jsonl").symlink_to("/dev/zero")
    with studio(binary, runs) as server:
        reply = server.ask("runs")
        assert reply.headers["content-type"] == "application/json" and b"4242" not in reply.body, reply
        found = runs_of(server)
        assert set(found) == {name.replace("/", "_"), "zero"}, found  # neither links nor pipes
        for run in found.values():
            for kind in ("history", "report"):
                reply = server.ask(kind, {"run": run["id"]})
                assert reply.status in (200, 400) and b"4242" not in reply.body, reply
        assert steps_told(server, found[name.replace("/", "_")]["id"])[0] == [1]
        for other in ("linked", "../secret", str(secret), "", "a" * 1000, "\u0000"):
            assert server.ask("history", {"run": other}).status == 400, other
        assert server.is_well()


def sixty_four_runs_and_a_hundred_thousand_steps(binary, folder):
    folder = fresh(folder, "four5")
    line = ('{"step":%d,"loss":%.6f,"grad_norm":1.25,"lr":0.0003,"tokens":%d,"tokens_per_second":24601.4238987,"mfu":0.48552060909,"hfu":0.505145468966,'
            '"step_seconds":0.041623607,"compute_seconds":0.01749852125,"exposed_communication_seconds":0.023309529,"bubble_seconds":0.000678763,'
            '"data_seconds":1.5733e-05,"elapsed_seconds":%.6f,"peak_bytes":152660736,"slowest_rank":1,"slowest_rank_seconds":0.018221755,'
            '"fastest_rank_seconds":0.015930322}\n')
    (folder / "long").mkdir()
    with (folder / "long" / "metrics.jsonl").open("w") as file:
        for step in range(1, 100_001):
            file.write(line % (step, 1000 if step == 77_777 else 5 / step ** 0.3, step * 1024, step * 0.04))
    for number in range(63):
        (folder / f"run{number:02}").mkdir()
        (folder / f"run{number:02}" / "metrics.jsonl").write_text(line % (1, 2, 3, 4))
    with studio(binary, folder) as server:
        found = runs_of(server)
        assert len(found) == 64 and found["long"]["step"] == 100_000, len(found)
        before = cpu_seconds(server)
        reply = server.ask("history", {"run": found["long"]["id"]})
        head = table(reply)
        assert head["steps"] == 100_000 and len(reply.body) < 2_000_000, (head["steps"], len(reply.body))
        assert all(column["count"] <= 2000 for column in head["columns"]), head["columns"]
        columns = {column["name"]: column for column in head["columns"]}
        largest = reply.body[4 + int.from_bytes(reply.body[:4], "little") + columns["loss.largest"]["offset"]:][:8000]
        assert max(memoryview(largest).cast("f")) == 1000  # a single step
        assert cpu_seconds(server) - before < 2, cpu_seconds(server) - before  # 0.3 s on an idle machine


def folders_must_be_there(binary, folder):
    folder = fresh(folder, "must6")
    done = subprocess.run([binary, "studio", "--no-browser", folder / "nothing"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2 and "cannot open the folder" in done.stderr, done
    with studio(binary) as server:
        assert server.ask("runs").json() == {"folders": False, "allows_runs": False, "runs": []}
        assert server.ask("history", {"run": "x"}).status == 400


CHECKS = [
    a_live_run_is_followed_to_its_end,
    a_server_that_was_killed_changes_nothing,
    a_run_that_was_killed_and_resumed_has_each_step,
    a_folder_that_is_replaced_is_read_again,
    hostile_runs_are_text_and_show_no_other_file,
    sixty_four_runs_and_a_hundred_thousand_steps,
    folders_must_be_there,
]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS, why_not(sys.argv))
