"""`paucis run`, the page, the metrics, doctor."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, PAUCIS, Serve, Upstream, ask, chat_body, post, run_tests, until

up = Upstream(check=False)

CHILD = """
import json, os, sys, urllib.request
body = open(sys.argv[1], "rb").read()
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
r = urllib.request.Request(url, body, {"authorization": "Bearer k", "content-type": "application/json"})
r = urllib.request.urlopen(r)
print(r.status, r.headers["x-paucis"], os.environ["ANTHROPIC_BASE_URL"], os.environ["ENABLE_TOOL_SEARCH"])
sys.exit(7)
"""


def run(*words, env=None, **more):
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "XDG_STATE_HOME": state, "XDG_DATA_HOME": state, **(env or {})}
        return subprocess.run([PAUCIS, "run", *words], capture_output=True, timeout=PATIENCE * 2,
                              env=environment, **more)


def test_run_gives_the_child_a_proxy():
    with tempfile.NamedTemporaryFile() as f:
        f.write(chat_body(30))
        f.flush()
        r = run("-s", "snippet", "-u", up.url, "--base-price", "3", "--", sys.executable, "-c", CHILD, f.name)
        assert r.returncode == 7, r
        out, err = r.stdout.decode(), r.stderr.decode()
        assert re.match(r"200 saved=\d+; .* http://127.0.0.1:\d+/anthropic true", out), out
        assert "1 requests, 1 shortened" in err and "in money" in err and "record.db" in err, err
        keeps = b"--store" in subprocess.run([PAUCIS, "run", "--help"], capture_output=True).stdout
        assert ("removed texts are kept in the user's own store" in err) == keeps, err
        # an address that was set is where it goes
        r = run("-s", "snippet", "--", sys.executable, "-c", CHILD, f.name,
                env={"OPENAI_BASE_URL": up.url + "/v1"})
        assert r.returncode == 7 and r.stdout.startswith(b"200 saved="), r
        assert up.provider.seen[-1][1] == "/v1/chat/completions"
        r = run("-s", "snippet", "--observe", "-u", up.url, "--", sys.executable, "-c", CHILD, f.name)
        assert b"observed only" in r.stderr and up.provider.seen[-1][3] == chat_body(30), r.stderr


def test_run_ends_with_its_child():
    assert run("--", "true").returncode == 0
    assert run("--", "false").returncode == 1
    assert run("--", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    r = run("--", "/no/such/program")
    assert r.returncode == 2 and b"cannot run" in r.stderr
    assert run("--").returncode == 2
    with tempfile.TemporaryDirectory() as state:
        p = subprocess.Popen([PAUCIS, "run", "--", "sleep", "30"], stderr=subprocess.PIPE,
                             env={**os.environ, "XDG_STATE_HOME": state, "XDG_DATA_HOME": state})
        time.sleep(1)
        p.send_signal(signal.SIGTERM)  # handed on
        assert p.wait(PATIENCE) == 128 + signal.SIGTERM
        p.stderr.close()


def test_page_and_metrics():
    s = Serve(up)
    post(s, chat_body(20))
    post(s, chat_body(0), x_fault="status-500")
    ask(s.port, "GET", "/v1/models")
    assert until(lambda: json.loads(ask(s.port, "GET", "/paucis/data")[2])["forwarded"] == 1)
    status, headers, page = ask(s.port, "GET", "/paucis/")
    assert status == 200 and headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert not re.search(rb"(src|href)=\"(?!data:)", page), "the page asks for something from elsewhere"
    data = json.loads(ask(s.port, "GET", "/paucis/data")[2])
    assert data["all"]["requests"] == 2 and data["all"]["rewritten"] == 1 and data["all"]["failed"] == 1
    assert data["recent"][0]["status"] == 500 and data["conversations"][0]["model"] == "gpt-test"
    text = ask(s.port, "GET", "/metrics")[2].decode()
    for line in text.splitlines():
        assert line.startswith("# ") or re.match(r'[a-z_]+(\{[a-z]+="[^"]+"\})? -?[0-9.e+-]+$', line), line
    assert "paucis_requests_total 2\n" in text and 'paucis_decision_seconds_bucket{le="+Inf"} 2\n' in text
    s.stop()


def test_doctor():
    r = subprocess.run([PAUCIS, "doctor", "-u", up.url], capture_output=True, timeout=PATIENCE)
    assert r.returncode == 0 and b"reachable (200" in r.stdout and b"libcurl" in r.stdout, r
    r = subprocess.run([PAUCIS, "doctor", "-u", "http://127.0.0.1:9"], capture_output=True, timeout=PATIENCE)
    assert r.returncode == 2 and b"not reachable" in r.stdout, r


if __name__ == "__main__":
    run_tests(globals())
