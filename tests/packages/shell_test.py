#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages and shell completion are what the table of commands says: every command and option is described, pages have no
warnings of mandoc and groff, and bash, zsh and fish, where they are installed, really complete lines."""
import argparse
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A line, and what a shell must offer for its last word: exactly, or (with ...) at least.
LINES = [
    ("tessera tr", ["train"]),
    ("tessera bench st", ["step"]),
    ("tessera bench step --by-s", ["--by-shape"]),
    ("tessera train --model gpt2-1", ["gpt2-124m", "gpt2-1.5b"]),
    ("tessera train --set train.le", ["train.learning_rate="]),
    ("tessera train --set train.precision=fp", ["fp32", "fp8", "fp64"]),
    ("tessera train --precision pure_", ["pure_bf16", "pure_fp8"]),
    ("tessera train --set train.steps=2 --sa", ["--save-every", "..."]),
    ("tessera simulate --cluster dgx-h", ["dgx-h100", "dgx-h200"]),
    ("tessera launch tr", ["train"]),
    ("tessera launch --with srun train --least-r", ["--least-ranks"]),
    ("tessera docs completion f", ["fish"]),
    ("tessera checkpoint convert run --overw", ["--overwrite"]),
    ("tessera report ru", ["run", "..."]),
]
# Bash alone: a value after an equals sign, and folders.
BASH_LINES = [("tessera train --precision=pure_", ["pure_bf16", "pure_fp8"]), ("tessera train --out r", ["run"]),
              ("tessera train --set train.precision=", ["fp32", "..."])]


def rows(command):
    yield command
    for each in command["commands"]:
        yield from rows(each)


class Shells:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.failures, self.checked = binary, Path(folder), [], 0
        self.table = json.loads(self.ask("docs", "commands"))["program"]
        (self.folder / "run").mkdir()
        (self.folder / "run.toml").touch()

    def ask(self, *words):
        return subprocess.run([self.binary, *words], capture_output=True, text=True, check=True).stdout

    def expect(self, holds, what):
        self.checked += 1
        if not holds:
            self.failures.append(what)

    def offers(self, shell, line, wanted, got):
        got = set(got)
        if "..." in wanted:
            return self.expect(set(wanted) - {"..."} <= got, f"{shell}: {line!r} offers {sorted(got)[:8]}, not {wanted}")
        return self.expect(got == set(wanted), f"{shell}: {line!r} offers {sorted(got)[:8]}, not {wanted}")

    def descriptions(self):
        for command in rows(self.table):
            self.expect(command["doc"], f"{command['command']} has no description")
            nested = bool(command["commands"])
            self.expect(nested or "Examples:" in command["footer"] or command["command"].count(" ") > 1,
                        f"{command['command']} has no examples")
            for option in command["options"] + command["positions"]:
                self.expect(len(option["doc"].split()) > 0, f"{command['command']} {option['names'][0]} has no description")

    def man_pages(self):
        pages = self.folder / "man1"
        self.ask("docs", "man", "--out", str(pages), "--date", "2026-11-16")
        names = {page.name for page in pages.iterdir()}
        wanted = {f"tessera-{each['command'].split()[-1]}.1" for each in self.table["commands"]} | {"tessera.1"}
        self.expect(names == wanted, f"man pages: {sorted(names ^ wanted)}")
        for page in sorted(pages.iterdir()):
            text = page.read_text(encoding="ascii")
            shown = [line for line in text.splitlines() if not line.startswith('.\\"')]
            changed = [line for line in shown if any(letter in line for letter in "'`^~")]
            self.expect(not changed, f"{page.name} has quotes that roff prints as others: {changed[:3]}")
            command = next(each for each in rows(self.table) if each["command"].replace(" ", "-") == page.stem)
            for each in rows(command) if page.stem != "tessera" else [command]:
                for option in each["options"]:
                    self.expect(all(name.replace("-", "\\-") in text for name in option["names"]),
                                f"{page.name} lacks {option['names']} of {each['command']}")
            for tool in (["mandoc", "-Tlint", "-Wwarning"], ["groff", "-man", "-Tutf8", "-ww"]):
                if shutil.which(tool[0]):
                    done = subprocess.run([*tool, str(page)], capture_output=True, text=True)
                    said = done.stderr + (done.stdout if tool[0] == "mandoc" else "")
                    self.expect(done.returncode == 0 and not said, f"{' '.join(tool)} {page.name}: {said.strip()[:200]}")

    def bash(self, script):
        """The function as readline calls it: an equals sign is a word of its own."""
        program = f"source {script}\n" + """
            compopt() { :; }
            while IFS= read -r line; do
              read -ra COMP_WORDS <<<"$(sed 's/=/ = /g' <<<"$line")"
              COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
              [[ $line == *= ]] && COMP_WORDS+=('') COMP_CWORD=$((COMP_CWORD + 1))
              _tessera
              printf '%s\\t' "${COMPREPLY[@]}"; echo
            done
        """
        cases = LINES + BASH_LINES
        # Every flag of every command, from the table.
        for command in rows(self.table):
            flags = [name for option in command["options"] for name in option["names"] if name.startswith("--")]
            cases = cases + [(command["command"] + " --", flags)]
        done = subprocess.run(["bash", "-c", program], input="".join(f"{line}\n" for line, _ in cases), cwd=self.folder,
                              capture_output=True, text=True)
        self.expect(not done.stderr, f"bash: {done.stderr[:300]}")
        for (line, wanted), got in zip(cases, done.stdout.splitlines()):
            self.offers("bash", line, wanted, [word for word in got.split("\t") if word])

    def fish(self, script):
        for line, wanted in LINES:
            done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=self.folder,
                                  capture_output=True, text=True, env={**os.environ, "HOME": str(self.folder)})
            self.expect(not done.stderr, f"fish: {done.stderr[:300]}")
            got = [answer.split("\t")[0].rstrip("/") for answer in done.stdout.splitlines()]
            self.offers("fish", line, wanted, [re.sub(r"^train\.precision=(?=.)", "", answer) for answer in got])

    def zsh(self, script):
        """Zsh completes in a terminal alone: each line is typed there, and `complete-word` lists its matches."""
        functions = self.folder / "functions"
        functions.mkdir()
        shutil.copy(script, functions / "_tessera")
        (self.folder / ".zshrc").write_text(
            f"unset zle_bracketed_paste; unsetopt beep prompt_sp; PS1='ready> '; fpath=({functions} $fpath); autoload -U compinit; compinit -u -D\n",
            encoding="utf-8")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.environ.update(TERM="dumb", ZDOTDIR=str(self.folder), HOME=str(self.folder), COLUMNS="200")
            os.execvp("zsh", ["zsh", "--no-globalrcs", "-i"])
        self.expect(self.read_until(terminal, "ready> "), "zsh: no prompt")
        for line, wanted in LINES:
            if len(wanted) > 1:
                continue  # what one match makes of the line is certain; lists are drawn
            os.write(terminal, f"{line}\t".encode())
            completed = re.escape(" ".join(line.split(" ")[:-1]) + " " + wanted[0])
            self.expect(self.read_until(terminal, completed), f"zsh: {line!r} does not become {wanted[0]}")
            os.write(terminal, b"\x15\n")
            self.read_until(terminal, "ready> ")
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    @staticmethod
    def read_until(terminal, pattern, seconds=60):
        seen, end = "", time.monotonic() + seconds
        while not re.search(pattern, seen.replace("\x08", "")):
            ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                return False
            seen += os.read(terminal, 4096).decode(errors="replace")
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True)
    binary = str(parser.parse_args().binary.resolve())
    with tempfile.TemporaryDirectory() as folder:
        shells = Shells(binary, folder)
        shells.descriptions()
        shells.man_pages()
        for shell in ("bash", "fish", "zsh"):
            if not shutil.which(shell):
                print(f"{shell} is not installed: left out")
                continue
            script = Path(folder) / f"completion.{shell}"
            script.write_text(shells.ask("docs", "completion", shell), encoding="utf-8")
            getattr(shells, shell)(script)
    print("\n".join(shells.failures), end="\n" if shells.failures else "")
    print(f"{shells.checked - len(shells.failures)} passed, {len(shells.failures)} failed")
    sys.exit(1 if shells.failures else 0)


if __name__ == "__main__":
    main()
