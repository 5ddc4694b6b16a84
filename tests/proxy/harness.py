"""Starts a stand-in provider in a thread and `paucis serve` in front of it; small clients for tests."""
import asyncio
import atexit
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..", "tools")]
from provider import Provider  # noqa: E402

PAUCIS = os.environ.get("PAUCIS", "")
SANITIZED = bool(os.environ.get("SANITIZED"))
LONG = bool(os.environ.get("PAUCIS_LONG"))
PATIENCE = 60 if SANITIZED else 20


# What a failed test leaves behind goes with the program: processes, folders.
processes, folders = [], []


@atexit.register
def clean():
    for process in processes:
        if process.poll() is None:
            process.kill()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def folder(name):
    folders.append(tempfile.mkdtemp(prefix=f"paucis-{name}-"))
    return folders[-1]


os.environ["XDG_DATA_HOME"] = folder("data")  # the store of a test is not the user's own


def can_serve():
    r = subprocess.run([PAUCIS, "help", "serve"], capture_output=True)
    return r.returncode == 0


if not PAUCIS or not can_serve():
    print("skipped: this command was built without `serve`")
    sys.exit(77)


class Upstream:
    """A Provider with a loop of its own."""

    def __init__(self, **options):
        self.loop = asyncio.new_event_loop()
        self.provider = Provider(**options)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.ready = threading.Event()
        self.thread.start()
        self.ready.wait(10)
        self.port = self.provider.port
        self.url = f"http://127.0.0.1:{self.port}"

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.provider.start())
        self.ready.set()
        self.loop.run_forever()


class Serve:
    """`paucis serve` on a free port."""

    def __init__(self, upstream, *flags, record=None, listen="127.0.0.1:0",
                 decide=("-s", "snippet"), prefix=()):  # a strategy that shortens what tests send
        self.dir = folder("test")
        self.store = f"sqlite:{self.dir}/store.db"
        self.record = record or os.path.join(self.dir, "record.db")
        self.log = open(os.path.join(self.dir, "log"), "w+")
        url = upstream.url if hasattr(upstream, "url") else upstream
        command = [*prefix, PAUCIS, "serve", "--listen", listen, "--upstream", url, "--record",
                   self.record, "--store", self.store, *decide, *flags]
        self.process = subprocess.Popen(command, stderr=self.log, stdout=subprocess.DEVNULL)
        processes.append(self.process)
        self.port = self.wait_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def text(self):
        with open(self.log.name) as f:
            return f.read()

    def wait_port(self):
        end = time.time() + PATIENCE
        while time.time() < end:
            found = re.search(r"port (\d+);", self.text())
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise AssertionError("serve did not start: " + self.text())

    def rss(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) / 1024

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        text = self.text()
        assert code == 0, f"serve ended with {code}: {text[-3000:]}"
        assert "Sanitizer" not in text, text[-5000:]

    def kill(self):
        self.process.kill()
        self.process.wait()


def ask(port, method="GET", path="/", body=None, headers=None, timeout=PATIENCE):
    """(status, headers, body)"""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        c.request(method, path, body, headers or {})
        r = c.getresponse()
        data = r.read()
        return r.status, {k.lower(): v for k, v in r.getheaders()}, data
    finally:
        c.close()


def raw(port, data, timeout=5, half_close=False):
    """Sends bytes as they are; returns all that comes until the other side closes or is silent."""
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(timeout)
    got = b""
    try:
        s.sendall(data)
        if half_close:
            s.shutdown(socket.SHUT_WR)
        while True:
            piece = s.recv(65536)
            if not piece:
                return got
            got += piece
    except OSError:
        return got
    finally:
        s.close()


def until(what, seconds=PATIENCE):
    end = time.time() + seconds
    while time.time() < end:
        if what():
            return True
        time.sleep(0.02)
    return False


def run_tests(scope):
    """Every function test_* of a module; one line each."""
    names = [n for n in scope if n.startswith("test_")]
    wanted = sys.argv[1:]
    failed = 0
    for name in names:
        if wanted and name not in wanted:
            continue
        began = time.time()
        try:
            scope[name]()
            print(f"ok   {name} ({time.time() - began:.1f} s)", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {name}", flush=True)
            traceback.print_exc()
    sys.exit(1 if failed else 0)


# ---- conversations ---------------------------------------------------------------------------------

TOOLS = {
    "openai-chat": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
    "anthropic": [{"name": "read", "input_schema": {"type": "object"}}],
}


def long_text(n, kb=6):
    """What a tool might print: different each time, long enough to be shortened when it is old."""
    lines = [f"{n}: line {i} of some output, value {(n * 7919 + i * 104729) % 100003}" for i in range(kb * 20)]
    return "\n".join(lines)


def rows(serve, sql):
    """What a query over the record's file gives."""
    db = sqlite3.connect(serve.record)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def chat_body(turns, stream=False, name="task"):
    """A Chat Completions body after `turns` tool calls."""
    messages = [{"role": "system", "content": "You are a test."}, {"role": "user", "content": name}]
    for i in range(turns):
        call = {"id": f"call_{i}", "type": "function",
                "function": {"name": "read", "arguments": json.dumps({"path": f"f{i % 5}"})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": long_text(i)})
    body = {"model": "gpt-test", "messages": messages, "tools": TOOLS["openai-chat"]}
    if stream:
        body.update(stream=True, stream_options={"include_usage": True})
    return json.dumps(body).encode()


def post(serve, body, path="/v1/chat/completions", **headers):
    h = {"content-type": "application/json", "authorization": "Bearer k"}
    h.update({k.replace("_", "-"): v for k, v in headers.items()})
    return ask(serve.port, "POST", path, body, h)
