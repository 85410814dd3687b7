#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test binary as an MPI job and succeeds when every rank did. Debian 12's mpirun can lock up when ranks leave (in
# PMIx_server_finalize), so each rank leaves its status in a file and mpirun then gets 5 s.
# Usage: run_mpi_job.sh <mpirun> <ranks> <binary> [arguments]
set -uo pipefail
mpirun=$1 ranks=$2
shift 2
TESSERA_RANK_STATUS_DIR=$(mktemp -d)
export TESSERA_RANK_STATUS_DIR
trap 'rm -rf "$TESSERA_RANK_STATUS_DIR"' EXIT

ended() { find "$TESSERA_RANK_STATUS_DIR" -type f | wc -l; }

"$mpirun" --allow-run-as-root --oversubscribe -np "$ranks" "$@" &
job=$!
patience=50
while kill -0 "$job" 2>/dev/null && [[ $patience -gt 0 ]]; do
  [[ $(ended) -lt $ranks ]] || patience=$((patience - 1))
  sleep 0.1
done
if [[ $patience -eq 0 ]]; then
  echo "note: every rank has told its status, but mpirun does not end; it is killed"
  kill -9 "$job"
fi
wait "$job" 2>/dev/null
[[ $(ended) -eq $ranks ]] || { echo "error: $(ended) of $ranks ranks have told their status"; exit 1; }
! grep -qvx 0 -r "$TESSERA_RANK_STATUS_DIR"
