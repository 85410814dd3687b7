#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a generated page or picture of docs/ is not what the binary writes (with --update rewrites them), or when a
# page names a file, heading, subcommand, flag or config key that is not there.
# Usage: tools/check_docs.sh [--update] [binary]
set -euo pipefail
cd "$(dirname "$0")/.."
update=no
if [[ ${1:-} == --update ]]; then
  update=yes
  shift
fi
binary=${1:-build/release/tessera}
if [[ ! -x $binary ]]; then
  echo "error: $binary is not built" >&2
  echo " help: run make first" >&2
  exit 2
fi

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
stale=()
mkdir "$fresh/schedules"
for page in config ops passes; do
  "$binary" docs "$page" >"$fresh/$page.md"
done
kinds=$("$binary" schedule --kind all --json | python3 -c 'import json, sys; print(*(each["kind"] for each in json.load(sys.stdin)["schedules"]))')
for kind in $kinds; do
  "$binary" schedule --kind "$kind" --stages 4 --microbatches 8 --svg "$fresh/schedules/$kind.svg" >"$fresh/drawn"
  rm "$fresh/drawn"
done
python3 tools/pictures/draw.py "$binary" "$fresh/pictures"
python3 tools/fill_pages.py "$binary" docs "$fresh"
while read -r file; do
  if [[ $update == yes ]]; then
    mkdir -p "$(dirname "docs/$file")"
    cp "$fresh/$file" "docs/$file"
  elif ! diff -u "docs/$file" "$fresh/$file"; then
    stale+=("docs/$file")
  fi
done < <(cd "$fresh" && find . -type f -printf '%P\n' | sort)
if [[ ${#stale[@]} -gt 0 ]]; then
  echo "error: generated files are stale: ${stale[*]}" >&2
  echo " help: run tools/check_docs.sh --update and commit the result" >&2
  exit 1
fi
python3 tools/check_pages.py "$binary"
