#!/usr/bin/env bash
# Gets NVIDIA's compilers and disassemblers from PyPI into .deps, for tests and for the reconvergence study. None is needed
# to build or to use the library.
# usage: scripts/wheels.sh TOOL-VERSION...     TOOL: nvrtc, ptxas, nvdisasm, cuobjdump
#   nvrtc-12.9.86     .deps/nvrtc-12.9.86/libnvrtc.so.12       (12.0.140 to 13.5.37)
#   ptxas-12.8.93     .deps/ptxas-12.8.93/ptxas
#   nvdisasm-13.5.37  .deps/nvdisasm-13.5.37/nvdisasm          (from 13.2 on; sm_75 and later)
#   nvdisasm-12.8     the same from another package's wheel: sm_50 to sm_121
# What is there already is not fetched again. Prints the path of each tool.
set -euo pipefail
# shellcheck disable=SC2034 # for common.sh
tool=wheels need=build install=1
case ${1:-} in '' | -h | --help) sed -n '2,9s/^# //p' "$0"; exit 0 ;; esac
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mkdir -p "$top/build" "$deps"
: >>"$log"

# package NAME VERSION: the wheel that holds it.
package() {
  local suffix=
  case $2 in 12.*) suffix=-cu12 ;; esac
  case $1 in
    nvrtc) echo "nvidia-cuda-nvrtc$suffix==$2" ;;
    ptxas) echo "nvidia-cuda-nvcc$suffix==$2" ;;
    nvdisasm) if [ "$2" = 12.8 ]; then echo triton==3.5.1; else echo "nvidia-cuda-nvdisasm==$2"; fi ;;
    cuobjdump) echo "nvidia-cuda-cuobjdump==$2" ;;
    *) die "no tool is called $1" ;;
  esac
}
# Beside NVRTC lies the library of its builtins, which it opens by name.
members() {
  case $1 in nvrtc) echo '*/lib/libnvrtc*.so*' ;; *) echo "*/bin/$1" ;; esac
}
unpack() { # WHEEL PATTERN FOLDER
  "$deps/venv/bin/python" - "$@" <<'PYTHON'
import fnmatch, os, shutil, sys, zipfile
wheel, pattern, folder = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    names = [name for name in archive.namelist() if fnmatch.fnmatch(name, pattern) and ".alt." not in name]
    if not names:
        sys.exit("nothing in the wheel is called " + pattern)
    for name in names:
        target = os.path.join(folder, os.path.basename(name))
        with archive.open(name) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file)
        os.chmod(target, 0o755)
PYTHON
}
file_of() { # TOOL FOLDER
  case $1 in nvrtc) compgen -G "$2/libnvrtc.so.1[0-9]" | head -n 1 ;; *) echo "$2/$1" ;; esac
}

for wanted in "$@"; do
  name=${wanted%%-*} version=${wanted#*-}
  folder=$deps/$wanted
  what="from PyPI: $(package "$name" "$version")"
  if [ ! -d "$folder" ]; then
    find_python || die "a Python with venv is needed: $(apt_line python3 python3-venv)"
    make_venv || give_up "could not make a Python environment in .deps/venv (no network?)"
    part=$(mktemp -d "$deps/$wanted.part.XXXXXX")
    mkdir "$part/wheel" "$part/files"
    say "getting $wanted"
    try "$deps/venv/bin/python" -m pip download -q --disable-pip-version-check --no-input --no-deps \
      --only-binary :all: --dest "$part/wheel" "$(package "$name" "$version")" || { rm -rf "$part"; give_up "no wheel (no network?)"; }
    try unpack "$(compgen -G "$part/wheel/*.whl" | head -n 1)" "$(members "$name")" "$part/files" || { rm -rf "$part"; give_up "an unexpected wheel"; }
    # A folder that exists is complete: it gets its name last. Who comes second keeps the first one's.
    mv -T "$part/files" "$folder" 2>/dev/null || true
    rm -rf "$part"
  fi
  file_of "$name" "$folder"
done
