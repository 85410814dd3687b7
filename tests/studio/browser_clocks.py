# SPDX-License-Identifier: Apache-2.0
"""Two clocks in a real Chromium: a run that was trained just now, its trace below its own simulation on the screen Time."""
import json
import subprocess

from browser_time import DRAWN, PICTURE
from cdp import browser
from studio_server import studio

SETTINGS = ["--model", "tiny", "--mesh", "pp=2,dp=2", "--microbatches", "4", "--steps", "2", "--batch", "8", "--seq", "32", "--zero", "1",
            "--set", "train.eval_every=0", "--set", "data.story_bytes=65536", "--set", "run.peak_gflops=10"]
CHOOSE = """(name => { const list = document.querySelector('#beside_run'); list.value = [...list.options].find(one => one.text.includes(name)).value;
  list.dispatchEvent(new Event('change')); })"""


def train(binary, out):
    subprocess.run([binary, "train", *SETTINGS, "--out", out, "--trace", out / "trace.json", "--json"], check=True, capture_output=True)


def open_beside(chromium, server, name):
    page = chromium.open(f"{server.address}&time/tiny+8x32+fp32+laptop")
    page.wait(DRAWN, "a timeline")
    page.wait("document.querySelector('#beside_run option:nth-child(2)') !== null", "the runs")
    page.evaluate(f"{CHOOSE}({json.dumps(name)})")
    page.wait("document.querySelector('#clocks_sentence') !== null", "two clocks")
    page.settle()
    return page


def a_run_lies_below_its_simulation(binary, folder):
    train(binary, folder / "traced")
    with studio(binary, folder) as server, browser() as chromium:
        page = open_beside(chromium, server, "traced")
        sentence = page.text("#clocks_sentence")
        assert sentence.startswith("Measured ") and "not calibrated" in sentence, sentence
        assert page.text("#clocks_aligned").startswith("All "), page.text("#clocks_aligned")
        found = page.evaluate(f"""{PICTURE}.then(({{timeline, rows}}) => ({{ranks: timeline.ranks.map(one => [one.rank, Boolean(one.measured)]),
          order: rows.map(row => timeline.lanes[row.lane].rank), line: document.querySelector('#line').value}}))""")
        assert found["ranks"] == [[0, False], [2, False], [0, True], [1, True], [2, True], [3, True]], found
        assert found["order"] == sorted(found["order"]), found
        assert "pp=2,dp=2" in found["line"] and "zero=1" in found["line"], found
        rows = page.evaluate("import('/ask.js').then(async ({ask_columns}) => { const run = document.querySelector('#beside_run').value;"
                             "return (await ask_columns('clocks', {run})).head.differences.filter(row => !row.hidden); })")
        sizes = [abs(row["difference_seconds"]) for row in rows]
        shown = page.evaluate("[...document.querySelector('.clocks tbody').rows].map(row => Number(row.dataset.instruction))")
        assert sizes == sorted(sizes, reverse=True) and shown == [row["instruction"] for row in rows[:len(shown)]], (shown, rows[:3])
        assert not page.problems, page.problems


def a_row_lights_its_bars_on_both_clocks(binary, folder):
    train(binary, folder / "traced")
    with studio(binary, folder) as server, browser() as chromium:
        page = open_beside(chromium, server, "traced")
        page.evaluate("document.querySelector('.clocks tbody button').focus()")
        page.press("Enter")
        lit = page.evaluate(f"""{PICTURE}.then(picture => {{ scrollTo(0, 0); picture.draw(); const {{timeline, selected}} = picture; const context = picture.canvas.getContext('2d');
          const ink = picture.colours.ink; const lit = {{simulated: 0, measured: 0}};
          for (const row of picture.rows) for (let i = timeline.lane_start[row.lane]; i < timeline.lane_start[row.lane + 1]; ++i) {{
            const slice = timeline.order[i]; if (timeline.instruction[slice] !== selected) continue;
            const [red, green, blue] = context.getImageData(Math.floor(picture.x_of(timeline.begin[slice])) * devicePixelRatio, (row.y + row.height - 2) * devicePixelRatio, 1, 1).data;
            if (`rgb(${{red}}, ${{green}}, ${{blue}})` === ink) lit[timeline.ranks[timeline.lanes[timeline.lane[slice]].rank].measured ? 'measured' : 'simulated'] += 1; }}
          return {{lit, selected, row: Number(document.querySelector('.clocks tr[aria-selected="true"]').dataset.instruction)}}; }})""")
        assert lit["row"] == lit["selected"] and lit["lit"]["simulated"] > 0 and lit["lit"]["measured"] > 0, lit
        assert "On both clocks" in page.text(".inspector"), page.text(".inspector")
        page.evaluate("(step => { step.value = '1'; step.dispatchEvent(new Event('change')); })(document.querySelector('#beside_step'))")
        page.wait("document.querySelector('#clocks_aligned').innerText.includes('step 1 are')", "the first step")
        page.evaluate("import('/app.js').then(({change}) => change({'train.microbatches': '2'}))")
        page.wait("document.querySelector('.clocks').hidden && document.querySelector('#beside_run').value === ''", "the run to leave with another plan")
        page.wait(f"{PICTURE}.then(({{timeline}}) => timeline.ranks.every(one => !one.measured))", "the plan alone")
        problems = [text for text in page.problems if "willReadFrequently" not in text]  # said of this check's own reading
        assert not problems, problems


def messages_stay_on_their_clock(binary, folder):
    """Every send of a measured rank arrives on the measured rank of the other stage with the same place along dp, those of a simulated one on a simulated one."""
    train(binary, folder / "traced")
    script = f"""Promise.all([{PICTURE}, import('/timeline_links.js')]).then(([{{timeline}}, {{links_of}}]) => {{ const wrong = []; let count = 0;
      const rank_of = slice => timeline.ranks[timeline.lanes[timeline.lane[slice]].rank];
      for (let slice = 0; slice < timeline.begin.length; ++slice) {{ const {{op}} = timeline.instructions[timeline.instruction[slice]]; if (op !== 'send') continue;
        const {{arrows}} = links_of(timeline, slice); if (arrows.length !== 1) {{ wrong.push([slice, arrows]); continue; }}
        const [from, to] = arrows[0].map(rank_of); count += 1;
        if (Boolean(from.measured) !== Boolean(to.measured) || Math.abs(from.rank - to.rank) !== 2) wrong.push([from, to]); }}
      return {{count, wrong: wrong.slice(0, 3)}}; }})"""
    with studio(binary, folder) as server, browser() as chromium:
        found = open_beside(chromium, server, "traced").evaluate(script)
        assert found["count"] >= 2 * 4 + 4 * 4 and not found["wrong"], found


def a_hostile_trace_is_a_sentence(binary, folder):
    train(binary, folder / "traced")
    (folder / "traced" / "trace.json").write_text("[" * 5000 + "\n" + json.dumps({"ph": "X", "cat": "kernel", "pid": -3, "ts": 0, "dur": 1, "args": {"step": 1}}))
    with studio(binary, folder) as server, browser() as chromium:
        page = open_beside(chromium, server, "traced")
        assert "no slice of trace.json" in page.text("#clocks_sentence"), page.text("#clocks_sentence")
        assert server.is_well()


CHECKS = [a_run_lies_below_its_simulation, a_row_lights_its_bars_on_both_clocks, messages_stay_on_their_clock, a_hostile_trace_is_a_sentence]
SAMPLE = [a_row_lights_its_bars_on_both_clocks]
