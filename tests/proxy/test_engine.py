"""The engine: passing through, streams, back-pressure, codings, what is refused at the door, ending."""
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from harness import LONG, PATIENCE, SANITIZED, Serve, Upstream, ask, chat_body, post, raw, run_tests, until

up = Upstream(check=False)
p = up.provider


def last():
    return p.seen[-1]


def test_passes_other_paths():
    s = Serve(up)
    status, headers, body = ask(s.port, "GET", "/v1/models?a=%2F%20b&c", headers={"x-api-key": "k"})
    assert status == 200 and headers["x-mine"] == "1" and "x-paucis" not in headers
    assert last()[1] == "/v1/models?a=%2F%20b&c" and last()[2]["x-api-key"] == "k"
    for method in ("DELETE", "PATCH", "OPTIONS", "PUT"):
        assert ask(s.port, method, "/v1/files/1")[0] == 200 and last()[0] == method
    status, headers, body = ask(s.port, "HEAD", "/v1/files/1")
    assert status == 200 and body == b"" and last()[0] == "HEAD"
    s.stop()


def test_routes():
    """Which provider, by the first segment, by headers, by path; and what address and path share stands once."""
    names = ("anthropic", "openai", "gemini", "openrouter", "deepseek", "chatgpt", "local")
    s = Serve(",".join(f"{n}={up.url}/at-{n}" + ("/v1" if n == "openai" else "") for n in names))
    for path, headers, wanted in (
            ("/v1/chat/completions", {}, "/at-openai/v1/chat/completions"),
            ("/v1/responses?a=b", {"authorization": "Bearer sk-x"}, "/at-openai/v1/responses?a=b"),
            ("/v1/models", {"anthropic-version": "2023-06-01"}, "/at-anthropic/v1/models"),
            ("/v1/messages", {}, "/at-anthropic/v1/messages"),
            ("/v1beta/models/gemini-x:generateContent", {}, "/at-gemini/v1beta/models/gemini-x:generateContent"),
            ("/v1/x", {"x-goog-api-key": "k"}, "/at-gemini/v1/x"),
            ("/api/v1/chat/completions", {}, "/at-openrouter/api/v1/chat/completions"),
            ("/v1/chat/completions", {"authorization": "Bearer sk-or-x"}, "/at-openrouter/v1/chat/completions"),
            ("/backend-api/codex/responses", {}, "/at-chatgpt/backend-api/codex/responses"),
            ("/openai/v1/models", {}, "/at-openai/v1/models"),
            ("/local/v1/models", {"anthropic-version": "x"}, "/at-local/v1/models"),
            ("/deepseek/chat/completions", {}, "/at-deepseek/chat/completions"),
            ("/openaix/v1", {}, "/at-openai/v1/openaix/v1")):
        assert ask(s.port, "GET", path, headers=headers)[0] == 200
        assert last()[1] == wanted, (path, headers, last()[1])
    s.stop()


def test_passes_error_statuses():
    s = Serve(up)
    for code in (401, 404, 429, 500, 529):
        status, headers, body = post(s, chat_body(1), x_fault=f"status-{code}")
        assert status == code and headers["retry-after"] == "7", (status, headers)
        assert json.loads(body)["error"]["message"] == "x"
    s.stop()


def test_trailers():
    """What follows an answer is not its head, whatever it looks like, nor with one that is held back."""
    s = Serve(up)
    for code in (200, 400):
        for _ in range(20):
            status, headers, body = post(s, chat_body(1), x_fault=f"trailers-{code}")
            assert (status, body) == (code, b"{}") and headers["x-head"] == "1", (status, headers, body)
            assert "x-trailer" not in headers, headers
    s.stop()


def test_empty_bodies():
    s = Serve(up)
    assert ask(s.port, "POST", "/v1/responses/r/cancel", b"")[0] == 200 and last()[2]["content-length"] == "0"
    assert ask(s.port, "DELETE", "/v1/files/f")[0] == 200 and "content-length" not in last()[2]
    s.stop()


def test_uploads_stream():
    """A large upload is not collected: the provider reads slowly and memory stays small."""
    s = Serve(up)
    before = s.rss()
    data = os.urandom(1 << 20) * 24
    status, _, body = ask(s.port, "POST", "/v1/files", data)
    assert json.loads(body)["sha256"] == hashlib.sha256(data).hexdigest()
    grown = s.rss() - before
    assert SANITIZED or grown < 12, f"{grown:.1f} MB more"
    pieces = (data[i:i + 70000] for i in range(0, 3 << 20, 70000))
    c_status, _, body = ask(s.port, "PUT", "/v1/files", pieces)
    assert json.loads(body)["headers"]["transfer-encoding"] == "chunked"
    s.stop()


