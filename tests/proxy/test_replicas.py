"""Many machines: replicas that share nothing but a store in Redis. The requests of every session are scattered over
them, while replicas are killed and come back; what they send is what a single one would have sent, the provider finds as
much of it in its cache (within one point of a hundred), everything that was left out comes back, and no request fails. With PAUCIS_LONG=1 a cluster of six Redis servers, one of which is
killed and comes back, and 200 sessions of 60 turns; where there is nginx, the clients speak to it."""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

import binding
from harness import LONG, PAUCIS, Serve, Upstream, ask, folder, long_text, post, processes, run_tests, until
from servers import Redis, free_port, make_cluster

if not shutil.which("redis-server") or \
        subprocess.run([PAUCIS, "compact", "--store", "redis://127.0.0.1:1?timeout=50"], input=b"{}",
                       capture_output=True).stderr.find(b"no such kind") >= 0:
    print("skipped: no redis-server, or a command without hiredis")
    sys.exit(77)

SESSIONS, TURNS, THREADS = (200, 60, 32) if LONG else (6, 14, 6)
HANDLE = re.compile(rb"full text: ([0-9a-f]{16})")


def servers():
    """(servers, URL)"""
    if not LONG:
        one = Redis(folder("redis"))
        return [one], f"redis://127.0.0.1:{one.port}"
    nodes = make_cluster(folder("redis"))
    return nodes, "redis://" + ",".join(f"127.0.0.1:{n.port}" for n in nodes) + "?wait=1"


def body(session, turns):
    messages = [{"role": "system", "content": "You are a test."}, {"role": "user", "content": f"task {session}"}]
    for i in range(turns):
        call = {"id": f"call_{i}", "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": f"make t{i}"})}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"call_{i}", "content": long_text(1000 * session + i, 5)}]
    return json.dumps({"model": "gpt-test", "messages": messages}).encode()


class Balancer:
    """nginx before the replicas, or, without it, what it does: the next one if one cannot be reached."""

    def __init__(self, ports):
        self.ports, self.port = ports, None
        if not shutil.which("nginx"):
            return
        self.port, self.dir = free_port(), folder("nginx")
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "examples", "cluster", "nginx.conf")) as f:
            conf = f.read()
        conf = re.sub(r"server 127\.0\.0\.1:\d+ ", lambda m, it=iter(ports): f"server 127.0.0.1:{next(it)} ", conf)
        conf = conf.replace("listen 127.0.0.1:8480", f"listen 127.0.0.1:{self.port}")
        conf = conf.replace("daemon off;", "daemon off; master_process off;")  # one process to end
        with open(self.dir + "/nginx.conf", "w") as f:
            f.write(conf)
        self.process = subprocess.Popen(["nginx", "-p", self.dir, "-e", "stderr", "-c", self.dir + "/nginx.conf"])
        processes.append(self.process)
        assert until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)

    def ask(self, data):
        """As the official clients do it: an answer that breaks off (its replica was killed) is asked for again."""
        ports = [self.port] * 3 if self.port else random.sample(self.ports, len(self.ports))
        for port in ports:
            try:
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=90)
                c.request("POST", "/v1/chat/completions", data, {"content-type": "application/json",
                                                                   "authorization": "Bearer sk-x"})
                r = c.getresponse()
                r.read()
                return r.status, r.getheader("x-paucis")
            except (OSError, http.client.HTTPException):
                continue
            finally:
                c.close()
        return 0, "nobody answers"


def by_task(seen):
    """What the provider was sent: {(task, messages): bodies}"""
    found = {}
    for _, _, _, data in seen:
        messages = json.loads(data)["messages"]
        found.setdefault((messages[1]["content"], len(messages)), set()).add(data)
    return found


def cached_share(bill):
    return bill["cached"] / (bill["cached"] + bill["written"] + bill["fresh"])


def converse(balancer, sessions, faults, reasons):
    for n in sessions:
        for turn in range(TURNS + 1):
            status, said = balancer.ask(body(n, turn))
            if status != 200:
                faults.append((n, turn, status, said))
            if "reason=" in (said or ""):
                reasons.add(re.search("reason=([a-z-]+)", said)[1])


