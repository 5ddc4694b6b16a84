#!/usr/bin/env python3
"""What each part of the stable policy buys: ablate.py [--price P] [--rows A,B] [--jobs N] TRACES...

A part is taken out by the smallest change of the sources that does so, or by an option where there is
one; then the command is built again and `paucis replay` re-enacts the traces with it. PARTS has these
changes, and TRIED those that would add something and were left out. They are made in a scratch copy, one
row at a time, and what is printed are the tables of docs/forms.md: per cent of doing nothing, the level
`balanced`, then `deep`.

A change names the text that it replaces. That must stand in its file exactly once, or nothing is run at
all: a row must not go on measuring what is no longer there. `--check` looks at just that, without a build
and without traces."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIB = "lib/stable/"

# key: for --rows; changes: (file, old text, new text); option: one to give to the policy
Row = collections.namedtuple("Row", "key name changes option", defaults=((), ""))


def change(file, old, new):
    return (LIB + file, old, new)


def number(file, name, old, new):
    """A change of a constant."""
    return change(file, f"#define {name} {old} ", f"#define {name} {new} ")


def levels(*caps):
    """Other caps: balanced, its files, deep, its files."""
    old = (".cap = 2048", ".cap_read = 30720", ".cap = 704", ".cap_read = 11264")
    return [change("stable.c", o, o.split("=")[0] + f"= {n}") for o, n in zip(old, caps)]


def dial(by):
    return [change("stable.c", "or_level(o[STABLE_KEEP], s->level->keep);",
                   f"or_level(o[STABLE_KEEP], s->level->keep {by});")]


def cap_factor(tool):
    line = "uint64_t cap = p->tool == TOOL_READ ? f->limits.cap_read : f->limits.cap;"
    return [change("birth.c", line, f"{line} if (p->tool == {tool}) cap = cap * 5 / 2;")]


NOVELTY, BIRTH, FOLD, JOINTS = "form_novelty.c", "birth.c", "fold.c", "joints.c"

PARTS = [
    Row("all", "**all parts**"),
    Row("dial-up", "the dial one up, caps with it", dial("+ 1")),
    Row("dial-down", "the dial one down", dial("- 1")),
    # what stays of a text
    Row("novelty", "heads and tails, not novelty", option="form=snippet"),
    Row("listed", "no names listed in gaps", [
        change(NOVELTY, "if (item.at < listed || !paucis__whole_name(text, text + r->text.len, &item))",
               "")]),
    Row("known", "prose and arguments do not count as known", [
        change(NOVELTY, ": paucis__reading_mark(&n->read, t->text, KNOWN);", ": PAUCIS_OK;")]),
    Row("code", "plain words worth as much as code", [
        change(NOVELTY, "{worth, worth / 2, false, UNIT}", "{worth, worth, false, UNIT}")]),
    Row("bonus", "lines of files no more than other lines", [
        number(NOVELTY, "READ_BONUS", "130", "25")]),
    Row("noise", "without noise", [
        change(BIRTH, "if (p->tool == TOOL_READ || !paucis__has_noise(p->text)) return", "return")]),
    Row("json", "without JSON by structure", [
        change("kind_json.c", "if (!paucis__json_may_be(text)) return", "return")]),
    Row("headings", "without headings and exit codes", [
        change(NOVELTY, "size_t heading[JOINT_RANKS] =", "return; size_t heading[JOINT_RANKS] =")]),
    Row("numbers", "line numbers are names", [
        change(NOVELTY, "size_t skip = l->number;", "size_t skip = 0;")]),
    Row("pieces", "names in pieces", [
        change(JOINTS, "while (at > from && is_word(at[-1]) && to - at <= MOST_NAME) at--;", ""),
        change(JOINTS, "while (to < end && is_word(*to) && to - at <= MOST_NAME) to++;", "")]),
    Row("places", "`README.md:64:` is a name", [
        change(JOINTS, "if (is_place(at, to)) return false;", "")]),
    Row("heads", "heads of agents have worth", [
        change(NOVELTY, "if (joint.worth != JOINT_NOTHING) {", "{")]),
    Row("gaps", "every gap is made", [
        change(NOVELTY, "if (g.bytes <= GAP_COST + g.listed + GAP_SLACK) {", "if (false) {")]),
    Row("last-failure", "without the last failure", [
        change(NOVELTY, "if (last) last->keep = true;", "(void)last;")]),
    Row("first-line", "first lines of failed calls and edits need not stay", [
        change(NOVELTY, "bool first_stays = t->failed || t->tool == TOOL_EDIT;", "bool first_stays = false;")]),
    Row("failures", "no failures first when capped", [number(NOVELTY, "FAILURE_BONUS", "10", "0")]),
    Row("ends", "no head and tail when capped", [
        change(NOVELTY, "keep_ends(n, cap / 5, cap / 10);", "")]),
    Row("legend", "without the legend", [
        change(BIRTH, "if (!legend || part > f->told)", "if (legend || part > f->told)")]),
    # which texts, and when
    Row("repeats", "repeats are not references", [
        number(BIRTH, "LEAST_REFERENCE", "256", "SIZE_MAX")]),
    Row("cap", "no cap at birth", [
        change(BIRTH, "if (p->tool == TOOL_RECALL) return 0;", "if (p) return 0;")]),
    Row("cap-risk", "no cap at birth, no limit of risk", [
        change(BIRTH, "if (p->tool == TOOL_RECALL) return 0;", "if (p) return 0;")], "risk=1000000"),
    Row("cap-share", "no tenth above the cap", [
        change(BIRTH, "len > cap ? cap + (len - cap) / CAP_SHARE : cap;", "cap;")]),
    Row("superseded", "nothing is superseded", [
        change(BIRTH, "if ((p->flags & FOLD_ERROR) || !subject->what) return", "return")]),
    Row("any-tool", "any tool's repeat supersedes", [
        change("tools.h", "return tool != TOOL_OTHER && tool != TOOL_EDIT && tool != TOOL_PAGE;",
               "return tool || true;")]),
    Row("ranges", "a containing read does not supersede", [
        change("supersede.h", "s->from <= other->from && s->to >= other->to",
               "s->from == other->from && s->to == other->to")]),
    Row("sooner", "superseded results wait as long as others", [
        change(FOLD, "f->limits.window < MAX_WAIT ? f->limits.window / 2 : MAX_WAIT",
               "f->limits.window")]),
    Row("arguments", "old arguments stay", [
        change(BIRTH, "if (p->tool == TOOL_EDIT && (p->flags & FOLD_OPEN) && p->len >= LEAST_CALL)",
               "if (false)")]),
    Row("thinking", "old thinking stays", [
        change(FOLD, "bool ends = p->kind == PART_THINKING || (", "bool ends = (")]),
    Row("window-4", "window 4, not 8", option="window=4"),
    Row("window-16", "window 16, not 8", option="window=16"),
    Row("risk", "no limit of risk", option="risk=1000000"),
    Row("at-once", "a cut as soon as it can be afforded", [
        change(FOLD, "paucis__rent_best(&f->rent, floor_leaf(f), all, &gain)",
               "paucis__rent_best(&f->rent, floor_leaf(f), INT64_MIN / 4, &gain)")]),
    Row("never", "no cuts, only births", [
        change("stable.c", ".cuts = s->level->cuts,", ".cuts = false,")]),
]

TRIED = [
    Row("caps", "caps 3 and 24 KB (deep 1.25 and 10)", levels(3072, 24576, 1280, 10240)),
    Row("cap-loose", "results up to 1.3 caps stay whole", [
        change(BIRTH, "t.text.len > most ?", "t.text.len > most * 13 / 10 ?")]),
    Row("cap-other", "2.5 times the cap for unknown tools", cap_factor("TOOL_OTHER")),
    Row("cap-search", "2.5 times the cap for searches", cap_factor("TOOL_SEARCH")),
    Row("bonus-90", "bonus of a file's line 90, not 130 % of V", [
        number(NOVELTY, "READ_BONUS", "130", "90")]),
    Row("failures-10", "bonus of failures ten times as high when capped", [
        number(NOVELTY, "FAILURE_BONUS", "10", "100")]),
    Row("slack", "gaps may be 16 bytes shorter than their text", [
        number(NOVELTY, "GAP_SLACK", "8", "16")]),
    Row("names-120", "names up to 120 bytes, not 160", [number(JOINTS, "MOST_NAME", "160", "120")]),
    Row("names-400", "names up to 400 bytes", [number(JOINTS, "MOST_NAME", "160", "400")]),
    Row("unit", "JSON taken apart from 120 bytes, not 500", [number(NOVELTY, "UNIT", "500", "120")]),
    Row("written", "160 bytes of what a call wrote, not 3 KB", [
        number(BIRTH, "WRITTEN_HEAD", "3072", "160")]),
    Row("replaced", "160 bytes of what it replaced, not 60", [
        number(BIRTH, "REPLACED_HEAD", "60", "160")]),
]

COLUMNS = ("cost", "full", "items", "lines", "spans", "fresh", "edits")
DEEP = ("full", "lines", "spans", "fresh", "edits")
OFF = ("TESTS", "SERVE", "WITH_STORE", "TOKENS")  # parts of the build that replay does without


def changed(row, root):
    """The files of a row with its changes made: {path: text}."""
    texts = {}
    for file, old, new in row.changes:
        text = texts[file] if file in texts else (root / file).read_text()
        if text.count(old) != 1:
            sys.exit(f"ablate.py: row '{row.key}': {text.count(old)} times in {file}: '{old}'")
        texts[file] = text.replace(old, new)
    return texts


def copy_tree(to):
    words = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes((ROOT / name).read_bytes())


def run(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"ablate.py: {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Tree:
    """The scratch copy, and the command built of it."""

    def __init__(self, root, args):
        self.root, self.build, self.args = root, root / "build-ablate", args
        copy_tree(root)
        run(["cmake", "-S", root, "-B", self.build] + [f"-DPAUCIS_{part}=OFF" for part in OFF])
        self.make()

    def make(self):
        run(["cmake", "--build", self.build, "--target", "paucis", "-j", str(self.args.jobs)])

    def replay(self, option):
        policies = [p + (":" + option if option else "") for p in ("stable", "stable:deep")]
        out = run([self.build / "paucis", "replay", "--json", "--price", self.args.price, "--policy",
                   ",".join(policies), "-j", str(self.args.jobs), *self.args.traces])
        found = {p["policy"]: p["percent"] for p in json.loads(out)["prices"][0]["policies"]}
        return [found[p] for p in policies]

    def measure(self, row):
        new = changed(row, self.root)
        before = {file: (self.root / file).read_text() for file in new}
        for file, text in new.items():
            (self.root / file).write_text(text)
        self.make()
        found = self.replay(row.option)
        for file, text in before.items():  # the next row's build puts these right
            (self.root / file).write_text(text)
        return found


def as_line(row, balanced, deep):
    numbers = [f"{balanced[c]:.{1 if c == 'edits' else 2}f}" for c in COLUMNS]
    numbers += [f"{deep[c]:.{1 if c == 'edits' else 2}f}" for c in DEEP]
    return f"| {row.name} | " + " | ".join(numbers) + " |"


def main():
    args = argparse.ArgumentParser(description="what each part of the stable policy buys")
    args.add_argument("traces", nargs="*")
    args.add_argument("--price", default="anthropic", help="a row of `paucis list prices`")
    args.add_argument("--rows", help="only these, by their keys: all,noise,json")
    args.add_argument("--jobs", type=int, default=1, help="of the build and the replay")
    args.add_argument("--check", action="store_true", help="only look whether all rows still fit")
    args = args.parse_args()
    for row in PARTS + TRIED:
        changed(row, ROOT)
    if args.check:
        return
    if not args.traces:
        sys.exit("ablate.py: no traces given")
    keys = [row.key for row in PARTS + TRIED]
    wanted = args.rows.split(",") if args.rows else keys
    for key in wanted:
        if key not in keys:
            sys.exit(f"ablate.py: no row '{key}'; there are {','.join(keys)}")
    with tempfile.TemporaryDirectory(prefix="ablate-") as folder:
        tree = Tree(pathlib.Path(folder), args)
        for what, rows in ("", PARTS), ("tried and left out", TRIED):
            rows = [row for row in rows if row.key in wanted]
            if rows:
                print(f"\n| {what} | " + " | ".join(COLUMNS) + " | deep: " + " | ".join(DEEP) + " |")
                print("|---|" + "--:|" * len(COLUMNS + DEEP), flush=True)
            for row in rows:
                print(as_line(row, *tree.measure(row)), flush=True)


if __name__ == "__main__":
    main()
