"""Compaction in between: what is sent and why, conversations found again, leaving safely."""
import json
import os
import sqlite3
import subprocess
import threading

from harness import (PAUCIS, Serve, Upstream, ask, chat_body, long_text, post, rows, run_tests,
                     until)

up = Upstream(check=True)
p = up.provider


def sent():
    return p.seen[-1][3]


def bodies(turns):
    """The requests of one conversation, as a client would send them one after the other."""
    return [chat_body(i) for i in range(turns + 1)]


def test_saves_and_says_so():
    s = Serve(up)
    body = chat_body(30)
    status, headers, _ = post(s, body)
    assert status == 200 and headers["x-paucis"].startswith("saved="), headers
    saved = int(headers["x-paucis"].split("=")[1].split(";")[0])
    assert len(sent()) == len(body) - saved and saved > 0
    expected = subprocess.run([PAUCIS, "compact", "-s", "snippet", "-O", "grow=no"], input=body,
                              capture_output=True).stdout
    assert sent() == expected
    request = headers["x-paucis"].split("id=")[1]
    assert until(lambda: subprocess.run([PAUCIS, "why", request, "--record", s.record],
                                        capture_output=True).returncode == 0)
    why = subprocess.run([PAUCIS, "why", request, "--record", s.record], capture_output=True).stdout.decode()
    assert "snippet" in why and "line" not in why.replace("online", ""), why
    report = subprocess.run([PAUCIS, "report", "--record", s.record], capture_output=True).stdout.decode()
    assert request in report and "value" not in report
    s.stop()


def test_fails_open():
    s = Serve(up)
    p.check, check = False, p.check
    for body, reason in ((b"{", "not-understood"), (b"[]", "not-understood"),
                         (b'{"messages":[{"role":"user","content":"\xff"}]}', "not-json"),
                         (b'{"messages":[1,2]}', ""), (b'{"messages":[]}', "not-understood"),
                         (b'{"messages":[{"role":"user","content":"a"}],"messages":3}', "")):
        try:
            status, headers, _ = post(s, body, x_fault="status-418")
        except Exception as e:
            raise AssertionError((body, e))
        assert "passthrough" in headers["x-paucis"] and reason in headers["x-paucis"], (body, headers)
        assert sent() == body
    p.check = check
    s.stop()


def test_observe():
    s = Serve(up, "--observe")
    body = chat_body(30)
    _, headers, _ = post(s, body)
    assert sent() == body and "reason=observe" in headers["x-paucis"]
    data = json.loads(ask(s.port, "GET", "/paucis/data")[2])
    assert until(lambda: json.loads(ask(s.port, "GET", "/paucis/data")[2])["all"]["requests"] == 1)
    data = json.loads(ask(s.port, "GET", "/paucis/data")[2])["all"]
    assert data["bytes_out"] < data["bytes_in"] and data["rewritten"] == 0 and data["saved"] == 0
    s.stop()


def test_count_tokens_is_rewritten_alike():
    s = Serve(up)
    messages = [{"role": "user", "content": "go"}]
    for i in range(12):
        messages.append({"role": "assistant", "content": [
            {"type": "tool_use", "id": f"toolu_{i}", "name": "read", "input": {"n": i}}]})
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": long_text(i)}]})
    body = json.dumps({"model": "claude-test", "max_tokens": 9, "messages": messages,
                       "tools": [{"name": "read", "input_schema": {"type": "object"}}]}).encode()
    post(s, body, "/v1/messages/count_tokens", anthropic_version="2023-06-01")
    counted = sent()
    assert len(counted) < len(body)
    assert rows(s, "SELECT count(*) FROM conv") == [(0,)]
    post(s, body, "/v1/messages", anthropic_version="2023-06-01")
    assert sent() == counted
    s.stop()


