# SPDX-License-Identifier: Apache-2.0
"""Studio's Plan screen in a real Chromium: the ruler by buttons, keys and dragging, prices, refusals, search, links, layout."""
import json
import subprocess

from cdp import browser
from studio_server import studio

LINE = "document.querySelector('#line').value"
START = "llama3-8b 512x8192 bf16 llama3-h100 pp=4,fsdp=8,tp=2 microbatches=32"
DRAG = """(() => {{ const data = new DataTransfer();
  document.querySelector('#axis_{0} .tile').dispatchEvent(new DragEvent('dragstart', {{dataTransfer: data, bubbles: true}}));
  document.querySelector('#axis_{1}').dispatchEvent(new DragEvent('dragover', {{dataTransfer: data, bubbles: true, cancelable: true}}));
  document.querySelector('#axis_{1}').dispatchEvent(new DragEvent('drop', {{dataTransfer: data, bubbles: true, cancelable: true}})); }})()"""
SETTLED = "import('/app.js').then(({app}) => !app.pending && app.verdict && app.verdict.mesh === (app.run.set.mesh ?? ''))"


def fragment(line):
    return line.replace("+", "%2B").replace(" ", "+")


def open_plan(chromium, server, line=START, **size):
    page = chromium.open(f"{server.address}&{fragment(line)}", **size)
    page.wait("document.querySelector('#axis_tp') && document.querySelector('#verdict').innerText.includes('MFU')", "a verdict")
    return page


def buttons_keys_and_dragging_give_the_same_state(binary, _):
    wanted = START.replace("fsdp=8,tp=2", "fsdp=4,tp=4")
    acts = ["document.querySelector('#tp_up').click()", DRAG.format("fsdp", "tp"),
            "for (let i = 0; i < 3; ++i) { const axes = ['fsdp', 'ep', 'cp'];"
            "document.querySelector(`#axis_${axes[i]} .tile`).dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})); }"]
    with studio(binary) as server, browser() as chromium:
        for act in acts:
            page = open_plan(chromium, server)
            page.evaluate(act)
            assert page.evaluate(LINE) == wanted, (act, page.evaluate(LINE))
            assert page.evaluate("decodeURIComponent(location.hash).replaceAll('+', ' ').slice(1)") == wanted
            assert not page.problems, page.problems


