#!/usr/bin/env python3
"""The stable policy in linear time, counted instead of measured: instructions per message (valgrind
--tool=callgrind), body in to body out, at growing numbers of messages, for an ordinary tool loop and for
shapes made to hurt (tests/ref/shapes.py). What an empty conversation costs is taken off.

The places of cuts are found in a tree, so a message may cost a little more where there are more of them:
the logarithm of their number, which for 1,000 and 200,000 messages is 10 and 18. Most work is on texts and
does not know it: instructions per message must stay within 1.5 times those at a thousand messages.

1,000 and 8,000 messages; with PAUCIS_LONG=1 up to 50,000 and the ordinary loop up to 200,000. --write keeps
the table in docs/linear-stable.md.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import shapes
from support import LONG, PAUCIS, SANITIZED, SRC, expect, finish, skip

ALL = LONG or "--write" in sys.argv
SIZES = (1000, 10000, 50000, 200000) if ALL else (1000, 8000)
LARGEST = 50000  # but for the two rows of the ordinary loop
ALLOWED = 1.5
SNIPPET, NO_CACHE = ["-O", "form=snippet"], ["--price", "none"]
BUDGET = ["-b", "50000"]
RUNS = [("ordinary", []), ("ordinary", SNIPPET), ("ordinary", NO_CACHE), ("ordinary", BUDGET),
        ("ordinary", ["-O", "window=4294967295"])]
RUNS += [(name, []) for name in shapes.SHAPES if name != "ordinary"]
RUNS += [("identical", BUDGET), ("bound", BUDGET), ("one_message", BUDGET), ("same_call", NO_CACHE),
         ("wide_step", ["-b", "1000"])]
FEW = {"ordinary", "bound", "one_message", "huge_line", "identical", "titles", "wide_step"}


def instructions(folder, name, n, args):
    file = folder / f"{name}.{n}.json"
    if not file.exists():
        file.write_bytes(shapes.write(name, n))
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", PAUCIS, "compact", "-q",
         "-f", "anthropic", "-o", "/dev/null", *args, file], capture_output=True, text=True, check=False)
    found = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if not expect(run.returncode == 0 and found, name, args, n, "exit", run.returncode, run.stderr[-300:]):
        return 0
    return int(found[1])


def row(folder, name, args):
    start = instructions(folder, name, 0, args)
    far = name == "ordinary" and args in ([], SNIPPET)
    sizes = [n for n in SIZES if far or n <= LARGEST]
    each = [(instructions(folder, name, n, args) - start) / n for n in sizes]
    worst = max(each) / each[0] if each[0] > 0 else 0
    expect(0 < worst <= ALLOWED, name, args, "instructions per message:", [round(x) for x in each])
    how = " ".join(args).replace("-O ", "")
    cells = [f"{x:.0f}" for x in each] + [""] * (len(SIZES) - len(sizes))
    return f"| {name.replace('_', ' ')} | {how} | " + " | ".join(cells) + f" | {worst:.2f} |"


def main():
    if SANITIZED or not shutil.which("valgrind"):
        skip("needs valgrind and a plain build")
    runs = [r for r in RUNS if ALL or r[0] in FEW]
    table = ["| shape | options | " + " | ".join(f"{n:,}" for n in SIZES) + " | most / first |",
             "|---|---|" + "---:|" * (len(SIZES) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        for name, args in runs:
            table.append(row(pathlib.Path(folder), name, args))
            print(table[-1], flush=True)
    if "--write" in sys.argv:
        page = ["# Linear time of the stable policy", "",
                "Instructions per message, body in to body out, for conversations of so many messages; "
                "what an empty one", "costs is taken off. Counted by callgrind: "
                "`tests/script/test_stable_linear.py --write`. The shapes are those",
                "of `tests/ref/shapes.py`. The tree that finds the place of a cut costs the logarithm of "
                "the number of results.", "", *table, ""]
        (SRC / "docs" / "linear-stable.md").write_text("\n".join(page))
    finish(f"{len(runs)} rows up to {SIZES[-1]} messages")


main()
