#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Studio's budgets as a table: start, first paint, bytes, a drag to its figures, neighbours, a timeline of 16,384 ranks and its
frames, a run of 100,000 steps, memory, and what following costs a run. In a real Chromium; on an idle machine."""
import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import ROOT, cpu_name, say, table, write_results

sys.path.insert(0, str(ROOT / "tests" / "studio"))
from cdp import browser  # noqa: E402
from questions import cpu_seconds, streaming, next_object  # noqa: E402
from studio_server import studio  # noqa: E402

SMALL = ["llama3-8b 512x8192 bf16 llama3-h100 " + mesh for mesh in
         ("fsdp=64", "fsdp=32,tp=2", "fsdp=16,tp=4", "fsdp=8,tp=8", "pp=2,fsdp=16,tp=2 microbatches=8", "pp=4,fsdp=8,tp=2 microbatches=8", "pp=2,fsdp=32 microbatches=8")]
LARGE = ["llama3-405b 2048x8192 bf16 llama3-h100 " + mesh + " microbatches=16" for mesh in
         ("pp=16,fsdp=128,tp=8", "pp=8,fsdp=128,tp=16", "pp=16,fsdp=64,tp=16", "pp=8,fsdp=128,cp=2,tp=8")]
# Seconds of what runs for each frame, and when a canvas was drawn last.
WATCH = """
  window.frame_times = []; window.drawn_at = 0;
  const later = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = callback => later(time => {
    const begin = performance.now(); callback(time); window.frame_times.push(performance.now() - begin); });
  const draw = CanvasRenderingContext2D.prototype.drawImage;
  CanvasRenderingContext2D.prototype.drawImage = function (...words) { draw.apply(this, words); window.drawn_at = performance.now(); };
"""
# From a changed line to the picture of its figures.
DRAG = """(async lines => {
  const { app, on, set_line } = await import('/app.js');
  let heard = () => {};
  on('verdict', () => { if (!app.pending) heard(); });
  const times = [];
  for (const line of lines) {
    const begin = performance.now();
    await new Promise(done => { heard = done; set_line(line); });
    if (app.error) throw new Error(app.error.what);
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - begin);
  }
  return times;
})"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-studio.md")
    return parser.parse_args()


def nearly_largest(values):
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def memory(process, key="RssAnon"):
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0


def row(what, value, unit, budget):
    verdict = "" if budget is None else "within" if value <= budget else "ABOVE"
    say(f"  {what}: {value:.3g} {unit} {verdict}")
    return [what, f"{value:,.1f} {unit}" if value >= 10 else f"{value:.2f} {unit}", "-" if budget is None else f"{budget:g} {unit}", verdict]


def start_up(arguments):
    """Milliseconds to listening, to the first paint and to a verdict; and what the page costs to load."""
    listening, painted, usable = [], [], []
    for _ in range(arguments.rounds):
        with browser() as chromium, contextlib.ExitStack() as stack:
            page = chromium.open()
            begin = time.perf_counter()
            server = stack.enter_context(studio(arguments.binary))
            listening.append((time.perf_counter() - begin) * 1e3)
            page.go(server.address)
            page.wait("document.querySelector('#verdict')?.innerText.includes('MFU')", "a verdict")
            usable.append(page.evaluate("performance.getEntriesByType('resource').find(entry => entry.name.endsWith('/ask/try')).responseEnd"))
            painted.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            before = page.evaluate(f"performance.getEntriesByType('resource').filter(entry => entry.startTime < {painted[-1]}).length") + 1
            page.settle(1)
            files = sum(size for address, (_, size) in page.replies.items() if "/ask/" not in address)
    yield row("`tessera studio` to listening", statistics.median(listening), "ms", 50)
    yield row("first paint", statistics.median(painted), "ms", 200)
    yield row("usable: figures are there", statistics.median(usable), "ms", 400)
    yield row("files of the page, with headers", files / 1e3, "kB", 250)
    yield row("requests before the first paint", before, "", 12)


def drags(arguments):
    with studio(arguments.binary) as server, browser() as chromium:
        idle = memory(server.process.pid)
        page = chromium.open(server.address)
        page.wait("document.querySelector('#verdict')?.innerText.includes('MFU')", "a verdict")
        page.settle(1)
        small = page.evaluate(f"{DRAG}({json.dumps((SMALL * 8)[:50])})")
        yield row("drag to figures, 8B on 64 ranks, 95 of 100", nearly_largest(small), "ms", 100)
        page.settle(1)
        begin = time.perf_counter()
        page.evaluate("Promise.all([import('/ask.js'), import('/app.js')]).then(([ask, app]) => ask.ask('neighbours', {run: app.app.run}))")
        yield row("neighbours of all handles", (time.perf_counter() - begin) * 1e3, "ms", 500)
        large = page.evaluate(f"{DRAG}({json.dumps((LARGE * 5)[:20])})")
        yield row("drag to figures, 405B on 16,384 ranks, 95 of 100", nearly_largest(large), "ms", 500)
        yield row("memory of the server, idle", idle / 1e6, "MB", 40)
        yield row("memory of the server, at 405B", memory(server.process.pid, "VmHWM") / 1e6, "MB", 150)


