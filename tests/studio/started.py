#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that a page starts with `tessera studio --allow-runs`: a rank that is killed changes no bit of what is learnt, a run that is
stopped saves and is resumed, runs outlive no Studio, text comes token by token, and nothing else can be started or stopped.
--only chooses some."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402
from questions import is_idle_within, next_object, streaming  # noqa: E402
from runs import fresh, runs_of  # noqa: E402
from studio_server import SECONDS, studio, why_not  # noqa: E402

ORDER = {"model": "tiny", "mesh": "dp=2", "steps": 60, "save_every": 10, "batch": 4, "seq": 32}
CONTROLS = ("start", "resume", "stop", "kill", "generate", "chat", "offers")


def answer(server, kind, fields):
    reply = server.ask(kind, fields)
    assert reply.status == 200, (kind, fields, reply)
    return reply.json()


def error(server, kind, fields, headers=()):
    reply = server.ask(kind, fields, headers)
    assert reply.status in (400, 401, 403), (kind, fields, reply)
    return reply.json()["error"]["what"]


def run_named(server, name):
    return runs_of(server).get(name, {"state": "", "step": 0})


def wait_for(condition, what, seconds=4 * SECONDS):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited for {what() if callable(what) else what}")


def wait_for_step(server, name, step):
    wait_for(lambda: (run_named(server, name).get("step") or 0) >= step, lambda: f"step {step} of {name}: {run_named(server, name)}")


def wait_for_state(server, name, *states):
    wait_for(lambda: run_named(server, name)["state"] in states, lambda: f"{name} to be {states}: {run_named(server, name)}")


def run_without_checkpoints(server, folder):
    (folder / "young").mkdir()
    (folder / "young" / "metrics.jsonl").write_text('{"step":1,"loss":2}\n')
    return wait_for(lambda: run_named(server, "young").get("id"), "a run that has not saved")


def weights(run):
    """What the last checkpoint holds, file by file."""
    newest = sorted((run / "checkpoints").glob("step-*"))[-1]
    return newest.name, {file.name: file.read_bytes() for file in sorted(newest.glob("*.safetensors"))}


def losses(run):
    return [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def kill_when_possible(server, run, rank):
    """Ranks of a job that is just starting cannot be killed yet."""
    wait_for(lambda: server.ask("kill", {"run": run, "rank": rank}).status == 200, f"rank {rank} to be killed")


def a_killed_rank_changes_no_bit(binary, folder):
    folder = fresh(folder, "killed0")
    with studio(binary, folder, "--allow-runs") as server:
        order = {**ORDER, "steps": 250}  # seconds to kill it in
        whole = answer(server, "start", {**order, "name": "whole"})
        wait_for_state(server, "whole", "finished")
        killed = answer(server, "start", {**order, "name": "killed"})
        assert whole["ranks"] == killed["ranks"] == 2
        for rank, step in ((1, 12), (0, 25)):
            wait_for_step(server, "killed", step)
            starts = run_named(server, "killed")["starts"]
            kill_when_possible(server, killed["run"], rank)
            wait_for(lambda: run_named(server, "killed")["starts"] > starts or run_named(server, "killed")["state"] == "finished", "a restart")
            told = answer(server, "output", {"run": killed["run"]})
            assert f"rank {rank} was ended by signal 9" in told["failure"] and "restart" in told["output"], told
        wait_for_state(server, "killed", "finished")
        assert run_named(server, "killed")["starts"] == 3, run_named(server, "killed")
    assert weights(folder / "killed") == weights(folder / "whole")
    assert losses(folder / "killed") == losses(folder / "whole") and len(losses(folder / "whole")) == 250


def a_run_is_stopped_and_resumed(binary, folder):
    folder = fresh(folder, "stopped1")
    with studio(binary, folder, "--allow-runs") as server:
        for ranks_as, steps in (("processes", 250), ("threads", 400)):
            order = {**ORDER, "steps": steps, "save_every": 1000, "ranks_as": ranks_as}
            run = answer(server, "start", {**order, "name": ranks_as})["run"]
            wait_for_step(server, ranks_as, 3)
            assert "going on" in error(server, "resume", {"run": run})
            if ranks_as == "threads":
                assert "threads" in error(server, "kill", {"run": run, "rank": 0})
            answer(server, "stop", {"run": run})
            again = server.ask("stop", {"run": run})  # a second click is no second signal
            assert again.status == 200 or "has ended" in again.json()["error"]["what"], again
            wait_for_state(server, ranks_as, "stopped")
            saved, _ = weights(folder / ranks_as)  # it was never to save before
            assert int(saved.split("-")[1]) == run_named(server, ranks_as)["step"] < steps, saved
            assert run_named(server, ranks_as)["can"] == ["resume"]
            answer(server, "resume", {"run": run})
            wait_for_state(server, ranks_as, "finished")
            answer(server, "start", {**order, "name": f"{ranks_as}-whole"})
            wait_for_state(server, f"{ranks_as}-whole", "finished")
            assert weights(folder / ranks_as) == weights(folder / f"{ranks_as}-whole")


def processes_below(process):
    """Numbers of the processes that it has started, and those that they have."""
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *processes_below(child)]
    return found