def test_headers():
    s = Serve(up)
    head = {"connection": "close, x-hop", "x-hop": "1", "te": "trailers", "keep-alive": "3",
            "x-stainless-os": "Linux", "anthropic-beta": "a,b", "x-paucis": "off", "user-agent": "me"}
    ask(s.port, "GET", "/v1/models", headers=head)
    got = last()[2]
    for gone in ("x-hop", "te", "keep-alive", "x-paucis", "connection"):
        assert gone not in got, gone
    assert got["x-stainless-os"] == "Linux" and got["anthropic-beta"] == "a,b" and got["user-agent"] == "me"
    assert got["host"] == f"127.0.0.1:{up.port}"
    s.stop()


def test_stream_is_not_buffered():
    s = Serve(up)
    c = socket.create_connection(("127.0.0.1", s.port))
    body = chat_body(0, stream=True)
    c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-pause: 0.3\r\n"
              b"content-length: %d\r\n\r\n" % len(body) + body)
    got = b""
    while b"data:" not in got:
        got += c.recv(4096)
    first = time.time()
    while b"[DONE]" not in got:
        got += c.recv(4096)
    assert time.time() - first > 0.25, "the first event waited for the last"
    assert b"x-paucis: " in got and b"\r\nx-request-id: req_1" in got
    c.close()
    s.stop()


def test_back_pressure():
    """64 MB towards a client that does not read: the proxy holds a little and the provider waits."""
    s = Serve(up)
    before = s.rss()
    c = socket.create_connection(("127.0.0.1", s.port))
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    body = chat_body(0)
    c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-fault: big\r\n"
              b"content-length: %d\r\n\r\n" % len(body) + body)
    time.sleep(1)
    assert SANITIZED or s.rss() - before < 10, f"{s.rss() - before:.1f} MB more"
    c.settimeout(30)
    total = 0
    tail = b""
    while not tail.endswith(b"0\r\n\r\n"):
        piece = c.recv(1 << 20)
        assert piece, "broke off"
        total += len(piece)
        tail = (tail + piece)[-16:]
    assert total > 4000 * 16000
    c.close()
    s.stop()


def test_client_leaves_while_waiting():
    """libmicrohttpd 0.9.75 does not see that a suspended connection's client left: we do."""
    s = Serve(up)
    body = chat_body(0)
    head = (b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-fault: %s\r\n"
            b"content-length: %d\r\n\r\n")
    for fault in (b"silent", b"endless"):
        before = p.open
        c = socket.create_connection(("127.0.0.1", s.port))
        c.sendall(head % (fault, len(body)) + body)
        assert until(lambda: p.open > before)
        if fault == b"endless":
            c.recv(100)
        time.sleep(0.2)
        c.close()
        # The stand-in notices a closed socket only when it writes; the proxy's side tells at once.
        assert until(lambda: json.loads(ask(s.port, "GET", "/healthz")[2])["active"] == 1, 10), fault
    s.stop()


def test_upstream_dies():
    s = Serve(up)
    for fault, kinds in (("reset", (502,)), ("close", (502,)), ("garbage", (502,))):
        status, headers, body = post(s, chat_body(0), x_fault=fault)
        assert status in kinds, (fault, status, body)
        assert json.loads(body)["error"]["type"] == "paucis_error"
    body = chat_body(0)
    for fault in (b"mid-reset", b"mid-close", b"bad-length"):
        got = raw(s.port, b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-fault: %s\r\n"
                  b"content-length: %d\r\n\r\n" % (fault, len(body)) + body)
        assert got.startswith(b"HTTP/1.1 200"), got[:80]
        assert not got.endswith(b"0\r\n\r\n"), "a broken stream must not look whole"
    status, _, _ = post(s, chat_body(0), x_fault="bad-gzip")
    assert status == 200
    status, _, _ = post(s, chat_body(0), x_fault="huge-header")
    assert status in (200, 502)
    assert ask(s.port, "GET", "/v1/models")[0] == 200
    s.stop()


