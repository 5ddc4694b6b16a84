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


def gemini():
    from google import genai
    from google.genai import types
    api = genai.Client(api_key="test", http_options=types.HttpOptions(base_url=base))
    read_tool = {"name": "read", "parameters_json_schema": schema}
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[read_tool])])
    contents = [types.Content(role="user", parts=[types.Part(text=task)])]
    while True:
        request = {"model": "gemini-x", "contents": contents, "config": config}
        if stream:
            parts = [p for chunk in api.models.generate_content_stream(**request)
                     for p in chunk.candidates[0].content.parts]
        else:
            parts = api.models.generate_content(**request).candidates[0].content.parts
        contents.append(types.Content(role="model", parts=parts))
        print(json.dumps([p.model_dump(exclude_none=True) for p in parts]))
        calls = [p.function_call for p in parts if p.function_call]
        if not calls:
            return
        contents.append(types.Content(role="user", parts=[types.Part(function_response=types.FunctionResponse(
            id=c.id, name=c.name, response={"output": read(**c.args)})) for c in calls]))


{"py-openai": openai_chat, "py-anthropic": anthropic, "py-gemini": gemini}[client]()
