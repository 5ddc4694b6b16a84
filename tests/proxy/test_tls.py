"""TLS and HTTP/2 to the provider: verified, reused, many streams on one connection."""
import json
import os
import shutil
import subprocess
import sys
import threading

from harness import Serve, ask, chat_body, folder, post, processes, raw, run_tests
from packages import HERE


class Secure:
    def __init__(self):
        self.dir = folder("tls")
        self.key, self.cert = f"{self.dir}/key.pem", f"{self.dir}/cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-keyout", self.key, "-out", self.cert, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        self.process = subprocess.Popen(["node", os.path.join(HERE, "h2.mjs"), self.key, self.cert],
                                        stdout=subprocess.PIPE)
        processes.append(self.process)
        self.url = f"https://localhost:{int(self.process.stdout.readline())}"


def events(body):
    return [json.loads(e[6:]) for e in body.decode().split("\n\n") if e.startswith("data: {")]


def test_http2():
    secure = Secure()
    s = Serve(secure, "-q", "--ca", secure.cert)
    status, _, body = post(s, chat_body(1))
    assert status == 200 and events(body)[0]["version"] == "2.0", body
    seen, threads = [], []
    for i in range(40):
        def one(i=i):
            big = chat_body(20, name=f"task {i}")
            status, _, body = post(s, big)
            seen.append((status, events(body)[0]["bytes"] == len(big), body.endswith(b"[DONE]\n\n")))
        threads.append(threading.Thread(target=one))
        threads[-1].start()
    for t in threads:
        t.join()
    assert all(x[0] == 200 and x[2] for x in seen) and len(seen) == 40, seen
    _, _, body = post(s, chat_body(1))
    assert events(body)[0]["sessions"] < 10, "connections are not shared"
    data = b"POST /break/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}"
    got = raw(s.port, data)
    assert got.startswith(b"HTTP/1.1 200") and not got.endswith(b"0\r\n\r\n"), got
    upload = os.urandom(3 << 20)
    assert events(ask(s.port, "PUT", "/v1/files", upload)[2])[0]["bytes"] == len(upload)
    s.stop()
    secure.process.kill()


def test_certificate_is_verified():
    secure = Secure()
    s = Serve(secure)
    assert post(s, chat_body(1))[0] == 502
    s.stop()
    secure.process.kill()


if __name__ == "__main__":
    if not shutil.which("node") or not shutil.which("openssl"):
        print("skipped: node or openssl is not there")
        sys.exit(77)
    run_tests(globals())
