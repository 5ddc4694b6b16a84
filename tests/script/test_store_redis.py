#!/usr/bin/env python3
"""The store in Redis, with the real server: one of them, with a password, restarted; a cluster of three
masters and three replicas while slots move and a master dies. Everything that was shortened comes back,
and a server that cannot be reached means that nothing is cut.
"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
from servers import Redis, make_cluster
from support import PAUCIS, SANITIZED, expect, finish, paucis, skip

WORK = tempfile.TemporaryDirectory()
HANDLE = re.compile(rb"full text: ([0-9a-f]{16})")


def session(seed, turns=24):
    rng = random.Random(seed)
    messages = [{"role": "user", "content": f"task {seed}"}]
    for i in range(turns):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        text = "\n".join(f"{i} {rng.getrandbits(120):x}" for _ in range(90))
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"c{i}", "content": text}]
    return json.dumps({"model": "gpt-4o", "messages": messages}).encode()


def shorten(url, body):
    code, out, err = paucis("compact", "-l", "deep", "--store", url, stdin=body)
    expect(code == 0 and out != body, url, "compact: exit", code, err[:200])
    return out


def restored(url, body, out, when):
    code, again, err = paucis("restore", "--store", url, stdin=out)
    expect(code == 0 and again == body, when, "restore: exit", code, err[:200])


def check_interface(url):
    """The cases of the unit test that do not look into a file."""
    program = os.path.join(os.path.dirname(PAUCIS), "tests", "store_test_store")
    if not os.path.exists(program):
        return
    done = subprocess.run([program], env={**os.environ, "STORE_URL": url}, capture_output=True, check=False)
    expect(done.returncode == 0, url, done.stdout[-600:].decode())


def restart_slowly(server):
    """A server with many keys answers LOADING for some seconds."""
    auth = ("-a", "p@ss:word/")
    server.cli(*auth, "EVAL", "for i=1,5000 do redis.call('set','other'..i,'x') end", "0")
    server.cli(*auth, "BGREWRITEAOF")
    while "aof_rewrite_in_progress:1" in server.cli(*auth, "INFO", "persistence"):
        time.sleep(0.05)
    server.stop()
    server.start("--key-load-delay", "600", "--loading-process-events-interval-bytes", "1024")
    expect("LOADING" in server.cli(*auth, "GET", "x"), "the server was too fast for this test")


def check_single():
    server = Redis(f"{WORK.name}/one", "--requirepass", "p@ss:word/")
    url = f"redis://:p%40ss%3aword%2f@127.0.0.1:{server.port}"
    bare = f"redis://127.0.0.1:{server.port}/3"
    body = session(1)
    code, out, err = paucis("compact", "--store", bare, stdin=body)
    expect(code == 6 and out == body and b"uthentication" in err, "without the password:", code, err)
    os.environ["PAUCIS_STORE_PASSWORD"] = "p@ss:word/"
    out = shorten(bare, body)
    restored(bare, body, out, "password of the environment")
    del os.environ["PAUCIS_STORE_PASSWORD"]
    expect(paucis("restore", "--store", url, stdin=out)[0] == 3, "another database")
    check_interface(url)
    out = shorten(url, body)
    restored(url, body, out, "one server")
    handle = json.loads(paucis("store", "list", "--json", "--store", url)[1].splitlines()[0])["handle"]
    server.cli("-a", "p@ss:word/", "--scan", "--pattern", "paucis:t:*")
    stats = json.loads(paucis("store", "stats", "--json", "--store", url)[1])
    expect(stats["texts"] > 10 and stats["evicted"] == 0, "stats", stats)
    names = server.cli("-a", "p@ss:word/", "--scan", "--pattern", f"paucis:t:{handle}*").split()
    server.cli("-a", "p@ss:word/", "DEL", *names)  # as if it had expired
    code, _, err = paucis("restore", "--store", url, stdin=out)
    expect(code == 3 and b"evicted" in err and handle.encode() in err, "expired:", code, err)
    expect(shorten(url, body) == out, "kept again")
    server.stop(signal.SIGKILL)
    code, whole, err = paucis("compact", "--store", url + "?timeout=100", stdin=body)
    expect(code == 6 and whole == body and err, "server down: exit", code, err)
    expect(paucis("restore", "--store", url + "?timeout=100", stdin=out)[0] == 6, "restore, server down")
    server.start()
    restored(url, body, out, "after a restart")
    restart_slowly(server)
    restored(url, body, out, "while the server reads its data")
    code, text, err = paucis("store", "purge", "--store", url, "--conversation",
                             stats["by_conversation"][0]["id"])
    expect(code == 0, "purge:", code, err)
    expect(paucis("store", "verify", "--store", url)[0] == 0, "verify")
    server.stop()


def move_slots(servers):
    """Slots go from the first master to the second and back."""
    ids = [s.cli("cluster", "myid").strip() for s in servers[:2]]
    for source, target in (ids, ids[::-1]):
        subprocess.run(["redis-cli", "--cluster", "reshard", f"127.0.0.1:{servers[0].port}",
                        "--cluster-from", source, "--cluster-to", target, "--cluster-slots", "1500",
                        "--cluster-yes"], capture_output=True, timeout=120, check=False)


def check_cluster():
    servers = make_cluster(f"{WORK.name}/cluster")
    try:
        url = f"redis://127.0.0.1:{servers[2].port},127.0.0.1:{servers[0].port}/?wait=1"
        check_interface(url)
        bodies = [session(100 + i) for i in range(6 if SANITIZED else 20)]
        outs = [shorten(url, body) for body in bodies]
        for body, out in zip(bodies, outs):
            restored(url, body, out, "cluster")
        stats = json.loads(paucis("store", "stats", "--json", "--store", url)[1])
        expect(len(stats["by_conversation"]) >= len(bodies), "conversations")
        mover = threading.Thread(target=move_slots, args=(servers,))
        mover.start()
        number = 0
        while mover.is_alive():
            body = session(200 + number)
            out = shorten(url, body)
            restored(url, body, out, "while slots move")
            body, out = bodies[number % len(bodies)], outs[number % len(bodies)]
            restored(url, body, out, "old ones, while slots move")
            bodies, outs, number = bodies + [body], outs + [out], number + 1
        mover.join()
        servers[1].stop(signal.SIGKILL)
        during = []
        for i in range(4):
            body = session(300 + i)
            code, out, err = paucis("compact", "-l", "deep", "--store", url + "&timeout=1000", stdin=body)
            expect(code in (0, 6), "fail-over: exit", code, err)
            if code == 0:
                during.append((body, out))
            for handle in set(HANDLE.findall(out)):
                code, _, err = paucis("recall", handle.decode(), "--store", url)
                expect(code == 0, "fail-over: a handle that cannot be redeemed", err)
        url = url.split("?")[0]  # one master has no replica now
        for i in range(3):
            body = session(310 + i)
            during.append((body, shorten(url, body)))
        for body, out in [*zip(bodies, outs), *during]:
            restored(url, body, out, "after a fail-over")
        servers[1].start()
        expect(paucis("store", "verify", "--store", url)[0] == 0, "verify")
        print(f"{number} sessions while slots moved, {len(during)} after a master died")
    finally:
        for server in servers:
            server.stop(signal.SIGKILL)


def main():
    known = paucis("compact", "--store", "nonsense:", stdin=b"{}")[2]
    if b"redis://" not in known:
        skip("built without redis://")
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        skip("no redis-server")
    check_single()
    check_cluster()
    finish("redis, one server and a cluster")


main()