def test_conversations_are_found_again():
    s = Serve(up)
    for body in bodies(5):
        post(s, body)
    assert rows(s, "SELECT count(*) FROM conv") == [(1,)]
    post(s, chat_body(5))  # a retry
    assert rows(s, "SELECT count(*) FROM conv") == [(1,)]
    post(s, chat_body(3, name="another task"))  # a sub-agent, met in mid-session
    assert rows(s, "SELECT count(*) FROM conv") == [(2,)]
    assert rows(s, "SELECT attach FROM conv ORDER BY id") == [(0,), (8,)]
    fork = json.loads(chat_body(2))
    fork["messages"].append({"role": "user", "content": "no, the other way"})
    post(s, json.dumps(fork).encode())  # a rewind
    assert rows(s, "SELECT count(*) FROM conv") == [(3,)]
    assert rows(s, "SELECT attach FROM conv WHERE id=3") == [(0,)]
    post(s, chat_body(6))  # the first goes on
    assert rows(s, "SELECT count(*) FROM conv") == [(3,)]
    post(s, chat_body(0), authorization="Bearer sk-somebody-else")
    assert rows(s, "SELECT count(*) FROM conv") == [(4,)]
    post(s, chat_body(7), authorization="Bearer a.renewed.token")  # a login's token changes every hour
    assert rows(s, "SELECT count(*) FROM conv") == [(4,)]
    s.stop()


def test_marks_do_not_change_the_conversation():
    s = Serve(up)
    tools = [{"name": "read", "input_schema": {"type": "object"}}]

    def send(messages):
        body = {"model": "claude-test", "max_tokens": 9, "messages": messages, "tools": tools}
        assert post(s, json.dumps(body).encode(), "/v1/messages")[0] == 200

    user = {"role": "user", "content": [{"type": "text", "text": "go",
                                         "cache_control": {"type": "ephemeral"}}]}
    send([user])
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x",
                                           "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}
    send([{"role": "user", "content": "go"}, call, result])
    result["content"][0].pop("cache_control")
    send([{"content": [{"text": "go", "type": "text"}], "role": "user"}, call, result,
          {"role": "assistant", "content": "fine"}, {"role": "user", "content": "more"}])
    # the order of keys is part of what is hashed: the third is a fork of nothing known
    assert rows(s, "SELECT count(*) FROM conv")[0][0] <= 2
    assert rows(s, "SELECT max(n) FROM tip WHERE conv=1")[0][0] >= 3
    s.stop()


def test_off():
    s = Serve(up)
    post(s, chat_body(20))
    assert len(sent()) < len(chat_body(20))
    _, headers, _ = post(s, chat_body(21), x_paucis="off")
    assert sent() == chat_body(21) and "reason=off" in headers["x-paucis"]
    _, headers, _ = post(s, chat_body(22))
    assert sent() == chat_body(22) and "reason=stopped" in headers["x-paucis"]
    post(s, chat_body(20, name="other"))
    assert len(sent()) < len(chat_body(20, name="other"))
    run = subprocess.run([PAUCIS, "off", "2", "--record", s.record], capture_output=True)
    assert run.returncode == 0, run.stderr
    post(s, chat_body(21, name="other"))
    assert sent() == chat_body(21, name="other")
    assert subprocess.run([PAUCIS, "off", "77", "--record", s.record], capture_output=True).returncode == 2
    s.stop()


def test_refused_history():
    """The provider does not take what we made of it: it gets the original, and we stop."""
    s = Serve(up)
    original = chat_body(20)
    p.refuse_next = [lambda body: None if body == original else
                     "Messages with role 'tool' must be a response to a preceding message"]
    count = len(p.seen)
    status, headers, _ = post(s, original)
    assert status == 200 and "reason=history-error" in headers["x-paucis"], (status, headers)
    assert len(p.seen) == count + 2 and sent() == original
    p.refuse_next = []
    _, headers, _ = post(s, chat_body(21))
    assert sent() == chat_body(21) and "reason=stopped" in headers["x-paucis"]
    assert "A-R3" in rows(s, "SELECT stop FROM conv")[0][0]
    s.stop()


