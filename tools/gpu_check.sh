#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the CUDA build on a machine with a GPU: every kernel against the CPU, small models in training against the CPU and
# against PyTorch, a covering set of meshes and schedules, compute-sanitizer, and steps of real models timed. Prints one table
# last; what the time does not suffice for is a failure, and can be run by name.
# Usage: tools/gpu_check.sh [folder of what make cuda builds] [folder for logs] [names, a regular expression] [seconds: 590]
set -uo pipefail
cd "$(dirname "$0")/.."
bin=${1:-build/cuda}
logs=${2:-${OUT:-out/gpu_check}}
wanted=${3:-.}
in_all=${4:-590}
if [[ ! -x $bin/tessera ]]; then
  echo "error: $bin/tessera is not there" >&2
  echo " help: build it with make cuda, or give the folder that it was carried to" >&2
  exit 2
fi
mkdir -p "$logs"
export LD_LIBRARY_PATH="$bin/lib:${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64"
rows=()
failed=0

# check <name> <seconds at most> <command...>: the log's name is the check's.
check() {
  local name=$1 limit=$2 begin=$SECONDS left=$((in_all - SECONDS)) log status=ok
  shift 2
  [[ $name =~ $wanted ]] || return 0
  log="$logs/$name.log"
  if ((left < 5)); then
    rows+=("$(printf '%-30s %-12s' "$name" "LEFT OUT")")
    failed=$((failed + 1))
    return
  fi
  limit=$((limit < left ? limit : left))
  timeout "$limit" "$@" >"$log" 2>&1
  local code=$?
  if [[ $code -ne 0 ]]; then
    status="FAILED ($code)"
    failed=$((failed + 1))
    echo "--- $name: the end of $log"
    tail -n 25 "$log"
  fi
  rows+=("$(printf '%-30s %-12s %5d s  %s' "$name" "$status" $((SECONDS - begin)) "$(summary "$log")")")
}

# One line of what a log says.
summary() {
  local tests
  tests=$(grep -E '^\[  (PASSED|FAILED|SKIPPED) +\] [0-9]+ test' "$1" | sed -E 's/^\[ +//; s/ +\]//; s/, listed below:|\.$//' | sort -u | paste -sd ' ')
  if [[ -n $tests ]]; then
    echo "$tests"
    return
  fi
  if grep -qE ' (losses|gradients) +[0-9.e-]+ <=' "$1"; then
    echo "$(grep -c '<=' "$1") distances from PyTorch's runs, $(grep -c FAILED "$1") too large"
    return
  fi
  grep -E '^(step_seconds|tokens_per_second|mfu|steps [0-9]|error:|internal error:|========= ERROR SUMMARY)' "$1" | sed -E 's/ +/ /g' | paste -sd ';' | cut -c1-150
}

nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null
ldd "$bin/tessera" | grep 'not found'

tests=$bin/tessera_cuda_tests
# Of all tests but those that a check below runs, so that a new test needs no line here.
check kernels 120 "$tests" --gtest_brief=1 --gtest_filter='-*Attention.*:GpuSmallModels*:GpuAttentionInTraining*:GpuNccl*:GpuFault*'
check attention 120 "$tests" --gtest_brief=1 --gtest_filter='GpuAttention.*:HopperAttention.*'
check in_place_20_times 240 "$tests" --gtest_brief=1 --gtest_repeat=20 --gtest_filter='*InPlaceChangesNothing*'
check small_models 90 "$tests" --gtest_brief=1 --gtest_filter='GpuSmallModels*:GpuAttentionInTraining*'
check parity_with_pytorch 90 python3 -B tests/parity/oracle.py "$bin/tessera_parity" --device cuda
check nccl_and_faults 60 "$tests" --gtest_brief=1 --gtest_filter='GpuNccl*:GpuFault*'
plans=$bin/tessera_plan_tests
check meshes 90 "$plans" --gtest_brief=1 --gtest_filter='GpuMesh*:GpuExperts*:*GpuInference*:GpuFailure*:GpuOnCuda*'
check plans 90 "$plans" --gtest_brief=1 --gtest_filter='GpuPlan*'
check pipelines 120 "$plans" --gtest_brief=1 --gtest_filter='GpuPipeline*'
check verify 30 "$bin/tessera" verify --device cuda --mesh pp=2,dp=2,tp=2 --shrink --set train.microbatches=4
if command -v compute-sanitizer >/dev/null; then
  small=("$tests" --gtest_brief=1 --gtest_filter='GpuSmallModels/GpuTraining.FirstGradientsAreTheCpus/*_1_microbatches')
  attention=("$tests" --gtest_brief=1 --gtest_filter='GpuAttention.EveryPath*:GpuAttention.ARowThatSeesNoKey*')
  for tool in memcheck racecheck initcheck synccheck; do
    check "sanitizer_$tool" 75 compute-sanitizer --tool "$tool" --num-cuda-barriers 65536 --error-exitcode 1 "${small[@]}"
    check "sanitizer_${tool}_attention" 75 compute-sanitizer --tool "$tool" --num-cuda-barriers 65536 --error-exitcode 1 "${attention[@]}"
  done
  check sanitizer_mesh 75 compute-sanitizer --error-exitcode 1 "$bin/tessera" verify --device cuda --mesh cp=2,tp=2 --shrink
else
  rows+=("$(printf '%-30s %-12s' sanitizer "not there")")
fi
check calibrate 60 "$bin/tessera" bench calibrate --device cuda --quick --out "$logs/gpu.toml"
check simulate 30 "$bin/tessera" simulate --cluster "$logs/gpu.toml" --model tiny --precision bf16
train=("$bin/tessera" train --device cuda --overwrite --set train.log_every=10)
check train_tiny_fp32 30 "${train[@]}" --model tiny --steps 60 --out "$logs/tiny"
check train_tiny_bf16 30 "${train[@]}" --model tiny --steps 60 --set train.precision=bf16 --out "$logs/tiny_bf16"
bench=("$bin/tessera" bench step --device cuda)
check gpt2_124m_fp32_4x256 60 "${bench[@]}" --model gpt2-124m --batch 4 --seq 256 --steps 5
check gpt2_124m_bf16_16x1024 60 "${bench[@]}" --model gpt2-124m --batch 16 --seq 1024 --precision bf16 --steps 5

echo
printf '%-30s %-12s %7s  %s\n' check result time "what it says"
printf '%s\n' "${rows[@]}"
exit $((failed > 0))
