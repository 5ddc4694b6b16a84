#!/bin/bash
# Exit codes one by one, usage errors, and where input comes from.
. "${SRC:?}/tests/script/cli_lib.sh"

# 0
expect 0 "plain" run compact -p none body.json
same body.json out "identity"
empty err "nothing to say"
expect 0 "stdin" "$PAUCIS" compact -p none <body.json
same body.json out "stdin"
expect 0 "dash" "$PAUCIS" compact -p none - <body.json
same body.json out "dash"
expect 0 "options after --" run compact -p none -- body.json
cp body.json ./-q
expect 0 "file named like an option" run compact -p none -- -q
same body.json out "file named like an option"
expect 0 "flags before the command" run -p none compact body.json
expect 0 "last wins" run compact -f anthropic -f openai-chat -p none body.json
expect 0 "bench" run bench --json body.json
says '"name":"stable","mb_per_s":' out "bench prints a row for each policy"
expect 3 "bench of what is no body" run bench bad.json
expect 0 "undo" run compact -p none --jsonl --no-jsonl body.json
expect 0 "joined" run compact -pnone --format=openai-chat -vq body.json

# 1
if has_strategy compact_to_budget; then
    expect 1 "budget missed" run compact -s compact_to_budget -b 1 --strict-budget body.json
    [ -s out ] || fail "budget missed: the best body still goes out"
    expect 0 "budget missed, not strict" run compact -s compact_to_budget -b 1 body.json
    expect 0 "budget met" run compact -s compact_to_budget -b 1M --strict-budget body.json
fi

# 2
usage() {
    local name=$1
    shift
    expect 2 "$name" run "$@"
    empty out "$name"
    [ -s err ] || fail "$name: no message"
}
usage "nothing"
usage "no such file" compact missing.json
usage "a folder" compact .
usage "too many files" compact body.json body.json
usage "unknown command" compcat body.json
says "did you mean 'compact'" err "unknown command"
usage "unknown flag" compact --jsnol body.json
says "did you mean '--jsonl'" err "unknown flag"
usage "unknown letter" compact -Z body.json
usage "no argument" compact body.json -b
usage "no argument, long" compact body.json --budget
usage "an argument too many" compact --jsonl=yes body.json
usage "flag of another command" compact --human body.json
usage "format" compact -f openai-chta body.json
says "did you mean 'openai-chat'" err "format"
usage "policy" compact -p nnoe body.json
says "did you mean 'none'" err "policy"
usage "strategy" compact -s nonsense body.json
usage "empty strategy" compact -s "" body.json
usage "option without value" compact -O kernel body.json
usage "unknown option" compact -O kernle=avx2 body.json
says "did you mean 'kernel'" err "unknown option"
usage "wrong value" compact -O kernel=abacus body.json
says "kernel=abacus" err "wrong value"
usage "budget" compact -b 12Q body.json
usage "budget with a sign" compact -b -5 body.json
usage "budget overflow" compact -b 99999999999999999999 body.json
usage "budget overflow by suffix" compact -b 18446744073709551615K body.json
usage "jobs" compact --jsonl -j many body.json
usage "jobs without --jsonl" compact -j 2 body.json
usage "keep-going without --jsonl" compact --keep-going body.json
usage "colour" plan --color=pink body.json
usage "policy needs a budget" compact -p budget body.json
usage "shell" completion csh
usage "table" list formts
says "did you mean 'formats'" err "table"
usage "operand of man" man page
if has_strategy dedup; then
    usage "-s with -p" compact -s dedup -p none body.json
    usage "compact_to_budget without -b" compact -s dedup,compact_to_budget body.json
fi
expect 2 "disk full" bash -c '"$0" compact -p none body.json >/dev/full' "$PAUCIS"
says "cannot write 'stdout'" err "disk full"
expect 2 "disk full, help" bash -c '"$0" --help >/dev/full' "$PAUCIS"
expect 2 "disk full, -o" run compact -p none -o /dev/full body.json
expect 2 "disk full, --jsonl" run compact --jsonl -p none -o /dev/full body.json
expect 2 "disk full, stats" run compact -p none --stats=/dev/full body.json
expect 2 "closed stdout" bash -c '"$0" compact -p none body.json >&-' "$PAUCIS"

