"""A stand-in that we did not write (npm @copilotkit/aimock) as upstream: whole and streaming answers in three
formats are the same directly and through the proxy, with a history that is shortened on the way."""
import json
import os
import re
import shutil
import subprocess
import sys

from harness import Serve, ask, long_text, processes, run_tests
from packages import CACHE, HERE, install


def bodies(stream):
    """The same conversation in three formats: files read again and again, then a question."""
    chat, anthropic, responses = [], [], []
    first = "Read the files."
    for messages in (chat, anthropic, responses):
        messages.append({"role": "user", "content": first})
    for i in range(16):
        text, args = long_text(i % 3), {"path": f"file{i % 3}.txt"}
        chat.append({"role": "assistant", "content": None, "tool_calls": [
            {"id": f"call_{i}", "type": "function", "function": {"name": "read", "arguments": json.dumps(args)}}]})
        chat.append({"role": "tool", "tool_call_id": f"call_{i}", "content": text})
        anthropic.append({"role": "assistant", "content": [
            {"type": "tool_use", "id": f"toolu_{i}", "name": "read", "input": args}]})
        anthropic.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": text}]})
        responses.append({"type": "function_call", "call_id": f"call_{i}", "name": "read",
                          "arguments": json.dumps(args)})
        responses.append({"type": "function_call_output", "call_id": f"call_{i}", "output": text})
    for messages in (chat, anthropic, responses):
        messages.append({"role": "assistant", "content": "Done."})
        messages.append({"role": "user", "content": "Please sum up."})
    common = {"model": "gpt-5", "stream": stream}
    return (("/v1/chat/completions", {**common, "messages": chat}),
            ("/v1/messages", {**common, "model": "claude-sonnet-4-5", "max_tokens": 99, "messages": anthropic}),
            ("/v1/responses", {**common, "input": responses, "store": False}))


def plain(answer):
    """Ids and times differ from one answer to the next, and the tokens are fewer."""
    text = re.sub(r'"(id|item_id|request_id|created|created_at|completed_at)":\s*("[^"]*"|\d+)', "", answer.decode())
    return re.sub(r'"(obfuscation":\s*"[^"]*"|[a-z_]*_tokens":\s*\d+)', "", text)


def test_mock():
    shutil.copy(os.path.join(HERE, "mock.mjs"), CACHE)
    mock = subprocess.Popen(["node", os.path.join(CACHE, "mock.mjs")], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    processes.append(mock)
    port = int(mock.stdout.readline())
    s = Serve(f"http://127.0.0.1:{port}", "-q")
    head = {"content-type": "application/json", "authorization": "Bearer sk-test", "x-api-key": "sk-ant-test",
            "anthropic-version": "2023-06-01"}
    for stream in (False, True):
        for path, body in bodies(stream):
            data = json.dumps(body).encode()
            a, b = ask(port, "POST", path, data, head), ask(s.port, "POST", path, data, head)
            assert a[0] == b[0] == 200, (path, a, b)
            assert b[1]["x-paucis"].startswith("saved="), (path, b[1])
            assert plain(a[2]) == plain(b[2]) and (b"All files" in a[2] or stream), (path, a[2][:500], b[2][:500])
    s.stop()
    mock.stdin.close()
    mock.wait(10)


if __name__ == "__main__":
    if not install()[0]:
        print("skipped: the npm packages cannot be had")
        sys.exit(77)
    run_tests(globals())
