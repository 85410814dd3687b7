# SPDX-License-Identifier: Apache-2.0
"""Islands as jobs on hosts, each with a hub to speak to: how they are started, what they say and what they leave."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "recovery"))

from small_run import wait_until  # noqa: E402

PORT = 5555
MEGABITS = 5


def limit(found, megabits=MEGABITS):
    """Both directions of every host's link. Packets are of 1500 bytes: the bucket holds ten of them, and what waits for it a fifth of a
    second's; a bucket that is smaller than a packet would pass nothing at all."""
    shape = ["root", "tbf", "rate", f"{megabits}mbit", "burst", "16kb", "latency", "200ms"]
    for host in found:
        for space, device in [(host.switch, host.port), (host.space, "eth0")]:
            subprocess.run(["tc", "-n", space, "qdisc", "replace", "dev", device, *shape], check=True, capture_output=True)


def sent_bytes(host):
    told = subprocess.run(["tc", "-s", "-n", host.space, "qdisc", "show", "dev", "eth0"], check=True, capture_output=True, text=True).stdout
    return int(told.split("Sent ")[1].split(" ")[0])


class Job:
    """A process on a host, with what it says in a file."""

    def __init__(self, host, words, log):
        self.log = pathlib.Path(log)
        self.process = host.start([str(word) for word in words], self.log)

    def text(self):
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def says(self, part, seconds=60):
        assert wait_until(lambda: part in self.text() or self.process.poll() not in (None, 0), seconds, 0.05) is not None, self.text()
        assert part in self.text(), self.text()

    def wait(self, seconds):
        return self.process.wait(seconds)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Islands:
    """A hub on the first host and islands on all of them, with keys; all of it ends with the block."""

    def __init__(self, found, binary, folder, words, count=None, hub_words=()):
        self.found, self.binary, self.folder, self.words = found, binary.resolve(), folder, list(words)
        self.count, self.hub_words = count or len(found), hub_words
        self.keys, self.jobs, self.hub = folder / "keys", {}, None
        self.address = f"tcp://{found[0].address}:{PORT}"
        folder.mkdir(parents=True)
        subprocess.run([self.binary, "islands", "keys", "--islands", str(self.count), "--out", self.keys], check=True, capture_output=True)

    def __enter__(self):
        self.start_hub()
        return self

    def __exit__(self, *_):
        for job in [*self.jobs.values(), self.hub]:
            job.end()

    def start_hub(self):
        before = self.hub.text().count("the hub listens") if self.hub else 0
        self.hub = Job(self.found[0], [self.binary, "islands", "hub", "--listen", self.address, "--keys", self.keys, "--out",
                                       self.folder / "hub", *self.hub_words], self.folder / "hub.log")
        assert wait_until(lambda: self.hub.text().count("the hub listens") > before, 60, 0.05) is not None, self.hub.text()

    def start(self, island, host=None, more=()):
        out = self.folder / f"island-{island}"
        self.jobs[island] = Job(host or self.found[island],
                                [self.binary, "train", *self.words, "--set", f"islands.hub={self.address}", "--set", f"islands.index={island}",
                                 "--set", f"islands.keys={self.keys}", "--out", out, *more], self.folder / f"island-{island}.log")
        return self.jobs[island]

    def out(self, island):
        return self.folder / f"island-{island}"

    def wait(self, islands, seconds, code=0):
        for island in islands:
            assert self.jobs[island].wait(seconds) == code, f"island {island}: {self.jobs[island].text()}\n{self.hub.text()}"

    def rounds(self):
        return lines_of(self.folder / "hub" / "rounds.jsonl")


def lines_of(path):
    try:
        return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
    except OSError:
        return []


def steps_of(out):
    return [line for line in lines_of(pathlib.Path(out) / "metrics.jsonl") if "step" in line]


def tokens_per_second(out, first, last):
    """Between the ends of two steps, with all that happens between: exchanges, too."""
    at = {step["step"]: step for step in steps_of(out)}
    return (at[last]["tokens"] - at[first]["tokens"]) / (at[last]["elapsed_seconds"] - at[first]["elapsed_seconds"])


def held_out(out):
    return [step["held_out_loss"] for step in steps_of(out) if step.get("held_out_loss")][-1]
