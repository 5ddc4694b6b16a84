#!/bin/sh
# Runs the main job on a bundled conversation and shows what happened: scripts/demo.sh [PAUCIS [BODY]]
set -eu
cd "$(dirname "$0")/.."
paucis=${1:-build/paucis}
body=${2:-examples/agent.json}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

"$paucis" --version
say "The conversation: $body, what a coding agent sends after 22 messages"
echo "$(wc -c <"$body") bytes"

say "\$ paucis check $body"
"$paucis" check "$body" && echo "valid: no rule of its format is broken"

say "\$ paucis plan --human $body"
"$paucis" plan --human "$body"

say "\$ paucis compact --stats $body"
"$paucis" compact --stats="$out/stats" "$body" >"$out/shorter.json"
cat "$out/stats"

say "\$ paucis check --before $body shorter.json"
"$paucis" check --before "$body" "$out/shorter.json" && echo "still valid: nothing was broken"

say "\$ paucis replay: the whole session, request by request, with a prompt cache"
"$paucis" replay --min-messages 10 --policy none,classic,stable,mask:10 "$body" | sed -n '4,8p'

say "\$ paucis compact -p none $body"
"$paucis" compact -p none "$body" >"$out/same.json"
cmp "$body" "$out/same.json" && echo "with nothing to cut the output is the input, byte for byte"

say "The same with one message broken: a result that answers no call"
sed 's/"tool_use_id": "toolu_0103/"tool_use_id": "toolu_9903/' "$body" >"$out/broken.json"
status=0
"$paucis" check "$out/broken.json" || status=$?
echo "exit $status"

say "\$ paucis list formats"
"$paucis" list formats
