#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: trains a small transformer on made-up stories, shows what it writes before, midway and after, and lets it
# go on from a prompt. Made new on every run, in out/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
tessera=build/release/tessera
"$tessera" train --model tiny --steps "${STEPS:-1000}" --save-every 500 --out out/demo --overwrite \
  --set train.sample_every=500

prompt="One sunny day, "
printf '\nHow it goes on from "%s":\n' "$prompt"
"$tessera" generate out/demo --prompt "$prompt" --tokens 300 --temperature 0.5
cat <<'TEXT'

Next: build/release/tessera generate out/demo --prompt "..."
      build/release/tessera train --help
TEXT
