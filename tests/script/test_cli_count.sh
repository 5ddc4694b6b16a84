# paucis count: bodies and texts, names and files, JSON and lines, what is refused.
. "$SRC/tests/script/cli_lib.sh"
"$PAUCIS" list tokenizers | grep -q '^o200k_base ' || { echo "built without vocabularies"; exit 77; }

expect 0 "body" run count body.json
says '^total: [0-9]* tokens by o200k_base, exact$' out "the model names the vocabulary"
says '^tools: ls ' out "by tool"
says '^roles: system ' out "by role"
expect 0 "body as JSON" run count --json body.json
json out "o['exact'] and o['tokens'] == sum(m['tokens'] for m in o['messages']) + o['outside']" "sum"
json out "o['tokens'] == sum(o['roles'].values()) + o['outside'] and o['tools']['ls'] > 0" "roles"
expect 0 "classic" run count -t heuristic --json body.json
json out "not o['exact'] and o['tokenizer'] == 'heuristic' and o['upper'] > o['tokens']" "classic"
expect 0 "bars" run count --color=always body.json
says '█' out "bars"

printf 'hello world, it'"'"'s 2026\n' >text
expect 0 "text" run count --text -t o200k_base text
[ "$(cat out)" = 8 ] || fail "text: $(cat out)"
expect 0 "ids" run count --text --ids --json -t cl100k_base text
json out "o['tokens'] == len(o['ids']) and o['ids'][:2] == [15339, 1917]" "ids"
printf '"a\\u00e9\\ud83d\\ude00"\n\n"x"\r\nnonsense\n' >lines
expect 3 "a bad line" run count --text --jsonl -t o200k_base lines
[ "$(wc -l <out)" -eq 4 ] || fail "a line for each line: $(cat out)"
says "line 4: not valid JSON" err "which line"
cat body.json | tr -d '\n' >one
{ cat one; echo; cat one; echo; } >two
expect 0 "bodies" run count --jsonl two
python3 - <<'PY' || fail "the second body is remembered"
import json
a, b = (json.loads(line) for line in open("out"))
assert a["tokens"] == b["tokens"] and a["bytes_tokenized"] > 0 and b["bytes_tokenized"] == 0
PY

expect 0 "estimate" run count -t estimate --json body.json
cp out plain
expect 0 "estimate with a factor" run count -t estimate:1.5 --json body.json
json out "o['tokenizer'] == 'estimate:1.5' and not o['exact']" "the factor is named"
python3 - <<'PY' || fail "the factor counts"
import json
a, b = (json.load(open(name)) for name in ("plain", "out"))
texts = sum(m["tokens"] for m in a["messages"])
assert a["tokens"] < b["tokens"] <= a["tokens"] + texts * 0.55 + 8
PY
for factor in 0.05 11 x 1.2345 "" 1,5; do
    expect 2 "the factor '$factor'" run count -t "estimate:$factor" body.json
    says "not a factor" err "the factor '$factor'"
done
expect 2 "ids of an estimate" run count --text --ids text
expect 2 "ids of a body" run count --ids body.json
expect 2 "an unknown tokenizer" run count -t o200k body.json
says "did you mean 'o200k_base'" err "the nearest name"
echo '{"model":{"type":"Unigram"}}' >unigram.json
expect 2 "a file that is refused" run count -t unigram.json body.json
says "its model is not BPE" err "the reason"
expect 3 "no body" run count bad.json
empty out "no body"

expect 0 "statistics" run compact --stats=stats -t cl100k_base body.json
json stats "o['tokenizer'] == 'cl100k_base' and o['tokens_exact'] and o['tokens_in'] > 0" "statistics"
finish
