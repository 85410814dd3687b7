# SPDX-License-Identifier: Apache-2.0
"""Studio's Run screen with --allow-runs in a real Chromium: a run is started by its form, a rank is killed and comes back with the
same bits, a run is stopped and resumed, text is written and stopped within a token; without the flag there is none of it."""
import json

from cdp import browser
from runs import runs_of
from started import error, losses, wait_for_state, weights
from studio_server import studio

STATE = "(document.querySelector('#run_state')?.innerText ?? '')"
SAID = "document.querySelector('.run_said').innerText"
STEPS = "import('/run_screen.js').then(({opened_run}) => opened_run().step)"
SMALL = {"steps": 240, "save_every": 20, "batch": 8, "seq": 64}


def open_page(chromium, server, **size):
    page = chromium.open(f"{server.address}&run/tiny", **size)
    page.wait("document.querySelector('#run_start') !== null", "the screen")
    return page


def fill_in(page, values):
    for key, value in values.items():
        page.evaluate(f"(field => {{ field.value = {json.dumps(str(value))}; field.dispatchEvent(new Event('change')); }})(document.querySelector('#start_{key}'))")


def start(page, name, **values):
    page.wait("!document.querySelector('#run_start').hidden", "the button")
    page.click("#run_start")
    page.wait("document.querySelector('#start_go') !== null", "the form")
    fill_in(page, {"mesh": "dp=2", **SMALL, **values, "name": name})
    page.click("#start_go")
    page.wait(f"!document.querySelector('#start_go') && document.querySelector('.run_title h2')?.innerText === {json.dumps(name)}", f"the page of {name}")


def wait_for_steps(page, count):
    page.wait(f"{STEPS}.then(steps => (steps.at(-1) ?? 0) >= {count})", f"step {count}")


def a_killed_rank_comes_back_with_the_same_bits(binary, folder):
    with studio(binary, folder, "--allow-runs") as server, browser() as chromium:
        page = open_page(chromium, server)
        start(page, "whole")
        page.wait(f"{STATE} === 'finished'", "the end of the first")
        start(page, "killed")
        wait_for_steps(page, 25)
        page.evaluate("(field => { field.value = '1'; field.dispatchEvent(new Event('change')); })(document.querySelector('#kill_rank'))")
        page.click("#run_kill")
        page.wait(f"{SAID}.includes('killed rank 1')", "the page to say so")
        page.wait("document.querySelector('.run_events').innerText.match(/rank 1 was killed after step \\d+; resumed from step \\d+: \\d+ steps? computed again, [\\d.]+ m?s lost/)", "the failure and what it cost")
        page.wait("document.querySelector('.run_tolds').textContent.includes('supervisor: restart 1')", "the supervisor's word")
        page.wait(f"{STATE} === 'finished'", "the end of the second")
        page.wait(f"{STEPS}.then(steps => steps.length === 240 && steps.at(-1) === 240)", "every step once")
        whole = runs_of(server)["whole"]["id"]
        page.evaluate(f"(field => {{ field.value = '{whole}'; field.dispatchEvent(new Event('change')); }})(document.querySelector('#run_compare'))")
        page.wait("document.querySelector('#same_bits')?.innerText.includes('have the same bits')", "the comparison")
        verdict = page.text(".compared_verdict")
        assert "the same, digit for digit" in verdict and "A: killed, B: whole" in verdict, verdict
        assert page.evaluate("(box => box.top >= 0 && box.bottom <= innerHeight)(document.querySelector('.compared_verdict').getBoundingClientRect())"), "the verdict is in sight"
        assert "setting" not in page.text(".compared"), "equal settings are no table"
        page.wait("document.querySelector('.chart_names').innerText.includes('B: whole')", "the other run's loss in the chart")
        assert not page.problems, page.problems
    assert weights(folder / "killed") == weights(folder / "whole") and losses(folder / "killed") == losses(folder / "whole")


