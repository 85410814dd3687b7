#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Islands as jobs on three hosts whose links are limited to 5 Mbit/s: the bits of islands in one process, islands that are killed and that
join, a hub that is killed; and at length (--only reach) speed and held-out loss of the model tiny. Hosts are network namespaces: needs root,
else it is skipped."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "recovery")]

import network_hosts  # noqa: E402
from checks import run_checks  # noqa: E402
from island_hosts import Islands, Job, held_out, limit, lines_of, sent_bytes, steps_of, tokens_per_second  # noqa: E402
from network_hosts import hosts  # noqa: E402
from small_run import LONG, SETTINGS, STOPPED, last_checkpoint, saved_steps, steps_done, wait_until  # noqa: E402

EVERY = 4
ISLANDS = ["--set", f"islands.every={EVERY}", "--set", "islands.wire=int8", "--set", "islands.fragments=2", "--set", "islands.delay=1"]
SMALL = ["--mesh", "island=3", *(word for setting in SETTINGS for word in ("--set", setting)), "--set", "train.batch=12",
         "--set", "train.microbatches=1", "--set", "train.ema_decay=0", "--set", "train.schedule=constant", "--json", *ISLANDS]


def jobs_have_the_bits_of_one_process(binary, folder):
    """Over links that are limited, encrypted, with delays: what every island has at the end is what threads have."""
    steps, own = 12, folder / "threads"
    more = ["--steps", str(steps), "--save-every", str(steps)]
    subprocess.run([binary, "train", *SMALL, *more, "--out", own], check=True, capture_output=True)
    with hosts(3) as found:
        limit(found)
        with Islands(found, binary, folder / "jobs", [*SMALL, *more], hub_words=["--patience", "300"]) as islands:
            for island in range(3):
                islands.start(island)
            islands.wait(range(3), 200)
            assert all(sent_bytes(host) > 1000 for host in found[1:]), "nothing crossed the links"
            for island in range(3):
                assert last_checkpoint(islands.out(island), steps) == last_checkpoint(own / f"island-{island}", steps) != {}, f"island {island}: other bits"
            rounds = islands.rounds()
            assert rounds and all(each["islands"] == [0, 1, 2] for each in rounds), rounds


def one_island_is_killed_and_another_joins(binary, folder):
    """Nobody helps them: the others go on and say so, the late one takes the newest outer weights, and is asked to stop with the others."""
    more = ["--steps", str(LONG), "--save-every", "8"]
    with hosts(3) as found:
        limit(found)
        with Islands(found, binary, folder / "killed", [*SMALL, *more], hub_words=["--patience", "10", "--silence", "8"]) as islands:
            islands.start(0)
            islands.start(1)
            took_part = lambda wanted: any(each["islands"] == wanted for each in islands.rounds())
            assert wait_until(lambda: took_part([0, 1]), 120, 0.1) is not None, islands.hub.text()
            islands.start(2)
            assert wait_until(lambda: took_part([0, 1, 2]), 120, 0.1) is not None, islands.hub.text() + islands.jobs[2].text()
            assert "island 2 joins and takes the newest outer weights" in islands.hub.text(), islands.hub.text()
            assert steps_of(islands.out(2))[0]["step"] > EVERY, "the late island began at the beginning"
            assert wait_until(lambda: saved_steps(islands.out(1)), 60, 0.05) is not None, islands.jobs[1].text()
            islands.jobs[1].end()
            islands.hub.says("island 1 has not been heard for 8 s; the others go on: 0, 2")
            at = len(islands.rounds())
            assert wait_until(lambda: len(islands.rounds()) > at + 2, 120, 0.1) is not None, islands.hub.text()
            assert islands.rounds()[-1]["islands"] == [0, 2], islands.rounds()[-1]
            islands.start(1, more=["--resume"])
            assert wait_until(lambda: islands.rounds()[-1]["islands"] == [0, 1, 2], 120, 0.1) is not None, islands.hub.text() + islands.jobs[1].text()
            for island in range(3):
                islands.jobs[island].process.send_signal(signal.SIGTERM)
            islands.wait(range(3), 90, STOPPED)
            kinds = [event["event"] for event in lines_of(islands.folder / "hub" / "events.jsonl")]
            assert {"founded", "joined", "silent", "left"} <= set(kinds), kinds


