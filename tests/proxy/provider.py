"""A stand-in for a provider, strict and small.

It speaks the four HTTP formats (Chat Completions, Messages, Responses, generateContent), streaming and
not, with tool calls; refuses a history that `paucis check` finds broken, with the provider's own words
for the commonest rules; keeps a prompt cache (the longest run of messages seen before) and answers with
the usage numbers a provider would give. Faults are asked for in the path or in the header x-fault, so
that one server serves every test. Bodies are kept by hash for tests that compare bytes.

Answers are a pure function of the conversation: a tool call while fewer than `turns` calls have been
made, then a text that names a digest of the user's words. What tools returned does not matter, so a
client gets the same answers whether or not its history was shortened on the way.
"""
import asyncio
import gzip
import hashlib
import json
import os
import re
import subprocess
import tempfile

PATHS = (
    (re.compile(r"/chat/completions$"), "openai-chat"),
    (re.compile(r"/messages$"), "anthropic"),
    (re.compile(r"/messages/count_tokens$"), "anthropic"),
    (re.compile(r"/responses$"), "openai-responses"),
    (re.compile(r":(stream)?[gG]enerateContent$"), "gemini"),
)


class Provider:
    def __init__(self, turns=60, window=None, check=True, folder=None):
        self.folder = folder  # where the files are that a real agent is told to read
        self.turns = turns  # tool calls before the final answer
        self.window = window  # tokens; a longer prompt is refused
        self.check = check and os.environ.get("PAUCIS")
        self.seen = []  # (method, path, headers, body)
        self.refused = []  # reasons
        self.cache = set()
        self.caching = True
        self.bill = {"fresh": 0, "cached": 0, "written": 0, "requests": 0}
        self.aborted = 0  # clients that left in mid-answer
        self.open = 0
        self.refuse_next = []  # functions body -> None, error text, (status, text)
        self.port = None

    # ---- one connection ----------------------------------------------------------------------

    async def start(self, port=0, ssl=None):
        self.server = await asyncio.start_server(self.connection, "127.0.0.1", port, limit=1 << 20,
                                                 backlog=4096, ssl=ssl)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def stop(self):
        self.server.close()

    async def connection(self, reader, writer):
        self.open += 1
        try:
            while await self.request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def request(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {}
        for line in lines[1:-2]:
            name, value = line.split(":", 1)
            headers.setdefault(name.lower(), value.strip())
        fault = headers.get("x-fault", "")
        if fault == "early-413":
            await self.send(writer, 413, {}, b'{"error":{"message":"too big"}}')
            return False
        body = await self.read_body(reader, headers, fault)
        self.seen.append((method, target, headers, body))
        if fault:
            return await self.faulty(writer, fault, body)
        return await self.answer(reader, writer, method, target, headers, body)

    async def read_body(self, reader, headers, fault):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while True:
                size = int((await reader.readline()).split(b";")[0], 16)
                piece = await reader.readexactly(size + 2)
                if size == 0:
                    return body
                body += piece[:-2]
        left = int(headers.get("content-length", 0))
        body = bytearray()
        while left > 0:
            piece = await reader.read(min(left, 65536))
            if not piece:
                raise ConnectionError
            body += piece
            left -= len(piece)
            if fault == "slow-read":
                await asyncio.sleep(0.01)
        return bytes(body)

    async def send(self, writer, status, headers, body):
        lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
        headers = {"content-type": "application/json", "x-request-id": "req_1", **headers}
        lines += [f"{k}: {v}" for k, v in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()

    # ---- faults ------------------------------------------------------------------------------

    async def faulty(self, writer, fault, body):
        if fault == "reset":
            writer.transport.abort()
            return False
        if fault == "close":
            return False
        if fault == "garbage":
            writer.write(b"\x00\xff not http at all\r\n\r\n" * 20)
            await writer.drain()
            return False
        if fault == "bad-length":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort")
            await writer.drain()
            return False
        if fault == "silent":
            await asyncio.sleep(3600)
        if fault == "bad-gzip":
            await self.send(writer, 200, {"content-encoding": "gzip"}, b"not gzip")
            return True
        if fault.startswith("trailers"):
            writer.write(b"HTTP/1.1 %s X\r\ntransfer-encoding: chunked\r\nx-head: 1\r\n\r\n2\r\n{}\r\n0\r\n"
                         b"x-trailer: 1\r\nHTTP/1.1: 777 X\r\n\r\n" % fault[9:].encode())
            await writer.drain()
            return True
        if fault == "huge-header":
            await self.send(writer, 200, {"x-long": "y" * 200000}, b"{}")
            return True
        if fault in ("mid-reset", "mid-close", "endless", "big"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                         b"transfer-encoding: chunked\r\n\r\n")
            count = {"endless": 10**9, "big": 4000}.get(fault, 3)
            data = b"data: " + b"z" * (16000 if fault == "big" else 20) + b"\n\n"
            try:
                for _ in range(count):
                    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
                    await writer.drain()
                    if fault != "big":
                        await asyncio.sleep(0.02)
            except ConnectionError:
                self.aborted += 1
                raise
            if fault == "big":
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                return True
            if fault == "mid-reset":
                writer.transport.abort()
            return False
        if fault.startswith("status-"):
            await self.send(writer, int(fault[7:]), {"retry-after": "7"}, b'{"error":{"message":"x"}}')
            return True
        raise ValueError(fault)

    # ---- answers -----------------------------------------------------------------------------

    async def answer(self, reader, writer, method, target, headers, body):
        path = target.split("?")[0]
        fmt = next((f for pattern, f in PATHS if pattern.search(path)), None)
        if headers.get("content-encoding"):
            fmt = None  # this stand-in takes plain bodies only
        if method != "POST" or not fmt:
            info = {"method": method, "path": target, "bytes": len(body),
                    "sha256": hashlib.sha256(body).hexdigest(), "headers": headers}
            data = b"" if method == "HEAD" else json.dumps(info).encode()
            await self.send(writer, 200, {"x-mine": "1"}, data)
            return True
        doc = json.loads(body)
        view = View(fmt, doc, path)
        error = self.judge(fmt, body, doc, view)
        if error:
            self.refused.append(error)
            status, error = error if isinstance(error, tuple) else (400, error)
            await self.send(writer, status, {}, json.dumps(error_body(fmt, error)).encode())
            return True
        if path.endswith("count_tokens"):
            await self.send(writer, 200, {}, json.dumps({"input_tokens": len(body) // 4}).encode())
            return True
        usage = self.count(fmt, doc, view)
        reply = view.reply(self.turns, usage, self.folder)
        if view.stream:
            await self.stream(writer, view.events(reply), headers)
        else:
            data = json.dumps(reply).encode()
            extra = {}
            if "gzip" in headers.get("accept-encoding", ""):
                data, extra = gzip.compress(data), {"content-encoding": "gzip"}
            await self.send(writer, 200, extra, data)
        return True

    async def stream(self, writer, events, headers):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req_1\r\n"
                     b"transfer-encoding: chunked\r\n\r\n")
        pause = float(headers.get("x-pause", 0))
        for event in events:
            data = event.encode()
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await writer.drain()
            if pause:
                await asyncio.sleep(pause)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    # ---- rules, cache, bill --------------------------------------------------------------------

    def judge(self, fmt, body, doc, view):
        for rule in list(self.refuse_next):
            error = rule(body)
            if error:
                return error
        tokens = len(body) // 4
        if self.window and tokens > self.window:
            return f"prompt is too long: {tokens} tokens > {self.window} maximum"
        if not self.check:
            return None
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            f.write(body)
            f.flush()
            r = subprocess.run([self.check, "check", "-f", fmt, f.name], capture_output=True)
        return f"broken: {r.stdout.decode()[:300]}" if r.returncode else None

    def count(self, fmt, doc, view):
        """The longest run of messages seen before is cached."""
        digest = hashlib.sha256(json.dumps([doc.get("system"), doc.get("tools")]).encode())
        sizes, best, total, keys = [], 0, 0, []
        for m in view.messages:
            text = json.dumps(strip(m))
            digest.update(text.encode())
            total += letters(strip(m)) / 4
            keys.append(digest.hexdigest())
            if keys[-1] in self.cache:
                best = total
        if self.caching:
            self.cache.update(keys)
        best, total = int(best), int(total)
        new = total - best
        written = new if fmt == "anthropic" else 0
        self.bill["requests"] += 1
        self.bill["cached"] += best
        self.bill["written"] += written
        self.bill["fresh"] += new - written
        return best, written, new - written


    def bill_in_base_tokens(self):
        """By prices.json: a cached token is a tenth, one put in Anthropic's cache 1.25."""
        return self.bill["fresh"] + 0.1 * self.bill["cached"] + 1.25 * self.bill["written"]


def strip(value):
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [strip(v) for v in value]
    return value


def letters(value):
    """Characters of the texts, as `paucis replay` counts them: what JSON adds is not billed."""
    if isinstance(value, dict):
        return sum(letters(v) for k, v in value.items() if k not in ("type", "role", "id", "tool_use_id",
                                                                     "tool_call_id", "call_id"))
    if isinstance(value, list):
        return sum(letters(v) for v in value)
    return len(value) if isinstance(value, str) else 0


def error_body(fmt, text):
    if fmt == "anthropic":
        return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    return {"error": {"message": text, "type": "invalid_request_error", "code": 400, "param": None,
                      "status": "INVALID_ARGUMENT"}}


class View:
    """What a format's bodies and answers look like; no more than the tests need."""

    def __init__(self, fmt, doc, path):
        self.fmt, self.doc = fmt, doc
        self.messages = doc.get("messages") or doc.get("contents") or doc.get("input")
        if isinstance(self.messages, str):
            self.messages = [{"role": "user", "content": self.messages}]
        self.stream = bool(doc.get("stream")) or "stream" in path.split(":")[-1].lower()
        text = json.dumps(self.messages)
        self.calls = {"openai-chat": text.count('"tool_call_id"'),
                      "anthropic": text.count('"tool_use_id"'),
                      "openai-responses": text.count('"function_call_output"'),
                      "gemini": text.count('"functionResponse"')}[fmt]
        user = [m for m in self.messages if m.get("role") == "user"][:1]
        self.name = hashlib.sha256(json.dumps(strip(user)).encode()).hexdigest()[:12]

    def tool(self, folder):
        """A tool the agent has, and arguments that make it read a file."""
        names = {t.get("name") or (t.get("function") or {}).get("name") for t in self.doc["tools"]}
        path = f"{folder}/file{self.calls % 5}.txt"
        for name, args in (("Read", {"file_path": path}), ("exec_command", {"cmd": f"cat {path}"}),
                           ("shell", {"command": ["cat", path]}), ("bash", {"command": f"cat {path}"})):
            if folder and name in names:
                return name, args
        return "read", {"path": f"file{self.calls % 7}.txt", "n": self.calls}

    def reply(self, turns, usage, folder=None):
        cached, written, fresh = usage
        more = self.calls < turns and bool(self.doc.get("tools"))
        name, args = self.tool(folder) if more else (None, None)
        call_id = f"call_{self.name}_{self.calls}"
        final = f"done {self.name} after {self.calls} calls"
        prompt = cached + written + fresh
        if self.fmt == "openai-chat":
            message = {"role": "assistant", "content": None if more else final}
            if more:
                message["tool_calls"] = [{"id": call_id, "type": "function", "function":
                                          {"name": name, "arguments": json.dumps(args)}}]
            return {"id": f"chatcmpl-{self.name}{self.calls}", "object": "chat.completion", "created": 1, "model": self.doc["model"],
                    "choices": [{"index": 0, "message": message, "logprobs": None,
                                 "finish_reason": "tool_calls" if more else "stop"}],
                    "usage": {"prompt_tokens": prompt, "completion_tokens": 9, "total_tokens": prompt + 9,
                              "prompt_tokens_details": {"cached_tokens": cached}}}
        if self.fmt == "anthropic":
            block = ({"type": "tool_use", "id": "toolu_" + call_id, "name": name, "input": args} if more
                     else {"type": "text", "text": final})
            thinks = (self.doc.get("thinking") or {}).get("type") in ("enabled", "adaptive")
            thought = {"type": "thinking", "thinking": "Let me see.", "signature": f"sig_{self.calls}"}
            return {"id": f"msg_{self.name}{self.calls}", "type": "message", "role": "assistant", "model": self.doc["model"],
                    "content": [thought, block] if thinks else [block],
                    "stop_reason": "tool_use" if more else "end_turn",
                    "stop_sequence": None,
                    "usage": {"input_tokens": fresh, "cache_creation_input_tokens": written,
                              "cache_read_input_tokens": cached, "output_tokens": 9}}
        if self.fmt == "openai-responses":
            item = ({"type": "function_call", "id": "fc_" + call_id, "call_id": call_id, "name": name,
                     "arguments": json.dumps(args), "status": "completed"} if more else
                    {"type": "message", "id": "msg_" + self.name, "role": "assistant", "status": "completed",
                     "content": [{"type": "output_text", "text": final, "annotations": []}]})
            return {"id": f"resp_{self.name}{self.calls}", "object": "response", "created_at": 1, "status": "completed",
                    "model": self.doc["model"], "output": [item], "parallel_tool_calls": True,
                    "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None,
                    "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
                    "usage": {"input_tokens": prompt, "input_tokens_details": {"cached_tokens": cached},
                              "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 0},
                              "total_tokens": prompt + 9}}
        part = {"functionCall": {"id": call_id, "name": name, "args": args}} if more else {"text": final}
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP",
                                "index": 0}],
                "usageMetadata": {"promptTokenCount": prompt, "cachedContentTokenCount": cached,
                                  "candidatesTokenCount": 9, "totalTokenCount": prompt + 9},
                "modelVersion": "gemini-x"}

    def events(self, reply):
        data = lambda d: f"data: {json.dumps(d)}\n\n"
        event = lambda d: f"event: {d['type']}\n{data(d)}"
        if self.fmt == "gemini":
            yield data(reply)
        elif self.fmt == "openai-chat":
            message = reply["choices"][0]["message"]
            base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": reply["model"]}
            chunk = lambda delta, end=None: data({**base, "choices": [
                {"index": 0, "delta": delta, "finish_reason": end}]})
            yield chunk({"role": "assistant", "content": ""})
            for call in message.get("tool_calls", []):
                args = call["function"]["arguments"]
                yield chunk({"tool_calls": [{"index": 0, "id": call["id"], "type": "function", "function":
                                             {"name": call["function"]["name"], "arguments": args[:5]}}]})
                yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": args[5:]}}]})
            if message["content"]:
                for word in message["content"].split(" "):
                    yield chunk({"content": word + " "})
            yield chunk({}, reply["choices"][0]["finish_reason"])
            if (self.doc.get("stream_options") or {}).get("include_usage"):
                yield data({**base, "choices": [], "usage": reply["usage"]})
            yield "data: [DONE]\n\n"
        elif self.fmt == "anthropic":
            block = reply["content"][-1]
            last = len(reply["content"]) - 1
            yield event({"type": "message_start", "message": {**reply, "content": [], "stop_reason": None}})
            yield "event: ping\ndata: {\"type\": \"ping\"}\n\n"
            if last:
                thought = reply["content"][0]
                yield event({"type": "content_block_start", "index": 0,
                             "content_block": {"type": "thinking", "thinking": "", "signature": ""}})
                yield event({"type": "content_block_delta", "index": 0,
                             "delta": {"type": "thinking_delta", "thinking": thought["thinking"]}})
                yield event({"type": "content_block_delta", "index": 0,
                             "delta": {"type": "signature_delta", "signature": thought["signature"]}})
                yield event({"type": "content_block_stop", "index": 0})
            if block["type"] == "text":
                yield event({"type": "content_block_start", "index": last,
                             "content_block": {"type": "text", "text": ""}})
                for word in block["text"].split(" "):
                    yield event({"type": "content_block_delta", "index": last,
                                 "delta": {"type": "text_delta", "text": word + " "}})
            else:
                yield event({"type": "content_block_start", "index": last,
                             "content_block": {**block, "input": {}}})
                yield event({"type": "content_block_delta", "index": last, "delta":
                             {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}})
            yield event({"type": "content_block_stop", "index": last})
            yield event({"type": "message_delta", "delta": {"stop_reason": reply["stop_reason"],
                                                            "stop_sequence": None},
                         "usage": {"output_tokens": 9}})
            yield event({"type": "message_stop"})
        else:
            item, n = reply["output"][0], iter(range(99))
            e = lambda kind, **more: event({"type": kind, "sequence_number": next(n), **more})
            yield e("response.created", response={**reply, "status": "in_progress", "output": [],
                                                  "usage": None})
            yield e("response.output_item.added", output_index=0, item=item)
            yield e("response.output_item.done", output_index=0, item=item)
            yield e("response.completed", response=reply)


async def main():
    import sys
    provider = await Provider(turns=int(os.environ.get("TURNS", 60)),
                              check=not os.environ.get("UNCHECKED")).start(
        int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(provider.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
