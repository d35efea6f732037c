# Shared by demo.sh and check.sh (sourced): finds out what this machine lacks, says it, and gets it.
#   as root            Debian packages with apt-get, NVIDIA's wheels from PyPI into .deps
#   as another user    everything into .deps: CMake, ninja and the wheels from PyPI, libraries (and Python, where it is
#                      missing) from Debian packages that are unpacked, not installed. Needed beforehand: a C compiler
#                      with the C library's headers.
# Nothing that is there already is upgraded. The caller sets `tool`, `need` (build or test) and `install` (1 or 0).
# shellcheck shell=bash
: "${tool:?}" "${need:?}" "${install:?}"
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=$top/.deps
log=$top/build/$tool.log

# Their own words go to stderr: standard output belongs to the program, whose document may go there.
say() { printf '%s: %s\n' "$tool" "$*" >&2; }
die() { printf '%s: %s\n' "$tool" "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# quietly WHAT COMMAND...: output goes to the log; its end is shown when the command fails.
quietly() {
  local what=$1; shift
  printf '\n== %s: %s\n' "$what" "$*" >>"$log"
  if ! "$@" >>"$log" 2>&1; then
    tail -n 25 "$log" >&2
    printf '%s: %s failed, the whole output is in %s\n' "$tool" "$what" "${log#"$top"/}" >&2
    return 1
  fi
}

# The same for downloads, whose failures need no more words than the caller has.
try() {
  printf '\n== %s\n' "$*" >>"$log"
  "$@" >>"$log" 2>&1
}

multiarch() { gcc -print-multiarch 2>/dev/null || clang -print-multiarch 2>/dev/null || true; }
is_root() { [ "$(id -u)" = 0 ]; }
is_debian() { have apt-get && have dpkg-deb; }

# ---- what is there -------------------------------------------------------------------------------------------------

# compiles LIBRARY-FLAGS <<< program: whether a C program compiles and links here.
compiles() { "$cc" -x c - -o /dev/null -I"$deps/root/usr/include" -L"$deps/root/usr/lib/$(multiarch)" "$@" >/dev/null 2>&1; }

find_compiler() {
  cc=
  local candidate
  for candidate in "${CC:-}" cc gcc clang; do
    # CC may carry flags; only its first word is a program.
    if [ -n "$candidate" ] && have "${candidate%% *}"; then cc=${candidate%% *}; break; fi
  done
}
has_c_library() { [ -n "$cc" ] && compiles <<<$'#include <stdio.h>\n#include <pthread.h>\nint main(void) { return puts("") < 0; }'; }
has_jansson() { [ -n "$cc" ] && compiles -ljansson <<<$'#include <jansson.h>\nint main(void) { return json_object() == 0; }'; }
has_cmocka() {
  [ -n "$cc" ] && compiles -lcmocka <<<$'#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\nint main(void) { return 0; }'
}

has_lz4() { [ -n "$cc" ] && compiles -llz4 <<<$'#include <lz4.h>\nint main(void) { return LZ4_versionNumber() == 0; }'; }
has_zstd() { [ -n "$cc" ] && compiles -lzstd <<<$'#include <zstd.h>\nint main(void) { return ZSTD_versionNumber() == 0; }'; }

find_cmake() {
  cmake=
  local candidate version
  for candidate in cmake "$deps/venv/bin/cmake"; do
    version=$("$candidate" --version 2>/dev/null | awk 'NR == 1 {print $3}') || version=
    if [ -n "$version" ] && [ "$(printf '3.22\n%s\n' "$version" | sort -V | head -n 1)" = 3.22 ]; then
      cmake=$(command -v "$candidate"); return 0
    fi
  done
  return 1
}
find_generator() {
  generator=
  if have ninja; then generator=(-G Ninja)
  elif [ -x "$deps/venv/bin/ninja" ]; then generator=(-G Ninja "-DCMAKE_MAKE_PROGRAM=$deps/venv/bin/ninja")
  elif have make; then generator=(-G "Unix Makefiles")
  else return 1; fi
}
# A Python that can make a virtual environment, or one that was unpacked into .deps.
find_python() {
  python=
  if have python3 && python3 -c 'import venv, ensurepip, ssl' >/dev/null 2>&1; then python=python3
  elif [ -f "$deps/python.ok" ]; then use_unpacked_python; python=$deps/root/usr/bin/python3
  else return 1; fi
}
use_unpacked_python() {
  local arch lib
  arch=$(multiarch)
  lib=$deps/root/usr/lib/$arch
  case ":${LD_LIBRARY_PATH:-}:" in
    *":$lib:"*) ;;
    *) export LD_LIBRARY_PATH="$lib:$deps/root/lib/$arch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
  esac
}

