# SPDX-License-Identifier: Apache-2.0
"""Studio's lines and links in a real Chromium: from a bar to its line of the IR, the pass and the line of C++ and back; arrows of
messages, members of collectives."""
import pathlib

from browser_clocks import open_beside, train
from browser_plan import fragment
from browser_time import LARGE, LINE, PICTURE, open_time
from cdp import browser
from studio_server import studio

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RING = "llama3-8b 16x8192 bf16 dgx-h100 fsdp=4,cp=2 microbatches=2"
# A click on the first slice of the later half of the step that a condition on its instruction allows.
CLICK = """.then(picture => { const {timeline, rows} = picture; const allows = %s; const layer = document.querySelector('#timeline');
  Element.prototype.setPointerCapture = () => {};
  const slice = [...timeline.order].find(each => allows(timeline.instructions[timeline.instruction[each]]) && timeline.begin[each] > timeline.seconds / 2 && timeline.length[each] > 0);
  picture.set_window(timeline.begin[slice] - timeline.seconds / 20, timeline.begin[slice] + timeline.seconds / 20);
  const row = rows.find(one => one.lane === timeline.lane[slice]); const box = layer.getBoundingClientRect();
  const x = box.left + picture.x_of(timeline.begin[slice] + timeline.length[slice] / 2), y = box.top + row.y + row.height / 2;
  for (const type of ['pointerdown', 'pointerup']) layer.dispatchEvent(new PointerEvent(type, {clientX: x, clientY: y, pointerId: 1, bubbles: true}));
  return {slice, cursor: picture.cursor, instruction: timeline.instructions[picture.selected], ...picture.links}; })"""
# Instructions that are lit, with the source of their line.
LIT = f"""Promise.all([{PICTURE}, import('/source_lines.js')]).then(async ([picture, lines]) => {{ const ir = await lines.ask_ir();
  const of = index => ir[picture.timeline.instructions[index].line]; const all = [...picture.timeline.instructions.keys()];
  return {{lit: [...picture.lit].sort((a, b) => a - b), sources: all.map(index => of(index).source ?? ''), names: all.map(index => of(index).names), classes: all.map(index => of(index).class), text: picture.lit_text}}; }})"""


def click(page, condition):
    found = page.evaluate(PICTURE + CLICK % condition)
    assert found["slice"] == found["cursor"], found
    return found


def press(page, key):
    page.evaluate(f"document.querySelector('#timeline').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))")


def a_bar_leads_to_its_line_of_the_model_and_back(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server)
        click(page, "one => one.op === 'all_reduce' && one.axes === 'tp'")
        shown = page.wait("document.querySelector('#source_line code')?.innerText", "the line of C++")
        source = page.text(".inspector h3 span")
        file, _, line = source.rpartition(":")
        assert shown.strip() == (ROOT / file).read_text().splitlines()[int(line) - 1].strip(), (source, shown)
        assert page.text("#made_by") == "Made by the pass localize, changed by overlap."
        page.evaluate("document.querySelector('#source_line').click()")
        page.wait("document.querySelector('.lit_text')?.innerText", "what is lit")
        found = page.evaluate(LIT)
        assert found["lit"] == [index for index, each in enumerate(found["sources"]) if each == source] and len(found["lit"]) > 3, found
        assert f"{source}: {len(found['lit'])} instructions" in page.text(".lit_text"), page.text(".lit_text")
        page.wait(f"document.querySelector('#live').innerText.startsWith('{source}')", "what is said of it")
        page.evaluate("document.querySelector('#made_by button').click()")
        page.wait("document.querySelector('#pass_localize')?.getAttribute('aria-current') === 'true'", "the pass on the map")
        assert not page.problems, page.problems


def every_instruction_comes_from_a_line_of_a_model(binary, _):
    with studio(binary) as server, browser() as chromium:
        for line in (LINE, RING, "tiny-moe 16x128 fp32 laptop dp=2,ep=2"):
            page = open_time(chromium, server, line)
            sources = page.evaluate(LIT)["sources"]
            assert sources and all(source.startswith("src/models/") for source in sources), (line, sources)


