#!/usr/bin/env python3
"""Request bodies out of traces: extract.py [--format F] FILE... > bodies.jsonl

A line of a trace is an object with the body under "request"; its bytes are cut out as they stand. A
line without that member is a body already. FILE may be compressed with zstd (*.zst). --format
takes only the traces that name this format."""
import argparse
import json
import subprocess
import sys

DECODER = json.JSONDecoder()
SPACE = " \t\n\r"


def lines_of(path):
    if path.endswith(".zst"):
        data = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    else:
        with open(path, "rb") as file:
            data = file.read()
    return [line for line in data.decode("utf-8").split("\n") if line.strip(SPACE)]


def skip(text, at):
    while text[at] in SPACE:
        at += 1
    return at


def member(text, wanted):
    """Where the value of a top-level member begins and ends; None if there is none."""
    at = skip(text, skip(text, 0) + 1)
    while text[at] == '"':
        key, at = DECODER.raw_decode(text, at)
        start = skip(text, skip(text, at) + 1)  # over the colon
        _, end = DECODER.raw_decode(text, start)
        if key == wanted:
            return start, end
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)
    return None


def body_of(line):
    span = member(line, "request")
    return line[slice(*span)] if span else line.strip(SPACE)


def main():
    args = argparse.ArgumentParser(description="takes request bodies out of traces")
    args.add_argument("--format")
    args.add_argument("files", nargs="+")
    args = args.parse_args()
    out = sys.stdout.buffer
    for path in args.files:
        for line in lines_of(path):
            if args.format and json.loads(line).get("format") != args.format:
                continue
            out.write(body_of(line).encode("utf-8") + b"\n")


if __name__ == "__main__":
    main()
