# SPDX-License-Identifier: Apache-2.0
"""What a step took: seconds, seconds of CPU of the commands it ran, and joules where the machine counts them."""
import resource
import shutil
import subprocess
import threading
import time
from pathlib import Path

COUNTERS = Path("/sys/class/powercap")


def processors_joules():
    """Counted by each processor package since it started (Intel's and AMD's RAPL); None where it may not be read."""
    try:
        counts = [int(file.read_text(encoding="utf-8")) for file in sorted(COUNTERS.glob("intel-rapl:?/energy_uj"))]
    except OSError:
        return None
    return sum(counts) / 1e6 if counts else None


class GpuPower:
    """The GPUs' power, asked once a second; its sum over time."""

    def __init__(self):
        self.joules = 0.0
        self.seconds = 0.0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        last = time.monotonic()
        while not self.ended.wait(1):
            asked = subprocess.run(["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits"],
                                   capture_output=True, text=True, check=False)
            now = time.monotonic()
            try:
                self.joules += sum(float(line) for line in asked.stdout.split()) * (now - last)
            except ValueError:  # "[N/A]": this GPU does not tell
                return
            self.seconds += now - last
            last = now


class Meter:
    """with Meter(uses_gpu) as meter: ...; meter.cost() afterwards."""

    def __init__(self, uses_gpu=False):
        self.gpu = GpuPower() if uses_gpu and shutil.which("nvidia-smi") else None

    def __enter__(self):
        self.began = time.monotonic()
        self.cpu = self.cpu_seconds()
        self.joules = processors_joules()
        if self.gpu:
            self.gpu.thread.start()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.began
        self.cpu = self.cpu_seconds() - self.cpu
        now = processors_joules()
        # The counter starts again at zero every few minutes to hours.
        self.joules = now - self.joules if now is not None and self.joules is not None and now >= self.joules else None
        if self.gpu:
            self.gpu.ended.set()
            self.gpu.thread.join()
        return False

    @staticmethod
    def cpu_seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def cost(self):
        return {"seconds": self.seconds, "cpu_seconds": self.cpu, "cpu_joules": self.joules,
                "gpu_joules": self.gpu.joules if self.gpu and self.gpu.seconds > 0 else None}


def added(before, cost):
    """Of an interrupted step and of its rest."""
    if not before:
        return cost
    return {key: None if value is None or before.get(key) is None else value + before[key] for key, value in cost.items()}


def kwh(costs, key):
    """Of all steps together; None where one is unknown."""
    known = [cost.get(key) for cost in costs]
    return sum(known) / 3.6e6 if known and all(value is not None for value in known) else None
