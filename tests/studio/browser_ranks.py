# SPDX-License-Identifier: Apache-2.0
"""Ranks over steps on Studio's Run screen in a real Chromium: cells by pixel, keyboard and table, while the run is written."""
import json

from browser_runs import append, line, open_runs, write_run
from cdp import browser
from studio_server import studio

MAP = "import('/run_screen.js').then(({rank_map}) => rank_map.parts())"


def rank_line(step, compute):
    zeros = [0.0] * len(compute)
    return json.dumps({"step": step, "steps": 1, "ranks": len(compute), "compute_seconds": compute, "exposed_communication_seconds": zeros,
                       "bubble_seconds": [max(compute) - each for each in compute]}) + "\n"


def slow_ranks_are_seen_while_they_are_written(binary, folder):
    run = write_run(folder, "live", 5)
    (run / "ranks.jsonl").write_text("".join(rank_line(step, [1.0, 1.0, 1.4 if step == 3 else 1.0]) for step in range(1, 6)))
    with studio(binary, folder) as server, browser() as chromium:
        page = open_runs(chromium, server)
        page.wait(f"{MAP}.then(parts => parts.length === 5)", "five parts")
        append(run / "metrics.jsonl", line(6, 4.4))
        append(run / "ranks.jsonl", rank_line(6, [1.0, 2.0, 1.0]) + rank_line(7, [1.0, 1.0, 1.0])[:30])
        page.wait(f"{MAP}.then(parts => parts.length === 6 && parts[5].cells[1].over === 1)", "the slow rank")
        append(run / "ranks.jsonl", rank_line(7, [1.0, 1.0, 1.0])[30:] + rank_line(5, [1.5, 1.0, 1.0]))  # resumed from step 4
        page.wait(f"{MAP}.then(parts => parts.length === 5 && parts[4].cells[0].over === 0.5)", "steps that were done again")
        page.wait("document.querySelector('.rank_map').hidden === false", "the map")
        page.evaluate("document.querySelector('#rank_map').focus()")
        page.press("ArrowLeft")
        assert page.text(".rank_map .chart_told").startswith("step 5, rank 0: computes 1.50 s, +50.0 % of the median, waits 0 s"), page.text(".rank_map")
        page.press("ArrowLeft")
        page.press("ArrowLeft")
        page.press("ArrowDown")
        page.press("ArrowDown")
        assert page.text(".rank_map .chart_told").startswith("step 3, rank 2: computes 1.40 s, +40.0 %"), page.text(".rank_map")
        page.press("Enter")
        assert page.evaluate("import('/app.js').then(({app}) => app.selection.rank)") == 2
        page.evaluate("document.querySelector('.rank_map summary').click()")
        page.wait("document.querySelectorAll('.rank_map tbody tr').length === 3", "the table")
        assert "+40.0 %" in page.text(".rank_map tbody"), page.text(".rank_map tbody")
        assert not page.problems, page.problems


def cells_have_the_colour_of_their_distance(binary, folder):
    run = write_run(folder, "still", 3)
    (run / "ranks.jsonl").write_text(rank_line(1, [1.0, 1.0, 1.0]) + rank_line(2, [1.0, 9.0, 1.0]) + rank_line(3, [0.1, 1.0, 1.0]))
    script = """import('/dom.js').then(({theme_colours}) => { const colours = theme_colours(['sunk', 'vermillion', 'blue']); const canvas = document.querySelector('.rank_map canvas');
      const context = canvas.getContext('2d'); const cell = (part, row) => { const x = 64 + (part + 0.5) / 3 * (canvas.clientWidth - 64);
        const [red, green, blue] = context.getImageData(x * devicePixelRatio, (row * 18 + 4) * devicePixelRatio, 1, 1).data; const found = `rgb(${red}, ${green}, ${blue})`;
        return Object.keys(colours).find(name => colours[name] === found) ?? found; };
      return [cell(0, 0), cell(1, 1), cell(1, 2), cell(2, 0)]; })"""
    with studio(binary, folder) as server, browser() as chromium:
        page = open_runs(chromium, server)
        page.wait(f"{MAP}.then(parts => parts.length === 3)", "three parts")
        for theme in ("light", "dark"):
            page.theme(theme)
            page.evaluate("import('/run_screen.js').then(({rank_map}) => rank_map.draw())")
            assert page.evaluate(script) == ["sunk", "vermillion", "sunk", "blue"], (theme, page.evaluate(script))


def hostile_lines_are_passed_over(binary, folder):
    run = write_run(folder, "odd", 3)
    (run / "ranks.jsonl").write_text("[" * 3000 + "\n" + json.dumps({"step": 1, "ranks": 10**9, "compute_seconds": ["<b>"]}) + "\n" + "x" * (2 << 20) + "\n"
                                     + rank_line(2, [1.0, 2.0]))
    with studio(binary, folder) as server, browser() as chromium:
        page = open_runs(chromium, server)
        page.wait(f"{MAP}.then(parts => parts.length === 1)", "the one line that is one")
        append(run / "ranks.jsonl", json.dumps({"step": "<b>", "compute_seconds": {"a": 1}}) + "\n" + rank_line(3, [1.0, 2.0]))
        page.wait(f"{MAP}.then(parts => parts.length === 2 && parts[1].step === 3)", "the line after a bad one")
        assert not page.problems, page.problems


CHECKS = [slow_ranks_are_seen_while_they_are_written, cells_have_the_colour_of_their_distance, hostile_lines_are_passed_over]
SAMPLE = [slow_ranks_are_seen_while_they_are_written]
