#!/usr/bin/env python3
"""Large bodies from small ones: join.py [--sizes MB,MB...] [--format F] FILE... > joined.jsonl

FILE holds traces: a line is an object with "format" and "request". For each of the three formats (or
one) and each size, sessions of that format are joined, message list to message list, as long as the body
stays below the size. The
frame (model, system text, settings) is the first session's, tools are gathered by name, and every
session's ids get a suffix of their own, so that no call meets another session's result."""
import argparse
import json
import sys

from extract import lines_of

LISTS = {"openai-chat": "messages", "anthropic": "messages", "openai-responses": "input"}
IDS = {"id", "call_id", "tool_call_id", "tool_use_id"}


def compact(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def with_suffix(value, suffix):
    """A copy whose ids end in the suffix. What a call says and what it returns is left alone."""
    if isinstance(value, list):
        return [with_suffix(element, suffix) for element in value]
    if not isinstance(value, dict):
        return value
    return {
        key: element + suffix
        if key in IDS and isinstance(element, str)
        else element
        if key == "input"
        else with_suffix(element, suffix)
        for key, element in value.items()
    }


def tool_name(tool):
    return tool.get("name") or tool.get("function", {}).get("name") or tool.get("type")


def join(sessions, key, size):
    body = dict(sessions[0])
    tools, messages = {}, []
    body[key] = messages
    total = len(compact({**body, key: []}))
    turn = skipped = 0
    while skipped < len(sessions):  # until none fits
        session = sessions[turn % len(sessions)]
        added = [with_suffix(message, f"_{turn}") for message in session[key]]
        new = [tool for tool in session.get("tools") or [] if tool_name(tool) not in tools]
        length = len(compact(added)) + len(compact(new))
        turn += 1
        skipped += 1
        if total + length > size:
            continue
        skipped = 0
        total += length
        messages.extend(added)
        tools.update((tool_name(tool), tool) for tool in new)
    if tools:
        body["tools"] = list(tools.values())
    return body


def main():
    args = argparse.ArgumentParser(description="joins sessions into large bodies")
    args.add_argument("--sizes", default="1,5,10,50")
    args.add_argument("--format", choices=LISTS)
    args.add_argument("files", nargs="+")
    args = args.parse_args()
    by_format = {name: [] for name in LISTS if args.format in (None, name)}
    for path in args.files:
        for line in lines_of(path):
            trace = json.loads(line)
            sessions = by_format.get(trace.get("format"))
            if sessions is not None and isinstance(trace["request"].get(LISTS[trace["format"]]), list):
                sessions.append(trace["request"])
    for name, sessions in by_format.items():
        for size in args.sizes.split(",") if sessions else []:
            body = join(sessions, LISTS[name], int(float(size) * 1e6))
            sys.stdout.buffer.write(compact(body) + b"\n")


if __name__ == "__main__":
    main()
