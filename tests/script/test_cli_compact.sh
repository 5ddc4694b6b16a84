#!/bin/bash
# One body: output files, statistics, compressed input, locales.
. "${SRC:?}/tests/script/cli_lib.sh"

# -o: complete or not at all, the mode kept, links followed, the input as the target.
echo old >target
chmod 640 target
ln -s target link
expect 3 "-o with an error" run compact bad.json -o link
[ "$(cat target)" = old ] || fail "-o with an error: the target was touched"
expect 0 "-o" run compact -p none body.json -o link
empty out "-o"
same body.json target "-o"
[ -L link ] || fail "-o: the link was replaced"
[ "$(stat -c %a target)" = 640 ] || fail "-o: the mode changed"
(umask 027 && run compact -p none body.json -o new)
[ "$(stat -c %a new)" = 640 ] || fail "-o: umask ignored"
cp body.json self
expect 0 "onto itself" run compact -p none self -o self
same body.json self "onto itself"
expect 2 "-o into nowhere" run compact -p none body.json -o missing/file
expect 0 "-o -" run compact -p none body.json -o -
same body.json out "-o -"
[ -z "$(ls | grep -E '\.[A-Za-z0-9]{6}$')" ] || fail "temporary files left: $(ls)"

# --stats
keys='{"schema","format","policy","bytes_in","bytes_out","tokens_in","tokens_out","tokenizer",
 "tokens_exact","messages_in","messages_out","edits","first_changed_byte","budget_met","cuts",
 "cut_now","render","breaks"}'
keys=$(echo "$keys" | tr -d '\n')
size=$(wc -c <body.json)
expect 0 "stats to stderr" run compact -q -p none --stats body.json
same body.json out "stats to stderr"
json err "$keys <= set(o) and o['schema'] == 1 and o['policy'] == 'none'" "stats keys"
json err "o['format'] == 'openai-chat' and o['first_changed_byte'] is None" "stats values"
json err "o['bytes_in'] == o['bytes_out'] == $size and o['messages_in'] == 5" "stats sizes"
json err "o['tokens_in'] == o['tokens_out'] > 0" "stats tokens"
json err "not {'dedup_hits', 'original_tokens'} & set(o)" "stats without classic strategies"
echo old >stats.json
expect 0 "stats to a file" run compact -p none --stats=stats.json body.json
empty err "stats to a file"
json stats.json "o['schema'] == 1" "stats overwrites"
expect 0 "stats, unknown format" run compact -p none --stats unknown.json
json err "o['format'] is None" "stats, unknown format"
expect 3 "stats of a bad body" run compact --stats=stats.json bad.json
json stats.json "'not valid JSON' in o['error'] and o['position'] == 40" "stats of a bad body"
if has_strategy dedup; then
    expect 0 "stats, classic" run compact -s dedup --stats body.json
    json err "o['policy'] is None and {'dedup_hits', 'snippet_hits', 'total_bytes_saved'} <= set(o) \
        and 'original_tokens' not in o" "stats, classic"
    expect 0 "stats, budget" run compact -s compact_to_budget -b 0 --stats body.json
    json err "{'original_tokens', 'final_tokens', 'elided_messages'} <= set(o)" "stats, budget"
    expect 0 "stats, both" run compact -p classic -b 1K --stats body.json
    json err "o['policy'] == 'classic' and 'elided_messages' in o" "stats, both"
fi

expect 2 "stats into nowhere" run compact -p none --stats=missing/file body.json
empty out "stats into nowhere"
expect 2 "stats into nowhere, plan" run plan -p none --stats=missing/file body.json
empty out "stats into nowhere, plan"

# Asking for statistics changes nothing else, and several irregular units do not stop the rest:
# results with a field nobody knows, more cache marks than are allowed.
python3 - <<'MAKE'
import json
def body(name, results):
    ms = [{"role": "user", "content": "go"}]
    for k, more in enumerate(results):
        text = "same " * 100 if name == "marks" else f"x{k}" * 400
        ms.append({"role": "assistant", "content": [
            {"type": "tool_use", "id": f"t{k}", "name": "ls", "input": {}}]})
        ms.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": f"t{k}", "content": text, **more}]})
    ms += [{"role": "assistant", "content": "done"}, {"role": "user", "content": "more"}] * 2
    json.dump({"model": "claude-opus-4-1", "max_tokens": 9, "messages": ms}, open(name, "w"))
body("odd", [{"odd": 1}] * 5 + [{}] * 3)
body("marks", [{"cache_control": {"type": "ephemeral"}}] * 7)
MAKE
for args in "-p budget -b 1900 odd" "-s dedup marks"; do
    expect 0 "$args" run compact $args
    cp out plain
    expect 0 "$args with statistics" run compact --stats $args
    same out plain "$args with statistics"
    json err "o['edits'] > 0 and o['breaks'] > 0" "$args with statistics"
done

# A closed stderr is not replaced by the output file.
"$PAUCIS" compact -v --stats -p none -o held body.json 2>&- || fail "stderr closed"
same body.json held "stderr closed"

# Verbose says what happened, on stderr.
expect 0 "verbose" run compact -p none -v body.json
same body.json out "verbose"
says "$size bytes in, $size bytes out" err "verbose"

# zstd, also in several frames, cut off, and followed by rubbish.
if command -v zstd >/dev/null; then
    zstd -q body.json -o body.zst
    expect 0 "zstd" run compact -p none body.zst
    same body.json out "zstd"
    { head -c 100 body.json | zstd -q; tail -c +101 body.json | zstd -q; } >two.zst
    expect 0 "two frames" run compact -p none two.zst
    same body.json out "two frames"
    head -c 60 body.zst >cut.zst
    expect 2 "zstd cut off" run compact -p none cut.zst
    empty out "zstd cut off"
    { cat body.zst; echo rubbish; } >rubbish.zst
    expect 2 "zstd and rubbish" run compact -p none rubbish.zst
fi

# A pipe that delivers slowly, and a large body.
{ head -c 2 body.json; sleep 0.1; tail -c +3 body.json; } | "$PAUCIS" compact -p none >out
same body.json out "slow pipe"
{ printf '{"text":"'; head -c 5000000 /dev/zero | tr '\0' x; printf '"}'; } >large.json
expect 0 "large" run compact -p none large.json
same large.json out "large"
"$PAUCIS" compact -p none <large.json | cmp -s - large.json || fail "large, piped"

# No locale matters.
for locale in C de_DE.UTF-8 tr_TR.UTF-8; do
    expect 0 "$locale" env LC_ALL=$locale LANG=$locale "$PAUCIS" compact -p none --stats body.json
    same body.json out "$locale"
    json err "o['bytes_in'] == $size" "$locale"
done

finish
