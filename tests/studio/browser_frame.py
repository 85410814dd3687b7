# SPDX-License-Identifier: Apache-2.0
"""Studio's page in a real Chromium: it loads without a network, asks its own server alone, shows what the command line prints,
keeps its token out of the address, and cannot be framed."""
import http.server
import json
import subprocess
import threading

from cdp import PageError, browser
from studio_server import studio

MOST_PAGE_BYTES = 250_000
MOST_REQUESTS = 12  # before the first paint
VERDICT = "document.querySelector('#verdict')?.innerText.includes('MFU')"


def printed(binary, command):
    """The JSON that a command line of ours prints."""
    words = command.split()
    assert words[0] == "tessera", command
    return json.loads(subprocess.run([str(binary), *words[1:], "--json"], capture_output=True, text=True, check=True).stdout)


def the_page_loads_and_asks_its_server_alone(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = chromium.open(server.address)
        page.wait(VERDICT, "a verdict")
        page.settle(1)
        foreign = [address for address in page.requests if not address.startswith(server.page) and not address.startswith("data:")]
        assert not foreign, foreign
        assert not page.problems, page.problems
        files = {address: reply for address, reply in page.replies.items() if "/ask/" not in address}
        assert sum(size for _, size in files.values()) <= MOST_PAGE_BYTES, files
        first = page.evaluate("performance.getEntriesByType('paint').find(entry => entry.name === 'first-contentful-paint').startTime")
        before = page.evaluate(f"performance.getEntriesByType('resource').filter(entry => entry.startTime < {first}).length") + 1
        assert before <= MOST_REQUESTS, (before, page.requests)


def the_figures_are_those_of_the_command_line(binary, _):
    """In the answer that the page gets, and rounded on the page."""
    with studio(binary) as server, browser() as chromium:
        page = chromium.open(server.address)
        page.wait(VERDICT, "a verdict")
        script = ("import('/ask.js').then(ask => import('/state.js').then(state => "
                  "ask.ask('try', {run: state.parse_line(document.querySelector('#line').value)})))")
        answer = page.evaluate(script)
        told = printed(binary, answer["command"])
        for key in ("step_seconds", "peak_bytes", "mfu", "hfu", "tokens_per_second", "fits"):
            assert answer[key] == told[key], (key, answer[key], told[key])
        assert f"{answer['step_seconds']:.2f} s" in page.text("#verdict"), (answer["step_seconds"], page.text("#verdict"))
        unknown = page.evaluate("[...document.querySelectorAll('#unknown li')].map(each => each.textContent)")
        assert unknown == [row["text"] for row in told["unknown"]] and unknown, unknown
        assert f"within {told['error_bar']['percent']} %" in page.text("#error_bar"), page.text("#error_bar")


def the_token_leaves_the_address(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = chromium.open(server.address)
        page.wait(VERDICT, "a verdict")
        assert server.token not in page.evaluate("location.href")
        assert server.token not in page.evaluate("document.documentElement.outerHTML")
        assert server.token not in page.evaluate("document.cookie + JSON.stringify(localStorage)")
        page.call("Page.reload")
        page.wait(VERDICT, "a verdict after a reload")
        other = chromium.open(server.page)  # a tab that never saw the token
        other.wait("document.body.innerText.includes('token')", "a word about the token")


def the_policy_forbids_code_and_markup_from_strings(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = chromium.open(server.address)
        page.wait(VERDICT, "a verdict")
        for script in ("document.body.innerHTML = '<b>x</b>'", "document.body.setAttribute('onclick', 'x()'); document.body.onclick.call()",
                       "document.write('x')"):
            try:
                page.evaluate(script)
            except PageError:
                continue
            raise AssertionError(f"allowed: {script}")
        page.evaluate("window.ran = 0; const s = document.createElement('script'); s.type = 'module';"
                      "try { s.textContent = 'window.ran = 1'; document.head.append(s); } catch {} 0")
        reached = page.evaluate("fetch('http://127.0.0.1:1/').then(() => 'reached', error => String(error))")
        assert page.evaluate("window.ran") == 0 and "TypeError" in reached, reached


class Attacker(http.server.BaseHTTPRequestHandler):
    """A page of another origin that frames ours, reads it, and asks it."""
    victim = token = ""

    def do_GET(self):
        script = f"""
          const found = {{}};
          const note = (name, promise) => promise.then(() => found[name] = 'reached', () => found[name] = 'refused');
          const victim = {json.dumps(self.victim)}, token = {json.dumps(self.token)};
          const post = headers => fetch(victim + 'ask/presets', {{method: 'POST', headers, body: '{{}}'}});
          window.done = Promise.all([
            note('read', fetch(victim)),
            note('ask', post({{'Content-Type': 'application/json', 'X-Tessera-Token': token}})),
            note('simple', post({{'Content-Type': 'text/plain'}})),
            note('import', import(victim + 'main.js')),
            new Promise(done => {{ const frame = document.createElement('iframe'); frame.onload = done; frame.src = victim; document.body.append(frame); }}),
          ]).then(() => found);"""
        body = f"<!doctype html><body><script>{script}</script>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def another_page_reads_asks_and_frames_nothing(binary, _):
    """Even with the token: the browser sends what the server refuses."""
    with studio(binary) as server, browser() as chromium:
        handler = type("Handler", (Attacker,), {"victim": server.page, "token": server.token})
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as attacker:
            threading.Thread(target=attacker.serve_forever, daemon=True).start()
            page = chromium.open(f"http://127.0.0.1:{attacker.server_port}/")
            found = page.evaluate("window.done")
            assert found == {name: "refused" for name in ("read", "ask", "simple", "import")}, found
            statuses = {address: reply[0] for address, reply in page.replies.items() if address.startswith(server.page)}
            assert all(status in (403, 405) for status in statuses.values()), statuses
            frames = [frame["frame"]["url"] for frame in page.call("Page.getFrameTree")["frameTree"]["childFrames"]]
            assert frames == ["chrome-error://chromewebdata/"], frames
            attacker.shutdown()


CHECKS = [
    the_page_loads_and_asks_its_server_alone,
    the_figures_are_those_of_the_command_line,
    the_token_leaves_the_address,
    the_policy_forbids_code_and_markup_from_strings,
    another_page_reads_asks_and_frames_nothing,
]
SAMPLE = [the_page_loads_and_asks_its_server_alone, the_token_leaves_the_address, another_page_reads_asks_and_frames_nothing]
