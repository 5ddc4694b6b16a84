"""Tool loops with the official Python SDKs: sdk.py CLIENT BASE-URL stream|whole. See sdk.mjs."""
import json
import sys

client, base, mode = sys.argv[1:]
stream = mode == "stream"
schema = {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "number"}}}
task = f"Read the files ({client})."


def read(path, n):
    return "\n".join(f"{path}: line {i}, value {(ord(path[4]) * 7919 + i * 104729) % 100003}" for i in range(120))


def openai_chat():
    from openai import OpenAI
    api = OpenAI(base_url=base + "/v1", api_key="sk-test")
    messages = [{"role": "user", "content": task}]
    tools = [{"type": "function", "function": {"name": "read", "parameters": schema}}]
    while True:
        request = {"model": "gpt-test", "messages": messages, "tools": tools}
        if stream:
            with api.chat.completions.stream(**request) as s:
                s.until_done()
                answer = s.get_final_completion()
        else:
            answer = api.chat.completions.create(**request)
        message = answer.choices[0].message
        calls = [{"id": c.id, "type": "function", "function": {"name": c.function.name,
                                                               "arguments": c.function.arguments}}
                 for c in message.tool_calls or []]
        print(json.dumps([(message.content or "").strip(), calls]))
        entry = {"role": "assistant", "content": message.content}
        messages.append({**entry, "tool_calls": calls} if calls else entry)
        if not calls:
            return
        for c in calls:
            messages.append({"role": "tool", "tool_call_id": c["id"],
                             "content": read(**json.loads(c["function"]["arguments"]))})


def anthropic():
    from anthropic import Anthropic
    api = Anthropic(base_url=base, api_key="sk-ant-test")
    messages = [{"role": "user", "content": task}]
    tools = [{"name": "read", "input_schema": schema}]
    while True:
        request = {"model": "claude-test", "max_tokens": 1000, "messages": messages, "tools": tools}
        if stream:
            with api.messages.stream(**request) as s:
                answer = s.get_final_message()
        else:
            answer = api.messages.create(**request)
        content = [b.model_dump(exclude_none=True, include={"type", "text", "id", "name", "input"})
                   for b in answer.content]
        print(json.dumps(content))
        messages.append({"role": "assistant", "content": content})
        calls = [b for b in content if b["type"] == "tool_use"]
        if not calls:
            return
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": b["id"], "content": read(**b["input"])} for b in calls]})


{"py-openai": openai_chat, "py-anthropic": anthropic}[client]()
