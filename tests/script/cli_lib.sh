# Helpers of the tests of the command. Sourced; PAUCIS is the command, SRC the source folder.
set -u
: "${PAUCIS:?}" "${SRC:?}"
[ -x "$PAUCIS" ] || { echo "no command at $PAUCIS"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# expect CODE NAME COMMAND...: runs it with stdout in ./out and stderr in ./err.
expect() {
    local want=$1 name=$2 got
    shift 2
    "$@" >out 2>err
    got=$?
    [ "$got" -eq "$want" ] || fail "$name: exit $got instead of $want: $(head -c 300 err)"
}

# paucis, with stdin from a file or /dev/null: no test may wait for a terminal.
run() {
    "$PAUCIS" "$@" </dev/null
}

same() { cmp -s "$1" "$2" || fail "$3: '$1' and '$2' differ"; }
empty() { [ ! -s "$1" ] || fail "$2: '$1' is not empty: $(head -c 200 "$1")"; }
says() { grep -q -e "$1" "$2" || fail "$3: no '$1' in $2: $(head -c 300 "$2")"; }
json() { python3 -c "import json,sys; o=json.load(open('$1')); assert $2, o" || fail "$3"; }
has_strategy() { "$PAUCIS" list strategies | grep -q "^$1 "; }

finish() {
    [ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
    exit 0
}

cat >body.json <<'BODY'
{"model": "gpt-4o", "x-unknown": [1.50, "\u00e9"], "messages": [
 {"role": "system", "content": "be brief"},
 {"role": "user", "content": "list the files"},
 {"role": "assistant", "content": null, "tool_calls": [
  {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
 {"role": "tool", "tool_call_id": "call_1", "content": "a.c\nb.c"},
 {"role": "assistant", "content": "two files"}
]}
BODY
printf '%s' '{"model":"m","messages":[{"role":"user" "content":1}]}' >bad.json
printf '%s' '{"some":"thing","else":[1,2]}' >unknown.json