def test_refused_anyway():
    """It does not take the original either: its own error goes to the client, and nothing is stopped."""
    s = Serve(up)
    p.refuse_next = [lambda body: "no tool call found for it"]
    count = len(p.seen)
    status, headers, body = post(s, chat_body(20))
    assert status == 400 and json.loads(body)["error"]["message"] == "no tool call found for it"
    assert len(p.seen) == count + 2
    p.refuse_next = []
    _, headers, _ = post(s, chat_body(21))
    assert headers["x-paucis"].startswith("saved="), headers
    # a body that was not changed is refused once
    p.refuse_next = [lambda body: "no tool call found for it"]
    count = len(p.seen)
    assert post(s, chat_body(0, name="new"))[0] == 400 and len(p.seen) == count + 1
    p.refuse_next = []
    s.stop()


def test_refused_after_a_stop():
    """A refusal that has nothing to do with us does not start again what was stopped."""
    s = Serve(up)
    state = "SELECT mode, stopped_at, stop FROM conv"
    post(s, chat_body(20))
    post(s, chat_body(21), x_paucis="off")
    was = rows(s, state)
    p.refuse_next = [lambda body: "your credit balance is too low"]
    assert post(s, chat_body(22))[0] == 400
    p.refuse_next = []
    assert rows(s, state) == was and was[0][2] == "switched off by the client", (was, rows(s, state))
    post(s, chat_body(23))
    assert sent() == chat_body(23)
    s.stop()


def test_refusal_and_then_a_fault():
    """Only an original that the provider takes stops a conversation."""
    s = Serve(up)
    first = []

    def refuse(body):
        first.append(body)
        return "no tool call found for it" if len(first) == 1 else (429, "slow down")
    p.refuse_next = [refuse]
    status, headers, _ = post(s, chat_body(20))
    p.refuse_next = []
    assert status == 429 and len(first) == 2 and first[1] == chat_body(20), (status, headers)
    assert until(lambda: rows(s, "SELECT mode, stop FROM conv") == [(0, "")]), rows(s, "SELECT mode, stop FROM conv")
    assert post(s, chat_body(21))[1]["x-paucis"].startswith("saved=")
    assert b"paucis_stops_total 0" in ask(s.port, "GET", "/metrics")[2]
    s.stop()


