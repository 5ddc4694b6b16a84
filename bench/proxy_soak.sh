#!/bin/bash
# A day's requests in minutes: bench/proxy_soak.sh PAUCIS [REQUESTS]
# Ten agents that ask every ten seconds send 86,400 requests a day (the default): conversations of 40
# requests with bodies of 30 to 100 KB, one round in ten of 1 MB. After each tenth: resident memory, open
# files, threads, size of the record.
set -euo pipefail
paucis=${1:?usage: bench/proxy_soak.sh PAUCIS [REQUESTS]}
requests=${2:-86400}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$dir"' EXIT
${CC:-cc} -O2 -std=c11 -o "$dir/load" "$here/proxy_load.c" -lpthread
"$dir/load" serve 18473 &
pids+=($!)
"$paucis" serve -q --upstream http://127.0.0.1:18473 --listen 127.0.0.1:18474 --record "$dir/record.db" \
    --store "sqlite:$dir/store.db" ${SERVE_FLAGS:-} 2>"$dir/log" &
proxy=$!
pids+=($proxy)
sleep 1
for size in 30000 100000 1000000; do python3 "$here/proxy_body.py" $size step >"$dir/$size"; done
export LOAD_STEPS=40
echo "| requests | MB resident | open files | threads | record MB |"
echo "|--:|--:|--:|--:|--:|"
for round in $(seq 10); do
    "$dir/load" closed 18474 "$dir/30000" $((requests / 20)) 8 >/dev/null
    "$dir/load" closed 18474 "$dir/100000" $((requests / 20)) 8 >/dev/null
    "$dir/load" closed 18474 "$dir/1000000" 100 4 >/dev/null
    status=$(awk '/VmRSS/ { m = $2 / 1024 } /Threads/ { t = $2 } END { printf "%.0f %d", m, t }' \
        "/proc/$proxy/status")
    files=$(ls "/proc/$proxy/fd" | wc -l)
    size=$(du -ck "$dir"/record.db* | awk 'END { printf "%.1f", $1 / 1024 }')
    echo "| $((requests * round / 10 + 100 * round)) | ${status% *} | $files | ${status#* } | $size |"
done