def handles_have_prices_and_refusals_the_compilers_sentence(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_plan(chromium, server, "llama3-8b 480x8192 bf16 llama3-h100 fsdp=12,tp=2")
        price = page.wait("document.querySelector('#tp_down').getAttribute('aria-label').includes('GB') && document.querySelector('#tp_down').getAttribute('aria-label')", "a price")
        assert " s" in price, price
        page = open_plan(chromium, server, "llama3-8b 480x8192 bf16 llama3-h100 fsdp=3,tp=2")
        page.wait("document.querySelector('#tp_up.is_illegal') !== null", "a refusal")
        refused = subprocess.run([str(binary), "simulate", "--cluster", "llama3-h100", "--model", "llama3-8b", "--batch", "480", "--seq", "8192", "--mesh", "tp=6"],
                                 capture_output=True, text=True, check=False).stderr
        sentence = page.evaluate("document.querySelector('#tp_up').getAttribute('aria-label')").split(": ", 1)[1]
        assert sentence in refused, (sentence, refused)
        page.evaluate("document.querySelector('#tp_up').click()")
        assert sentence in page.text(".reason")
        assert page.evaluate(LINE).endswith("fsdp=3,tp=2")
        page = open_plan(chromium, server, "llama3-8b 480x8192 bf16 llama3-h100 fsdp=2,tp=8 zero=1")
        page.wait("document.querySelector('#tp_up.is_illegal') !== null", "another refusal")
        title = page.evaluate("document.querySelector('#tp_up').title")
        assert "plan.zero = 1" in title and "tp=16 would also leave the node of 8 ranks" in title, title


def ten_fast_moves_leave_the_last_answer(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_plan(chromium, server)
        page.evaluate("for (let i = 0; i < 5; ++i) { document.querySelector('#tp_up').click(); document.querySelector('#tp_down').click(); }"
                      "document.querySelector('#pp_down').click()")
        page.wait(SETTLED, "the last answer")
        page.settle(1)
        assert page.evaluate(SETTLED)
        assert page.evaluate("import('/app.js').then(({app}) => app.verdict.mesh)") == "pp=2,fsdp=16,tp=2"
        assert not page.problems, page.problems


def a_mistake_in_the_line_is_a_sentence(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_plan(chromium, server)
        page.evaluate("const line = document.querySelector('#line'); line.value = 'llama3-8b 7x8192 llama3-h100 fsdp=64'; line.dispatchEvent(new Event('input')); 0")
        page.wait("document.querySelector('#note.is_error') !== null", "an error")
        assert "train.batch" in page.text("#note"), page.text("#note")


def a_long_line_has_a_row_of_its_own(binary, _):
    with studio(binary) as server, browser() as chromium:
        line = f"{START} zero=1 recompute=block sequence_parallel=true memory=80000000000B"
        for text, long in ((START, False), (line, True)):
            page = open_plan(chromium, server, text)
            assert page.evaluate("document.querySelector('.state').classList.contains('is_long')") == long, text
            assert page.evaluate("document.querySelector('#line').title").startswith(text)
            assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('#line'))"), text


def an_unknown_cluster_has_no_verdict(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_plan(chromium, server)
        page.evaluate("const line = document.querySelector('#line'); line.value = 'llama3-8b 512x8192 no-such fsdp=64'; line.dispatchEvent(new Event('input')); 0")
        page.wait("document.querySelector('#note.is_error') !== null", "an error")
        assert page.text("#verdict") == "", page.text("#verdict")
        assert page.evaluate("document.querySelector('[aria-label=Cluster]').selectedOptions[0].textContent") == "no-such (unknown)"


def what_does_not_fit_says_why_and_finds_what_fits(binary, _):
    """The largest kind of bytes and the samples of a microbatch; the price of speed is another sentence; the button searches."""
    line = "llama3-8b 512x8192 bf16 llama3-h100 tp=16 microbatches=64"
    with studio(binary) as server, browser() as chromium:
        page = open_plan(chromium, server, line)
        page.wait("document.querySelector('#note').innerText.includes('recompute = fit')", "what would help")
        memory, speed = page.evaluate("[...document.querySelectorAll('#note .warning')].map(e => e.textContent)")
        bytes_of = page.evaluate("import('/app.js').then(({app}) => app.verdict.stages[0].bytes)")
        kind = max(bytes_of, key=bytes_of.get)
        assert memory.startswith(f"memory {kind} take {bytes_of[kind] / 1e9:.1f} GB of the ") and "a microbatch has 8 samples of 8192 tokens" in memory, memory
        assert "512 of 1 sample" in memory and "recompute = fit" in memory and "zero" not in memory, memory
        assert speed.startswith("speed tp=16 spans more than the node"), speed
        page.evaluate("document.querySelector('#find_plan').click()")
        page.wait("document.querySelector('.plans .link') !== null", "the first plans, while it searches")
        page.wait("document.querySelector('#search_start').getBoundingClientRect().bottom < innerHeight", "the search in sight")
        assert page.evaluate("document.querySelector('#search_start').textContent") == "Stop"
        page.wait("/tried, [1-9][0-9]* fit/.test(document.querySelector('.search_head').innerText)", "how far it is")
        page.evaluate("document.querySelector('#search_start').click()")
        page.wait("document.querySelector('.search_head').innerText.includes('stopped')", "the end")
        assert not page.problems, page.problems


def the_search_streams_and_its_plan_loads(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_plan(chromium, server, "tiny 16x128 fp32 laptop dp=2")
        page.evaluate("document.querySelector('#search_start').click()")
        page.wait("document.querySelector('.plans .link') !== null", "plans")
        page.wait("document.querySelector('.why').innerText.includes('Why not')", "why not this plan")
        plan, row = page.text(".plans .link"), page.text(".plans tbody td:last-child")
        page.evaluate("document.querySelector('.plans .link').click()")
        page.wait(SETTLED, "its verdict")
        loaded = page.evaluate("import('/app.js').then(({app}) => import('/state.js').then(({short_key}) => Object.keys(app.run.set).filter(key => key.startsWith('plan.')).map(short_key)))")
        assert loaded and all(f"{key}=" in row for key in [*loaded, "microbatches"]), (loaded, row)
        printed = json.loads(subprocess.run([str(binary), "plan", "--model", "tiny", "--ranks", "2", "--batch", "16", "--seq", "128", "--precision", "fp32", "--json"],
                                            capture_output=True, text=True, check=True).stdout)
        assert plan == printed["results"][0]["plan"]
        page.wait("document.querySelector('.why').innerText === 'This is the best plan found.'", "that it is the best")
        tried = printed["simulated"] + printed["dropped"]["planned_memory"] + printed["dropped"]["refused"]
        assert f"{tried} plans tried, {printed['simulated']} fit" in page.text(".search_head"), (printed["simulated"], page.text(".search_head"))
        assert page.evaluate("import('/app.js').then(({app}) => app.verdict.step_seconds)") == printed["results"][0]["step_seconds"]


def the_costliest_collective_is_the_first_row(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_plan(chromium, server)
        told = page.evaluate("import('/app.js').then(({app}) => app.verdict.collectives)")
        first = page.evaluate("document.querySelector('#traffic tbody tr').innerText")
        most = max(told, key=lambda row: (row["exposed_seconds"], row["seconds"]))
        assert all(most[key] in first for key in ("op", "axes", "routine")), (first, most)
        assert "hidden calls" in page.text("#traffic thead"), page.text("#traffic")


def nothing_overlaps_and_nothing_is_cut_off(binary, _):
    """At both widths, on every screen: no page is wider than its window, and no control lies on another."""
    script = """(() => { const boxes = [...document.querySelectorAll('button, input, select, summary')].filter(e => e.offsetParent && !e.closest('details:not([open]) > :not(summary)'))
      .map(e => [e.id || e.textContent || e.className, (e.type === 'checkbox' ? e.parentElement : e).getBoundingClientRect()]).filter(([, r]) => r.width > 0);
      const small = boxes.filter(([name, r]) => r.height < 24 || r.width < 24).map(([name]) => name);
      const over = []; for (let i = 0; i < boxes.length; ++i) for (let j = i + 1; j < boxes.length; ++j) { const [a, b] = [boxes[i][1], boxes[j][1]];
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) over.push([boxes[i][0], boxes[j][0]]); }
      return {over, small, wide: document.documentElement.scrollWidth > innerWidth}; })()"""
    with studio(binary) as server, browser() as chromium:
        for width in (1280, 1920):
            for screen in ("plan", "map", "time", "run"):
                page = chromium.open(f"{server.address}&{screen}/{fragment(START)}", width=width, height=1000)
                page.wait("document.querySelector('#verdict').innerText.includes('MFU')", "a verdict")
                page.settle(0.5)
                page.evaluate("scrollTo(0, 0)")
                found = page.evaluate(script)
                sticky = [pair for pair in found["over"] if "line" not in pair]
                assert not sticky and not found["wide"] and not found["small"], (width, screen, found)
                assert not page.problems, page.problems


CHECKS = [buttons_keys_and_dragging_give_the_same_state, handles_have_prices_and_refusals_the_compilers_sentence, ten_fast_moves_leave_the_last_answer,
          a_mistake_in_the_line_is_a_sentence, a_long_line_has_a_row_of_its_own, an_unknown_cluster_has_no_verdict, what_does_not_fit_says_why_and_finds_what_fits,
          the_search_streams_and_its_plan_loads, the_costliest_collective_is_the_first_row, nothing_overlaps_and_nothing_is_cut_off]
SAMPLE = [buttons_keys_and_dragging_give_the_same_state]
