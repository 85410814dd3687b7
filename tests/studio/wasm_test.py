#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Studio without a server, in Chromium: WebAssembly answers what the binary answers, digit for digit; the program is small; the page
says what it lacks; what is cancelled ends. Times are printed, not judged."""
import argparse
import base64
import concurrent.futures
import contextlib
import functools
import gzip
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time

from cdp import browser, find_chromium
from wasm_questions import questions

MOST_COMPRESSED_BYTES = 600_000  # of the program; the page has a budget of its own
COUNT, SEED = 200, 7
VERDICT = "document.querySelector('#verdict')?.innerText.includes('MFU')"
PLAN = {"run": {"model": "llama3-8b", "cluster": "llama3-h100", "set": {"train.batch": "512", "train.seq": "8192", "mesh": "pp=4,fsdp=8,tp=2", "train.microbatches": "32"}}}
LONG = {"run": {"model": "llama3-405b", "cluster": "llama3-h100", "set": {"train.batch": "2048", "train.seq": "8192", "mesh": "fsdp=16384"}}}
ASK = """(async () => {
  const { ask_worker } = await import('./wasm_transport.js');
  const reply = await ask_worker(%s, %s);
  const bytes = new Uint8Array(await reply.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return [reply.status, btoa(text)];
})()"""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """The address of a folder that any web server would serve so."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def asked_natively(binary, kind, fields):
    """Whether there is an answer, and its bytes."""
    done = subprocess.run([binary, "studio", "--ask", kind], input=json.dumps(fields).encode(), capture_output=True)
    return done.returncode == 0, done.stdout


def asked_in(page, kind, fields):
    status, text = page.evaluate(ASK % (json.dumps(kind), json.dumps(json.dumps(fields))))
    return status == 200, base64.b64decode(text)


def last_object(data):
    """The last line of a stream, or the answer; numbers stay as they are written."""
    told = json.loads(data.strip().splitlines()[-1], parse_float=str, parse_int=str)
    told.pop("done", None)
    return told


def difference(a, b, at=""):
    """Where two values first differ, and how; empty where nowhere."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return next(filter(None, (difference(a[key], b[key], f"{at}.{key}") for key in a)), "")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(filter(None, (difference(*each, f"{at}[{index}]") for index, each in enumerate(zip(a, b, strict=True)))), "")
    return "" if a == b else f"{at}: {str(a)[:200]} against {str(b)[:200]}"


def compare(native, wasm):
    """Columns by their bytes, JSON by its members."""
    if native[0] != wasm[0]:
        return f"answered: {native[0]} against {wasm[0]}"
    if native[1][:1] == wasm[1][:1] == b"{":
        return difference(last_object(native[1]), last_object(wasm[1]))
    return "" if native[1] == wasm[1] else "other columns"


def answers_are_those_of_the_binary(binary, folder):
    told = json.loads(asked_natively(binary, "lessons", {})[1])["lessons"]
    asked = questions(COUNT, SEED, [lesson["name"] for lesson in told])
    with served(folder) as address, browser() as chromium, concurrent.futures.ThreadPoolExecutor(1) as pool:
        page = chromium.open(address)
        page.wait(VERDICT, "a verdict")
        natively = [pool.submit(asked_natively, binary, kind, fields) for kind, fields in asked]
        different, answered, kinds = [], 0, set()
        for (kind, fields), native in zip(asked, natively, strict=True):
            wasm = asked_in(page, kind, fields)
            answered += wasm[0]
            kinds.add(kind)
            if problem := compare(native.result(), wasm):
                different.append((kind, json.dumps(fields), problem))
    assert not different, f"{len(different)} of {len(asked)} differ:\n" + "\n".join(map(str, different[:20]))
    assert answered > len(asked) / 2, f"only {answered} of {len(asked)} have an answer"
    print(f"  {len(asked)} questions of {len(kinds)} kinds, {answered} of them answered, the others refused in the same words")


def the_program_is_small(_, folder):
    sizes = {str(file.relative_to(folder)): len(gzip.compress(file.read_bytes(), 9)) for file in folder.rglob("*") if file.is_file()}
    program = sizes["tessera.wasm"] + sizes["tessera.js"]
    print(f"  {sum(sizes.values())} bytes compressed, of them {program} the program")
    assert program <= MOST_COMPRESSED_BYTES, sizes


def the_page_says_what_it_lacks(_, folder):
    with served(folder) as address, browser() as chromium:
        page = chromium.open(address)
        page.wait(VERDICT, "a verdict")
        assert "tessera studio" in page.text("#no_server"), page.text("header")
        page.click("#prove")
        page.wait("document.querySelector('#proof_command')?.innerText.startsWith('tessera verify --shrink --model')", "the proof from a shell")
        page.evaluate("document.querySelector('#proof').close()")
        for screen, sign in (("run", "#absent"), ("learn", "#lesson_breaks code")):
            page.evaluate(f"document.querySelector('#screen_{screen}').click()")
            page.wait(f"document.querySelector('{sign}')?.innerText.includes('tessera')", f"what {screen} lacks")
        foreign = [each for each in page.requests if not each.startswith(address) and not each.startswith("data:")]
        assert not foreign and not page.problems, (foreign, page.problems)


def a_bar_names_its_line_of_the_model(_, folder):
    """The text of the line is left out with the files of models."""
    with served(folder) as address, browser() as chromium:
        page = chromium.open(address)
        page.wait(VERDICT, "a verdict")
        page.evaluate("document.querySelector('#screen_time').click()")
        page.wait("document.querySelector('.inspector .link') !== null", "a timeline")
        page.evaluate("document.querySelector('.inspector .link').click()")
        page.wait("/^src.models.[a-z_]+\\.(cpp|h):[0-9]+$/.test(document.querySelector('#source_line code')?.innerText)", "a line of C++")
        assert not page.problems, page.problems


def a_cancelled_search_makes_room(_, folder):
    with served(folder) as address, browser() as chromium:
        page = chromium.open(address)
        page.wait(VERDICT, "a verdict")
        script = """(async () => {
          const { ask, stream, newest, cancel, is_cancelled } = await import('./ask.js');
          let told = 0;
          for (let round = 0; round < 6; ++round) {
            try {
              for await (const part of stream('search', LONG, newest('search'))) { told += part.done ? 0 : 1; if (told % 2) cancel('search'); }
            } catch (error) { if (!is_cancelled(error)) throw error; }
          }
          const begin = performance.now();
          const verdict = await ask('try', PLAN, newest('other'));
          return [told, verdict.fits, performance.now() - begin];
        })()""".replace("LONG", json.dumps(LONG)).replace("PLAN", json.dumps(PLAN))
        told, fits, milliseconds = page.evaluate(script)
        assert told >= 6 and fits is not None, (told, fits)
        print(f"  six searches cancelled; the next answer after {milliseconds:.0f} ms")


def times(_, folder):
    with served(folder) as address, browser() as chromium:
        begin = time.monotonic()
        page = chromium.open(address)
        page.wait(VERDICT, "a verdict")
        first = time.monotonic() - begin
        time.sleep(1)  # prices of neighbours
        script = """(async () => {
          const { ask } = await import('./ask.js');
          const all = [];
          for (let at = 0; at < 20; ++at) {
            const begin = performance.now();
            await ask('try', PLAN);
            all.push(performance.now() - begin);
          }
          return all.sort((a, b) => a - b);
        })()""".replace("PLAN", json.dumps(PLAN))
        later = page.evaluate(script)
        print(f"  page opened to its first verdict {first:.2f} s; then llama3-8b on 64 ranks: median {later[10]:.0f} ms, 95th percentile {later[18]:.0f} ms")


CHECKS = [the_program_is_small, the_page_says_what_it_lacks, a_bar_names_its_line_of_the_model, a_cancelled_search_makes_room, times, answers_are_those_of_the_binary]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True, help="the folder that `make studio-wasm` made")
    parser.add_argument("--only", default="", help="words of the names of those to run, with commas between them")
    arguments = parser.parse_args()
    if not find_chromium() or not (arguments.page / "tessera.wasm").exists():
        print("skipped: needs Chromium (tools/setup.sh browser) and the page (make studio-wasm)")
        return
    for check in CHECKS:
        if any(word in check.__name__ for word in arguments.only.split(",")):
            begin = time.monotonic()
            check(arguments.binary.resolve(), arguments.page.resolve())
            print(f"{check.__name__}: holds ({time.monotonic() - begin:.1f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