def a_run_is_stopped_and_resumed_by_keys_alone(binary, folder):
    with studio(binary, folder, "--allow-runs") as server, browser() as chromium:
        page = open_page(chromium, server)
        page.wait("!document.querySelector('#run_start').hidden", "the button")
        page.evaluate("document.querySelector('#run_start').focus()")
        page.press("Enter")
        page.wait("document.activeElement.id === 'start_model'", "the form, with its first field in focus")
        fill_in(page, {**SMALL, "steps": 3000, "name": "keys"})
        for _ in range(20):
            if page.evaluate("document.activeElement.id") == "start_name":
                break
            page.press("Tab")
        page.press("Enter")
        wait_for_steps(page, 3)
        page.evaluate("document.querySelector('#run_stop').focus()")
        page.press("Enter")
        page.wait(f"{STATE} === 'stopped'", "it to stop")
        stopped = page.evaluate(STEPS)[-1]
        assert int(weights(folder / "keys")[0].split("-")[1]) == stopped < 3000
        page.wait("document.querySelector('#run_resume')", "a button to resume")
        page.evaluate("document.querySelector('#run_resume').focus()")
        page.press("Enter")
        wait_for_steps(page, stopped + 3)
        assert page.evaluate(STEPS)[:stopped] == list(range(1, stopped + 1))
        nodes = page.accessibility_tree()
        roles = {"button", "textbox", "combobox"}
        nameless = [node["role"]["value"] for node in nodes if not node.get("ignored") and node["role"]["value"] in roles and not node.get("name", {}).get("value")]
        assert not nameless, nameless


def the_address_names_the_run(binary, folder):
    with studio(binary, folder, "--allow-runs") as server, browser() as chromium:
        page = open_page(chromium, server)
        for name in ("one", "two"):
            start(page, name, steps=5)
            page.wait(f"{STATE} === 'finished'", f"the end of {name}")
        found = runs_of(server)
        assert f"#run:{found['two']['id']}/" in page.evaluate("location.hash"), page.evaluate("location.hash")
        link = page.evaluate("location.href").replace(found["two"]["id"], found["one"]["id"])
        other = chromium.open(f"{server.address}&run:{found['one']['id']}/tiny")
        other.wait("document.querySelector('.run_title h2')?.innerText === 'one'", "the run of the link")
        page.front()
        page.go(link)
        page.wait("document.querySelector('.run_title h2')?.innerText === 'one'", "the other run in the same tab")
        other.front()
        other.press("1")
        other.press("4")
        other.wait(f"location.hash.startsWith('#run:{found['one']['id']}')", "the run after another screen")
        lost = chromium.open(f"{server.address}&run:0123456789abcdef/tiny")
        lost.wait("document.querySelector('#run_missing') !== null", "a word on a run that is not there")


def text_streams_and_stops_within_a_token(binary, folder):
    with studio(binary, folder, "--allow-runs") as server, browser() as chromium:
        page = open_page(chromium, server)
        start(page, "writer", steps=20, seq=64)
        page.wait(f"{STATE} === 'finished'", "the end")
        page.evaluate("document.querySelector('#text_tokens').value = '4000'")
        page.evaluate("document.querySelector('#text_how').value = 'generate'")
        page.click("#text_go")
        count = "import('/run_text.js').then(({text_state}) => text_state.tokens)"
        first = page.wait(f"{count}.then(count => count >= 12 && count)", "tokens, one by one")
        assert first < 4000
        page.click("#text_stop")
        page.wait("import('/run_text.js').then(({text_state}) => !text_state.writing)", "it to stop")
        stopped = page.evaluate(count)
        page.wait("document.querySelector('#text_pace').innerText.includes('stopped')", "the page to say so")
        assert "a token" in page.text("#text_pace") and page.evaluate("document.querySelector('#written').textContent.length") > len("Once upon a time")
        page.evaluate("new Promise(done => setTimeout(done, 300))")
        assert page.evaluate(count) == stopped < 4000, stopped
        page.evaluate("document.querySelector('#text_tokens').value = '5'")
        page.click("#text_go")  # the server was free at once
        page.wait(f"{count}.then(count => count === 5)", "the next text", 10)
        assert not page.problems, page.problems


