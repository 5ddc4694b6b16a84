"""The store behind the proxy: what is cut is safe before it is sent, comes back exactly, only to whom it was given;
and a store that fails means that nothing new is cut."""
import json
import re
import sqlite3
import subprocess
import threading
import time

from harness import PAUCIS, Serve, Upstream, ask, long_text, post, run_tests, until

up = Upstream(check=True)
p = up.provider
HANDLE = re.compile(rb"full text: ([0-9a-f]{16})")

if subprocess.run([PAUCIS, "help", "recall"], capture_output=True).returncode != 0:
    print("skipped: this command was built without a store")
    raise SystemExit(77)


def chat_body(turns, name="task"):
    """A session of commands whose outputs are longer than the cap for new ones."""
    messages = [{"role": "system", "content": "You are a test."}, {"role": "user", "content": name}]
    for i in range(turns):
        call = {"id": f"call_{i}", "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": f"make t{i}"})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": long_text(i)})
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    return json.dumps({"model": "gpt-test", "messages": messages, "tools": tools}).encode()


def anthropic(turns):
    messages = []
    for m in json.loads(chat_body(turns))["messages"][1:]:
        if m["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": m["tool_call_id"], "content": m["content"]}
            m = {"role": "user", "content": [block]}
        elif m["role"] == "assistant":
            call = m["tool_calls"][0]
            block = {"type": "tool_use", "id": call["id"], "name": "bash", "input": json.loads(call["function"]["arguments"])}
            m = {"role": "assistant", "content": [block]}
        messages.append(m)
    return json.dumps({"model": "claude-test", "max_tokens": 9, "messages": messages,
                       "tools": [{"name": "bash", "input_schema": {"type": "object"}}]}).encode()


def sent():
    return p.seen[-1][3]


def talk(serve, first, last, **headers):
    """The requests of a session, one after the other; what is said of the last."""
    for i in range(first, last + 1):
        status, said, _ = post(serve, chat_body(i), **headers)
        assert status == 200
    return said["x-paucis"]


def stable(*flags, **more):
    return Serve(up, *flags, decide=(), **more)


def restored(serve, body):
    return subprocess.run([PAUCIS, "restore", "--store", serve.store], input=body, capture_output=True).stdout


def contents(body):
    return [m["content"] for m in json.loads(body)["messages"]]


def test_every_body_comes_back():
    p.caching, p.cache = False, set()
    s = stable()
    pairs = []
    for i in range(20):
        body = chat_body(i)
        status, headers, _ = post(s, body)
        assert status == 200
        pairs.append((body, sent()))
    assert any(a != b for a, b in pairs)
    for body, out in pairs:
        if body != out:
            assert until(lambda: restored(s, out) == body), headers
    s.stop()
    p.caching = True


def test_handles_and_whose_they_are():
    s = stable()
    key = "Bearer sk-one"
    talk(s, 0, 6, authorization=key)
    handles = HANDLE.findall(sent())
    assert handles
    handle = handles[0].decode()
    path = f"/paucis/recall/{handle}"
    status, _, text = ask(s.port, "GET", path, headers={"authorization": key})
    assert status == 200 and text.decode() in [long_text(i) for i in range(6)], (status, text[:100])
    status, _, lines = ask(s.port, "GET", path + "?lines=2-3", headers={"authorization": key})
    assert status == 200 and lines.decode() == "".join(text.decode().splitlines(True)[1:3])
    status, _, lines = ask(s.port, "GET", path + "?grep=line%201%20of", headers={"authorization": key})
    assert status == 200 and lines.startswith(b"2:"), lines
    # not to another credential, nor to none
    for other in ({"authorization": "Bearer sk-two"}, {"x-api-key": "sk-three"}, {}):
        assert ask(s.port, "GET", path, headers=other)[0] == 404, other
    # a handle that was never given, though the text may be known elsewhere
    assert ask(s.port, "GET", "/paucis/recall/0123456789abcdef", headers={"authorization": key})[0] == 404
    assert ask(s.port, "GET", "/paucis/recall/nonsense", headers={"authorization": key})[0] in (400, 404)
    # the user's own command may have it all
    out = subprocess.run([PAUCIS, "recall", handle, "--store", s.store], capture_output=True).stdout
    assert out == text
    s.stop()


def test_inspect_needs_the_token():
    s = stable("--inspect")
    talk(s, 0, 6, authorization="Bearer sk-one")
    path = "/paucis/recall/" + HANDLE.findall(sent())[0].decode()
    token = re.search(r"token=([0-9a-f]{32})", s.text())[1]
    assert ask(s.port, "GET", path, headers={"authorization": "Bearer sk-two"})[0] == 404
    assert ask(s.port, "GET", f"{path}?token={token}")[0] == 200
    assert ask(s.port, "GET", f"{path}?token={token[1:]}")[0] != 200
    s.stop()
    s = stable("--inspect", "--token", "secret")
    talk(s, 0, 6, authorization="Bearer sk-one", x_paucis_token="secret")
    path = "/paucis/recall/" + HANDLE.findall(sent())[0].decode()
    assert ask(s.port, "GET", path, headers={"authorization": "Bearer sk-one"})[0] == 401
    assert ask(s.port, "GET", path, headers={"x-paucis-token": "secret"})[0] == 200
    s.stop()


