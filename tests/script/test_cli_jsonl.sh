#!/bin/bash
# One body a line: endings, blank and bad lines, order, threads.
. "${SRC:?}/tests/script/cli_lib.sh"

one='{"model":"m","messages":[{"role":"user","content":"a"}]}'
compact_lines() { run compact -p none --jsonl "$@"; }

for jobs in 1 2 5; do
    for text in '' '\n' "$one" "$one\n" "$one\r\n$one\r\n" "$one\n\n$one\n" "\n\r\n \t\n$one" "$one\r"; do
        printf "$text" >in
        expect 0 "'$text' -j $jobs" compact_lines -j $jobs in
        same in out "'$text' -j $jobs"
        expect 0 "piped '$text'" "$PAUCIS" compact -p none --jsonl -j $jobs <in
        same in out "piped '$text'"
    done
done

# A bad line: reported by number, an empty line in its place, the others kept.
printf '%s\n{"a":\r\n\n%s\n[1,' "$one" "$one" >in
printf '%s\n\r\n\n%s\n' "$one" "$one" >want
for jobs in 1 3; do
    expect 3 "bad lines" compact_lines -j $jobs --stats=stats in
    same want out "bad lines"
    says "^paucis: 'in' line 2: not valid JSON at byte 5" err "bad lines"
    says "^paucis: 'in' line 5: not valid JSON" err "bad lines"
    [ "$(wc -l <err)" = 2 ] || fail "bad lines: more was said"
    python3 - <<'PY' || fail "stats of bad lines"
import json
rows = [json.loads(line) for line in open("stats")]
assert [r["line"] for r in rows] == [1, 2, 4, 5], rows
assert ["error" in r for r in rows] == [False, True, False, True], rows
assert all(r["schema"] == 1 for r in rows)
PY
    expect 0 "keep going" compact_lines -j $jobs --keep-going in
    same in out "keep going"
    says "line 2" err "keep going"
    expect 3 "bad lines, -o" compact_lines -j $jobs in -o file
    same want file "bad lines, -o"
done

# Many lines of all sizes, over several blocks, in order whatever the number of threads.
python3 - <<'PY'
import random
random.seed(7)
body = '{"model":"m","messages":[{"role":"user","content":"%s"}]}'
with open("many", "w", newline="") as f:
    for i in range(3000):
        size = random.choice((1, 10, 100, 1000, 5000)) if i % 500 else 3000000
        f.write(body % (f"{i} " + "x" * size) + random.choice(("\n", "\n", "\r\n", "\n\n")))
PY
for jobs in 1 2 7 0; do
    expect 0 "many -j $jobs" compact_lines -j $jobs --stats=stats.$jobs many
    same many out "many -j $jobs"
    same stats.1 stats.$jobs "many -j $jobs"
    "$PAUCIS" compact -p none --jsonl -j $jobs <many | cmp -s - many || fail "many, piped -j $jobs"
done

# What was read is answered before more arrives.
python3 - "$PAUCIS" <<'PY' || fail "lines are not answered at once"
import subprocess, sys
for jobs in ("1", "2"):
    p = subprocess.Popen([sys.argv[1], "compact", "-p", "none", "--jsonl", "-j", jobs],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for i in range(3):
        line = b'{"model":"m","messages":[{"role":"user","content":"%d"}]}\n' % i
        p.stdin.write(line)
        p.stdin.flush()
        assert p.stdout.readline() == line
    p.stdin.close()
    assert p.wait(20) == 0
PY

# Progress on a terminal only, and not with -q.
python3 - "$PAUCIS" <<'PY' || fail "progress"
import os, pty, subprocess, sys
for quiet in ([], ["-q"]):
    master, slave = pty.openpty()
    subprocess.run([sys.argv[1], "compact", "-p", "none", "--jsonl", "many", *quiet], stderr=slave,
                   stdout=subprocess.DEVNULL, timeout=60, check=True)
    os.close(slave)
    seen = b""
    try:
        while piece := os.read(master, 65536):
            seen += piece
    except OSError:
        pass
    assert (b"bodies" in seen) == (not quiet), (quiet, seen)
PY

# Compressed input, and one that ends too early: what came before it was processed, exit 2.
if command -v zstd >/dev/null; then
    zstd -q many -o many.zst
    expect 0 "zstd" compact_lines -j 2 many.zst
    same many out "zstd"
    head -c $(($(wc -c <many.zst) / 2)) many.zst >cut.zst
    expect 2 "zstd cut off" compact_lines -j 2 cut.zst -o cut.out
    [ ! -e cut.out ] || fail "zstd cut off: an incomplete file was left"
fi

# Real conversations.
if [ -n "${SHARED:-}" ] && [ -f "$SHARED/traces/dev.jsonl.zst" ] && command -v zstd >/dev/null; then
    count=60
    [ -z "${PAUCIS_LONG:-}" ] || count=100000
    zstd -dcq "$SHARED/traces/dev.jsonl.zst" | head -n $count >traces
    for jobs in 1 2; do
        expect 0 "traces -j $jobs" compact_lines -j $jobs traces
        same traces out "traces -j $jobs"
    done
fi

finish
