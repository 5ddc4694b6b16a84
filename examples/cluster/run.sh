#!/bin/bash
# Three replicas of `paucis serve`, nginx before them and a Redis cluster behind them, on this machine:
#   examples/cluster/run.sh [OPTIONS OF SERVE]
# Point agents at http://127.0.0.1:8480. Ends with Ctrl-C, and with it everything it started. What is kept stays in
# $PAUCIS_CLUSTER (default ~/.local/share/paucis/cluster).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
paucis=${PAUCIS:-paucis}
dir=${PAUCIS_CLUSTER:-${XDG_DATA_HOME:-$HOME/.local/share}/paucis/cluster}
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait' EXIT
nodes=()
for port in 7401 7402 7403 7404 7405 7406; do
    mkdir -p "$dir/$port"
    redis-server --port $port --bind 127.0.0.1 --dir "$dir/$port" --appendonly yes --save "" --cluster-enabled yes \
        --cluster-node-timeout 1500 --maxmemory-policy volatile-lru >"$dir/$port/log" &
    pids+=($!)
    nodes+=("127.0.0.1:$port")
done
for node in "${nodes[@]}"; do
    until redis-cli -p "${node#*:}" ping >/dev/null 2>&1; do sleep 0.1; done
done
if ! redis-cli -p 7401 cluster nodes | grep -q slave; then
    redis-cli --cluster create "${nodes[@]}" --cluster-replicas 1 --cluster-yes >/dev/null
fi
until redis-cli -p 7401 cluster info | grep -q cluster_state:ok; do sleep 0.2; done
url="redis://$(IFS=,; echo "${nodes[*]}")?wait=1" # acknowledged when a replica has it too
for port in 8481 8482 8483; do
    "$paucis" serve -q --listen 127.0.0.1:$port --store "$url" --record "$dir/$port.db" "$@" &
    pids+=($!)
done
mkdir -p "$dir/nginx"
nginx -p "$dir/nginx" -e stderr -c "$here/nginx.conf" &
pids+=($!)
echo "http://127.0.0.1:8480"
wait
