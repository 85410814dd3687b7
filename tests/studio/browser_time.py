# SPDX-License-Identifier: Apache-2.0
"""Studio's Time and Map screens in a real Chromium: bars, pixels, lines of the IR, memory, pieces of tensors."""
from browser_plan import fragment
from cdp import browser
from studio_server import studio

LINE = "llama3-8b 512x8192 bf16 llama3-h100 pp=4,fsdp=8,tp=2 microbatches=8"
LARGE = "llama3-405b 2048x8192 bf16 llama3-h100 pp=16,dp=8,fsdp=16,tp=8 microbatches=16"
MOST_COLUMN_BYTES = 2_000_000
PICTURE = "import('/time_screen.js').then(({timeline_picture}) => timeline_picture())"
DRAWN = f"{PICTURE}.then(picture => Boolean(picture && picture.frame_milliseconds > 0))"


def open_time(chromium, server, line=LINE):
    page = chromium.open(f"{server.address}&time/{fragment(line)}")
    page.wait(DRAWN, "a timeline")
    page.settle(0.5)
    return page


def pixels_show_what_the_columns_say(binary, _):
    """Every eleventh pixel of every lane, against a sum over all slices; where two kinds cover about the same, either will do."""
    script = """.then(picture => { const {timeline, canvas, rows, start, stop, width} = picture; picture.draw();
      const context = canvas.getContext('2d'); const wrong = []; let looked = 0;
      for (const row of rows) { if (!picture.shown.includes(row)) continue;
        const own = [...timeline.order.subarray(timeline.lane_start[row.lane], timeline.lane_start[row.lane + 1])];
        for (let x = 3; x < width - 3; x += 11) { const per = (stop - start) / width, from = start + x * per, to = from + per; const cover = {};
          for (const slice of own) { const part = Math.min(to, timeline.begin[slice] + timeline.length[slice]) - Math.max(from, timeline.begin[slice]);
            if (part > 0) { const code = picture.view.code(slice); cover[code] = (cover[code] ?? 0) + part / per; } }
          const most = Math.max(0, ...Object.values(cover)); const sum = Object.values(cover).reduce((a, b) => a + b, 0);
          if (sum < 0.2) continue;
          const [red, green, blue] = context.getImageData(164 + x, row.y + 1, 1, 1).data; looked += 1;
          const allowed = Object.entries(cover).filter(([, part]) => part > most - 0.25).map(([code]) => picture.colour_of(Number(code)));
          if (!allowed.concat(picture.colours.panel).includes(`rgb(${red}, ${green}, ${blue})`)) wrong.push([row.lane, x, [red, green, blue], cover]); } }
      return {looked, wrong: wrong.slice(0, 5), count: wrong.length}; })"""
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server)
        for view in ("pipeline", "kind", "block", "bound"):
            page.evaluate(f"document.querySelector('#view_{view}').click()")
            found = page.evaluate(PICTURE + script)
            assert found["looked"] > 300 and found["count"] <= found["looked"] // 100, (view, found)