def a_conversation_goes_on_and_begins_anew(binary, folder):
    with studio(binary, folder, "--allow-runs") as server, browser() as chromium:
        page = open_page(chromium, server)
        start(page, "talker", steps=20, seq=256)
        page.wait(f"{STATE} === 'finished'", "the end")
        page.evaluate("document.querySelector('#text_tokens').value = '12'")
        page.evaluate("window.asked = []; window.own_fetch = fetch; window.fetch = (to, how) => { if (to.endsWith('/chat')) asked.push(JSON.parse(how.body)); return own_fetch(to, how); }")
        idle = "import('/run_text.js').then(({text_state}) => !text_state.writing && text_state.tokens === 12)"
        for turn, question in enumerate(("Who is it?", "Why?"), 1):
            page.evaluate("import('/run_text.js').then(({text_state}) => (text_state.tokens = 0))")
            page.evaluate(f"document.querySelector('#text_prompt').value = {json.dumps(question)}")
            page.click("#text_go")
            page.wait(idle, "the answer")
            assert page.evaluate("[...document.querySelectorAll('#written b')].map(each => each.innerText.trim())") == ["Who is it?", "Why?"][:turn]
            assert page.evaluate("document.querySelector('#text_prompt').value") == ""
        messages = page.evaluate("asked.map(each => each.messages)")
        assert [len(each) for each in messages] == [1, 3] and [each["role"] for each in messages[1]] == ["user", "assistant", "user"], messages
        assert messages[1][1]["content"] and messages[1][1]["content"] in page.text("#written"), messages
        page.click("#text_new")
        assert page.evaluate("document.querySelector('#written').childNodes.length") == 0
        assert not page.problems, page.problems


def what_is_refused_is_said_in_the_form(binary, folder):
    with studio(binary, folder, "--allow-runs") as server, browser() as chromium:
        page = open_page(chromium, server)
        page.wait("!document.querySelector('#run_start').hidden", "the button")
        page.click("#run_start")
        page.wait("document.querySelector('#start_go') !== null", "the form")
        fill_in(page, {"mesh": "tp=3"})
        page.click("#start_go")
        page.wait("document.querySelector('.start_form .is_bad').innerText.includes('tp')", "the compiler's sentence")
        assert not list(folder.iterdir())


def without_the_flag_there_are_no_controls(binary, folder):
    with studio(binary, folder, "--allow-runs") as server, browser() as chromium:
        page = open_page(chromium, server)
        start(page, "old", steps=5)
        wait_for_state(server, "old", "finished")
    with studio(binary, folder) as server, browser() as chromium:
        page = open_page(chromium, server)
        page.wait("document.querySelector('.run_title h2')?.innerText === 'old'", "the run")
        hidden = "['#run_start', '.run_text'].every(name => document.querySelector(name).hidden) && document.querySelector('.run_buttons').children.length === 0"
        assert page.evaluate(hidden) and "--allow-runs" in page.text("aside")
        for kind in ("start", "stop", "resume", "kill", "generate", "chat"):
            told = page.evaluate(f"import('/ask.js').then(({{ask}}) => ask('{kind}', {{run: '{runs_of(server)['old']['id']}'}}).catch(error => error.message))")
            assert "without --allow-runs" in told and "without --allow-runs" in error(server, kind, {}), told


CHECKS = [a_killed_rank_comes_back_with_the_same_bits, a_run_is_stopped_and_resumed_by_keys_alone, the_address_names_the_run, text_streams_and_stops_within_a_token, a_conversation_goes_on_and_begins_anew,
          what_is_refused_is_said_in_the_form, without_the_flag_there_are_no_controls]
SAMPLE = [a_killed_rank_comes_back_with_the_same_bits]
