#!/bin/sh
# Speed and memory, side by side with other JSON readers: scripts/bench.sh [OPTIONS OF build/bench/bench]
# The corpus is the traces beside the project if they are there (TRACES names others), else made up by
# bench/make_corpus.py. BENCH_SECONDS (20) is the time for each table.
set -eu
cd "$(dirname "$0")/.."
[ ! -x scripts/install-deps ] || scripts/install-deps bench
scripts/build release >/dev/null
dir=build/bench
mkdir -p "$dir"

unset MAKEFLAGS MAKELEVEL
cmake -S bench -B "$dir" -DPAUCIS_LIBRARY="$PWD/build/libpaucis.a" -Wno-dev >"$dir/cmake.log"
cmake --build "$dir" -j "$(nproc)" >>"$dir/cmake.log" || { cat "$dir/cmake.log" >&2; exit 1; }

# made FILE COMMAND...: the command's output, made once for each set of traces
made() {
    file=$1
    shift
    [ ! -f "$file" ] || [ "$traces" -nt "$file" ] || [ bench -nt "$file" ] || return 0
    "$@" >"$file.new"
    mv "$file.new" "$file"
}

traces=${TRACES:-../shared/traces/dev.jsonl.zst}
name=traces
if [ ! -f "$traces" ]; then
    traces=$dir/made_up.trace
    name=made_up
    [ -f "$traces" ] || python3 bench/make_corpus.py >"$traces"
fi
made "$dir/$name.jsonl" python3 bench/extract.py "$traces"
made "$dir/${name}_joined.jsonl" python3 bench/join.py "$traces"
exec "$dir/bench" --seconds "${BENCH_SECONDS:-20}" "$@" "$dir/$name.jsonl" "$dir/${name}_joined.jsonl"
