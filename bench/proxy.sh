#!/bin/bash
# What `paucis serve` adds to the time to the first byte: bench/proxy.sh PAUCIS [REPEATS]
# Bodies of 100 KB, 1 MB and 5 MB, open loop at 30 % of what the proxy can do, on loopback, the stand-in
# and the load on the same cores. Three loads: "step", four clients that each lead a conversation, every
# request a call and its result longer; it has grown through the proxy in eight requests before. "late": the
# same in conversations of 40 requests that the proxy meets at this size, so that the first is new to it and
# the second takes everything old at once: that is the p99. "new": every request one that the proxy has not
# seen, a branch of a known conversation. The best of REPEATS (5) is shown: others only add to it. Then where
# the time goes, and the memory of 1000 open streams.
set -euo pipefail
paucis=${1:?usage: bench/proxy.sh PAUCIS [REPEATS]}
repeats=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$dir"' EXIT
${CC:-cc} -O2 -std=c11 -o "$dir/load" "$here/proxy_load.c" -lpthread
direct=18471
through=18472
"$dir/load" serve $direct &
pids+=($!)

start() {
    rm -f "$dir"/record.db* "$dir"/store.db*
    "$paucis" serve --upstream "http://127.0.0.1:$direct" --listen "127.0.0.1:$through" \
        --record "$dir/record.db" --store "sqlite:$dir/store.db" ${SERVE_FLAGS:-} 2>"$dir/log" &
    proxy=$!
    pids+=($proxy)
    for _ in $(seq 100); do
        grep -q listening "$dir/log" && return
        sleep 0.05
    done
}

stop() {
    kill "$proxy"
    wait "$proxy" || true
}

field() { awk -v k="$2" '{ for (i = 1; i < NF; i++) if ($i == k) print $(i + 1) }' "$1"; }
best() { sort -n | head -n 1; }

# The medians of the log's times, in milliseconds.
stages() {
    python3 - "$dir/log" <<'PY'
import json, statistics, sys
rows = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
print("".join(f" {statistics.median(r[k] for r in rows) / 1000:.2f} |"
              for k in ("body_us", "queue_us", "work_us", "head_us")))
PY
}

measure() { # kind, bytes
    start
    kind=step
    [ "$1" = new ] && kind=
    python3 "$here/proxy_body.py" "$2" $kind >"$dir/body"
    export LOAD_BEFORE='' LOAD_STEPS=40
    if [ "$1" = step ]; then
        unset LOAD_STEPS
        for k in 1 2 3 4 5 6 7 8; do
            python3 "$here/proxy_body.py" $(($2 * k / 9)) step >"$dir/before.$k"
            LOAD_BEFORE="$LOAD_BEFORE${LOAD_BEFORE:+ }$dir/before.$k"
        done
    elif [ "$1" = new ]; then
        LOAD_STEPS=1
        python3 "$here/proxy_body.py" "$2" prefix >"$dir/prefix"
        "$dir/load" closed $through "$dir/prefix" 1 1 >/dev/null
    fi
    LOAD_STEPS=${LOAD_STEPS:-40} "$dir/load" closed $through "$dir/body" $((40000000 / $2 + 40)) 4 >"$dir/closed"
    capacity=$(field "$dir/closed" rate)
    rate=$(awk -v r="$capacity" 'BEGIN { print r * 0.3 }')
    n=$(awk -v r="$rate" 'BEGIN { n = int(r * 4); print n < 160 ? 160 : n }')
    # Steps are some 450 bytes: a conversation must not grow to another size.
    if [ "$1" = step ] && [ "$n" -gt $(($2 / 250)) ]; then n=$(($2 / 250)); fi
    ticks=$(awk '{ print $14 + $15 }' "/proc/$proxy/stat")
    for i in $(seq "$repeats"); do
        "$dir/load" open $direct "$dir/body" "$n" "$rate" 4 >"$dir/direct.$i"
        "$dir/load" open $through "$dir/body" "$n" "$rate" 4 >"$dir/through.$i"
    done
    ticks=$(($(awk '{ print $14 + $15 }' "/proc/$proxy/stat") - ticks))
    row=()
    for what in direct through; do
        for p in p50 p99; do
            row+=("$(for i in $(seq "$repeats"); do field "$dir/$what.$i" $p; done | best)")
        done
    done
    added=$(awk -v a="${row[2]}" -v b="${row[0]}" 'BEGIN { printf "%.2f", a - b }')
    added99=$(awk -v a="${row[3]}" -v b="${row[1]}" 'BEGIN { printf "%.2f", a - b }')
    cpu=$(awk -v t="$ticks" -v n="$((n * repeats))" 'BEGIN { printf "%.2f", t * 10 / n }')
    echo "| $(($2 / 1000)) KB | $1 | $capacity | ${row[0]} | ${row[2]} | **$added** | $added99 | $cpu |$(stages)"
    stop
}

echo "| body | load | capacity a second | direct p50 | through p50 | added p50 | added p99 | CPU a request | body in | queues | decision | to the answer's head |"
echo "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
for size in 100000 1000000 5000000; do
    for kind in step late new; do measure $kind $size; done
done

start
python3 "$here/proxy_body.py" 100000 >"$dir/body"
LOAD_BEFORE='' LOAD_PATH=/hold/v1/chat/completions "$dir/load" hold $through "$dir/body" 1000 5 >"$dir/held" &
held=$!
for _ in $(seq 100); do
    grep -q open "$dir/held" 2>/dev/null && break
    sleep 0.2
done
echo
echo "1000 open streams: $(awk '/VmRSS/ { printf "%.0f", $2 / 1024 }' "/proc/$proxy/status") MB resident"
wait $held || true
