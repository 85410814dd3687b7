# SPDX-License-Identifier: Apache-2.0
"""Tessera from Python: train, simulate, plan, compile and verify, with the numbers and the errors of the command line.

    import tessera

    run = tessera.train(model="tiny", steps=100, mesh="dp=2", on_step=lambda step: print(step.loss), out="out/tiny")
    tessera.simulate(cluster="dgx-h100", model="llama3-8b", mesh="fsdp=8", batch=8).step_seconds

Long calls release the GIL. docs/python.md describes everything."""
from tessera._answers import Answer, ask, clusters, presets, questions
from tessera._compiled import Compiled, compile  # pylint: disable=redefined-builtin
from tessera._core import Step, __version__
from tessera._errors import InternalError, PeerError, StorageError, TesseraWarning, UserError
from tessera._metrics import Metrics, metrics
from tessera._pictures import Picture, cluster_picture, schedule_picture, trace_picture
from tessera._plan import Plan, PlannedRun, plan
from tessera._record import Record
from tessera._simulation import Simulation, simulate
from tessera._stored import Checkpoint, Shard, bfloat16, load_checkpoint, load_safetensors, to_float32
from tessera._training import Training, TrainingSummary, train
from tessera._verification import Verification, verify

__all__ = [
    "Answer", "Checkpoint", "Compiled", "InternalError", "Metrics", "PeerError", "Picture", "Plan", "PlannedRun", "Record",
    "Shard", "Simulation", "Step", "StorageError", "TesseraWarning", "Training", "TrainingSummary", "UserError",
    "Verification", "__version__", "ask", "bfloat16", "cluster_picture", "clusters", "compile", "load_checkpoint",
    "load_safetensors", "metrics", "plan", "presets", "questions", "schedule_picture", "simulate", "to_float32",
    "trace_picture", "train", "verify"
]