def test_upstream_down_and_silent():
    s = Serve("http://127.0.0.1:9")
    status, _, body = post(s, chat_body(0))
    assert status == 502, status
    s.stop()
    s = Serve(up, "--idle", "2")
    began = time.time()
    status, _, _ = post(s, chat_body(0), x_fault="silent")
    assert status == 504 and time.time() - began < 12, (status, time.time() - began)
    s.stop()


def test_early_answer():
    s = Serve(up)
    status, _, body = ask(s.port, "POST", "/v1/files", b"x" * 3000000, {"x-fault": "early-413"})
    assert status in (413, 502), status
    s.stop()


def test_smuggling():
    """libmicrohttpd 0.9.75 takes these even in strict mode: refused before a byte goes on."""
    s = Serve(up)
    seen = len(p.seen)
    bad = (
        b"content-length: 5\r\ntransfer-encoding: chunked",
        b"transfer-encoding: chunked\r\ncontent-length: 5",
        b"content-length: 5\r\ncontent-length: 6",
        b"content-length: 5\r\ncontent-length: 5",
        b"content-length: 5, 6",
        b"content-length: +5",
        b"content-length: -5",
        b"content-length: 0x5",
        b"content-length: 99999999999999999999",
        b"transfer-encoding: gzip, chunked",
        b"transfer-encoding: chunked\r\ntransfer-encoding: chunked",
        b"transfer-encoding: xchunked",
        b"transfer-encoding : chunked",
        b"host: evil",
    )
    for lines in bad:
        got = raw(s.port, b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n" + lines +
                  b"\r\n\r\n0\r\n\r\nGET /v1/smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n", 2)
        statuses = re.findall(rb"HTTP/1\.\d (\d+)", got)  # libmicrohttpd may say its own 400 twice
        assert all(code.startswith(b"4") for code in statuses), (lines, got[:200])
    assert len(p.seen) == seen, p.seen[seen:]
    s.stop()


def test_malformed():
    s = Serve(up)
    seen = len(p.seen)
    for data in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 1000,
                 b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 100000 + b"\r\n\r\n",
                 b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"a: b\r\n" * 3000 + b"\r\n",
                 b"GET http://evil/ HTTP/1.1\r\nhost: localhost\r\n\r\n",
                 b"CONNECT evil:443 HTTP/1.1\r\nhost: localhost\r\n\r\n",
                 b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"):
        got = raw(s.port, data, 2, half_close=True)
        assert not got or got.startswith(b"HTTP/1."), got[:100]
        assert b" 200 " not in got[:20], (data[:60], got[:100])
    assert len(p.seen) == seen, p.seen[seen:]
    assert ask(s.port, "GET", "/healthz")[0] == 200
    s.stop()