def test_levels():
    """Without a store only what is safe goes, and no marker names a handle."""
    s = stable("--store", "none")
    assert "nothing-to-save" in talk(s, 0, 6) and sent() == chat_body(6)
    assert ask(s.port, "GET", "/paucis/recall/0123456789abcdef")[0] == 404
    s.stop()
    s = stable()
    assert talk(s, 0, 6).startswith("saved=")
    s.stop()


def test_nothing_is_asked_twice():
    """A request that cuts nothing new does not read or write texts."""
    p.caching, p.cache = False, set()
    s = stable()
    talk(s, 0, 6)
    first = sent()
    store = s.store
    path = store.split(":", 1)[1]
    until(lambda: restored(s, first) == chat_body(6))
    db = sqlite3.connect(path)
    texts = db.execute("SELECT count(*) FROM text WHERE kind&3").fetchall()
    db.execute("DELETE FROM text WHERE kind&3")  # were it asked, it would be missing and put again
    db.commit()
    post(s, chat_body(6))
    assert sent() == first and texts[0][0] > 0
    assert db.execute("SELECT count(*) FROM text WHERE kind&3").fetchall() == [(0,)]
    s.stop()
    s = stable("--store", store, record=s.record)  # a new process asks once
    post(s, chat_body(6))
    assert sent() == first
    assert db.execute("SELECT count(*) FROM text WHERE kind&3").fetchall() == texts
    db.close()
    s.stop()
    p.caching = True


def test_store_fails():
    """The store is full: earlier cuts are replayed, nothing new is cut, it is said and counted; what was sent whole
    stays whole when the store works again."""
    p.caching, p.cache = False, set()
    s = stable()
    record = s.record
    talk(s, 0, 5)
    before = contents(sent())
    s.stop()
    store = s.store
    db = sqlite3.connect(store.split(":", 1)[1], isolation_level=None)
    db.execute("CREATE TRIGGER no BEFORE INSERT ON text WHEN (NEW.kind&3) BEGIN SELECT RAISE(ABORT,'full'); END")
    s = stable("--store", store, record=record)
    status, headers, _ = post(s, chat_body(6))
    assert status == 200 and "reason=store" in headers["x-paucis"] and headers["x-paucis"].startswith("saved"), headers
    now = contents(sent())
    assert now[:len(before)] == before
    assert now[len(before):] == contents(chat_body(6))[len(before):]  # nothing new was cut
    post(s, chat_body(0, name="never seen"))
    fresh = chat_body(1, name="never seen")
    _, headers, _ = post(s, fresh)
    assert "passthrough; reason=store" in headers["x-paucis"] and sent() == fresh
    assert b'paucis_passed_total{reason="store"} 1' in ask(s.port, "GET", "/metrics")[2] or \
        until(lambda: b'reason="store"} 1' in ask(s.port, "GET", "/metrics")[2])
    s.stop()
    db.execute("DROP TRIGGER no")
    db.close()
    s = stable("--store", store, record=record)
    _, headers, _ = post(s, chat_body(7))
    later = contents(sent())
    assert later[:len(now)] == now, "what was sent whole is sent whole again"
    assert "store" not in headers["x-paucis"] and later[-1] != contents(chat_body(7))[-1]
    s.store = store
    assert until(lambda: restored(s, sent()) == chat_body(7))
    s.stop()
    p.caching = True


def test_store_fails_and_nothing_is_new():
    """A body that was sent already is sent so again, and the record hears of no failure: neither for a retry nor for a
    question about tokens."""
    p.caching, p.cache = False, set()
    s = stable()
    for i in range(7):
        post(s, anthropic(i), "/v1/messages")
    before = sent()
    assert len(before) < len(anthropic(6))
    db = sqlite3.connect(s.store.split(":", 1)[1], isolation_level=None)
    db.execute("CREATE TRIGGER no BEFORE INSERT ON text WHEN (NEW.kind&3) BEGIN SELECT RAISE(ABORT,'full'); END")
    post(s, chat_body(0))
    _, headers, _ = post(s, chat_body(1).replace(b": line ", b": row "))  # another finds out
    assert "reason=store" in headers["x-paucis"], headers
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        _, headers, _ = post(s, anthropic(6), path)
        assert sent() == before and "reason=store" not in headers["x-paucis"], (path, headers)
    post(s, anthropic(7), "/v1/messages/count_tokens")
    assert len(sent()) < len(anthropic(7))
    record = sqlite3.connect(s.record)
    assert record.execute("SELECT still FROM conv WHERE id=1").fetchall() == [("",)]
    record.close()
    db.execute("DROP TRIGGER no")
    db.close()
    s.stop()
    p.caching = True


