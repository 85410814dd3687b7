#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a generated page of docs/ is not what the binary writes; with --update rewrites them.
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
for page in config ops passes; do
  "$binary" docs "$page" >"$fresh/$page.md"
  if [[ $update == yes ]]; then
    cp "$fresh/$page.md" "docs/$page.md"
  elif ! diff -u "docs/$page.md" "$fresh/$page.md"; then
    stale+=("docs/$page.md")
  fi
done
if [[ ${#stale[@]} -gt 0 ]]; then
  echo "error: generated pages are stale: ${stale[*]}" >&2
  echo " help: run tools/check_docs.sh --update and commit the result" >&2
  exit 1
fi