# The driver's CUDA major version ("" without a driver). 580 is the first driver of CUDA 13.
driver_cuda_major() {
  local version=
  if [ -r /proc/driver/nvidia/version ]; then
    version=$(sed -nE '1s/.*Kernel Module[^0-9]*(for [^ ]+ +)?([0-9]+)\..*/\2/p' /proc/driver/nvidia/version)
  fi
  if [ -z "$version" ] && have nvidia-smi; then
    version=$(timeout 20 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | sed -nE '1s/^([0-9]+)\..*/\1/p') || version=
  fi
  [ -n "$version" ] || return 0
  if [ "$version" -ge 580 ]; then echo 13; else echo 12; fi
}
# CUDA 13's compiler dropped the chips before Turing; true when such a chip is here.
has_old_chip() {
  have nvidia-smi || return 1
  timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | awk -F. '/^[0-9]+\.[0-9]+$/ && $1 * 10 + $2 < 75 {old = 1} END {exit !old}'
}

# Headers and NVRTC of an installed toolkit, 12.8 or newer and of a major version that the driver takes: sets cuda_include.
find_toolkit() {
  local root version major=$1
  for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda $(printf '%s\n' /usr/local/cuda-* | sort -rV) /opt/cuda; do
    if [ -z "$root" ] || [ ! -f "$root/include/cuda.h" ] || [ ! -f "$root/include/nvrtc.h" ]; then continue; fi
    [ -f "$root/include/cupti_range_profiler.h" ] || [ -f "$root/extras/CUPTI/include/cupti_range_profiler.h" ] || continue
    version=$(sed -nE 's/^#define +CUDA_VERSION +([0-9]+).*/\1/p' "$root/include/cuda.h" | head -n 1)
    [ "${version:-0}" -ge 12080 ] || continue
    [ -z "$major" ] || [ $((version / 1000)) -le "$major" ] || continue
    compgen -G "$root/lib*/libnvrtc.so.*" >/dev/null || compgen -G "$root/targets/*/lib/libnvrtc.so.*" >/dev/null || continue
    cuda_include="$root/include;$root/extras/CUPTI/include"
    return 0
  done
  return 1
}
# Sets cuda_include, or wheels (what PyPI must give) and wheels_folder.
find_cuda() {
  local major folder
  cuda_include='' wheels=() wheels_folder=''
  major=$(driver_cuda_major)
  if has_old_chip; then major=12; fi
  if find_toolkit "$major"; then return 0; fi
  if [ "${major:-13}" = 12 ]; then
    wheels_folder=$deps/cuda-12.9
    wheels=(nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-cupti-cu12==12.9.79 nvidia-cuda-runtime-cu12==12.9.79)
  else
    wheels_folder=$deps/cuda-13.0
    wheels=(nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.96)
  fi
  if [ -d "$wheels_folder" ]; then wheels=(); use_wheels; fi
}
use_wheels() {
  local folder
  cuda_include=
  for folder in "$wheels_folder"/nvidia/*/include; do cuda_include+=${cuda_include:+;}$folder; done
  # A path that the user chose stays.
  export GPUCHAR_LIBNVRTC=${GPUCHAR_LIBNVRTC:-$(compgen -G "$wheels_folder/nvidia/*/lib/libnvrtc.so.1[0-9]" | head -n 1)}
  export GPUCHAR_LIBCUPTI=${GPUCHAR_LIBCUPTI:-$(compgen -G "$wheels_folder/nvidia/*/lib/libcupti.so.1[0-9]" | head -n 1)}
}

# ---- what is missing -----------------------------------------------------------------------------------------------