def test_window_is_learnt():
    """A raw body of 1.5 times the window: the window is learnt from the refusal, the next is shorter."""
    for decide in (("-p", "classic"), ("-p", "stable"), ("-p", "stable", "-l", "balanced")):
        s = Serve(up, decide=decide)
        p.window = int(len(chat_body(40)) // 4 / 1.5)
        try:
            for turns in (40, 41, 42, 46):
                count = len(p.seen)
                status, headers, _ = post(s, chat_body(turns))
                assert status == 200, (decide, turns, status, headers)
                assert len(sent()) // 4 <= p.window
                assert len(p.seen) - count == (2 if turns == 40 else 1), "learnt once"
            assert rows(s, "SELECT budget > 0 FROM conv") == [(1,)]
        finally:
            p.window = None
        s.stop()


def test_cache_watch():
    """A strategy with a sliding window breaks the cache each turn; after three such turns it is stopped."""
    s = Serve(up)
    reasons = []
    for i in range(16, 28):
        _, headers, _ = post(s, chat_body(i))
        assert until(lambda: json.loads(ask(s.port, "GET", "/healthz")[2])["active"] == 1)
        reasons.append("stopped" in headers["x-paucis"])
    assert any(reasons), "never stopped"
    assert "cached" in rows(s, "SELECT stop FROM conv")[0][0]
    data = json.loads(ask(s.port, "GET", "/paucis/data")[2])
    assert "cached" in data["conversations"][0]["stop"]
    s.stop()


def test_kill_and_restart():
    """kill -9 in mid-session: the next request's bytes are those of a proxy that was never killed."""
    p.caching, p.cache = False, set()
    a, b = Serve(up), Serve(up)
    for i, body in enumerate(bodies(24)):
        post(a, body)
        through_a = sent()
        post(b, body)
        assert sent() == through_a, i
        if i % 8 == 7:
            b.kill()
            b = Serve(up, record=b.record)
    b.stop()
    fresh = Serve(up)  # another replica
    post(fresh, bodies(24)[-1])
    assert sent() == through_a
    fresh.stop()
    a.stop()
    p.caching = True


def test_record_fails():
    """A record that cannot be written: what was never changed stays unchanged, and says so."""
    s = Serve(up)
    db = sqlite3.connect(s.record, timeout=0.1)
    db.execute("BEGIN EXCLUSIVE")
    _, headers, _ = post(s, chat_body(20))
    assert sent() == chat_body(20) and "reason=record" in headers["x-paucis"], headers
    db.rollback()
    _, headers, _ = post(s, chat_body(20))
    assert headers["x-paucis"].startswith("saved=")
    db.close()
    s.stop()
    s = Serve(up, "--record", "none")
    _, headers, _ = post(s, chat_body(20))
    assert headers["x-paucis"].startswith("saved=")
    s.stop()
    r = subprocess.run([PAUCIS, "serve", "--listen", "127.0.0.1:0", "--record", "/proc/none/x"],
                       capture_output=True)
    assert r.returncode == 2 and b"cannot open" in r.stderr


def test_disk_full():
    """The record reaches its limit in mid-session: nothing breaks, and what is known still holds."""
    p.cache = set()
    s = Serve(up, "-q", "-O", "step=40", prefix=("prlimit", "--fsize=120000"))
    kinds = set()
    for n in range(40):
        for i in (0, 14, 15):
            status, headers, _ = post(s, chat_body(i, name=f"task {n}"))
            assert status == 200
            kinds.add(headers["x-paucis"].split(";")[0].split("=")[0] + headers["x-paucis"].split("reason=")[-1][:6])
    assert "passthroughrecord" in kinds, kinds
    s.stop()


def test_other_options():
    """A conversation is rendered as it began, whatever the proxy is started with later."""
    p.caching, p.cache = False, set()
    s = Serve(up)
    post(s, chat_body(20))
    post(s, chat_body(21))
    began = sent()
    s.stop()
    s = Serve(up, "-O", "snippet.head=100", record=s.record)
    _, headers, _ = post(s, chat_body(21))
    assert sent() == began, headers
    _, headers, _ = post(s, chat_body(21, name="new"))
    assert headers["x-paucis"].startswith("saved=") and len(sent()) != len(began), headers
    s.stop()
    p.caching = True


def test_other_version():
    """One that this version cannot render as it began is left, for good."""
    s = Serve(up)
    post(s, chat_body(20))
    s.stop()
    db = sqlite3.connect(s.record)
    db.execute("UPDATE conv SET render=render+1")
    db.commit()
    db.close()
    s = Serve(up, record=s.record)
    _, headers, _ = post(s, chat_body(21))
    assert sent() == chat_body(21) and "reason=version" in headers["x-paucis"], headers
    _, headers, _ = post(s, chat_body(22))
    assert sent() == chat_body(22) and "reason=stopped" in headers["x-paucis"], headers
    assert "version" in rows(s, "SELECT stop FROM conv")[0][0]
    s.stop()


def test_in_parallel():
    s = Serve(up, "-q")
    errors = []

    def client(n):
        for i in range(0, 12, 3):
            status, headers, body = post(s, chat_body(i, stream=n % 2 == 0, name=f"task {n}"))
            if status != 200 or (n % 2 == 0 and not body.endswith(b"[DONE]\n\n")):
                errors.append((n, i, status))

    threads = [threading.Thread(target=client, args=(n,)) for n in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors
    assert rows(s, "SELECT count(*) FROM conv") == [(16,)]
    assert s.text().count("\n") <= 3, "quiet means quiet"
    s.stop()


def test_no_secrets_in_log():
    s = Serve(up, "-v")
    post(s, chat_body(3), authorization="Bearer sk-very-secret", x_api_key="hush-hush")
    ask(s.port, "GET", "/v1/models?key=very-private", headers={"x-goog-api-key": "quiet-please"})
    s.stop()
    for secret in ("very-secret", "hush-hush", "very-private", "quiet-please", "You are a test"):
        assert secret not in s.text(), secret
    assert os.stat(s.record).st_mode & 0o077 == 0
    with open(s.record, "rb") as f:
        data = f.read()
    assert b"secret" not in data and b"You are a test" not in data


if __name__ == "__main__":
    run_tests(globals())