def test_host_and_token():
    s = Serve(up)
    for host, status in (("localhost", 200), ("127.0.0.1:99", 200), ("[::1]:5", 200), ("evil.example", 421),
                         ("127.0.0.1.evil.example", 421), ("localhost.evil", 421)):
        got = raw(s.port, f"GET /v1/models HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
        assert f" {status} ".encode() in got[:20], (host, got[:60])
    s.stop()
    from harness import PAUCIS
    r = subprocess.run([PAUCIS, "serve", "--record", "none", "--listen", "0.0.0.0:0"], capture_output=True)
    assert r.returncode == 2 and b"--token" in r.stderr
    r = subprocess.run([*r.args, "--token", ""], capture_output=True)
    assert r.returncode == 2 and b"--token" in r.stderr
    s = Serve(up, "--token", "sesame", listen="0.0.0.0:0")
    assert ask(s.port, "GET", "/v1/models")[0] == 401
    assert ask(s.port, "GET", "/paucis/")[0] == 401
    assert ask(s.port, "GET", "/v1/models", headers={"x-paucis-token": "sesam"})[0] == 401
    assert ask(s.port, "GET", "/v1/models", headers={"x-paucis-token": "sesame"})[0] == 200
    assert "x-paucis-token" not in last()[2]
    assert ask(s.port, "GET", "/~sesame/v1/models")[0] == 200 and last()[1] == "/v1/models"
    both = ask(s.port, "GET", "/~sesame/v1/models", headers={"x-paucis-token": "sesame"})
    assert both[0] == 200 and last()[1] == "/v1/models"
    assert ask(s.port, "GET", "/~wrong/v1/models")[0] == 401
    assert ask(s.port, "GET", "/healthz")[0] == 200
    s.stop()


def test_refusals_are_counted():
    s = Serve(up)

    def counted():
        text = ask(s.port, "GET", "/metrics")[2].decode()
        rows = dict(re.findall(r'paucis_refused_total\{reason="([^"]+)"\} (\d+)', text))
        assert json.loads(ask(s.port, "GET", "/paucis/data")[2])["refused"] == {k: int(v) for k, v in rows.items()}
        return rows

    assert counted() == {}
    for _ in range(2):
        raw(s.port, b"GET /v1/models HTTP/1.1\r\nhost: evil.example\r\n\r\n", 2)
    raw(s.port, b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n"
        b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 2)
    raw(s.port, b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 100000 + b"\r\n\r\n", 2)
    raw(s.port, b"GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n\r\n", 2)
    got = counted()
    assert got["the Host header does not name this machine"] == "2", got
    assert got["both Content-Length and Transfer-Encoding"] == "1", got
    assert got["the headers are malformed or too large"] == "1", got
    assert any("WebSocket" in k for k in got) and len(got) == 4, got
    s.stop()


def test_websocket_is_refused():
    s = Serve(up)
    status, headers, _ = ask(s.port, "GET", "/v1/responses", headers={
        "connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
        "sec-websocket-key": "x"})
    assert status == 426 and headers["connection"] == "close", (status, headers)
    s.stop()


def test_codings():
    import zlib
    s = Serve(up)
    plain = chat_body(30)
    coded = {"gzip": gzip.compress(plain), "deflate": zlib.compress(plain)}
    r = subprocess.run(["zstd", "-qc"], input=plain, capture_output=True)
    if r.returncode == 0:
        coded["zstd"] = r.stdout
    r = subprocess.run(["node", "-e", "const z = require('zlib'); process.stdout.write(z.brotliCompressSync("
                        "require('fs').readFileSync(0)))"], input=plain, capture_output=True) if shutil.which("node") else None
    if r and r.returncode == 0:
        coded["br"] = r.stdout
    for coding, body in coded.items():
        status, headers, _ = post(s, body, content_encoding=coding, content_md5="x", digest="y")
        assert status == 200 and headers["x-paucis"].startswith("saved="), (coding, headers)
        got = last()
        assert "content-encoding" not in got[2] and "digest" not in got[2] and "content-md5" not in got[2]
        assert int(got[2]["content-length"]) == len(got[3]) < len(plain)
        json.loads(got[3])
    # nothing to save, unknown or broken: the bytes and the header as they came
    for coding, body in (("gzip", gzip.compress(chat_body(0))), ("snappy", b"abc"), ("gzip", b"broken"),
                         ("gzip", gzip.compress(plain)[:-20]), ("gzip", gzip.compress(plain) + b"more")):
        status, headers, _ = post(s, body, content_encoding=coding)
        assert headers["x-paucis"].startswith("passthrough"), headers
        assert last()[3] == body and last()[2]["content-encoding"] == coding
    s.stop()
    s = Serve(up, "--max-body", "1M")  # a bomb
    bomb = gzip.compress(b" " * (64 << 20))
    status, headers, _ = post(s, bomb, content_encoding="gzip")
    assert "reason=coding" in headers["x-paucis"] and last()[3] == bomb
    s.stop()


def test_signed_is_not_rewritten():
    s = Serve(up)
    body = chat_body(30)
    for head in ({"authorization": "AWS4-HMAC-SHA256 Credential=x"}, {"x_amz_content_sha256": "00"},
                 {"signature": "s=:x:"}):
        status, headers, _ = post(s, body, **head)
        assert "reason=signed" in headers["x-paucis"] and last()[3] == body
    s.stop()


def test_large_bodies_pass_unread():
    s = Serve(up, "--max-body", "10K")
    body = chat_body(30)
    status, headers, _ = post(s, body)
    assert status == 200 and "reason=size" in headers["x-paucis"] and last()[3] == body, headers
    pieces = (body[i:i + 5000] for i in range(0, len(body), 5000))
    status, headers, _ = ask(s.port, "POST", "/v1/chat/completions", pieces)
    assert status == 200 and "reason=size" in headers["x-paucis"] and last()[3] == body, headers
    s.stop()


def test_drain():
    """SIGTERM: a stream under way ends as it should, then the process does."""
    s = Serve(up)
    got = []
    t = threading.Thread(target=lambda: got.append(post(s, chat_body(0, stream=True), x_pause="0.2")))
    t.start()
    assert until(lambda: json.loads(ask(s.port, "GET", "/healthz")[2])["active"] > 1)
    s.process.send_signal(signal.SIGTERM)
    assert until(lambda: raw(s.port, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n", 2) == b"")
    t.join()
    assert got[0][0] == 200 and got[0][2].endswith(b"[DONE]\n\n")
    s.stop()
    s = Serve(up, "--drain", "1")
    t = threading.Thread(target=lambda: raw(s.port, b"POST /v1/files HTTP/1.1\r\nhost: localhost\r\n"
                                            b"x-fault: endless\r\ncontent-length: 1\r\n\r\nx", 20))
    t.start()
    assert until(lambda: json.loads(ask(s.port, "GET", "/healthz")[2])["active"] > 1)
    began = time.time()
    s.stop()
    assert time.time() - began < 8
    t.join()


def test_drain_ends_late_requests():
    """A body that is complete only when patience is over is refused; nothing is waited for then."""
    s = Serve(up, "--drain", "1")
    body = chat_body(3)
    c = socket.create_connection(("127.0.0.1", s.port))
    c.settimeout(PATIENCE)
    c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-fault: silent\r\n"
              b"content-length: %d\r\n\r\n" % len(body) + body[:100])
    assert until(lambda: json.loads(ask(s.port, "GET", "/healthz")[2])["active"] > 1)
    s.process.send_signal(signal.SIGTERM)
    time.sleep(1.7)
    c.sendall(body[100:])
    assert c.recv(100).startswith(b"HTTP/1.1 503 ")
    c.close()
    s.stop()


def test_reload():
    other = Upstream(check=False)
    config = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"paucis-test-{os.getpid()}.conf")
    with open(config, "w") as f:
        f.write(f"# a comment\nupstream = {up.url}\n\nmax-body 5M\n")
    from harness import PAUCIS  # noqa: F401
    s = Serve(up, "--config", config)
    assert ask(s.port, "GET", "/v1/models")[0] == 200
    with open(config, "w") as f:
        f.write("idle = 7\nno-such-thing = 1\n")
    s.process.send_signal(signal.SIGHUP)
    assert until(lambda: "stays as it was" in s.text())
    with open(config, "w") as f:
        f.write("observe\nidle = 7\n")
    s.process.send_signal(signal.SIGHUP)
    assert until(lambda: "read again" in s.text())
    status, headers, _ = post(s, chat_body(30))
    assert "reason=observe" in headers["x-paucis"], headers
    s.stop()
    with open(config, "w") as f:
        f.write("token = sesame\n")
    s = Serve(up, "--config", config, listen="0.0.0.0:0")
    with open(config, "w") as f:
        f.write("idle = 7\n")
    s.process.send_signal(signal.SIGHUP)
    assert until(lambda: "stays as it was" in s.text()), s.text()
    assert ask(s.port, "GET", "/v1/models")[0] == 401
    s.stop()
    os.unlink(config)


def test_slow_clients():
    """Many clients that never finish their headers do not keep others from being served."""
    n = 10000 if LONG else 300
    s = Serve(up, "--slow", "30" if LONG else "3")
    socks = []
    try:
        for _ in range(n):
            c = socket.create_connection(("127.0.0.1", s.port))
            c.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx: ")
            socks.append(c)
    except OSError as e:
        print(f"     only {len(socks)} sockets: {e}")
    began = time.time()
    assert ask(s.port, "GET", "/v1/models")[0] == 200
    assert time.time() - began < 15  # the slow ones have 60 seconds
    for c in socks:
        c.close()
    s.stop()


def test_trickling_client():
    """A byte now and then does not keep a connection for ever, in the headers or in the body."""
    s = Serve(up, "--slow", "2")
    for start in (b"GET /v1/models HTTP/1.1\r\nx: ", b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n"
                  b"content-length: 1000\r\n\r\n{"):
        c = socket.create_connection(("127.0.0.1", s.port))
        c.sendall(start)
        c.settimeout(0.2)
        began, ended = time.time(), False
        while time.time() - began < 12 and not ended:
            try:
                c.sendall(b"a")
                ended = c.recv(100) == b""
            except socket.timeout:
                pass
            except OSError:
                ended = True
        assert ended, start
        assert 1 < time.time() - began < 10
        c.close()
    s.stop()


if __name__ == "__main__":
    run_tests(globals())
