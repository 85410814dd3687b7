#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer on several processes: bench/peer_torch.py's training step under DistributedDataParallel with Gloo. Takes the
same options and --ranks; --batch is over all ranks, --threads is of each. Prints one JSON object."""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog="All other options are those of peer_torch.py.")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_known_args()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_ranks(ranks):
    """Starts this file once per rank; the first one prints. A rank that fails ends the others."""
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(ranks)}
    processes = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **shared, "RANK": str(rank)})
                 for rank in range(ranks)]
    codes = []
    for process in processes:
        codes.append(process.wait())
        if codes[-1] != 0:
            for other in processes:
                other.terminate()
    sys.exit(max(abs(code) for code in codes))


def run_rank(arguments, others):
    if arguments.batch % arguments.ranks != 0:
        sys.exit(f"error: {arguments.ranks} ranks do not divide a batch of {arguments.batch}")
    per_rank = arguments.batch // arguments.ranks
    # peer_torch reads its options, and sets its threads, when it is loaded.
    sys.argv = [sys.argv[0], "--batch", str(per_rank), "--threads", str(arguments.threads), *others]
    import peer_torch
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    distributed.init_process_group("gloo")
    options = peer_torch.ARGUMENTS
    trainer = peer_torch.Trainer(options.config, per_rank, options.seq)
    trainer.model = DistributedDataParallel(trainer.model, gradient_as_bucket_view=True)
    # Both ranks take all steps of the choice; the first one's clock decides for both.
    name, _ = peer_torch.choose_attention(trainer)
    chosen = [name]
    distributed.broadcast_object_list(chosen)
    attention = {"bmm": peer_torch.attention_by_bmm, "library": peer_torch.attention_by_library}[chosen[0]]
    trainer.step(attention)
    distributed.barrier()
    steps = [trainer.step(attention) for _ in range(options.steps)]
    seconds = [step[0] for step in steps]
    median = statistics.median(seconds)
    if distributed.get_rank() == 0:
        print(json.dumps({
            "peer": f"PyTorch {torch.__version__} DistributedDataParallel with Gloo", "attention": chosen[0],
            "ranks": arguments.ranks, "batch": arguments.batch, "seq": options.seq, "threads": arguments.threads,
            "step_seconds": median, "all_step_seconds": seconds,
            "tokens_per_second": arguments.batch * options.seq / median, "loss": steps[-1][1]}))
    distributed.barrier()
    distributed.destroy_process_group()


def main():
    arguments, others = parse_arguments()
    if "RANK" in os.environ:
        run_rank(arguments, others)
    else:
        start_ranks(arguments.ranks)


if __name__ == "__main__":
    main()
