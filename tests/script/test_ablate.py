#!/usr/bin/env python3
"""The rows of bench/ablate.py still fit the sources, and one that does not is refused."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(os.environ["SRC"])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench"))
import ablate

subprocess.run([sys.executable, ROOT / "bench/ablate.py", "--check"], check=True)
keys = [row.key for row in ablate.PARTS + ablate.TRIED]
assert len(set(keys)) == len(keys), "two rows have one key"
for old in "no such text", "PAUCIS_OK":  # not there; there more than once
    row = ablate.Row("bad", "bad", [ablate.change("birth.c", old, "")])
    try:
        ablate.changed(row, ROOT)
    except SystemExit:
        continue
    sys.exit(f"'{old}' was replaced")
