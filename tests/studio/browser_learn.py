# SPDX-License-Identifier: Apache-2.0
"""Lessons in a real Chromium: each walks to its end forth and back, its counters end at the formulas' numbers, its stops and
questions say what the program says, and what breaks it is caught."""
import json
import re
import subprocess

from cdp import browser
from studio_server import studio

MOST_CLICKS = 260  # moments of a lesson that is walked one by one


def open_lesson(chromium, server, name, width=1280):
    page = chromium.open(f"{server.page}#token={server.token}&learn:{name}", width)
    page.wait("document.querySelectorAll('.rank_card').length > 0", f"the ranks of {name}")
    return page


def choose(page, name):
    page.evaluate(f"document.querySelector('[data-lesson={json.dumps(name)}]').click()")
    page.wait(f"import('/learn_screen.js').then(screen => screen.lesson_walk()?.lesson.name === {json.dumps(name)})", name)


def told(page, script):
    """A value of the lesson that is played, `walk`."""
    return page.evaluate(f"import('/learn_screen.js').then(screen => {{ const walk = screen.lesson_walk(); return {script}; }})")


def names(server):
    return [lesson["name"] for lesson in server.ask("lessons").json()["lessons"]]


def walk_through(page):
    """By the button Next where that is soon done, else from collective to collective and microbatch to microbatch."""
    last = told(page, "walk.last")
    if last < MOST_CLICKS:
        page.evaluate(f"for (let i = 0; i < {last}; i += 1) document.querySelector('#step_next').click()")
    else:
        page.evaluate("for (const id of ['collective', 'microbatch']) for (let at = -1; ; ) { const now = document.querySelector('#lesson_moment').value;"
                      "if (now === at) break; at = now; document.querySelector(`#step_${id}`).click(); }")
        page.evaluate("document.querySelector('#step_next').focus()")
        page.press("End")
    assert told(page, "walk.moment") == last
    assert page.text("#lesson_counter") == f"moment {last + 1:,} of {last + 1:,}", page.text("#lesson_counter")


def check_end(page, lesson):
    """Counters of the columns and figures of the table against the answer's own."""
    sent = [int(text.replace(",", "")) for text in page.evaluate("[...document.querySelectorAll('.rank_sent')].map(e => e.textContent)")]
    totals = told(page, "walk.lesson.programs.map((_, index) => walk.sent_by(index, walk.last))")
    shown = told(page, "[...document.querySelectorAll('.rank_card')].length")
    assert len(sent) == shown and set(sent) == {round(total) for total in totals}, (lesson, sent, totals)
    over = told(page, "walk.lesson.programs.filter((program, index) => walk.lesson.moments.some((_, moment) => walk.memory(index, moment) > program.peak_bytes)).length")
    assert over == 0, (lesson, "more memory than is planned")
    rows = page.evaluate("[...document.querySelectorAll('.lesson_formulas tbody tr')].map(row => ['.by_formula', '.by_program'].map(c => row.querySelector(c).textContent))")
    formulas = told(page, "walk.lesson.formulas")
    assert len(rows) == len(formulas) > 0
    for (formula, program), answer in zip(rows, formulas):
        assert formula == program, (lesson, answer["what"], formula, program)
        assert abs(answer["formula"] - answer["program"]) < 1e-9, answer
        if answer["what"] == "bytes that a rank sends":
            assert round(answer["formula"]) == sent[0], (lesson, answer, sent)


def walk_lessons(binary, wanted):
    with studio(binary) as server, browser() as chromium:
        page = open_lesson(chromium, server, "data")
        for name in wanted or names(server):
            choose(page, name)
            walk_through(page)
            check_end(page, name)
            page.evaluate("document.querySelector('#step_back').focus()")
            before = told(page, "walk.moment")
            page.press("ArrowLeft")
            assert told(page, "walk.moment") == before - 1
            page.press("Home")
            assert told(page, "walk.moment") == 0 and page.evaluate("document.querySelector('#lesson_moment').value") == "0"
        assert not page.problems, page.problems


def every_lesson_walks_to_its_end(binary, _):
    walk_lessons(binary, None)


def a_lesson_walks_to_its_end(binary, _):
    walk_lessons(binary, ["data", "1f1b"])


