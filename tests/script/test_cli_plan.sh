#!/bin/bash
# paucis plan: JSON lines, the readable form, colours.
. "${SRC:?}/tests/script/cli_lib.sh"

expect 0 "nothing to do" run plan -p none body.json
empty out "nothing to do"
expect 0 "nothing to do, readable" run plan -p none --human body.json
says "^0 edits" out "nothing to do, readable"
has_strategy dedup || finish

python3 - <<'PY'
import json
text = "\n".join(f"line {i} \u001b[31mé😀" for i in range(200))
messages = [{"role": "user", "content": "go"}]
for i in range(12):
    messages.append({"role": "assistant", "content": None, "tool_calls": [
        {"id": f"c{i}", "type": "function", "function": {"name": "cat", "arguments": "{}"}}]})
    messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": text})
json.dump({"model": "m", "messages": messages}, open("long.json", "w"))
PY
expect 0 "plan" run plan -s dedup --stats=stats long.json
python3 - <<'PY' || fail "plan"
import json
edits = [json.loads(line) for line in open("out")]
body = open("long.json", "rb").read()
keys = "op strategy reason message part role kind pos len before after text".split()
assert edits
for e in edits:
    assert list(e) == keys, e
    assert e["strategy"] == "dedup" and e["op"] == "replace" and e["role"] == "tool"
    assert e["after"] == len(e["text"].encode()) < e["before"]
    assert e["pos"] + e["len"] <= len(body)
    json.loads(body[e["pos"]:e["pos"] + e["len"]])
assert json.load(open("stats"))["edits"] == len(edits)
PY
expect 0 "readable" run plan -s dedup --human long.json
says "^message " out "readable"
says "by dedup: " out "readable"
says "^    - line 0 ^\[\[31m" out "readable: control characters are shown, not sent"
if grep -q "$(printf '\033')" out; then fail "colours without a terminal"; fi
expect 0 "colours" run plan -s dedup --human --color=always long.json
says "$(printf '\033')\[32m+ " out "colours"
python3 - "$PAUCIS" <<'PY' || fail "colours on a terminal"
import os, pty, subprocess, sys
for env, flags, want in (({}, [], True), ({"NO_COLOR": "1"}, [], False),
                         ({"NO_COLOR": ""}, [], True), ({}, ["--color=never"], False)):
    master, slave = pty.openpty()
    p = subprocess.Popen([sys.argv[1], "plan", "-s", "dedup", "--human", "long.json", *flags],
                         stdout=slave, env={**{k: v for k, v in os.environ.items()
                                               if k != "NO_COLOR"}, **env})
    os.close(slave)
    seen = b""
    try:
        while piece := os.read(master, 65536):
            seen += piece
    except OSError:
        pass
    assert p.wait(20) == 0
    assert (b"\033[1m" in seen) == want, (env, flags, seen[:200])
PY

finish
