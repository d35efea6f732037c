#!/usr/bin/env bash
# Puts jansson and cmocka for arm64 into .deps/aarch64, for cmake/aarch64-linux-gnu.cmake: Debian packages, downloaded
# with a package list of their own and unpacked, so that the system keeps its one architecture.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
to=$top/.deps/aarch64 state=$top/.deps/apt-arm64
if [ -f "$to/complete" ]; then exit 0; fi
mkdir -p "$to" "$state/lists/partial" "$state/cache/archives/partial" "$top/build"
log=$top/build/aarch64_deps.log
# An empty status file: nothing is installed for this imagined arm64 machine.
: >"$state/status"
options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$state" -o "Dir::State::status=$state/status"
  -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=)
if ! { apt-get "${options[@]}" update &&
  cd "$state/cache/archives" &&
  apt-get "${options[@]}" download libjansson-dev:arm64 libjansson4:arm64 libcmocka-dev:arm64 libcmocka0:arm64; } >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  echo "aarch64_deps: could not download jansson and cmocka for arm64" >&2
  exit 1
fi
for file in *.deb; do dpkg-deb -x "$file" "$to"; done
touch "$to/complete"
