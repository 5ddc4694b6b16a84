#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS (60): scripts/fuzz.sh [TARGET...]
# New inputs are gathered in fuzz-out/TARGET, findings in fuzz-out/TARGET.found. With FUZZ_MERGE=1 the
# inputs that add coverage and are at most 4 KB are then taken over into tests/fuzz/corpus/TARGET.
set -eu
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
scripts/build fuzz
[ $# -gt 0 ] || set -- $(cd tests/fuzz && ls fuzz_*.c 2>/dev/null | sed 's/\.c$//')
status=0
for target in "$@"; do
    program=build-fuzz/tests/$target
    seeds=tests/fuzz/corpus/$target
    gathered=fuzz-out/$target
    mkdir -p "$seeds" "$gathered" "$gathered.found"
    dictionary=tests/fuzz/$target.dict
    [ -f "$dictionary" ] && dictionary=-dict=$dictionary || dictionary=
    echo "== $target, $seconds s"
    # shellcheck disable=SC2086  # the dictionary may be absent
    if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$gathered.found/" $dictionary "$gathered" "$seeds" \
        >"$gathered.log" 2>&1; then
        grep -E 'DONE|^stat::(number_of_executed_units|average_exec_per_sec)' "$gathered.log"
    else
        tail -n 40 "$gathered.log"
        status=1
    fi
    if [ -n "${FUZZ_MERGE:-}" ]; then
        "$program" -merge=1 -max_len=4096 "$seeds" "$gathered" >"$gathered.merge.log" 2>&1
        echo "corpus: $(ls "$seeds" | wc -l) inputs, $(du -sk "$seeds" | cut -f 1) KB"
    fi
done
exit $status