# Fills apt (Debian names), pypi and wheels.
look() {
  apt=() pypi=()
  find_compiler
  if [ -z "$cc" ]; then apt+=(gcc libc6-dev); elif ! has_c_library; then apt+=(libc6-dev); fi
  if ! find_cmake; then
    if is_root && is_debian && debian_cmake_is_new; then apt+=(cmake); else pypi+=(cmake==3.31.6); fi
  fi
  if ! find_generator; then if is_root && is_debian; then apt+=(ninja-build); else pypi+=(ninja==1.11.1.4); fi; fi
  has_jansson || apt+=(libjansson-dev)
  if [ "$need" = test ]; then
    has_cmocka || apt+=(libcmocka-dev)
    if is_root && is_debian; then
      # For the tests in C++ and those of the installed package; a user without them sees these tests skipped.
      have g++ || have clang++ || apt+=(g++)
      have pkg-config || apt+=(pkg-config)
      # Optional: the library is built without what is not there.
      has_lz4 || apt+=(liblz4-dev)
      has_zstd || apt+=(libzstd-dev)
    fi
  fi
  find_cuda
  if [ ${#pypi[@]} -gt 0 ] || [ ${#wheels[@]} -gt 0 ]; then find_python || apt+=(python3 python3-venv); fi
  if [ "$need" = test ] && is_root && is_debian && ! have python3; then
    case " ${apt[*]} " in *" python3 "*) ;; *) apt+=(python3) ;; esac
  fi
}
# Ubuntu 20.04 and older distributions have an older CMake than 3.22.
debian_cmake_is_new() {
  local version
  version=$(apt-cache policy cmake 2>/dev/null | awk '/Candidate:/ {print $2}') || version=
  [ -z "$version" ] || [ "$version" = "(none)" ] || [ "$(printf '3.22\n%s\n' "$version" | sort -V | head -n 1)" = 3.22 ]
}
lacking() { [ $((${#apt[@]} + ${#pypi[@]} + ${#wheels[@]})) -gt 0 ]; }
apt_line() { printf 'apt-get install %s' "$*"; }

# ---- getting it ----------------------------------------------------------------------------------------------------

# What is missing and why, in one line.
give_up() { die "$1; missing: $what. Output: ${log#"$top"/}"; }

install_as_root() {
  local upgraded
  try apt-get update -q || true
  apt-get install -s --no-install-recommends --no-upgrade "$@" >"$log.plan" 2>&1 ||
    { cat "$log.plan" >>"$log"; give_up "apt-get cannot get $* (no network, or no source has them)"; }
  # "Inst NAME [OLD] (NEW ...": something that is there would change.
  upgraded=$(awk '$1 == "Inst" && $3 ~ /^\[/ {printf " %s", $2}' "$log.plan")
  [ -z "$upgraded" ] || give_up "nothing is upgraded without you, but$upgraded would have to be: run $(apt_line "$@")"
  DEBIAN_FRONTEND=noninteractive try apt-get install -q -y --no-install-recommends --no-upgrade "$@" ||
    give_up "apt-get could not install $* (no network?)"
}

# Debian packages and what they need, downloaded with a private package list and unpacked into .deps/root.
unpack_as_user() {
  local state=$deps/apt file options
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$deps/root"
  options=(-q -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=)
  try apt-get "${options[@]}" update || return 1
  rm -f "$state"/cache/archives/*.deb
  try apt-get "${options[@]}" install --download-only -y --no-install-recommends "$@" || return 1
  for file in "$state"/cache/archives/*.deb; do
    [ -f "$file" ] || return 1
    try dpkg-deb -x "$file" "$deps/root" || return 1
  done
  # A library that the system has already was not downloaded: the unpacked link to it points nowhere yet.
  find "$deps/root/usr/lib" -name '*.so' -xtype l | while read -r file; do
    local there=${file#"$deps/root"}
    there=$(dirname "$there")/$(readlink "$file")
    if [ -e "$there" ]; then ln -sfn "$there" "$file"; fi
  done
}

install_as_user() {
  local unpack=() rest=() package
  for package in "$@"; do
    case $package in libjansson-dev | libcmocka-dev | python3*) unpack+=("$package") ;; *) rest+=("$package") ;; esac
  done
  # A compiler cannot be unpacked just anywhere: it must be there.
  [ ${#rest[@]} -eq 0 ] || die "a C compiler with the C library's headers is needed, and you are not root; as root: $(apt_line "$@")"
  is_debian || give_up "no apt-get here"
  case " $* " in *python3*) unpack+=(python3-pip-whl) ;; esac
  unpack_as_user "${unpack[@]}" || give_up "could not download Debian packages (no network?); as root: $(apt_line "$@")"
  case " $* " in *python3*)
    # Debian's python3 may be there without its venv module, which then lies beside an interpreter of the same version.
    if [ ! -x "$deps/root/usr/bin/python3" ]; then mkdir -p "$deps/root/usr/bin"; ln -sf "$(command -v python3)" "$deps/root/usr/bin/python3"; fi
    touch "$deps/python.ok" ;;
  esac
}

# A virtual environment with pip, in .deps.
make_venv() {
  local wheel
  "$deps/venv/bin/python" -m pip --version >/dev/null 2>&1 && return 0
  rm -rf "$deps/venv"
  if [ "$python" = python3 ]; then
    try "$python" -m venv "$deps/venv"
  else
    # The unpacked Python looks for pip's wheel under /usr/share: bring it in by hand.
    wheel=$(compgen -G "$deps/root/usr/share/python-wheels/pip-*.whl" | head -n 1) || return 1
    try "$python" -m venv --without-pip "$deps/venv" || return 1
    try env PYTHONPATH="$wheel" "$deps/venv/bin/python" -m pip install -q --disable-pip-version-check --no-input pip
  fi
}
install_from_pypi() {
  local pip=("$deps/venv/bin/python" -m pip install -q --disable-pip-version-check --no-input)
  make_venv || give_up "could not make a Python environment in .deps/venv (no network?)"
  if [ ${#pypi[@]} -gt 0 ]; then
    try "${pip[@]}" "${pypi[@]}" || give_up "could not download from PyPI (no network?)"
  fi
  if [ ${#wheels[@]} -gt 0 ]; then
    # A folder that exists is complete: it gets its name last.
    rm -rf "$wheels_folder.part"
    try "${pip[@]}" --no-deps --target "$wheels_folder.part" "${wheels[@]}" \
      || give_up "could not download NVIDIA's headers and compiler from PyPI (no network?)"
    mv "$wheels_folder.part" "$wheels_folder"
  fi
}

# prepare: after it, cc, cmake, generator, cuda_include are set, or the script has ended with one clear line.
prepare() {
  mkdir -p "$top/build"
  : >"$log"
  [ "$(uname -s)" = Linux ] || die "libgpuchar runs on Linux (x86-64, aarch64) and on WSL2; this is $(uname -s)"
  if [ -f "$deps/python.ok" ]; then use_unpacked_python; fi
  look
  if lacking; then
    local names="${pypi[*]}${pypi[*]:+ }${wheels[*]}"
    what="${apt[*]:+Debian packages }${apt[*]}"
    what+="${names:+${what:+; }from PyPI: }$names"
    [ "$install" = 1 ] || die "missing, and --no-install was given: $what"
    if is_root; then say "installing $what${names:+ (into .deps)}"; else say "getting into .deps: $what"; fi
    if [ ${#apt[@]} -gt 0 ]; then
      if is_root && is_debian; then install_as_root "${apt[@]}"; else install_as_user "${apt[@]}"; fi
      find_compiler
    fi
    if [ ${#pypi[@]} -gt 0 ] || [ ${#wheels[@]} -gt 0 ]; then
      mkdir -p "$deps"
      find_python || die "a Python with venv is needed: $(apt_line python3 python3-venv)"
      install_from_pypi
    fi
    look
    ! lacking || die "still missing after installing: ${apt[*]} ${pypi[*]} ${wheels[*]}"
  fi
  if [ -n "$wheels_folder" ]; then use_wheels; fi
}

# build FOLDER OPTION...: configures and builds.
build() {
  local folder=$1; shift
  say "building in ${folder#"$top"/}"
  quietly "configuring" "$cmake" -S "$top" -B "$folder" "${generator[@]}" "-DCMAKE_C_COMPILER=$cc" \
    "-DGPUCHAR_CUDA_INCLUDE_DIR=$cuda_include" "$@" || exit 1
  quietly "building" "$cmake" --build "$folder" --parallel "$(nproc)" || exit 1
}
