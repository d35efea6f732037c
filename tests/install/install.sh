#!/usr/bin/env bash
# The library used from outside. usage: install.sh MODE      with these variables set by ctest:
#   BUILD SOURCE CMAKE GENERATOR MAKE_PROGRAM CC CXX CUDA_INCLUDE JANSSON_ROOT VERSION
# MODE: package | pkgconfig | subdirectory | readme      exit 77: something outside the library is missing
set -euo pipefail
mode=$1 here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
configure=("$CMAKE" -G "$GENERATOR" "-DCMAKE_MAKE_PROGRAM=$MAKE_PROGRAM" "-DCMAKE_C_COMPILER=$CC")
[ -z "$JANSSON_ROOT" ] || configure+=("-DGPUCHAR_JANSSON_ROOT=$JANSSON_ROOT")

install_it() {
  "$CMAKE" --install "$BUILD" --prefix "$work/first" >"$work/log" || { cat "$work/log" >&2; exit 1; }
  mv "$work/first" "$work/prefix" # an installed tree may be moved
}
says() { # PROGRAM [ENV...]: it runs and tells the library's version
  local program=$1; shift
  local out; out=$(env "$@" "$program") || { echo "$program failed" >&2; exit 1; }
  [ "$out" = "$VERSION host" ] || { echo "$program printed: $out" >&2; exit 1; }
  echo "${program##*/}: $out"
}
quiet() { "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; echo "failed: $*" >&2; exit 1; }; }

case $mode in
  package)
    install_it
    cxx=OFF; if [ -n "$CXX" ]; then cxx=ON; configure+=("-DCMAKE_CXX_COMPILER=$CXX"); fi
    quiet "${configure[@]}" -S "$here/consumer" -B "$work/b" "-DCMAKE_PREFIX_PATH=$work/prefix" -DWITH_CXX=$cxx
    quiet "$CMAKE" --build "$work/b"
    says "$work/b/c_gpuchar"; says "$work/b/c_gpuchar_static"
    if [ $cxx = ON ]; then says "$work/b/cxx_gpuchar"; says "$work/b/cxx_gpuchar_static"; else echo "(no C++ compiler: C only)"; fi
    if [[ $(readelf -d "$work/b/c_gpuchar") != *libgpuchar.so.* ]]; then echo "the shared consumer is not shared" >&2; exit 1; fi
    if [[ $(readelf -d "$work/b/c_gpuchar_static") == *libgpuchar.so.* ]]; then echo "the static consumer is not static" >&2; exit 1; fi
    # Nothing of the build machine stays in what is installed.
    if grep -rlF -e "$SOURCE" -e "$BUILD" "$work/prefix/lib"*/cmake "$work/prefix/lib"*/*/cmake "$work/prefix/lib"*/pkgconfig 2>/dev/null; then
      echo "installed files name the build's folders" >&2; exit 1
    fi
    [ -x "$work/prefix/bin/quick_char" ] || { echo "quick_char is not installed" >&2; exit 1; }
    worker=$work/prefix/libexec/gpuchar/gpuchar-worker library=$(find "$work/prefix" -name 'libgpuchar.so.*.*.*' -type f)
    [[ $("$worker" --version) == "gpuchar-worker $VERSION "* ]] || { echo "gpuchar-worker is not installed, or of another version" >&2; exit 1; }
    if [[ $(readelf -d "$worker") == *libgpuchar* || $(readelf -d "$worker") == *jansson* ]]; then echo "gpuchar-worker needs other libraries" >&2; exit 1; fi
    # The library looks for it where it is, from its own folder.
    grep -qaF "$(realpath --relative-to="${library%/*}" "${worker%/*}")/" "$library" || { echo "the library looks for the worker elsewhere" >&2; exit 1; }
    if [[ $(ldd "$work/prefix/bin/quick_char" | grep libgpuchar) != *"$work/prefix/"* ]]; then echo "the installed quick_char does not find its library" >&2; exit 1; fi
    ;;
  pkgconfig)
    command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
    install_it
    pc=$(find "$work/prefix" -name gpuchar.pc -printf '%h\n')
    export PKG_CONFIG_PATH=$pc${JANSSON_ROOT:+:$(find "$JANSSON_ROOT" -name pkgconfig -type d | head -n 1)}
    # What lies unpacked in another folder than its .pc file says.
    extra=(); [ -z "$JANSSON_ROOT" ] || extra=(-L"$(dirname "$(find "$JANSSON_ROOT" -name 'libjansson.so' | head -n 1)")")
    libdir=$(pkg-config --variable=libdir gpuchar)
    [ "$(pkg-config --modversion gpuchar)" = "$VERSION" ] || { echo "wrong version in gpuchar.pc" >&2; exit 1; }
    read -ra flags <<<"$(pkg-config --cflags --libs gpuchar)"
    quiet "$CC" "$here/consumer/consumer.c" -o "$work/pc_shared" "${flags[@]}"
    says "$work/pc_shared" "LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    read -ra flags <<<"$(pkg-config --static --cflags --libs gpuchar)"
    # Both libraries lie in one folder: the archive is asked for by its name.
    quiet "$CC" "$here/consumer/consumer.c" -o "$work/pc_static" "${flags[@]/#-lgpuchar/-l:libgpuchar.a}" "${extra[@]}"
    says "$work/pc_static" "LD_LIBRARY_PATH=${extra[*]#-L}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    ;;
  subdirectory)
    quiet "${configure[@]}" -S "$here/subproject" -B "$work/b" "-DSOURCE=$SOURCE" "-DGPUCHAR_CUDA_INCLUDE_DIR=$CUDA_INCLUDE"
    quiet "$CMAKE" --build "$work/b" --parallel 2
    says "$work/b/sub_gpuchar"; says "$work/b/sub_gpuchar_static"
    ;;
  readme) # the README's lines, where an older installation left a second gpuchar.pc
    command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
    lines=$(sed -nE '/^## Your first program/,/^## /s/^    (cmake|export|cc) /\1 /p' "$SOURCE/README.md")
    read -ra given <<<"$(grep -oE -- '-D[^ ]+' <<<"$lines" | xargs)"
    quiet "${configure[@]}" -S "$SOURCE" -B "$work/b" -DCMAKE_INSTALL_LIBDIR=lib64 "${given[@]}" -DGPUCHAR_BUILD_TESTS=OFF \
      -DGPUCHAR_BUILD_EXAMPLES=OFF "-DGPUCHAR_CUDA_INCLUDE_DIR=$CUDA_INCLUDE"
    quiet "$CMAKE" --build "$work/b" --parallel 2
    quiet "$CMAKE" --install "$work/b" --prefix "$work/gpuchar"
    mkdir -p "$work/gpuchar/lib64/pkgconfig"
    printf 'Name: gpuchar\nDescription: old\nVersion: 0.0.0\nLibs: -L/nowhere -lgpuchar\n' >"$work/gpuchar/lib64/pkgconfig/gpuchar.pc"
    cd "$work"; mkdir examples; cp "$SOURCE/examples/first.c" examples
    HOME=$work; unset PKG_CONFIG_PATH
    cc() { "$CC" "$@"; }
    eval "$(grep '^export ' <<<"$lines")"
    PKG_CONFIG_PATH+=${JANSSON_ROOT:+:$(find "$JANSSON_ROOT" -name pkgconfig -type d | head -n 1)}
    eval "$(grep '^cc ' <<<"$lines")"
    [ -x first ] || { echo "the README's lines build no program" >&2; exit 1; }
    # What it says for machines without a GPU. The call is the README's own.
    recorded=$(grep -oE 'gpuchar_session_open_recorded\([^`]*' "$SOURCE/README.md" | head -n 1)
    sed -i "s|gpuchar_session_open(NULL, \"0\", NULL, &session)|${recorded//&/\\&}|" examples/first.c
    ln -s "$SOURCE/profiles" profiles
    eval "$(grep '^cc ' <<<"$lines")"
    out=$(./first) || { echo "the program on a recorded GPU failed" >&2; exit 1; }
    [ "$(grep -c 'paths: [1-9][0-9]* cycles' <<<"$out")" -gt 5 ] || { echo "the program on a recorded GPU printed: $out" >&2; exit 1; }
    ;;
  *) echo "unknown mode $mode" >&2; exit 2 ;;
esac
