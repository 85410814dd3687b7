#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains small models as jobs over NCCL, all ranks on one GPU, and compares their losses with ranks that share the GPU in
# one process. NCCL refuses two ranks of a machine on one GPU; NCCL_HOSTID makes it take each process for a machine of its
# own, so this goes over sockets and says nothing about speed. Prints one table last, in under five minutes.
# Usage: tools/nccl_check.sh [folder with tessera] [folder for logs]
set -uo pipefail
cd "$(dirname "$0")/.."
tessera=${1:-build/cuda}/tessera
logs=${2:-${OUT:-out/nccl_check}}
if [[ ! -x $tessera ]]; then
  echo "error: $tessera is not there" >&2
  echo " help: build it with make cuda, or give the folder that it was carried to" >&2
  exit 2
fi
mkdir -p "$logs"
export LD_LIBRARY_PATH="${1:-build/cuda}/lib:${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64"
train=("$tessera" train --device cuda --overwrite --steps 8 --set train.eval_every=0 --set train.sample_every=0)
rows=()
failed=0

# The largest difference of a loss, over the loss.
difference() {
  python3 - "$@" <<'PYTHON'
import json, sys
def losses(folder):
    lines = [json.loads(line) for line in open(folder + "/metrics.jsonl")]
    return [line["loss"] for line in lines if "loss" in line and "step_seconds" in line]
a, b = losses(sys.argv[1]), losses(sys.argv[2])
assert len(a) == len(b) == 8, (len(a), len(b))
worst = max(abs(x - y) / y for x, y in zip(a, b))
print(f"{worst:.1e}")
sys.exit(not worst <= float(sys.argv[3]))
PYTHON
}

# check <name> <ranks> <most difference> <options...>, of a mixture where the mesh has ep.
check() {
  local name=$1 ranks=$2 most=$3 status=ok job=() seen model=tiny
  shift 3
  [[ "$*" == *ep=* ]] && model=tiny-moe
  set -- --model "$model" "$@"
  for ((rank = 0; rank < ranks; rank++)); do
    [[ $rank -eq 0 ]] || job+=(:)
    job+=(-n 1 -x "NCCL_HOSTID=machine$rank" -x NCCL_SOCKET_IFNAME=lo -x NCCL_IB_DISABLE=1 -x LD_LIBRARY_PATH
      "${train[@]}" --out "$logs/$name" "$@")
  done
  timeout 30 "${train[@]}" --out "$logs/$name.shared" "$@" >"$logs/$name.shared.log" 2>&1 || status=FAILED
  timeout 60 mpirun --allow-run-as-root --oversubscribe "${job[@]}" >"$logs/$name.log" 2>&1 || status=FAILED
  seen=$(difference "$logs/$name" "$logs/$name.shared" "$most" 2>>"$logs/$name.log") || status=FAILED
  if [[ $status != ok ]]; then
    failed=$((failed + 1))
    echo "--- $name: the end of $logs/$name.log"
    tail -n 15 "$logs/$name.log"
  fi
  rows+=("$(printf '%-18s %5d  %-8s %s' "$name" "$ranks" "$status" "$seen")")
}

# A sum of two has one order; of more, NCCL's.
check dp 2 0 --mesh dp=2
check tp 2 0 --mesh tp=2
check sequence 2 0 --mesh tp=2 --set plan.sequence_parallel=true
check ring 2 0 --mesh cp=2
check ulysses 2 0 --mesh cp=2 --set plan.context=ulysses
check zero1 2 0 --mesh fsdp=2 --set plan.zero=1
check zero3 2 0 --mesh fsdp=2 --set plan.zero=3
check zero3_bf16 2 0 --mesh fsdp=2 --set plan.zero=3 --set train.precision=bf16
check pipeline 2 0 --mesh pp=2 --set train.microbatches=4
check interleaved 2 0 --mesh pp=2 --set train.microbatches=4 --set plan.schedule=interleaved_1f1b
exchange=(--set plan.dispatch=exchange)
check gathered 2 0 --mesh ep=2
check exchanged 2 0 --mesh ep=2 "${exchange[@]}"
check exchanged_bf16 2 0 --mesh ep=2 "${exchange[@]}" --set train.precision=bf16
check exchanged_room 2 0 --mesh ep=2 "${exchange[@]}" --set plan.expert_room=1
check dp_of_four 4 1e-5 --mesh dp=4
check dp_tp 4 1e-5 --mesh dp=2,tp=2
check pp_fsdp 4 1e-5 --mesh pp=2,fsdp=2 --set plan.zero=2 --set train.microbatches=4
check exchanged_of_four 4 1e-5 --mesh ep=4 "${exchange[@]}"
check exchanged_folded 4 1e-5 --mesh ep=2,tp=2 "${exchange[@]}" --set plan.experts=ep+tp --set plan.sequence_parallel=true

echo
printf '%-18s %5s  %-8s %s\n' job ranks result "largest difference of a loss"
printf '%s\n' "${rows[@]}"
exit $((failed > 0))