def timeline(arguments):
    with studio(arguments.binary) as server, browser() as chromium:
        page = chromium.open()
        page.call("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        page.go(server.address)
        page.wait("document.querySelector('#verdict')?.innerText.includes('MFU')", "a verdict")
        page.evaluate(f"{DRAG}({json.dumps(LARGE[:1])})")
        page.settle(1)
        begin = page.evaluate("performance.now()")
        page.evaluate("import('/app.js').then(app => app.show_screen('time'))")
        page.wait(f"window.drawn_at > {begin}", "a drawn timeline")
        yield row("timeline of 16,384 ranks, question to picture", page.evaluate("window.drawn_at") - begin, "ms", 1000)
        page.settle(1)
        size = max(size for address, (_, size) in page.replies.items() if address.endswith("/ask/slices"))
        yield row("bytes of the timeline", size / 1e6, "MB", 2)
        x, y = page.place(".timeline_frame canvas")
        page.evaluate("window.frame_times = []")
        for turn in range(60):  # zoom with control, then left and right
            wheel = {"modifiers": 2, "deltaX": 0, "deltaY": -60} if turn < 20 else {"deltaX": 40 if turn % 2 else -40, "deltaY": 0}
            page.call("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x, "y": y, **wheel})
        page.settle(0.5)
        frames = page.evaluate("window.frame_times")
        yield row("frame while zooming and panning, 95 of 100", nearly_largest(frames), "ms", 8)
        own = [memory(process["id"]) for process in chromium.chromium.call("SystemInfo.getProcessInfo")["processInfo"] if process["type"] == "renderer"]
        yield row("memory of the tab", max(own) / 1e6, "MB", 150)


def runs(arguments, folder):
    long_run = folder / "long"
    long_run.mkdir()
    figures = {"loss": 2.5, "grad_norm": 1.25, "lr": 0.0003, "tokens": 1e6, "tokens_per_second": 24601.423898702484, "mfu": 0.4855206090965995,
               "hfu": 0.5051454689662017, "step_seconds": 0.041623607, "compute_seconds": 0.01749852125, "exposed_communication_seconds": 0.023309529250000002,
               "bubble_seconds": 0.0006787634999999969, "data_seconds": 1.5733e-05, "elapsed_seconds": 0.211776895, "peak_bytes": 152660736,
               "slowest_rank": 1, "slowest_rank_seconds": 0.018221755, "fastest_rank_seconds": 0.015930322999999993}
    rest = json.dumps(figures, separators=(",", ":"))[1:]
    with (long_run / "metrics.jsonl").open("w") as file:
        for step in range(1, 100_001):
            file.write(f'{{"step":{step},{rest}\n')
    with studio(arguments.binary, long_run) as server:
        run = server.ask("runs").json()["runs"][0]["id"]
        begin = time.perf_counter()
        reply = server.ask("history", {"run": run})
        yield row("run of 100,000 steps, opened", (time.perf_counter() - begin) * 1e3, "ms", 1000)
        yield row("bytes of it", len(reply.body) / 1e3, "kB", None)


def following(arguments, folder):
    """The server's processor time as a share of a run's that it follows."""
    words = [arguments.binary, "train", "--steps", "200", "--out", folder / "followed", "--set", "run.peak_gflops=100"]
    with subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (folder / "followed" / "metrics.jsonl").exists():
            time.sleep(0.05)
        watched = type("Watched", (), {"process": process})
        with studio(arguments.binary, folder / "followed") as server:
            run = server.ask("runs").json()["runs"][0]["id"]
            before, begun = cpu_seconds(server), cpu_seconds(watched)
            with streaming(server, "follow", {"run": run}) as stream:
                while not any(event["event"] == "end" for event in next_object(stream)["events"]):
                    spent = cpu_seconds(watched) - begun
            yield row("processor time of following a run, of the run's", 100 * (cpu_seconds(server) - before) / spent, "%", 1)


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = (start_up(arguments), drags(arguments), timeline(arguments), runs(arguments, folder), following(arguments, folder))
        text = table([["what", "measured", "budget", ""], *(line for part in parts for line in part)])
    print(f"{cpu_name()}\n\n{text}")
    if arguments.write:
        write_results("studio", "Studio's budgets", f"{cpu_name()}\n\n{text}")


if __name__ == "__main__":
    main()