# A terminal as stdin: short usage instead of waiting.
python3 - "$PAUCIS" <<'PY' || fail "terminal as stdin"
import pty, subprocess, sys
master, slave = pty.openpty()
r = subprocess.run([sys.argv[1], "compact"], stdin=slave, capture_output=True, timeout=20)
assert r.returncode == 2 and r.stdout == b"" and b"Usage: paucis compact" in r.stderr, r
PY

# A reader that goes away: quiet.
head -c 3000000 /dev/zero | tr '\0' ' ' >large.json
echo '{}' >>large.json
python3 - "$PAUCIS" <<'PY' || fail "closed pipe"
import os, subprocess, sys
r, w = os.pipe()
os.close(r)
p = subprocess.run([sys.argv[1], "compact", "-p", "none", "large.json"], stdout=w,
                   stderr=subprocess.PIPE, timeout=20)
assert p.stderr == b"" and p.returncode == 2, p
PY

# 2: what is asked for is tested before anything is read, started or written
refused() {
    local words=$1
    shift
    expect 2 "$*" timeout 20 "$PAUCIS" "$@" </dev/null
    empty out "$*"
    says "$words" err "$*"
}
refused "unknown option 'foo'" replay --policy stable:foo=1 body.json
refused "option 'keep=x'" replay --policy stable:keep=x body.json
refused "option 'policy=foo'" replay --policy compact:foo body.json
refused "needs a --tokenizer" count --text --ids body.json
has_command() { "$PAUCIS" help "$1" >/dev/null 2>&1; }
if has_command restore; then
    refused "no such kind of store" compact --store nonsense: body.json
    refused "takes no option '--output'" mcp -o file
fi
if has_command mcp && "$PAUCIS" mcp --help | grep -q -e --http; then
    export PAUCIS_STORE="sqlite:$work/store.db"
    refused "'127.0.0.1:65536' is not ADDRESS:PORT" mcp --http 127.0.0.1:65536
    unset PAUCIS_STORE
fi
if has_command serve; then
    refused "'127.0.0.1:65536' is not ADDRESS:PORT" serve --store none --record none --listen 127.0.0.1:65536
    refused "option 'keep=x'" serve -O keep=x
    refused "unknown strategy 'foo'" serve -s dedup,foo
    refused "exclude each other" serve -s dedup -p classic
    refused "needs a budget" serve -p budget
    refused "cannot read 'nofile'" serve --ca nofile
    refused "unexpected operand 'x'" report x
    printf 'observe\n%.0s' $(seq 257) >long.conf
    refused "more than 256 options" serve --config long.conf
    printf 'max-body = 64M\nrecord = none.db\n' >serve.conf
    refused "there is no record at 'none.db'" why --config serve.conf
fi

# 3
expect 3 "not JSON" run compact bad.json
empty out "not JSON"
says "^paucis: cannot read 'bad.json': not valid JSON at byte 40" err "not JSON"
expect 3 "empty" run compact /dev/null
empty out "empty"
expect 3 "check, not JSON" run check bad.json
expect 3 "plan, not JSON" run plan bad.json
expect 3 "check, unknown format" run check unknown.json
empty out "check, unknown format"
expect 0 "unknown format, none" run compact -p none unknown.json
same unknown.json out "unknown format, none"
if "$PAUCIS" list policies | grep -q '^classic'; then
    expect 3 "unknown format" run compact -p classic unknown.json
    empty out "unknown format"
    expect 0 "pass-through" run compact -p classic --pass-through unknown.json
    same unknown.json out "pass-through"
fi

# 4
printf '%s' '{"model":"m","messages":[{"role":"user","content":"a"},' \
    '{"role":"tool","tool_call_id":"call_9","content":"b"}]}' >broken.json
expect 4 "broken rule" run check broken.json
expect 0 "no broken rule" run check body.json
empty out "no broken rule"

finish
