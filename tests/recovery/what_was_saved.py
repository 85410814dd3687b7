# SPDX-License-Identifier: Apache-2.0
"""Whether a run's folder holds what the run has reported as saved."""
import json
import subprocess


def events_of(out):
    try:
        lines = (out / "events.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    events = []
    for line in lines:
        try:
            events.append(json.loads(line))
        except json.JSONDecodeError:
            pass  # cut short by a kill
    return events


def last_reported(out):
    """The step of the last save that the run has told of, 0 where there is none; and the later steps that it has begun to save
    since it was started then, any of which may have taken its place without a word."""
    last, since_start, begun = 0, [], []
    for event in events_of(out):
        if event["event"] == "start":
            since_start = []
        elif event["event"] == "checkpoint":
            since_start.append(event["step"])
            begun.append(event["step"])
        elif event["event"] == "saved":
            last, begun = event["step"], list(since_start)
    return last, [step for step in begun if step > last]


def problem_of_saves(binary, out):
    """Empty: all is there, and every byte of it is as it was written."""
    last, begun = last_reported(out)
    if not list((out / "checkpoints").glob("step-????????")):
        return "" if last == 0 else f"step {last} was reported as saved, and there is no checkpoint"
    told = subprocess.run([str(binary), "checkpoint", "verify", str(out), "--json"], capture_output=True, text=True, check=False)
    results = json.loads(told.stdout)["results"] if told.stdout else []
    broken = [result["problem"] for result in results if result["problem"]]
    whole = [result["step"] for result in results if not result["problem"]]
    if broken or told.returncode != 0:
        return f"checkpoints are broken: {broken} {told.stderr}"
    return "" if last == 0 or {last, *begun} & set(whole) else f"step {last} was reported as saved, there are {whole}"
