#!/bin/bash
# What `paucis serve` adds to the time to the first byte: bench/proxy.sh PAUCIS [REPEATS]
# Four conversations of 100 KB, 1 MB and 5 MB that grow by a step with every request, open loop at 30 % of what
# the proxy can do, on loopback, the stand-in and the load on the same cores. The best of REPEATS (5) medians is shown: others only add to it.
set -euo pipefail
paucis=${1:?usage: bench/proxy.sh PAUCIS [REPEATS]}
repeats=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$dir"' EXIT
${CC:-cc} -O2 -std=c11 -o "$dir/load" "$here/proxy_load.c" -lpthread
direct=$((20000 + $$ % 20000))
through=$((direct + 1))
"$dir/load" serve $direct &
pids+=($!)
start() {
    "$paucis" serve -q --upstream "http://127.0.0.1:$direct" --listen "127.0.0.1:$through" \
        --record "$dir/record.db" ${SERVE_FLAGS:-} 2>"$dir/log" &
    proxy=$!
    pids+=($!)
    sleep 1
}
start

field() { awk -v k="$2" '{ for (i = 1; i < NF; i++) if ($i == k) print $(i + 1) }' "$1"; }
best() { sort -n | head -n 1; }

echo "| body | capacity a second | direct p50 | through p50 | added p50 | direct p99 | through p99 | CPU a request |"
echo "|---|--:|--:|--:|--:|--:|--:|--:|"
for size in 100000 1000000 5000000; do
    python3 "$here/proxy_body.py" $size >"$dir/body"
    "$dir/load" closed $through "$dir/body" $((40000000 / size > 400 ? 400 : 40000000 / size + 20)) 4 >"$dir/closed"
    capacity=$(field "$dir/closed" rate)
    rate=$(awk -v r="$capacity" 'BEGIN { print r * 0.3 }')
    n=$(awk -v r="$rate" 'BEGIN { n = int(r * 4); print (n < 100 ? 100 : n > 400 ? 400 : n) }')
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
    cpu=$(awk -v t="$ticks" -v n="$((n * repeats))" 'BEGIN { printf "%.2f", t * 10 / n }')
    echo "| $((size / 1000)) KB | $capacity | ${row[0]} | ${row[2]} | $added | ${row[1]} | ${row[3]} | $cpu |"
done
kill "$proxy"
wait "$proxy" || true
start
python3 "$here/proxy_body.py" 100000 >"$dir/body"
LOAD_PATH=/hold/v1/chat/completions "$dir/load" hold $through "$dir/body" 1000 5 >"$dir/held" &
for _ in $(seq 100); do
    grep -q open "$dir/held" 2>/dev/null && break
    sleep 0.2
done
echo
echo "1000 open streams: $(awk '/VmRSS/ { printf "%.0f", $2 / 1024 }' "/proc/$proxy/status") MB resident"
wait %% 2>/dev/null || true