def stops_are_where_they_say(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_lesson(chromium, server, "data")
        for name in names(server):
            choose(page, name)
            for index, stop in enumerate(told(page, "walk.lesson.stops")):
                page.evaluate(f"document.querySelectorAll('.lesson_stops button')[{index}].click()")
                assert stop["sentence"] in page.text("#lesson_sentence"), (name, index)
                assert page.text("#lesson_sentence .stop_name").lower().startswith(stop["name"].lower().replace("_", " ")), (name, index)
                place = told(page, f"(() => {{ const place = walk.place({stop['program']}); return [place.class_name, place.call.routine, place.index,"
                                   "[...place.instruction.writes, ...place.instruction.reads].map(i => place.buffers[i].name)]; })()")
                assert place[:3] == [stop["class"], stop["routine"], stop["index"]] and stop["what"] in place[3], (name, stop, place)


def parts_of_all_ranks_tile_a_dim(binary, _):
    """At every stop of every lesson: what ranks hold of a split dim covers it, as often as there are copies."""
    script = """import('/learn_screen.js').then(async screen => { const { held_parts } = await import('/lesson_walk.js'); const walk = screen.lesson_walk();
      const wrong = []; let checked = 0;
      for (const stop of walk.lesson.stops) { const place = walk.place(stop.program, stop.moment);
        for (const index of [...place.instruction.reads, ...place.instruction.writes]) for (const dim of place.buffers[index].dims) { if (!dim.whole) continue;
          const cells = new Array(64).fill(0);
          for (const rank of walk.lesson.ranks.filter(one => one.program === stop.program)) for (const [from, to] of held_parts(walk.lesson, rank, dim))
            for (let cell = Math.round(from * 64); cell < Math.round(to * 64); cell += 1) cells[cell] += 1;
          checked += 1;
          if (new Set(cells).size !== 1 || cells[0] === 0) wrong.push([stop.what, place.buffers[index].name, dim, cells]); } }
      return [checked, wrong]; })"""
    with studio(binary) as server, browser() as chromium:
        page = open_lesson(chromium, server, "data")
        checked = 0
        for name in names(server):
            choose(page, name)
            count, wrong = page.evaluate(script)
            assert not wrong, (name, wrong[:2])
            checked += count
        assert checked > 50, checked


def guesses_are_judged_by_the_program(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_lesson(chromium, server, "data")
        for name in ("data", "zero2", "1f1b", "zb_v"):
            choose(page, name)
            guess = told(page, "walk.lesson.guesses[0]")
            scale = 100 if guess["unit"] == "share" else 1
            for value, word in ((guess["answer"] * scale * 2 + 10, "Less than that"), (f"{guess['answer'] * scale:,}", "Exactly")):
                page.evaluate("document.querySelector('#guess_0').value = ''; document.querySelector('#guess_0').focus()")
                page.type(str(value))
                page.press("Enter")
                page.wait(f"document.querySelector('.guess .reply').textContent.includes({json.dumps(word)})", f"{name}: {word}")


def break_lessons(binary, wanted):
    with studio(binary) as server, browser() as chromium:
        page = open_lesson(chromium, server, "data")
        caught = set()
        for name in wanted or names(server):
            choose(page, name)
            breaks = told(page, "walk.lesson.breaks")
            assert breaks, name
            for each in breaks:
                row = f"document.querySelector('#break_{each['name']}').closest('.break_row').querySelector('.reply')"
                page.evaluate(f"document.querySelector('#break_{each['name']}').click()")
                text = page.wait(f"(text => /static check|not equal/.test(text) && text)({row}.textContent)", f"{name}: {each['name']}")
                caught.add("static check" if "static check" in text else "verify")
        assert caught == {"static check", "verify"}, caught


def break_it_breaks(binary, _):
    break_lessons(binary, None)


def a_lesson_breaks(binary, _):
    break_lessons(binary, ["data"])


def the_command_opens_a_lesson(binary, _):
    with studio(binary, "--lesson", "ring") as server, browser() as chromium:
        assert server.address.endswith("&learn:ring"), server.address
        page = chromium.open(server.address)
        page.wait("document.querySelector('.lesson_heading h2')?.textContent.includes('ring')", "the lesson")
        assert server.token not in page.evaluate("location.href") and "learn:ring" in page.evaluate("location.hash")
        page.go(f"{server.page}#learn:no-such")
        page.wait("document.querySelector('.lesson_main [role=alert]').textContent.includes('there is no lesson no-such')", "a sentence")
    done = subprocess.run([str(binary), "studio", "--lesson", "rings"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and re.search("there is no lesson rings: did you mean ring", done.stderr), done


def the_keyboard_reaches_all_of_a_lesson(binary, _):
    """Tab alone comes to lessons, questions, steps, stops and breaks, each with a name; nothing is a trap."""
    with studio(binary) as server, browser() as chromium:
        page = open_lesson(chromium, server, "1f1b")
        page.evaluate("document.querySelector('#screen').focus()")
        reached = []
        for _ in range(120):
            page.press("Tab")
            reached.append(page.evaluate("(e => [e.id || e.dataset.lesson || e.className || e.tagName, (e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent || '').trim() !== ''])(document.activeElement)"))
            if reached[-1][0] in ("BODY", "skip"):
                break
        ids = [name for name, _ in reached]
        for wanted in ("ring", "guess_0", "step_next", "step_collective", "step_microbatch", "step_stop", "lesson_moment", "break_wait"):
            assert wanted in ids, (wanted, ids)
        assert ids[-1] in ("BODY", "skip"), ids
        assert all(named for name, named in reached if name not in ("BODY", "skip")), reached


def collectives_are_shown_as_the_command_prints_them(binary, _):
    printed = json.loads(subprocess.run([str(binary), "collectives", "--ranks", "4", "--json"], capture_output=True, text=True, check=True).stdout)
    with studio(binary) as server, browser() as chromium:
        page = open_lesson(chromium, server, "collectives")
        page.wait("document.querySelector('.collective_tables')", "the tables")
        shown = page.evaluate("[...document.querySelectorAll('.collective_tables li')].map(item => ({name: item.querySelector('b').textContent,"
                              " after: [...item.querySelectorAll('tr')].map(row => [...row.querySelectorAll('.is_after, .is_arrow ~ .is_none')].map(cell =>"
                              " cell.className === 'is_none' ? null : Number(cell.textContent)))}))")
        assert shown == [{"name": each["name"], "after": each["after"]} for each in printed["collectives"]], (shown, printed)
        choose(page, "data")
        assert page.evaluate("document.querySelector('#lesson_collectives').hidden")
        assert not page.problems, page.problems


CHECKS = [
    collectives_are_shown_as_the_command_prints_them,
    every_lesson_walks_to_its_end,
    stops_are_where_they_say,
    parts_of_all_ranks_tile_a_dim,
    guesses_are_judged_by_the_program,
    break_it_breaks,
    the_command_opens_a_lesson,
    the_keyboard_reaches_all_of_a_lesson,
]
SAMPLE = [a_lesson_walks_to_its_end, a_lesson_breaks, the_command_opens_a_lesson]