def a_line_of_the_map_goes_to_its_bars(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = chromium.open(f"{server.address}&map/{fragment(LINE)}")
        page.wait("document.querySelector('#pass_model') !== null", "the passes")
        page.evaluate("document.querySelector('#pass_model').click()")
        page.wait("document.querySelector('#pass_model').getAttribute('aria-current') === 'true' && document.querySelectorAll('button.ir_line').length > 20", "the model")
        row = page.evaluate("[...document.querySelectorAll('button.ir_line')].find(one => one.innerText.includes('%rms_norm:')).innerText")
        assert "llama.cpp:" in row, row
        page.evaluate("[...document.querySelectorAll('button.ir_line')].find(one => one.innerText.includes('%rms_norm:')).click()")
        page.wait("document.querySelector('.lit_text')?.innerText.startsWith('%rms_norm')", "its bars")
        found = page.evaluate(LIT)
        assert found["lit"] and all("rms_norm" in found["names"][index] and found["classes"][index] == "layer" for index in found["lit"]), found
        assert page.text(".inspector h2") == "rms_norm"
        assert not page.problems, page.problems


def messages_have_an_arrow_to_where_they_arrive(binary, _):
    """All of them lead to a receive of the same microbatch on the next or the previous stage, and from there back."""
    every = """.then(picture => import('/timeline_links.js').then(({links_of, other_end}) => { const {timeline} = picture; const wrong = []; let sends = 0;
      const of = slice => timeline.instructions[timeline.instruction[slice]], rank = slice => timeline.lanes[timeline.lane[slice]].rank;
      for (const slice of timeline.order) { if (of(slice).op !== 'send') continue; sends += 1; const other = other_end(timeline, slice);
        const arrives = timeline.begin[other] + timeline.length[other]; const way = of(slice).routine === 'stream_out' ? 1 : -1;
        if (other < 0 || of(other).op !== 'recv' || rank(other) !== rank(slice) + way || timeline.microbatch[other] !== timeline.microbatch[slice] || arrives < timeline.begin[slice] ||
            other_end(timeline, other) !== slice) wrong.push([slice, other]); }
      return {sends, wrong}; }))"""
    pixels = """.then(picture => import('/timeline_arrows.js').then(({box_of}) => { picture.draw(); const [begin, end] = picture.links.arrows[0];
      const [from, to] = [box_of(picture, begin), box_of(picture, end)]; const ratio = devicePixelRatio, context = picture.canvas.getContext('2d');
      const down = to.y > from.y; const y = down ? to.y - 4 : to.y + to.height + 4;
      const pixel = [...context.getImageData(Math.round(to.right * ratio), Math.round(y * ratio), 1, 1).data].slice(0, 3);
      return [`rgb(${pixel.join(', ')})`, picture.colours.accent]; }))"""
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server)
        found = page.evaluate(PICTURE + every)
        assert found["sends"] == 2 * 3 * 8 and not found["wrong"], found
        clicked = click(page, "one => one.op === 'send' && one.routine === 'gradient_out'")
        assert len(clicked["arrows"]) == 1 and len(clicked["bars"]) == 4, clicked
        drawn, accent = page.evaluate(PICTURE + pixels)
        assert drawn == accent, (drawn, accent)
        page.wait("/sent by rank [\\d,]+ to rank [\\d,]+/.test(document.querySelector('#live').innerText)", "who sends to whom")
        seen = []  # the key goes round the four bars, and says what each is
        for _ in range(4):
            press(page, "g")
            seen.append(page.evaluate(f"{PICTURE}.then(picture => picture.cursor)"))
        assert sorted(seen) == sorted(clicked["bars"]) and seen[-1] == clicked["slice"], (seen, clicked)
        assert len(page.evaluate("[...document.querySelectorAll('.linked_bars button')].map(one => one.innerText)")) == 3
        assert not page.problems, page.problems


def members_of_a_collective_are_lit_together(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server)
        clicked = click(page, "one => one.crosses && one.axes === 'pp+fsdp+tp'")
        ends = page.evaluate(f"{PICTURE}.then(({{timeline, links}}) => links.bars.map(slice => [timeline.lanes[timeline.lane[slice]].rank, timeline.begin[slice] + timeline.length[slice]]))")
        assert sorted(rank for rank, _ in ends) == [0, 1, 2, 3], ends
        assert max(end for _, end in ends) - min(end for _, end in ends) < 1e-4, ends
        assert clicked["sentence"] == "64 ranks along pp+fsdp+tp take part (0 to 63), in 4 lanes", clicked
        started = click(page, "one => one.kind === 'transfer' && one.axes === 'tp'")
        assert len(started["bars"]) == 2 and len(started["arrows"]) == 1, started  # its start and its wait
        page = open_time(chromium, server, RING)
        ring = click(page, "one => one.op === 'shift'")
        assert len(ring["bars"]) == 2 and "each of 2 ranks along cp sends to the next" in ring["sentence"], ring
        assert not page.problems, page.problems


def measured_ranks_meet_each_other(binary, folder):
    """Of a run's trace every rank has lanes: two stages of a message, and all ranks of a group, never those of the simulation."""
    links = """.then(picture => import('/timeline_links.js').then(({links_of}) => { const {timeline} = picture;
      const of = slice => timeline.instructions[timeline.instruction[slice]], rank = slice => timeline.ranks[timeline.lanes[timeline.lane[slice]].rank];
      const found = allows => { const slice = [...timeline.order].find(each => rank(each).measured && rank(each).rank === 3 && allows(of(each)));
        return links_of(timeline, slice).bars.map(each => [rank(each).rank, Boolean(rank(each).measured), of(each).op]); };
      return {message: found(one => one.op === 'send'), group: found(one => one.axes === 'dp' && one.kind === 'transfer')}; }))"""
    train(binary, folder / "traced")
    with studio(binary, folder) as server, browser() as chromium:
        page = open_beside(chromium, server, "traced")
        found = page.evaluate(PICTURE + links)
        assert all(measured for bars in found.values() for _, measured, _ in bars), found
        assert {rank for rank, _, _ in found["message"]} == {1, 3}, found
        assert {rank for rank, _, _ in found["group"]} == {2, 3}, found
        assert not page.problems, page.problems


def sixteen_thousand_ranks_take_part(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_time(chromium, server, LARGE)
        clicked = click(page, "one => one.crosses && (one.axes ?? '').startsWith('pp+')")
        assert len(clicked["bars"]) == 16 and "2,048 ranks" in clicked["sentence"], clicked
        assert len(click(page, "one => one.op === 'send'")["arrows"]) == 1  # of the selection alone


CHECKS = [a_bar_leads_to_its_line_of_the_model_and_back, every_instruction_comes_from_a_line_of_a_model, a_line_of_the_map_goes_to_its_bars,
          messages_have_an_arrow_to_where_they_arrive, members_of_a_collective_are_lit_together, measured_ranks_meet_each_other, sixteen_thousand_ranks_take_part]
SAMPLE = [a_bar_leads_to_its_line_of_the_model_and_back]
