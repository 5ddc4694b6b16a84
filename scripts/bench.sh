#!/bin/sh
# Speed and memory, side by side with others: scripts/bench.sh [OPTIONS OF build/bench/bench]
# The corpus is the traces beside the project if they are there (TRACES names others), else made up by
# bench/make_corpus.py. BENCH_SECONDS (20) is the time for each table. What runs on node is installed
# into build/bench/peers, if there is an npm; tokenizers of PyPI into build/bench/python. --json leaves out the batch table.
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
    [ ! -f "$file" ] || [ "$traces" -nt "$file" ] || [ "$2" -nt "$file" ] || return 0
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
made "$dir/${name}_chat.jsonl" python3 bench/extract.py --format openai-chat "$traces"
made "$dir/${name}_joined_chat.jsonl" python3 bench/join.py --format openai-chat --sizes 1,5,10 "$traces"

# What runs on node gets tables of its own, over the openai-chat bodies.
peers=$dir/peers
set -- "$@" "$dir/$name.jsonl" "$dir/${name}_joined.jsonl"
if command -v node >/dev/null && command -v npm >/dev/null; then
    mkdir -p "$peers"
    cp bench/peers/peers.js "$peers"
    if ! cmp -s bench/peers/package.json "$peers/package.json"; then
        cp bench/peers/package.json "$peers"
        npm install --prefix "$peers" --no-audit --no-fund --ignore-scripts >"$peers/npm.log" 2>&1 ||
            rm "$peers/package.json"
    fi
    [ ! -f "$peers/package.json" ] ||
        set -- "$@" --node "$peers/peers.js" "$dir/${name}_chat.jsonl" "$dir/${name}_joined_chat.jsonl"
fi
[ -f "$peers/package.json" ] || echo "bench.sh: node's rows are left out: npm is missing or failed" >&2

"$dir/bench" --seconds "${BENCH_SECONDS:-20}" "$@"
case " $* " in *' --json '*) exit 0 ;; esac
echo
python3 bench/batch.py build/paucis "$dir/$name.jsonl"
# Tokenizers from PyPI, as wheels only: what has to be built first would take longer than the rest.
python=$PWD/$dir/python/bin/python
if [ ! -f "$dir/python/done" ]; then
    python3 -m venv "$dir/python" >"$dir/python.log" 2>&1 &&
        "$python" -m pip install -q --only-binary :all: tiktoken==0.14.0 gigatoken==0.10.0 >>"$dir/python.log" 2>&1 &&
        touch "$dir/python/done" || echo "bench.sh: tokenizers of PyPI are left out: pip failed" >&2
fi
cc -O2 -std=c11 -Iinclude bench/tokens/tokens.c build/libpaucis.a -o "$dir/tokens"
exec python3 bench/tokens/tokens.py "$dir/tokens" build/paucis "$dir/$name.jsonl" "$PWD/$peers/node_modules" "$python"
