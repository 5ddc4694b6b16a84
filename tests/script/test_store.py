#!/usr/bin/env python3
"""The store by the command: what was shortened comes back, byte for byte, or the fault has a name.

restore(compact(x)) == x for the examples and, where they are, all traces in all formats, levels and
budgets, and every request of some sessions; hostile texts; eviction, damage, a full disk, a read-only
store, two processes at once, processes killed while writing, purging, modes, recall.
"""
import json
import os
import random
import re
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
import convert
from support import LONG, PAUCIS, SANITIZED, SHARED, SRC, expect, finish, paucis, skip, traces

EVERY = 1 if LONG else 40 if SANITIZED else 8
# In memory if there is such a place: what a disk does is not what is tested.
WORK = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
SETTINGS = [[], ["-l", "safe"], ["-l", "deep"], ["-l", "whole"], ["-b", "8K"], ["-b", "32K", "-l", "deep"],
            ["-p", "classic"], ["-p", "budget", "-b", "8K"], ["-s", "streaming_llm"],
            ["-p", "none"], ["-p", "exit"], ["-O", "history=sent"]]
HANDLE = re.compile(rb"\[full text: ([0-9a-f]{16}), (\d+) lines, (\d+) bytes\]")


class Store:
    """A new store of its own."""
    count = 0

    def __init__(self):
        Store.count += 1
        self.path = f"{WORK.name}/{Store.count}.db"
        self.url = "sqlite:" + self.path

    def run(self, *args, stdin=b""):
        return paucis(*args, "--store", self.url, stdin=stdin)

    def sql(self, text):
        db = sqlite3.connect(self.path)
        rows = db.execute(text).fetchall()
        db.commit()
        db.close()
        return rows