def a_bar_leads_to_its_line_and_back(binary, _):
    click = """.then(async picture => { const {timeline} = picture; const layer = document.querySelector('#timeline'); const box = layer.getBoundingClientRect();
      const kernels = picture.rows[0]; const bars = timeline.order.subarray(timeline.lane_start[kernels.lane], timeline.lane_start[kernels.lane + 1]);
      const slice = [...bars].reduce((a, b) => timeline.length[b] > timeline.length[a] ? b : a);
      const x = picture.x_of(timeline.begin[slice] + timeline.length[slice] / 2);
      for (const type of ['pointerdown', 'pointerup']) layer.dispatchEvent(new PointerEvent(type, {clientX: box.left + x, clientY: box.top + kernels.y + 8, pointerId: 1, bubbles: true}));
      return {slice, instruction: timeline.instructions[timeline.instruction[slice]]}; })"""
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server)
        page.evaluate("Element.prototype.setPointerCapture = () => {}")
        told = page.evaluate(PICTURE + click)["instruction"]
        assert page.text(".inspector h2") == told["op"], (page.text(".inspector"), told)
        line = page.wait("document.querySelector('.ir .is_here')?.innerText ?? ''", "its line")
        assert f"%{told['name']}" in line or told["kind"] == "wait", (line, told)
        assert line.split()[0] == str(told["line"] + 1)
        page.evaluate("document.querySelector('.ir .is_here').click()")
        assert page.text(".inspector h2") == told["op"]
        before = page.evaluate("import('/app.js').then(({app}) => app.selection)")
        page.evaluate("document.querySelector('#timeline').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
        after = page.evaluate("import('/app.js').then(({app}) => app.selection)")
        assert after["time"] > before["time"], (before, after)
        assert not page.problems, page.problems


def the_fullest_moment_is_the_peak_of_the_verdict(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server)
        page.evaluate("[...document.querySelectorAll('.time_bar button')].find(button => button.innerText === 'Memory peak').click()")
        page.wait("document.querySelector('.inspector h2').innerText === 'Memory at the peak'", "the peak")
        told = page.evaluate("import('/app.js').then(({app}) => import('/ask.js').then(({ask}) => ask('memory_at', {run: app.run}).then(memory => [memory.all_bytes, app.verdict.peak_bytes])))")
        assert told[0] == told[1], told


def a_wait_begins_with_a_sentence_and_leads_to_its_lesson(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server)
        page.evaluate("[...document.querySelectorAll('.time_bar button')].find(button => button.innerText === 'Pipeline fill').click()")
        told = page.text(".inspector .wait_text")
        assert told.startswith("Idle ") and "waits for the activations of microbatch 0 from stage 2" in told and "Pipeline fill" in told, told
        assert "B/s" not in page.text(".inspector .facts"), page.text(".inspector .facts")
        drain = page.evaluate(PICTURE + """.then(picture => import('/timeline_waits.js').then(({wait_view}) => { const {timeline} = picture;
          const lane = timeline.lanes.findIndex(one => one.rank === 0 && one.name === 'kernels');
          const waits = [...timeline.order.subarray(timeline.lane_start[lane], timeline.lane_start[lane + 1])].filter(slice => timeline.length[slice] > 0);
          return waits.map(slice => wait_view(timeline, slice).map(one => one.innerText).join(' ')).filter(text => text.includes('stage 1')); }))""")
        assert "gradient of microbatch 0" in drain[0] and "Pipeline fill" in drain[0], drain
        assert "gradient of microbatch 7" in drain[-1] and "Pipeline drain" in drain[-1], drain
        page.evaluate("[...document.querySelectorAll('.inspector .link')].find(button => button.innerText.startsWith('Lesson')).click()")
        page.wait("document.querySelector('[data-lesson=\"1f1b\"]')?.getAttribute('aria-current') === 'page'", "the lesson of 1F1B")
        assert not page.problems, page.problems


def transfers_of_time_are_the_traffic_of_plan(binary, _):
    script = """.then(picture => Promise.all([import('/inspector.js'), import('/app.js')]).then(([{summary_rows}, {app}]) => {
      const place = picture.timeline.ranks.findIndex(one => one.rank === app.verdict.collectives_rank);
      const own = Object.fromEntries(summary_rows(picture.timeline, place).filter(row => row.kind === 'transfer').map(row => [`${row.op} ${row.detail}`, row.seconds]));
      return app.verdict.collectives.filter(row => row.seconds > 0).map(row => [`${row.op} ${row.axes}, in ${row.routine}`, row.seconds, own[`${row.op} ${row.axes}, in ${row.routine}`] ?? -1]); }))"""
    with studio(binary) as server, browser() as chromium:
        rows = open_time(chromium, server).evaluate(PICTURE + script)
        assert len(rows) > 4 and all(abs(plan - time) < 1e-3 * plan for _, plan, time in rows), rows


def sixteen_thousand_ranks_are_drawn(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server, LARGE)
        found = page.evaluate(f"{PICTURE}.then(({{timeline}}) => ({{bytes: timeline.bytes, ranks: timeline.ranks.reduce((sum, one) => sum + one.alike, 0), slices: timeline.begin.length}}))")
        assert found["bytes"] <= MOST_COLUMN_BYTES and found["ranks"] == 16384 and found["slices"] > 100_000, found


def pieces_of_all_ranks_tile_each_tensor(binary, _):
    script = """Promise.all([import('/ask.js'), import('/app.js'), import('/held_pieces.js')]).then(async ([{ask}, {app}, held]) => {
      const list = await ask('placements', {run: app.run}); const wrong = [];
      for (let i = 0; i < list.tensors.length; i += 97) { const told = await ask('placements', {run: app.run, tensor: list.tensors[i].name});
        for (const [when, pieces] of [['in use', held.pieces_in_use(told)], ['at rest', held.pieces_at_rest(told, 'at_rest')]]) {
          const area = pieces.reduce((sum, piece) => sum + piece.rects.reduce((all, r) => all + r.width * r.height, 0), 0);
          if (Math.abs(area - 1) > 1e-6) wrong.push([told.tensor.name, when, area]); } }
      return wrong; })"""
    with studio(binary) as server, browser() as chromium:
        page = chromium.open(f"{server.address}&map/{fragment(LINE)}")
        page.wait("document.querySelector('.tensor_picture .piece') !== null", "a tensor")
        assert page.evaluate(script) == []
        page.evaluate("document.querySelector('#mesh_grid').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
        assert "Rank 1 holds" in page.text(".tensor_box"), page.text(".tensor_box")
        page.evaluate("document.querySelector('#pass_overlap').click()")
        page.wait("document.querySelector('.ir_text .is_added') !== null && document.querySelector('#pass_overlap').getAttribute('aria-current') === 'true'", "what overlap changes")
        assert not page.problems, page.problems


CHECKS = [pixels_show_what_the_columns_say, a_bar_leads_to_its_line_and_back, the_fullest_moment_is_the_peak_of_the_verdict,
          a_wait_begins_with_a_sentence_and_leads_to_its_lesson, transfers_of_time_are_the_traffic_of_plan, sixteen_thousand_ranks_are_drawn, pieces_of_all_ranks_tile_each_tensor]
SAMPLE = [a_bar_leads_to_its_line_and_back]