def test_store_fails_after_turns_elsewhere():
    """What requests that went past the proxy would have cut was never kept: nothing is sent that relies on it."""
    p.caching, p.cache = False, set()
    s = stable()
    talk(s, 0, 5)
    db = sqlite3.connect(s.store.split(":", 1)[1], isolation_level=None)
    db.execute("CREATE TRIGGER no BEFORE INSERT ON text WHEN (NEW.kind&3) BEGIN SELECT RAISE(ABORT,'full'); END")
    _, headers, _ = post(s, chat_body(10))
    assert "reason=store" in headers["x-paucis"], headers
    for handle in set(HANDLE.findall(sent())):
        r = subprocess.run([PAUCIS, "recall", handle.decode(), "--store", s.store], capture_output=True)
        assert r.returncode == 0, (handle, r.stderr)
    assert sent() == chat_body(10), "no thinking, so the exit body is the original"
    db.execute("DROP TRIGGER no")
    db.close()
    _, headers, _ = post(s, chat_body(11))
    assert "reason=stopped" in headers["x-paucis"] and sent() == chat_body(11), headers
    s.stop()
    p.caching = True


def test_store_is_locked():
    """Another process holds it: those who wait wait together, not one after the other."""
    s = stable("--jobs", "4")
    for i in range(4):
        post(s, chat_body(0, name=f"task {i}"))
    db = sqlite3.connect(s.store.split(":", 1)[1], isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    said, began = [], time.time()
    threads = [threading.Thread(target=lambda i=i: said.append(post(s, chat_body(1, name=f"task {i}"))))
               for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert time.time() - began < 20, "10 seconds each"
    assert all(r[0] == 200 and "reason=store" in r[1]["x-paucis"] for r in said), said
    db.close()
    s.stop()


def test_cold_turns():
    """After a long pause a cut is free; it is recorded, and every later request makes it again."""
    p.caching, p.cache = False, set()
    a, b = stable("-l", "deep"), stable("-l", "deep")
    talk(a, 0, 16)
    warm = sent()
    talk(b, 0, 16)
    assert sent() == warm
    assert until(lambda: b.text().count('"work_us"') == 17)  # the last turn is recorded
    db = sqlite3.connect(b.record, isolation_level=None)
    db.execute("UPDATE conv SET last = last - 100000")
    post(a, chat_body(17))
    without = sent()
    post(b, chat_body(17))
    cold = sent()
    assert len(cold) < len(without), (len(cold), len(without))
    assert db.execute("SELECT cold FROM conv").fetchall() == [("36",)]
    post(b, chat_body(17))  # a retry, though now it is warm
    assert sent() == cold
    b.kill()
    other = stable("-l", "deep", "--store", b.store, record=b.record)
    post(other, chat_body(18))
    # append-stable behind the recorded cut
    assert contents(sent())[:len(contents(cold))] == contents(cold)
    assert until(lambda: restored(b, sent()) == chat_body(18))
    db.close()
    other.stop()
    a.stop()
    p.caching = True


def test_recalled_texts_stay():
    """A text that was recalled in the body is not cut when it is new, nor soon; the recall is counted."""
    p.caching, p.cache = False, set()

    def body(turns):
        b = json.loads(chat_body(turns))
        for m in b["messages"]:
            for call in m.get("tool_calls") or []:
                if call["id"] == "call_2":
                    call["function"] = {"name": "mcp__paucis__recall", "arguments": '{"handle":"0123456789abcdef"}'}
                if call["id"] == "call_4":
                    call["function"]["arguments"] = '{"command":"paucis recall 0123456789abcdef"}'
        return json.dumps(b).encode()

    s = stable("-l", "deep", "-O", "window=4", "--price", "none")
    for i in range(12):
        post(s, body(i))
        now = contents(sent())
        for call in (2, 4):
            assert call >= i or now[3 + 2 * call] == long_text(call), (i, call)
    assert now[3] != long_text(0) and now[3 + 2 * 3] != long_text(3)
    for i in range(12, 24):
        post(s, body(i))
    assert contents(sent())[3 + 2 * 2] != long_text(2), "for ever is too long"
    assert until(lambda: b"\npaucis_recalls_total 2" in ask(s.port, "GET", "/metrics")[2])
    s.stop()
    p.caching = True


def test_default_store_cannot_be_opened():
    """Only the default: it goes on without, at the safe level; one that was asked for must be there."""
    r = subprocess.run([PAUCIS, "serve", "-u", up.url, "--store", "sqlite:/proc/no/store.db"], capture_output=True)
    assert r.returncode != 0 and b"cannot open the store" in r.stderr


run_tests(globals())