def a_hub_that_is_killed_and_started_again_is_gone_on_with(binary, folder):
    """Meanwhile the islands go on alone and say so; after it they exchange again, from the outer weights that it saved."""
    more = ["--steps", str(LONG), "--save-every", "50"]
    with hosts(2) as found:
        limit(found)
        with Islands(found, binary, folder / "hub", [*SMALL, *more], count=3, hub_words=["--patience", "5", "--silence", "3"]) as islands:
            islands.start(0)
            islands.start(1)
            assert wait_until(lambda: len(islands.rounds()) > 3, 120, 0.1) is not None, islands.hub.text()
            islands.hub.end()
            for island in (0, 1):
                islands.jobs[island].says("this island goes on alone")
            before, steps = len(islands.rounds()), [steps_done(islands.out(island)) for island in (0, 1)]
            for island in (0, 1):
                assert wait_until(lambda: steps_done(islands.out(island)) > steps[island] + 2 * EVERY, 60, 0.1) is not None, "does not go on"
            islands.start_hub()
            for island in (0, 1):
                islands.jobs[island].says("the hub is back")
            # Whoever is behind goes on alone until it has come to where the other one is.
            together_again = lambda: [each["islands"] for each in islands.rounds()[before:][-2:]] == [[0, 1]] * 2
            assert wait_until(together_again, 120, 0.1) is not None, islands.hub.text() + str(islands.rounds()[before:])
            assert "the hub goes on from" in islands.hub.text(), islands.hub.text()
            for island in (0, 1):
                islands.jobs[island].process.send_signal(signal.SIGTERM)
            islands.wait((0, 1), 90, STOPPED)


# As DiLoCo is used: islands go on from weights that were trained together for a while. Speed needs fewer steps of islands that never exchange.
BEFORE_STEPS, REACH_STEPS, REACH_EVERY, WARM, ALONE_STEPS = 1500, 1000, 100, 20, 400
# Eight fragments, two of them under way at a time.
REACH = ["--set", f"islands.every={REACH_EVERY}", "--set", "islands.wire=int4", "--set", "islands.fragments=8", "--set", "islands.delay=24",
         "--set", "islands.outer_learning_rate=0.8", "--set", "islands.outer_momentum=0.5"]
TINY = ["--model", "tiny", "--set", "train.threads=1", "--set", "train.batch=24", "--set", "train.seq=64",
        "--set", "data.story_bytes=4194304", "--set", "run.peak_gflops=100", "--json"]


def together(jobs, seconds=3600):
    for job in jobs:
        assert job.wait(seconds) == 0, job.text()


def reach_speed_and_held_out_loss(binary, folder):
    """At H = 100, 4 bits, streamed: 0.9 of the tokens/s of islands that never exchange; and from weights that were trained together, the
    held-out loss of as many more tokens together within 2 %."""
    steps, before = REACH_STEPS, folder / "before"
    together_words = ["--mesh", "dp=2", "--set", "train.threads=2"]
    subprocess.run([binary, "train", *TINY, *together_words, "--steps", str(BEFORE_STEPS), "--set", "train.learning_rate=1e-3", "--set",
                    "train.schedule=constant", "--out", before, "--save-every", str(BEFORE_STEPS)], check=True, capture_output=True)
    tiny = [*TINY, "--steps", str(steps), "--set", f"train.eval_every={steps}", "--set", "train.learning_rate=5e-4", "--init-from", str(before)]
    last, last_alone = steps - 1, min(ALONE_STEPS, steps)
    alone = [*TINY, "--set", "train.batch=8", "--steps", str(last_alone)]
    with hosts(3) as found:
        limit(found)
        jobs = [Job(host, [binary.resolve(), "train", *alone, "--out", folder / f"alone-{number}"], folder / f"alone-{number}.log")
                for number, host in enumerate(found)]
        together(jobs)
        with Islands(found, binary, folder / "reach", ["--mesh", "island=3", *tiny, *REACH], hub_words=["--patience", "300"]) as islands:
            for island in range(3):
                islands.start(island)
            islands.wait(range(3), 3600)
            rounds, out = islands.rounds(), [islands.out(island) for island in range(3)]
    rate_alone = sum(tokens_per_second(folder / f"alone-{number}", WARM, last_alone) for number in range(3))
    rate = sum(tokens_per_second(each, WARM, last) for each in out)
    subprocess.run([binary, "train", *tiny, *together_words, "--out", folder / "synchronous"], check=True, capture_output=True)
    loss_before, loss, loss_synchronous = held_out(before), held_out(out[0]), held_out(folder / "synchronous")
    text = (f"{rate:.0f} tokens/s, {rate_alone:.0f} alone: {rate / rate_alone:.3f}; held-out loss {loss_before:.4f} before, {loss:.4f}, synchronous "
            f"{loss_synchronous:.4f}: {100 * (loss / loss_synchronous - 1):+.2f} %; {len(rounds)} exchanges of {rounds[0]['bytes_in']} bytes")
    print(f"  {text}")
    assert all(each["islands"] == [0, 1, 2] for each in rounds), "an exchange closed without an island"
    assert rate >= 0.9 * rate_alone and loss <= 1.02 * loss_synchronous < 1.02 * loss_before, text


def missing():
    return network_hosts.missing() or ("" if shutil.which("tc") else "tc is missing (tools/setup.sh hosts)")


if __name__ == "__main__":
    run_checks(__doc__, [jobs_have_the_bits_of_one_process, one_island_is_killed_and_another_joins,
                         a_hub_that_is_killed_and_started_again_is_gone_on_with, reach_speed_and_held_out_loss], missing())
