#!/bin/sh
# Runs scripts/test.sh full and keeps what it printed, without the paths of this machine, in
# docs/test-full.txt.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
log=build/test-full.log
status=0
{
    echo "make test-full, $(date -u +%Y-%m-%d), commit $(git rev-parse --short HEAD 2>/dev/null || echo none)"
    for tool in gcc "clang-${LLVM:-14}" i686-linux-gnu-gcc aarch64-linux-gnu-gcc qemu-aarch64 valgrind; do
        "$tool" --version | head -n 1
    done
    grep -m 1 'model name' /proc/cpuinfo || true
    scripts/test.sh full || echo "== failed with $?"
} >"$log" 2>&1 &
pid=$!
tail -n +1 -f --pid=$pid "$log"
wait $pid
tail -n 1 "$log" | grep -q '^== all passed' || status=1
noise='^(ninja: |\[[0-9 /%]*\] |Internal ctest|Test project| *Start +[0-9]+: )'
sed "s|$PWD/||g; s|$(dirname "$PWD")/||g" "$log" | grep -Ev "$noise" >docs/test-full.txt
exit $status