def is_gone(process):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    return True


def runs_save_and_stop_with_studio(binary, folder):
    """After Ctrl-C, and after a kill that Studio does not hear of."""
    folder = fresh(folder, "ends2")
    for name, end in (("asked", signal.SIGINT), ("killed", signal.SIGKILL)):
        with studio(binary, folder, "--allow-runs") as server:
            answer(server, "start", {**ORDER, "name": name, "steps": 100000, "save_every": 100000})
            wait_for_step(server, name, 3)
            below = processes_below(server.process.pid)
            assert len(below) == 4, below  # supervisor, job, two ranks
            server.process.send_signal(end)
            server.process.wait(timeout=2 * SECONDS)
        wait_for(lambda: all(map(is_gone, below)), "the processes to end", SECONDS)
        saved, _ = weights(folder / name)
        assert int(saved.split("-")[1]) == len(losses(folder / name)), saved
    with studio(binary, folder, "--allow-runs") as server:  # another Studio resumes it
        run = run_named(server, "killed")
        assert run["can"] == ["resume"], run
        assert "did not start" in error(server, "stop", {"run": run["id"]})
        answer(server, "resume", {"run": run["id"]})
        wait_for_step(server, "killed", run["step"] + 3)


def without_the_flag_all_is_refused(binary, folder):
    folder = fresh(folder, "refused3")
    with studio(binary, folder) as server:
        for kind in CONTROLS:
            for fields in ({}, {"run": "0"}, ORDER):
                assert "without --allow-runs" in error(server, kind, fields)
        assert server.ask("runs").json()["allows_runs"] is False
    assert not list(folder.iterdir())
    done = subprocess.run([binary, "studio", "--no-browser", "--allow-runs"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2 and "--allow-runs needs a folder" in done.stderr, done


def without_the_token_all_is_refused(binary, folder):
    folder = fresh(folder, "token4")
    with studio(binary, folder, "--allow-runs") as server:
        for kind in CONTROLS:
            for headers in ({"X-Tessera-Token": None}, {"X-Tessera-Token": "0" * 32}, {"Origin": "http://evil.example"},
                            {"Host": f"evil.example:{server.port}"}, {"Sec-Fetch-Site": "cross-site"}):
                assert server.ask(kind, {**ORDER, "name": "a"} if kind == "start" else {}, headers).status in (401, 403), (kind, headers)
            assert server.request("GET", f"/ask/{kind}").status in (403, 405), kind
            assert server.request("POST", f"/ask/{kind}", {"Content-Type": "text/plain"}, b"{}").status in (400, 403, 415), kind
        assert not list(folder.iterdir()) and not processes_below(server.process.pid)


def hostile_orders_start_nothing(binary, folder):
    folder = fresh(folder, "hostile5")
    runs, outside = folder / "runs", folder / "outside"
    runs.mkdir()
    outside.mkdir()
    (runs / "link").symlink_to(outside)
    stranger = subprocess.Popen(["sleep", "1000"])
    try:
        with studio(binary, runs, "--allow-runs") as server:
            names = ["../outside/x", "/tmp/x", "..", ".", "", "link/x", "link", "a/b", "-rf", "--out", "a b", "a;id", "$(id)", "`id`", "A", "\u00e4",
                     "a\u0000b", "a\nb", "x" * 5000, "<script>", "checkpoints", 7, None, ["a"], {}]
            for name in names:
                error(server, "start", {**ORDER, "name": name})
            for fields in ({"model": "../../x"}, {"model": str(outside)}, {"model": "--help"}, {"mesh": "dp=2 --out x"}, {"mesh": "dp=2;id"},
                           {"mesh": "dp=999999999999"}, {"mesh": "dp=64"}, {"mesh": "tp=3"}, {"steps": 1e9}, {"steps": "60"}, {"steps": -1}, {"batch": 65536, "seq": 65536},
                           {"ranks_as": "mpirun"}, {"out": str(outside)}, {"words": ["sh"]}, {"set": {"run.out": "x"}}, {"config": "/etc/passwd"}):
                error(server, "start", {**ORDER, "name": "good", **fields})
            for fields in ({"pid": stranger.pid}, {"run": str(stranger.pid), "rank": 0}, {"run": "../outside", "rank": 0}, {"run": "", "rank": 0}):
                error(server, "kill", fields)
            assert not processes_below(server.process.pid) and stranger.poll() is None
            assert sorted(path.name for path in runs.iterdir()) == ["link"] and not list(outside.iterdir())
            run = answer(server, "start", {**ORDER, "name": "good", "steps": 100000})["run"]
            error(server, "start", {**ORDER, "name": "good"})
            wait_for_step(server, "good", 2)
            for rank in (2, -1, 1.5, "0", str(stranger.pid), None):
                error(server, "kill", {"run": run, "rank": rank})
            assert len(processes_below(server.process.pid)) == 4 and stranger.poll() is None
            assert server.is_well()
    finally:
        stranger.kill()
        stranger.wait()


def folders_that_others_made_are_not_resumed(binary, folder):
    """What a folder says of a run becomes the words of a command only where it is an order."""
    folder = fresh(folder, "others6")
    for number, text in enumerate(("{}", "[]", '{"model": "tiny", "out": "/tmp/x"}', '{"mesh": "dp=2 --init-from /etc"}', "x" * 100000)):
        (folder / f"run{number}" / "checkpoints" / "step-00000001").mkdir(parents=True)
        (folder / f"run{number}" / "studio.json").write_text(text)
    (folder / "deep" / "er" / "checkpoints" / "step-00000001").mkdir(parents=True)
    (folder / "deep" / "er" / "studio.json").write_text("{}")
    with studio(binary, folder, "--allow-runs") as server:
        found = runs_of(server)
        for name in ("run1", "run2", "run3", "run4", "er"):
            error(server, "resume", {"run": found[name]["id"]})
        assert not processes_below(server.process.pid)
        answer(server, "resume", {"run": found["run0"]["id"]})  # an order, but no checkpoint: the run itself says so
        wait_for_state(server, "run0", "failed")
        assert "error" in answer(server, "output", {"run": found["run0"]["id"]})["output"]


def text_comes_token_by_token_and_stops_within_one(binary, folder):
    folder = fresh(folder, "text7")
    with studio(binary, folder, "--allow-runs") as server:
        run = answer(server, "start", {**ORDER, "name": "a", "steps": 20})["run"]
        assert "no checkpoint" in error(server, "generate", {"run": run_without_checkpoints(server, folder), "prompt": "a"})
        wait_for_state(server, "a", "finished")
        asked = {"run": run, "prompt": "Once upon", "tokens": 50, "temperature": 0.7, "top_k": 20, "seed": 5}
        with streaming(server, "generate", asked) as stream:
            parts = [next_object(stream)]
            while not parts[-1].get("done"):
                parts.append(next_object(stream))
        assert len(parts) == 52 and all(part["seconds"] > 0 for part in parts[1:-1]), parts
        text = "".join(part.get("text", "") for part in parts)
        done = subprocess.run([binary, "generate", folder / "a", "--prompt", "Once upon", "--tokens", "50", "--temperature", "0.7", "--top-k", "20", "--seed", "5", "--json"],
                              capture_output=True, text=True, check=True, timeout=SECONDS)
        told = json.loads(done.stdout)
        assert [part["token"] for part in parts[1:-1]] == told["tokens"] and one_for_many(text) == one_for_many(told["text"]), (text, told["text"])
        with streaming(server, "generate", {**asked, "tokens": 4096}) as stream:
            tokens = [next_object(stream) for _ in range(5)]
        assert tokens[-1]["token"] == told["tokens"][3]
        assert is_idle_within(server, 1), "thousands of tokens would take many seconds"
        with streaming(server, "generate", {**asked, "tokens": 1}) as stream:  # its turn at once: one writes at a time
            assert next_object(stream)["step"] == 20
        for fields in ({"prompt": ""}, {"temperature": -1}, {"temperature": "hot"}, {"top_k": -1}, {"tokens": 10**9}, {"run": "../a"}, {"checkpoint": "/"}):
            error(server, "generate", {**asked, **fields})


def a_conversation_is_that_of_the_terminal(binary, folder):
    folder = fresh(folder, "talk9")
    with studio(binary, folder, "--allow-runs") as server:
        run = answer(server, "start", {**ORDER, "name": "a", "steps": 20, "seq": 256})["run"]
        assert "no checkpoint" in error(server, "chat", {"run": run_without_checkpoints(server, folder), "messages": [{"role": "user", "content": "a"}]})
        wait_for_state(server, "a", "finished")
        asked = {"run": run, "tokens": 30, "temperature": 0.7, "top_p": 0.9, "seed": 5}
        messages, told = [], []
        for question in ("Who is it?", "Why?"):
            messages.append({"role": "user", "content": question})
            with streaming(server, "chat", {**asked, "messages": messages}) as stream:
                parts = [next_object(stream)]
                while not parts[-1].get("done"):
                    parts.append(next_object(stream))
            told.append(parts[-1])
            assert parts[0]["step"] == 20 and "no chat template" in parts[0]["note"], parts[0]
            assert "".join(part.get("text", "") for part in parts).strip() == told[-1]["answer"], parts
            messages.append({"role": "assistant", "content": told[-1]["answer"]})
        assert told[1]["computed_tokens"] < told[0]["prompt_tokens"] + 30 < told[1]["prompt_tokens"], told
        words = "--temperature 0.7 --top-p 0.9 --seed 5 --max-tokens 30 --json".split()
        done = subprocess.run([binary, "chat", folder / "a", *words], input="Who is it?\nWhy?\n", capture_output=True, text=True, check=True, timeout=SECONDS)
        in_terminal = [json.loads(line) for line in done.stdout.splitlines()]
        assert [turn["tokens"] for turn in in_terminal] == [part["tokens"] for part in told], (in_terminal, told)
        with streaming(server, "chat", {**asked, "messages": messages[:1], "tokens": 4096}) as stream:
            next_object(stream)
        assert is_idle_within(server, 1), "the rest of the window would be written"
        for wrong in ([], "a", [{"role": "user"}], [{"role": "root", "content": "a"}], [{"role": "user", "content": 1}], [{"role": "user", "content": "a", "name": "b"}],
                      messages, [7]):
            error(server, "chat", {**asked, "messages": wrong})
        with streaming(server, "chat", {**asked, "messages": [{"role": "user", "content": "x" * 999}]}) as stream:
            assert "of a window of 256" in [next_object(stream) for _ in range(2)][-1]["error"]["what"]
        for fields in ({"top_p": 2}, {"temperature": -1}, {"tokens": 0}, {"template": "/etc/passwd"}, {"run": "../a"}):
            error(server, "chat", {**asked, "messages": messages[:1], **fields})


def one_for_many(text):
    """How many marks stand for bytes that are no text is not of interest."""
    return re.sub("\ufffd+", "\ufffd", text)


def what_fits_this_machine_is_offered(binary, folder):
    folder = fresh(folder, "offers8")
    with studio(binary, folder / "new", "--allow-runs") as server:
        assert (folder / "new").is_dir()
        told = answer(server, "offers", {})
        names = [model["name"] for model in told["models"]]
        assert "tiny" in names and "llama3-405b" not in names, names
        assert all(model["bytes"] < told["memory_bytes"] for model in told["models"])
        started = [answer(server, "start", {**ORDER, "steps": 100000, "mesh": "dp=1", "name": f"r{number}"})["run"] for number in range(4)]
        assert "4 runs" in error(server, "start", {**ORDER, "name": "r5"}) and not (folder / "new" / "r5").exists()
        kill_when_possible(server, started[0], 0)  # a single rank is its job
        wait_for(lambda: run_named(server, "r0")["starts"] > 0 and "signal 9" in answer(server, "output", {"run": started[0]})["output"], "the supervisor's word")


CHECKS = [
    a_killed_rank_changes_no_bit,
    a_run_is_stopped_and_resumed,
    runs_save_and_stop_with_studio,
    without_the_flag_all_is_refused,
    without_the_token_all_is_refused,
    hostile_orders_start_nothing,
    folders_that_others_made_are_not_resumed,
    text_comes_token_by_token_and_stops_within_one,
    a_conversation_is_that_of_the_terminal,
    what_fits_this_machine_is_offered,
]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS, why_not(sys.argv))