def test_replicas():
    nodes, url = servers()
    up, alone = Upstream(check=True), Upstream(check=True)
    replicas = [Serve(up, "-q", "--store", url, decide=(), listen=f"127.0.0.1:{free_port()}") for _ in range(3)]
    ports = [r.port for r in replicas]
    balancer, faults, reasons = Balancer(ports), [], set()
    threads = [threading.Thread(target=converse, args=(balancer, range(i, SESSIONS, THREADS), faults, reasons))
               for i in range(THREADS)]
    for t in threads:
        t.start()
    time.sleep(5 if LONG else 0.5)
    replicas[1].kill()
    if LONG:
        nodes[0].stop(signal.SIGKILL)
    time.sleep(5 if LONG else 0.5)
    replicas[1] = Serve(up, "-q", "--store", url, decide=(), listen=f"127.0.0.1:{ports[1]}", record=replicas[1].record)
    if LONG:
        nodes[0].start()
    for t in threads:
        t.join()
    assert not faults, faults[:5]
    single = Serve(alone, "-q", decide=())
    for n in range(SESSIONS):
        for turn in range(TURNS + 1):
            assert Balancer.ask(type("One", (), {"port": single.port, "ports": []})(), body(n, turn))[0] == 200
    ours, theirs = by_task(up.provider.seen), by_task(alone.provider.seen)
    wrong = [k for k in theirs if ours.get(k) != theirs[k]]
    assert not wrong, (len(wrong), len(theirs), sorted(wrong)[:5], reasons)
    shares = [cached_share(u.provider.bill) for u in (up, alone)]
    print("     from the provider's cache: %.2f %% of the prompt tokens behind three replicas (%d requests), %.2f %% behind "
          "one (%d)" % (100 * shares[0], up.provider.bill["requests"], 100 * shares[1], alone.provider.bill["requests"]))
    assert shares[1] > 0.5 and shares[0] > shares[1] - 0.01, shares  # what was asked for twice is found whole
    last = [next(iter(ours[(f"task {n}", 2 + 2 * TURNS)])) for n in range(0, SESSIONS, max(1, SESSIONS // 10))]
    for n, data in zip(range(0, SESSIONS, max(1, SESSIONS // 10)), last):
        assert HANDLE.search(data)
        back = lambda: subprocess.run([PAUCIS, "restore", "--store", url], input=data, capture_output=True).stdout
        assert until(lambda: back() == body(n, TURNS)), n
    for r in (*replicas, single):
        r.stop()


# ---- one record for all ----------------------------------------------------------------------------------------


class Far:
    """A Redis that is some way off: every word to it takes `delay` seconds."""

    def __init__(self, port):
        self.to, self.delay, self.listener = port, 0, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            here = self.listener.accept()[0]
            there = socket.create_connection(("127.0.0.1", self.to))
            for a, b, slow in ((here, there, True), (there, here, False)):
                threading.Thread(target=self.carry, args=(a, b, slow), daemon=True).start()

    def carry(self, a, b, slow):
        try:
            while piece := a.recv(1 << 20):
                if slow:
                    time.sleep(self.delay)
                b.sendall(piece)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Pair:
    """Two replicas with a Redis, and what they have noted."""

    def __init__(self):
        self.up, self.redis = Upstream(check=True), Redis(folder("redis"))
        self.far = Far(self.redis.port)
        self.url = f"redis://127.0.0.1:{self.far.port}"
        self.at = [Serve(self.up, "-q", "--store", self.url, decide=("-l", "deep")) for _ in range(2)]
        self.turn = 0

    def ask(self, data, which=None):
        """To one, or to each in turn; (what is said of it, what was sent)"""
        self.turn += 1
        status, headers, _ = post(self.at[self.turn % 2 if which is None else which], data, authorization="Bearer sk-x")
        assert status == 200
        return headers["x-paucis"], self.up.provider.seen[-1][3]

    def convs(self):
        found = set()
        for r in self.at:
            with sqlite3.connect(r.record) as db:
                found |= {row[0] for row in db.execute("SELECT conv FROM request")}
        return found

    def noted(self):
        return sum(len(sqlite3.connect(r.record).execute("SELECT 1 FROM request").fetchall()) for r in self.at)

    def off(self, number):
        return subprocess.run([PAUCIS, "off", str(number), "--store", self.url], capture_output=True).returncode

    def stop(self):
        for r in self.at:
            r.stop()
        self.redis.stop(signal.SIGKILL)


def test_redis_hangs():
    """Requests that wait for it wait together, and pass as they came; other ways are not in its shadow, not even
    while somebody recalls a text; and all is well when it goes on."""
    redis, up = Redis(folder("redis")), Upstream(check=False)
    s = Serve(up, "--store", f"redis://127.0.0.1:{redis.port}?timeout=800", decide=())
    for i in range(6):
        post(s, body(i, 0))
    redis.job.send_signal(signal.SIGSTOP)
    said, began = [], time.time()
    threads = [threading.Thread(target=lambda i=i: said.append(post(s, body(i, 1)))) for i in range(6)]
    threads += [threading.Thread(target=lambda: ask(s.port, "GET", "/paucis/recall/0123456789abcdef")) for _ in range(4)]
    for t in threads:
        t.start()
    time.sleep(0.3)
    for _ in range(8):
        assert ask(s.port, "GET", "/v1/models")[0] == 200
    assert all(t.is_alive() for t in threads), "Redis was not waited for that long"
    for t in threads:
        t.join()
    assert time.time() - began < 16, "four seconds each"
    assert all(r[0] == 200 and "reason=record" in r[1]["x-paucis"] for r in said), said
    redis.job.send_signal(signal.SIGCONT)
    assert until(lambda: "record" not in post(s, body(0, 2))[1]["x-paucis"])
    s.stop()
    redis.stop()


def test_redis_is_down_and_thinking_is_bound():
    """What was sent before cannot be looked up; the provider tells that there was something, and it is left."""
    redis, up = Redis(folder("redis")), binding.upstream(check=False)
    for seed in (1, 2):
        s = Serve(up, "-q", "--store", f"redis://127.0.0.1:{redis.port}?timeout=300", decide=("-l", "deep", "-b", "24K"))
        session = binding.Session(seed, s.port, "down", up)
        for _ in range(14):
            status, headers, _ = session.send()
        assert status == 200 and headers["x-paucis"].startswith("saved="), headers
        redis.stop(signal.SIGKILL)
        for _ in range(3):
            status, headers, answer = session.send()
            assert status == 200, (seed, headers, answer)
        redis.start()
        for _ in range(3):
            status, headers, answer = session.send()
            assert status == 200, (seed, headers, answer)
        s.stop()
    redis.stop()


def test_off_reaches_every_replica():
    pair = Pair()
    known = set()
    for session in range(3):
        for turn in range(10):
            said, sent = pair.ask(body(session, turn))
        assert sent != body(session, 9), said
        assert until(lambda: len(pair.convs()) == session + 1)
        number = (pair.convs() - known).pop()
        known.add(number)
        if session < 2:
            assert pair.off(number) == 0
            assert pair.off(number) == 2  # it was
            for turn, which in ((10, session), (11, 1 - session), (12, session)):
                said, sent = pair.ask(body(session, turn), which)
                assert "reason=stopped" in said and sent == body(session, turn), (session, turn, said)
    assert pair.ask(body(2, 10))[1] != body(2, 10)  # of which nobody spoke
    assert pair.off(77) == 2
    # how it began, once more: another conversation, which takes nothing from the first
    pair.ask(body(0, 0))
    said, sent = pair.ask(body(0, 13))
    assert "reason=stopped" in said and sent == body(0, 13), said

    def off_and_refuse(data):  # while a request is under way that writes to the same record
        pair.up.provider.refuse_next.remove(off_and_refuse)
        assert pair.off(number) == 0
        return "prompt is too long: 20000 tokens > 18000 maximum"

    pair.up.provider.refuse_next.append(off_and_refuse)
    pair.ask(body(2, 11))
    said, sent = pair.ask(body(2, 12))
    assert "reason=stopped" in said, said
    pair.stop()


def test_forks_at_the_same_time():
    pair = Pair()
    ways = 12
    for turn in range(6):
        pair.ask(body(0, turn))

    def way(i, more):
        doc = json.loads(body(0, 5))
        doc["messages"] += [{"role": "user", "content": f"way {i}"}] + json.loads(
            body(i + 1, more).replace(b'"call_', b'"later_'))["messages"][2:]
        return json.dumps(doc).encode()

    def all_at_once(*asked):
        threads = [threading.Thread(target=pair.ask, args=a) for a in asked]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    # both replicas have read where the conversation is before either writes
    assert until(lambda: pair.noted() == 6)
    pair.far.delay = 0.05
    all_at_once((way(0, 0), 0), (way(1, 0), 1))
    pair.far.delay = 0
    assert until(lambda: pair.noted() == 8) and len(pair.convs()) == 2, pair.convs()
    all_at_once(*[(way(i, 0),) for i in range(2, ways)])
    all_at_once(*[(way(i, 1),) for i in range(ways)])
    assert until(lambda: pair.noted() == 6 + 2 * ways)
    assert len(pair.convs()) == ways, len(pair.convs())  # one of them is the first
    pair.stop()


run_tests(globals())
