#!/bin/bash
# paucis check: text, JSON, comparison, many bodies.
. "${SRC:?}/tests/script/cli_lib.sh"

printf '%s' '{"model":"m","messages":[{"role":"user","content":"a"},' \
    '{"role":"tool","tool_call_id":"call_9","content":"b"}]}' >broken.json
expect 4 "text" run check broken.json
says '^A-R[0-9]* /messages/1[^ ]* byte [0-9]*: .' out "text"
expect 4 "json" run check --json broken.json
python3 - <<'PY' || fail "json"
import json
rows = json.load(open("out"))
body = open("broken.json").read()
assert rows and all(list(r) == ["rule", "pointer", "position", "text"] for r in rows), rows
for r in rows:
    value = json.loads(body)
    for step in r["pointer"].split("/")[1:]:
        value = value[int(step) if isinstance(value, list) else step]
    at, _ = json.JSONDecoder().raw_decode(body, r["position"])
    assert at == value, r
PY
expect 0 "valid, json" run check --json body.json
json out "o == []" "valid, json"
expect 4 "quiet" run check -q broken.json
empty out "quiet"
expect 4 "-o" run check broken.json -o report
says '^A-R' report "-o"

# Compared with itself nothing is new; a missing file is an I/O error, a bad one is not understood.
expect 0 "before itself" run check --before body.json body.json
expect 0 "sent itself" run check --sent body.json body.json
expect 2 "before missing" run check --before missing.json body.json
expect 3 "before bad" run check --before bad.json body.json

# The file that is at fault is the one that is named.
echo '{' >half.json
expect 3 "half a body before" run check --before half.json body.json
says "'half.json'" err "half a body before"
expect 3 "half a body sent" run check --before body.json --sent half.json body.json
says "'half.json'" err "half a body sent"

# Lines.
tr -d '\n' <body.json >valid
{ cat valid; echo; cat broken.json; echo; echo; echo '{"a'; cat valid; echo; } >many
expect 3 "lines" run check --jsonl many
says '^2: A-R' out "lines"
if grep -qv '^2: ' out; then fail "lines: $(cat out)"; fi
says "^paucis: 'many' line 4: not valid JSON" err "lines"
expect 4 "lines, keep going" run check --jsonl --keep-going many
expect 4 "lines, json" run check --jsonl --json --keep-going many
[ "$(wc -l <out)" = 5 ] || fail "lines, json: not one a line"
[ "$(sed -n 1p out)" = "[]" ] || fail "lines, json: first"
[ -z "$(sed -n 3p out)" ] || fail "lines, json: blank"
{ cat valid; echo; cat valid; echo; } >pair
expect 0 "lines with lines" run check --jsonl --before pair --sent pair pair
head -n 1 pair >short
expect 2 "too few lines to compare" run check --jsonl --before short pair
says "'short' has no line 2" err "too few lines to compare"

finish
