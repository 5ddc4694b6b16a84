"""What the test scripts share: where things are, how the command is run, the traces, JSON places.

Every script runs with PAUCIS (the built command), SRC (the source folder), SHARED (the folder with
traces and the JSON suite, or empty) and SANITIZED (1 or empty) in its environment.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

SRC = pathlib.Path(os.environ.get("SRC") or pathlib.Path(__file__).resolve().parents[2])
SHARED = pathlib.Path(os.environ.get("SHARED") or SRC.parent / "shared")
if os.environ.get("SHARED") == "" or not SHARED.is_dir():
    SHARED = None
PAUCIS = os.environ.get("PAUCIS") or str(SRC / "build" / "paucis")
SANITIZED = bool(os.environ.get("SANITIZED"))
LONG = bool(os.environ.get("PAUCIS_LONG"))

faults = []


def expect(good, *what):
    """Notes a fault and goes on, so that one run shows all of them."""
    if not good:
        faults.append(" ".join(map(str, what)))
    return good


def finish(done):
    for fault in faults[:40]:
        print("FAULT", fault)
    print(f"{done}: {len(faults)} faults" if faults else f"{done}: all good")
    sys.exit(1 if faults else 0)


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def paucis(*args, stdin=b""):
    """(exit code, stdout, stderr)"""
    run = subprocess.run([PAUCIS, *map(str, args)], input=stdin, capture_output=True, check=False)
    return run.returncode, run.stdout, run.stderr


# ---- places in JSON ----------------------------------------------------------------------------

# Bodies are decoded as Latin-1, so that positions in the text are byte positions.
DECODER = json.JSONDecoder()
BLANK = " \t\r\n"


def skip_blank(s, at):
    while s[at] in BLANK:
        at += 1
    return at


def members(s, at):
    """(key or index, position, end) of every child of the container at `at`."""
    close = {"{": "}", "[": "]"}.get(s[at])
    if not close:
        return
    index, at = 0, skip_blank(s, at + 1)
    while s[at] != close:
        key = index
        if close == "}":
            key, at = json.decoder.scanstring(s, at + 1)
            at = skip_blank(s, skip_blank(s, at) + 1)
        _, end = DECODER.raw_decode(s, at)
        yield key, at, end
        index, at = index + 1, skip_blank(s, end)
        if s[at] == ",":
            at = skip_blank(s, at + 1)


def locate(body, pointer):
    """(position, end) in bytes of the value that a JSON pointer names; KeyError if there is none."""
    s = body.decode("latin-1")
    at = skip_blank(s, 0)
    end = DECODER.raw_decode(s, at)[1] if not pointer else None
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~").encode().decode("latin-1")
        found = [(p, e) for key, p, e in members(s, at) if str(key) == token]
        if not found:
            raise KeyError(pointer)
        at, end = found[-1]
    return at, end


def resolve(value, pointer):
    """The parsed value that a JSON pointer names."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value


# ---- traces ------------------------------------------------------------------------------------


def trace_lines():
    """The lines of every file of traces. Without the zstd command, paucis unpacks them."""
    for path in sorted((SHARED / "traces").glob("*.jsonl*")):
        if path.suffix != ".zst":
            data = path.read_bytes()
        elif shutil.which("zstd"):
            data = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
        else:
            code, data, _ = paucis("compact", "-p", "none", "--jsonl", path)
            expect(code == 0, "cannot unpack", path.name)
        yield from (line for line in data.split(b"\n") if line.strip())


def traces(every=1):
    """(the line's other fields, the request's bytes as they stand in the file)"""
    for number, line in enumerate(trace_lines()):
        if number % every:
            continue
        s = line.decode("latin-1")
        about, request = {}, b""
        for key, at, end in members(s, skip_blank(s, 0)):
            if key == "request":
                request = line[at:end]
            else:
                about[key] = json.loads(line[at:end])
        yield about, request