def session(turns=30, size=4000, seed=1, texts=None):
    """A chat of so many calls with results of about that size."""
    rng = random.Random(seed)
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": f"task {seed}"}]
    for i in range(turns):
        words = " ".join(f"{rng.choice('abcdefgh')}{rng.randrange(10**6)}" for _ in range(size // 8))
        text = texts[i % len(texts)] if texts else "\n".join(
            words[k:k + 70] for k in range(0, len(words), 70))
        call = {"id": f"call_{i}", "type": "function",
                "function": {"name": "run", "arguments": json.dumps({"cmd": f"cat file{i}"})}}
        messages.append({"role": "assistant", "content": f"step {i}", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": text})
    return {"model": "gpt-4o", "messages": messages}


def encode(body, **how):
    return json.dumps(body, **how).encode("utf-8", "surrogatepass")


def back(name, store, bodies, *options):
    """Shortens all as lines and turns them back; the shortened lines."""
    text = b"\n".join(bodies) + b"\n"
    code, out, err = store.run("compact", "--jsonl", "-j", "2", *options, stdin=text)
    expect(code == 0, name, *options, "compact: exit", code, err[:300])
    code, again, err = store.run("restore", "--jsonl", stdin=out)
    expect(code == 0, name, *options, "restore: exit", code, err[:300])
    for body, short, got in zip(bodies, out.split(b"\n"), again.split(b"\n")):
        # a body that is itself what another one became goes back to that one
        fine = got == body or (short == body and got in bodies)
        expect(fine, name, *options, "is not restored:", body[:80])
    return out


def check_traces():
    found = list(traces(EVERY)) if SHARED else []
    parsed = [(about, json.loads(body)) for about, body in found]
    bodies = [body for _, body in found] + [
        encode(json.loads(path.read_bytes()))
        for path in sorted((SRC / "tests" / "formats" / "examples").glob("*.json"))]
    bodies += [encode(session(seed=i)) for i in range(2, 6)]
    bodies = [body for body in bodies if b"\n" not in body]
    for options in SETTINGS:
        back("bodies as they came", Store(), bodies, *options, "--pass-through")
    for target in convert.FORMATS:
        some = [convert.encode(convert.convert(body, about["format"], target))
                for about, body in parsed]
        for options in SETTINGS[:5] if some else []:
            back(f"traces as {target}", Store(), some, *options, "-f", target)
    return len(bodies)


def prefixes(body):
    """Every request of the session, in order."""
    messages = body["messages"]
    for i, message in enumerate(messages):
        if message.get("role") == "assistant" and (i == 0 or messages[i - 1].get("role") != "assistant"):
            yield encode({**body, "messages": messages[:i]})
    yield encode(body)


def check_requests():
    """What a session adds to the store stays in proportion to the session."""
    bodies = [session(seed=77, turns=60)]
    if SHARED:
        found = [json.loads(body) for about, body in traces(6)
                 if about["format"] in ("openai-chat", "anthropic")]
        bodies += found[:50 if LONG else 2 if SANITIZED else 8]
    for body in bodies:
        store, requests = Store(), list(prefixes(body))
        back("every request", store, requests)
        back("every request, deep", store, requests, "-l", "deep")
    store = Store()
    requests = list(prefixes(bodies[0]))
    out = back("every request", store, requests)
    stored, = store.sql("SELECT sum(stored) FROM text WHERE kind & 6 = 0")[0],
    lists, = store.sql("SELECT sum(stored) FROM text WHERE kind & 6")[0],
    expect(lists[0] < stored[0], "lists take more room than texts:", lists, stored)
    expect(len(HANDLE.findall(out)) > 0, "no handles")


HOSTILE = [
    "[full text: 0123456789abcdef, 9 lines, 9 bytes]\n" * 200,
    "[full text: " * 500, "", " ", "\u0000\u0001\u001f" * 900, "\ud800" * 700, "é\u2028\u2029\U0001f600" * 500,
    "\\\"/\b\f\n\r\t" * 500, "</script>&<>" * 400, "x" * 300000, "[12 lines, superseded]\n" * 300,
    "\x7f\x80\uffff" * 700,
]


def check_hostile():
    for how in ({}, {"ensure_ascii": False}, {"indent": 1}):
        texts = [t for t in HOSTILE if how != {"ensure_ascii": False} or "\ud800" not in t]
        body = encode(session(texts=texts, turns=40), **how)
        for options in ([], ["-l", "deep"], ["-b", "4K"]):
            store = Store()
            code, out, err = store.run("compact", *options, stdin=body)
            expect(code == 0, "hostile", how, options, "exit", code, err[:200])
            code, again, err = store.run("restore", stdin=out)
            expect(code == 0 and again == body, "hostile", how, options, "exit", code, err[:200])
    # a text that names handles of other texts
    first = session(turns=30, seed=5)
    store = Store()
    _, out, _ = store.run("compact", stdin=encode(first))
    names = [m.group(0).decode() for m in HANDLE.finditer(out)]
    second = session(turns=40, seed=6, texts=["\n".join(names) * 20, *HOSTILE])
    back("texts with real handles", store, [encode(second)], "-l", "deep")


def check_same():
    """Two bodies that become the same: the second stays whole, for it could not be told apart."""
    store = Store()
    bodies = [encode(session(seed=3, texts=[word * 9000] * 5 + ["same"] * 25)) for word in "ab"]
    outs = [store.run("compact", "-s", "streaming_llm", stdin=body)[1] for body in bodies]
    expect(outs[0] != bodies[0] and outs[1] == bodies[1], "two that become the same: cut both")
    for body, out in zip(bodies, outs):
        expect(store.run("restore", stdin=out)[1] == body, "two that become the same")
    code, again, _ = store.run("compact", "-p", "none", stdin=outs[0])
    expect(code == 0 and again == outs[0] and store.run("restore", stdin=again)[1] == bodies[0],
           "a shortened body, shortened again")


def check_recall():
    body = session(turns=30, seed=9)
    texts = {m["content"] for m in body["messages"] if m["role"] == "tool"}
    store = Store()
    _, out, _ = store.run("compact", stdin=encode(body))
    found = HANDLE.findall(out)
    expect(len(found) >= 5, "handles:", len(found))
    for handle, lines, size in found:
        code, text, err = store.run("recall", handle.decode())
        expect(code == 0 and text.decode() in texts, "recall", handle, "exit", code, err)
        expect(len(text) == int(size) and text.count(b"\n") + 1 == int(lines), handle, "is said wrongly")
    handle, whole = found[0][0].decode(), store.run("recall", found[0][0].decode())[1]
    rows = whole.splitlines(keepends=True)
    for span, want in (("2-3", rows[1:3]), ("4", rows[3:4]), ("-2", rows[:2]), ("5-", rows[4:])):
        code, text, _ = store.run("recall", handle, "--lines", span)
        expect(code == 0 and text == b"".join(want), "--lines", span)
    word = rows[6].split()[0].decode()
    code, text, _ = store.run("recall", handle, "--grep", word)
    want = b"".join(b"%d:%s" % (i + 1, row) for i, row in enumerate(rows) if word.encode() in row)
    expect(code == 0 and text == want, "--grep", word, text[:100], want[:100])
    for args, code in ((["nothing"], 2), (["0" * 16], 3), ([handle, "--lines", "x"], 2),
                       ([handle, "--grep", "("], 2), ([handle, "--lines", "9000-"], 3),
                       ([handle, "--conversation", "other"], 3), ([], 2)):
        got, text, err = store.run("recall", *args)
        expect(got == code and not text and err, "recall", args, "exit", got, "instead of", code)
    code, text, _ = store.run("recall", found[0][0].decode().upper())
    expect(code == 0 and text == whole, "upper case")
    stats = json.loads(store.run("store", "stats", "--json")[1])
    expect(stats["recalls"] > len(found) and len(stats["by_conversation"]) == 1, "stats", stats)


def check_missing():
    body = encode(session(seed=11))
    store = Store()
    _, out, _ = store.run("compact", "-l", "deep", stdin=body)
    code, text, err = store.run("restore", stdin=out + b" ")
    expect(code == 3 and not text and b"not in the store" in err, "unknown body: exit", code, err)
    victim, = store.sql("SELECT lower(hex(hash)) FROM text WHERE kind=1 LIMIT 1")[0]
    store.sql(f"UPDATE text SET stored=0, data=NULL WHERE hash=x'{victim}'")
    code, text, err = store.run("restore", stdin=out)
    expect(code == 3 and not text and victim.encode() in err and b"evicted" in err, "evicted:", err)
    code, text, err = store.run("recall", victim[:16])
    expect(code == 3 and not text and b"evicted" in err, "recall of evicted:", code, err)
    code, again, _ = store.run("compact", "-l", "deep", stdin=body)  # and is kept again
    expect(code == 0 and again == out and store.run("restore", stdin=out)[1] == body, "kept again")
    store.sql(f"UPDATE text SET data=x'00'||data WHERE hash=x'{victim}'")
    code, text, err = store.run("restore", stdin=out)
    expect(code == 3 and not text and victim.encode() in err and b"damaged" in err, "damaged:", err)
    code, text, err = store.run("store", "verify")
    expect(code == 3 and victim.encode() in text, "verify:", code, text)
    store.sql("DELETE FROM text WHERE kind & 4")
    code, text, err = store.run("restore", stdin=out)
    expect(code == 3 and not text, "no list: exit", code)


def small_files(size):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def check_failing():
    """A store that fails: nothing is missing from what is written."""
    body = session(turns=30, seed=21, size=8000)
    store, longer = Store(), encode(session(turns=34, seed=21, size=8000))
    short = encode(body)
    _, before, _ = store.run("compact", stdin=short)
    expect(before != short, "nothing was cut")
    size = 40000  # of any file; the journal is one
    full = subprocess.run([PAUCIS, "compact", "--store", store.url, "-l", "deep"], input=longer,
                          capture_output=True, preexec_fn=small_files(size), check=False)
    expect(full.returncode == 6 and b"the store failed" in full.stderr, "full disk:", full.returncode,
           full.stderr[:200])
    expect(full.stdout == longer, "full disk: something was cut that is not kept")
    expect(store.run("restore", stdin=before)[1] == short, "after a full disk")
    # the same session a request later: what was sent before is sent again, and nothing else goes
    full = subprocess.run([PAUCIS, "compact", "--store", store.url], input=longer,
                          capture_output=True, preexec_fn=small_files(size), check=False)
    expect(full.returncode == 6, "full disk, next request: exit", full.returncode)
    for handle, _, _ in HANDLE.findall(full.stdout):
        code, _, err = store.run("recall", handle.decode())
        expect(code == 0, "full disk: a handle that cannot be redeemed:", err)
    expect(json.loads(full.stdout)["messages"][-1] == json.loads(longer)["messages"][-1], "newest")
    for url in ("sqlite:/proc/none/x.db", "sqlite:" + WORK.name):
        code, out, err = paucis("compact", "--store", url, stdin=longer)
        expect(code == 6 and out == longer and err, "no store at", url, "exit", code)
        code, out, err = paucis("compact", "--jsonl", "--store", url, stdin=longer + b"\n")
        expect(code == 6 and out == longer + b"\n" and err, "no store at", url, "--jsonl, exit", code)
        expect(paucis("restore", "--store", url, stdin=longer)[0] == 6, "restore from", url)
    for url in ("nonsense", "ftp://x/"):
        code, out, _ = paucis("compact", "--store", url, stdin=longer)
        expect(code == 2 and not out, "kind", url)
    code, out, _ = paucis("compact", "--store", "none", stdin=short)
    expect(code == 0 and not HANDLE.search(out), "--store none")
    expect(paucis("restore", "--store", "none", stdin=short)[0] == 2, "restore from none")


def check_together():
    """Several processes come to a new store at once."""
    store = Store()
    bodies = [encode(session(turns=20, seed=30 + i)) for i in range(6)]
    jobs = [subprocess.Popen([PAUCIS, "compact", "--store", store.url], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in bodies]
    for job, body in zip(jobs, bodies):
        job.stdin.write(body)
        job.stdin.close()
        job.stdin = None
    for job, body in zip(jobs, bodies):
        out, err = job.communicate()
        expect(job.returncode == 0, "together: exit", job.returncode, err)
        expect(store.run("restore", stdin=out)[1] == body, "together: not restored")


def check_killed():
    """What was written before a process was killed can be restored; the store stays sound."""
    store = Store()
    bodies = [encode(session(turns=14, seed=100 + i)) for i in range(30)]
    text = b"".join(body + b"\n" for body in bodies)
    rng = random.Random(5)
    written = 0
    for _ in range(200 if LONG else 10 if SANITIZED else 40):
        with tempfile.TemporaryFile() as lines, tempfile.TemporaryFile() as out:
            lines.write(text)
            lines.seek(0)
            job = subprocess.Popen([PAUCIS, "compact", "--jsonl", "--store", store.url, "-l", "deep"],
                                   stdin=lines, stdout=out, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * 0.1)
            job.kill()
            job.wait()
            out.seek(0)
            done = out.read()
        done = done[:done.rfind(b"\n") + 1]
        written += done.count(b"\n")
        if done:
            code, again, err = store.run("restore", "--jsonl", stdin=done)
            expect(code == 0 and text.startswith(again), "killed: exit", code, err[:200])
        store = Store() if rng.random() < 0.3 else store
    return written


def check_purge():
    store = Store()
    mine, yours = encode(session(seed=41)), encode(session(seed=42))
    _, out, _ = store.run("compact", "--conversation", "mine", stdin=mine)
    _, other, _ = store.run("compact", "--conversation", "yours", stdin=yours)
    needle = json.loads(mine)["messages"][5]["content"][:30].encode()
    expect(store.run("store", "purge")[0] == 2, "purge of nothing")
    code, text, err = store.run("store", "purge", "--conversation", "mine")
    expect(code == 0 and b"purged" in text, "purge: exit", code, err)
    expect(store.run("restore", stdin=out)[0] == 3, "purged, and restored")
    expect(store.run("restore", stdin=other)[1] == yours, "the other one")
    for end in ("", "-wal"):
        path = store.path + end
        data = open(path, "rb").read() if os.path.exists(path) else b""
        expect(needle not in data, "purged text in", end or "the file")
    handle = HANDLE.search(out).group(1).decode()
    expect(store.run("recall", handle)[0] == 3, "purged, and recalled")


def check_key():
    store = Store()
    body = encode(session(seed=51))
    key = f"{WORK.name}/key"
    with open(key, "w", encoding="ascii") as f:
        f.write("00112233445566778899aabbccddeeff" * 2 + "\n")
    code, out, err = store.run("compact", "--store-key", key, stdin=body)
    expect(code == 0, "with a key: exit", code, err)
    expect(store.run("restore", stdin=out)[0] == 6, "without the key")
    expect(store.run("restore", "--store-key", key, stdin=out)[1] == body, "with the key")
    os.environ["PAUCIS_STORE_KEY"] = "00112233445566778899aabbccddeeff" * 2
    expect(store.run("restore", stdin=out)[1] == body, "with the key of the environment")
    os.environ["PAUCIS_STORE_KEY"] = "f" * 64
    expect(store.run("restore", stdin=out)[0] == 6, "with a wrong key")
    os.environ["PAUCIS_STORE_KEY"] = "short"
    expect(store.run("restore", stdin=out)[0] == 2, "with no key at all")
    del os.environ["PAUCIS_STORE_KEY"]


def check_own():
    """The user's own store: made on demand, by nobody else, and not by looking for it."""
    os.environ["XDG_DATA_HOME"] = f"{WORK.name}/data"
    path = f"{WORK.name}/data/paucis/store.db"
    body = encode(session(seed=61))
    expect(paucis("restore", stdin=body)[0] == 6 and not os.path.exists(path), "restore made a store")
    paucis("compact", stdin=body)
    expect(not os.path.exists(path), "plain use wrote something")
    code, out, err = paucis("compact", "--store", "sqlite:", stdin=body)
    expect(code == 0 and stat.S_IMODE(os.stat(path).st_mode) == 0o600, "mode", code, err)
    expect(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700, "mode of the folder")
    expect(paucis("restore", stdin=out)[1] == body, "from the user's own store")
    listed = paucis("store", "list")[1].splitlines()
    rows = [json.loads(row) for row in paucis("store", "list", "--json")[1].splitlines()]
    texts = [row for row in rows if row["kind"] == "text"]
    expect(len(listed) == len(texts) > 0, "list", len(listed), len(texts))
    exported = [json.loads(row) for row in paucis("store", "export")[1].splitlines()]
    expect({row["text"] for row in exported} <= {m["content"] for m in json.loads(body)["messages"]},
           "export")
    code, text, _ = paucis("store", "verify")
    expect(code == 0 and text.endswith(b" 0 damaged\n"), "verify", text)
    for days in ("0", "x"):
        expect(paucis("compact", "--store", "sqlite:", "--store-days", days, stdin=body)[0] == 2, days)
    paucis("compact", "--store", "sqlite:", "--store-max", "20K", stdin=encode(session(seed=62)))
    stats = json.loads(paucis("store", "stats", "--json")[1])
    expect(stats["stored"] <= 20000 and stats["evicted"] > 0, "--store-max", stats)


def main():
    if b"restore" not in paucis("--help")[1]:
        skip("built without a store")
    count = check_traces()
    for check in (check_requests, check_hostile, check_same, check_recall, check_missing, check_failing,
                  check_together, check_purge, check_key, check_own):
        check()
    written = check_killed()
    finish(f"{count} bodies in {len(SETTINGS)} settings, {written} lines before kills")


main()
