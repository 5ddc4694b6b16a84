#!/usr/bin/env python3
"""paucis mcp: messages by hand, then the official clients (npm @modelcontextprotocol/sdk, PyPI mcp) over
stdio and HTTP. PAUCIS_CLIENTS names the folder they are installed in; where nothing can be installed,
that part is left out.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
from support import PAUCIS, SRC, expect, finish, paucis, skip

WORK = tempfile.TemporaryDirectory()
URL = f"sqlite:{WORK.name}/store.db"
CACHE = os.path.join(os.environ.get("PAUCIS_CLIENTS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "paucis-test-clients"), "mcp")


def make_store():
    """A session whose results were shortened; the texts by handle."""
    messages = [{"role": "user", "content": "go"}]
    for i in range(90):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        size = 3000 if i == 3 else 60
        text = "\n".join(f"{i} line {k} of é <&> {k * 7919 % 1000}" for k in range(size))
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"c{i}", "content": text}]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    code, out, err = paucis("compact", "--store", URL, "-l", "deep", stdin=body)
    expect(code == 0, "compact: exit", code, err)
    handles = re.findall(rb"full text: ([0-9a-f]{16})", out)
    return {h.decode(): paucis("recall", h.decode(), "--store", URL)[1].decode() for h in handles}


def ask(*messages):
    """The answers to lines on stdin."""
    lines = b"".join((m if isinstance(m, bytes) else json.dumps(m).encode()) + b"\n" for m in messages)
    code, out, err = paucis("mcp", "--store", URL, stdin=lines)
    expect(code == 0 and not err, "mcp: exit", code, err)
    return [json.loads(line) for line in out.splitlines()]


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def check_messages(texts):
    answers = ask(request(1, "initialize", protocolVersion="2025-03-26", capabilities={},
                          clientInfo={"name": "x", "version": "1"}),
                  {"jsonrpc": "2.0", "method": "notifications/initialized"}, b"", b"  ",
                  request("two", "ping"), request(3, "tools/list"))
    expect([a["id"] for a in answers] == [1, "two", 3], "ids", answers)
    expect(answers[0]["result"]["protocolVersion"] == "2025-03-26", "version")
    expect(answers[1]["result"] == {}, "ping")
    size = len(json.dumps(answers[2]["result"]["tools"]))
    expect(size < 500, "the tool's definition has", size, "bytes")
    unknown, = ask(request(1, "initialize", protocolVersion="1999-01-01"))
    expect(unknown["result"]["protocolVersion"] >= "2025-06-18", "unknown version", unknown)
    for message, code in ((b"{", -32700), (b"[]", -32600), (b"5", -32600), (b'"x"', -32600),
                          ({"jsonrpc": "2.0", "id": 1}, -32600), ({"id": 1, "method": "ping"}, -32600),
                          ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, -32600),
                          ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, -32602),
                          (request(1, "prompts/list"), -32601), (request(1, "tools/call"), -32602),
                          (request(1, "tools/call", name="recall", arguments={"handle": 5}), -32602),
                          (request(1, "resources/list", cursor="x"), -32602),
                          (request(1, "resources/read", uri="file:///etc/passwd"), -32002),
                          (b"[" * 100000, -32700)):
        answer, = ask(message)
        expect(answer["error"]["code"] == code and answer["jsonrpc"] == "2.0", message, answer)
    expect(ask({"jsonrpc": "2.0", "id": 9, "result": {}}) == [], "an answer is not answered")
    for handle, text in list(texts.items())[:5]:
        answer, = ask(request(1, "tools/call", name="recall", arguments={"handle": handle}))
        got = answer["result"]["content"][0]["text"]
        expect(got == text or len(text) > 48000, "recall", handle)
    large = max(texts, key=lambda h: len(texts[h]))
    if expect(len(texts[large]) > 48000, "no large text"):
        answer, = ask(request(1, "tools/call", name="recall", arguments={"handle": large}))
        got = answer["result"]["content"][0]["text"]
        shown = got.count("\n")
        expect(len(got.encode()) < 48200 and f"[{shown} lines shown" in got, "a large text")
        answer, = ask(request(1, "tools/call", name="recall",
                              arguments={"handle": large, "lines": f"{shown + 1}-", "grep": ""}))
        rest = answer["result"]["content"][0]["text"]
        expect(texts[large].startswith(got[:got.rfind("[")] + rest[:1000]), "the rest of it")


class Http:
    def __init__(self, address="127.0.0.1:0", token=None):
        env = {**os.environ, **({"PAUCIS_MCP_TOKEN": token} if token else {})}
        self.job = subprocess.Popen([PAUCIS, "mcp", "--http", address, "--store", URL], env=env,
                                    stderr=subprocess.PIPE, text=True)
        line = self.job.stderr.readline()
        self.url = line.split()[-1] if "serving" in line else None

    def send(self, data, method="POST", **headers):
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        r = urllib.request.Request(self.url, data=data, method=method,
                                   headers={"Content-Type": "application/json", **headers})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(r) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def stop(self):
        self.job.terminate()
        expect(self.job.wait(20) == 0, "mcp --http: exit", self.job.returncode)
        self.job.stderr.close()


def check_http():
    server = Http()
    ping = json.dumps(request(1, "ping")).encode()
    expect(server.send(ping) == (200, b'{"jsonrpc":"2.0","id":1,"result":{}}'), "ping")
    expect(server.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')[0] == 202, "202")
    expect(server.send(None, "GET")[0] == 405 and server.send(None, "DELETE")[0] == 405, "405")
    expect(server.send(ping, Origin="http://evil.example")[0] == 403, "another origin")
    expect(server.send(ping, Origin="http://localhost:3000")[0] == 200, "our origin")
    expect(server.send(ping, Host="evil.example")[0] == 403, "another host")
    expect(server.send(b" " * 1100000)[0] == 413, "too large")
    expect(json.loads(server.send(b"")[1])["error"]["code"] == -32700, "no body")
    server.stop()
    server = Http(token="secret")
    expect(server.send(ping)[0] == 401 and server.send(ping, Authorization="Bearer no")[0] == 401, "401")
    expect(server.send(ping, Authorization="Bearer secret")[0] == 200, "with the token")
    server.stop()
    server = Http("0.0.0.0:0")
    expect(server.url is None and server.job.wait(20) == 2, "any address without a token")
    server.job.stderr.close()


def install_node():
    if not shutil.which("npm"):
        return False
    os.makedirs(CACHE, exist_ok=True)
    if not os.path.isdir(os.path.join(CACHE, "node_modules", "@modelcontextprotocol")):
        shutil.copy(SRC / "tests" / "mcp" / "package.json", CACHE)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=CACHE,
                       capture_output=True, timeout=200, check=False)
    shutil.copy(SRC / "tests" / "mcp" / "client.mjs", CACHE)
    return os.path.isdir(os.path.join(CACHE, "node_modules", "@modelcontextprotocol"))


def install_python():
    env = os.path.join(CACHE, "python")
    if not os.path.exists(os.path.join(env, "ready")):
        subprocess.run([sys.executable, "-m", "venv", env], capture_output=True, check=False)
        done = subprocess.run([os.path.join(env, "bin", "pip"), "install", "-q", "mcp>=2"],
                              capture_output=True, timeout=200, check=False)
        if done.returncode == 0:
            open(os.path.join(env, "ready"), "w", encoding="ascii").close()
    return os.path.exists(os.path.join(env, "ready"))


def check_client(name, texts, command):
    handle = min(texts)
    env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    done = subprocess.run(command, capture_output=True, timeout=120, env={**env, "HANDLE": handle},
                          check=False)
    if not expect(done.returncode == 0, name, "exit", done.returncode, done.stderr[-600:]):
        return
    seen, text = json.loads(done.stdout), texts[handle]
    expect(seen["server"]["name"] == "paucis", name, "server")
    expect([t["name"] for t in seen["tools"]] == ["recall"], name, "tools")
    expect(seen["whole"] == text == seen["read"], name, "the text")
    expect(seen["lines"] == "".join(line + "\n" for line in text.split("\n")[1:3]), name, "lines")
    expect(len(seen["grep"].split("\n")) >= 60, name, "grep")
    expect({u.rsplit("/")[-1] for u in seen["resources"]} >= set(texts), name, "resources",
           len(seen["resources"]), len(texts))
    expect(len(seen["resources"]) == len(set(seen["resources"])), name, "pages")
    expect(seen["faults"][:2] == ["tool", "tool"] and seen["faults"][2:] == [-32602, -32602, -32002],
           name, "faults", seen["faults"])


def main():
    if b"mcp" not in paucis("--help")[1]:
        skip("built without a store")
    texts = make_store()
    expect(len(texts) > 55, "only", len(texts), "texts")
    check_messages(texts)
    http = b"--http" in paucis("mcp", "--help")[1]
    if http:
        check_http()
    clients = []
    if install_node():
        clients.append(("npm", ["node", os.path.join(CACHE, "client.mjs")]))
    if install_python():
        clients.append(("PyPI", [os.path.join(CACHE, "python", "bin", "python"),
                                 str(SRC / "tests" / "mcp" / "client.py")]))
    for name, command in clients:
        check_client(name + " stdio", texts, [*command, "stdio", PAUCIS, "mcp", "--store", URL])
        for token in (None, "secret") if http else ():
            server = Http(token=token)
            check_client(name + " http", texts, [*command, "http", server.url, *([token] if token else [])])
            server.stop()
    finish(f"mcp with {' and '.join(c for c, _ in clients) or 'no'} client")


main()
