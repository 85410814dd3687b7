#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the packages of the last commit twice, in folders of different names and without a compiler cache, and compares their bits.
# With --program, the program alone (a build without MPI). Takes two builds from nothing; --objects 'src/(core|files)/' compares in
# minutes those objects alone whose names match. Usage: tools/check_reproducible.sh [--program | --objects REGEX]
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1
commit=$(git rev-parse HEAD) # there may be another one before the second build begins

# The objects whose names match, side by side in build/packages.
build_objects() {
  python3 tools/debian_changelog.py >/dev/null
  TESSERA_ONLY=program debian/rules override_dh_auto_configure
  local objects
  mapfile -t objects < <(ninja -C build/package -t targets all | sed -n 's/^\(.*\.o\): .*/\1/p' | grep -E "$1" | sort -u)
  [[ ${#objects[@]} -gt 0 ]] || { echo "error: no object matches $1"; return 1; }
  ninja -C build/package "${objects[@]}"
  mkdir -p build/packages
  for object in "${objects[@]}"; do
    cp "build/package/$object" "build/packages/${object//\//_}"
  done
}

# The same commit, so that `tessera --version` says the same; another folder, user's locale, time zone and umask.
build() {
  local folder=$scratch/$1
  git clone -q . "$folder"
  git -C "$folder" checkout -q --detach "$commit"
  if [[ $2 == --objects ]]; then
    (cd "$folder" && build_objects "$3" >"$scratch/$1.log" 2>&1) || { tail -20 "$scratch/$1.log" >&2; return 1; }
  elif [[ $2 == --program ]]; then
    (cd "$folder" && python3 tools/debian_changelog.py >/dev/null && TESSERA_ONLY=program debian/rules build >"$scratch/$1.log" 2>&1) ||
      { tail -20 "$scratch/$1.log" >&2; return 1; }
    mkdir -p "$folder/build/packages"
    cp "$folder/build/package/tessera" "$folder/build/package/libtessera.a" "$folder/build/packages"
  else
    (cd "$folder" && tools/package.sh >"$scratch/$1.log" 2>&1) || { tail -20 "$scratch/$1.log" >&2; return 1; }
  fi
}
(umask 022; export TZ=UTC LANG=C; build first "${1:-}" "${2:-}")
(umask 027; export TZ=Asia/Tokyo LANG=C.UTF-8; build a_second_folder "${1:-}" "${2:-}")

status=0
for file in "$scratch"/first/build/packages/*; do
  name=$(basename "$file")
  case $name in *.buildinfo | *.changes) continue ;; esac # they name the machine and the folder
  if cmp -s "$file" "$scratch/a_second_folder/build/packages/$name"; then
    echo "same bits: $name $(sha256sum "$file" | cut -c1-16)"
  else
    echo "differs: $name" >&2
    status=1
  fi
done
exit "$status"
