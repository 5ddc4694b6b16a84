"""The stable policy a second time, slow and obvious, with head-and-tail forms and without a budget.

Written from DESIGN.md section 7 and the constants of lib/stable. At every request all places of a cut are
looked at one by one; sizes are added up anew each time. The library must come to the same decisions.
"""
import json
import re

LEAST_REFERENCE = LEAST_BRIEF = 256
MAX_REFERENCE_ID, MAX_WAIT, ANY_RISK = 128, 64, 1000000
LEAST_GAIN, UNIT = 64, 16
LEAST_CALL, LEAST_CUT, WRITTEN_HEAD, REPLACED_HEAD = 400, 160, 3072, 60
REPLACED = ("old_string", "old_str", "old_text", "oldText", "old_content", "oldString")
GOOD = re.compile(rb"(?<![a-z])(success|updated|created|edited|written|wrote|replaced|applied|saved|inserted|"
                  rb"modified)", re.I)
BAD = re.compile(rb"(?<![a-z])(not |no |cannot|unable|reject|denied|abort|invalid|(did|does|is|was|could)n')", re.I)


def tokens(n):
    return (n + 3) // 4


# ---- head and tail -----------------------------------------------------------------------------


def inside(byte):
    return byte & 0xC0 == 0x80


def lines(text):
    return text.count(b"\n") + (not text.endswith(b"\n") if text else 0)


def cut(text, head, tail):
    if len(text) < head + tail + LEAST_GAIN:
        return text
    to = head
    while to and inside(text[to]):
        to -= 1
    newline = text.rfind(b"\n", head // 2, to)
    to = newline + 1 if newline >= 0 else to
    begin = len(text) - tail
    while begin < len(text) and inside(text[begin]):
        begin += 1
    newline = text.find(b"\n", begin, len(text) - tail // 2)
    begin = newline + 1 if newline >= 0 else begin
    lost = text[to:begin]
    front = text[:to] if not to or text[to - 1:to] == b"\n" else text[:to] + b"\n"
    made = front + b"[... %d lines, %d bytes left out ...]\n" % (lines(lost), len(lost)) + text[begin:]
    return made if len(made) + LEAST_GAIN <= len(text) else text


# ---- arguments ---------------------------------------------------------------------------------


CHARS = re.compile(r"\\u[dD][89abAB]..\\u....|\\u....|\\.|[^\\]", re.S)  # of the inside of a JSON string


def cut_string(inner, head, quoted=True):
    """The inside of a string as it is spelled, or plain text, cut to its head."""
    chars = CHARS.findall(inner) if quoted else list(inner)
    sizes = [len(c.encode(errors="surrogatepass")) for c in chars]
    at = kept = 0
    line = None
    while kept < len(chars) and at + sizes[kept] <= head:
        at += sizes[kept]
        kept += 1
        if chars[kept - 1] in ("\\n", "\n"):
            line = (kept, at)
    if line and 2 * line[1] >= head:
        kept, at = line
    gone = "".join(chars[kept:])
    if sum(sizes[kept:]) <= LEAST_CUT:
        return inner
    said = json.loads('"' + gone + '"') if quoted else gone
    count = said.count("\n") + (not said.endswith("\n"))
    size = len(said.encode(errors="surrogatepass"))
    return "".join(chars[:kept]) + f"[... {count} lines, {size} bytes left out]"


STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?', re.S)


def cut_arguments(text):
    """Every string that is not a key, cut where it stands."""
    key = None

    def each(match):
        nonlocal key
        inner, colon = match.groups()
        if colon:
            key = json.loads('"' + inner + '"')
            return match[0]
        head = REPLACED_HEAD if key in REPLACED else WRITTEN_HEAD
        key = None
        return '"' + cut_string(inner, head) + '"'

    if not text.startswith(b"{"):
        return cut_string(text.decode(), WRITTEN_HEAD, False).encode()
    return STRING.sub(each, text.decode()).encode()


def tells_success(text):
    """No failures of other kinds come in these tests."""
    for line in text.split(b"\n")[:8]:
        if re.search(rb"\b(error|failed)\b", line, re.I):
            return False
        if GOOD.search(line):
            return not BAD.search(line)
    return False


# ---- what a call asks for ----------------------------------------------------------------------

MOST_EARLIER, MOST_LINES, LAST_LINE = 32, 2000, 2 ** 32 - 1


def subject(call, reads):
    """What it is that is asked for, and which lines. Shells are asked the same in other tests."""
    if not reads(call.name):
        return (call.name, call.text), (1, LAST_LINE)
    said = json.loads(call.text)
    first = said.pop("offset", 1)
    last = first + said.pop("limit", MOST_LINES) - 1
    return (call.name, str(said)), (first, last)


def contains(p, q):
    return p.what == q.what and p.range[0] <= q.range[0] and p.range[1] >= q.range[1]


# ---- the fold ----------------------------------------------------------------------------------


class Part:
    def __init__(self, number, given):
        self.number, self.message = number, given["message"]
        self.role, self.kind = given["role"].decode(), given["kind"].decode()
        self.text, self.id, self.name = given["text"], given["id"], given["name"]
        self.len = 0 if self.kind in ("media", "opaque") else len(self.text)
        self.open, self.error = not given["flags"] & 1, bool(given["flags"] & 2)
        self.form, self.now, self.brief = "full", None, None
        self.stale = self.superseded = self.done = False
        self.since = 0
        self.mate = self.points_to = None
        self.pointers = []  # references to this text, oldest first

    def size(self):
        if self.form == "gone":
            return 0
        return tokens(self.len if self.form == "full" else len(self.now))

    def saved(self):
        return self.size() - tokens(len(self.brief))


class Fold:
    """limits: read, write, match, lookback, gate, window, window_read, keep, cap, cap_read, attach, stop,
    risk, thought, cuts, bound; reads(name) says if a call reads a file, edits(name) if it writes one,
    answers(name) if it gives the same again."""

    def __init__(self, limits, reads, answers, edits=lambda name: False):
        self.limits, self.reads, self.answers, self.edits = limits, reads, answers, edits
        self.parts, self.calls, self.seen, self.subjects, self.outdated = [], {}, {}, {}, []
        self.waiting = []  # files that were read and have left the window, but are not old yet
        self.born = self.requested = self.turn = self.aged = self.aged_replies = 0
        self.loop, self.loop_first = 0, None
        self.bill = self.bill_of_none = self.last_size = self.last_raw = 0
        self.changed, self.cut_message = {}, None

    # ---- what can be said of all parts ----

    def messages(self):
        return self.parts[-1].message + 1 if self.parts else 0

    def head(self):
        """Parts of system messages at the front."""
        n = 0
        while n < len(self.parts) and self.parts[n].role == "system":
            n += 1
        return self.parts[:n]

    def size(self):
        return sum(p.size() for p in self.parts)

    def raw(self):
        return sum(tokens(p.len) for p in self.parts)

    def is_bound(self, p):
        return self.limits["bound"] and p.kind == "thinking" and p.form != "gone"

    def may_be_cut(self, p):
        return p.open and (p.kind == "result" or (p.kind == "thinking" and not self.limits["bound"]))

    def floor(self):
        """No cut before thinking that must stay: bound and fixed anywhere, or in the first message of the
        current tool loop."""
        floor = 0
        for p in self.parts:
            if self.limits["bound"] and p.kind == "thinking":
                if not p.open or (p.number >= self.loop and p.message == self.loop_first):
                    floor = p.number + 1
        return floor

    def deep(self, p):
        """Is it out of a breakpoint's reach?"""
        behind = sum(q.kind != "opaque" for q in self.parts[p.number:])
        return self.limits["match"] == "breakpoints" and behind > self.limits["lookback"]

    # ---- adding ----

    def add(self, given):
        p = Part(len(self.parts), given)
        if p.role == "user" and p.kind not in ("result", "opaque"):
            self.loop, self.loop_first = len(self.parts), None
        if p.role == "assistant" and self.loop_first is None:
            self.loop_first = p.message
        if p.kind == "call" and p.id:
            self.calls[p.id] = p
        if p.kind == "result":
            p.mate = self.calls.get(p.id)
        self.parts.append(p)

    # ---- forms ----

    def take(self, p, form, text):
        if p.form == "full":
            self.retell(p)
        p.stale = False
        p.form, p.now = form, text
        self.changed[p.number] = (form, p.text if form == "full" else None if form == "gone" else text)

    def retell(self, p):
        for q in reversed(p.pointers):
            if q.form != "reference":
                continue
            if q.number >= self.aged:
                q.points_to = None
                self.take(q, "full", None)
            else:
                self.take(q, "marker", b"[identical to the earlier output of call %s, %d bytes, cut there too]"
                          % (p.id, q.len))
        p.pointers = []

    def be_born(self, p, quiet):
        if p.kind == "call" and p.open and p.len >= LEAST_CALL and self.edits(p.name):
            p.brief = cut_arguments(p.text)
        if p.kind == "result" and p.mate and p.mate.brief is not None and not p.error:
            p.mate.done = p.mate.done or tells_success(p.text)
        if p.kind == "result" and p.mate and not p.error and self.answers(p.mate.name):
            p.what, p.range = subject(p.mate, self.reads)
            standing = self.subjects.setdefault(p.what, [])  # newest first
            again = [q for q in standing[:MOST_EARLIER] if contains(p, q)]
            self.outdated += [(q, p) for q in again]
            self.subjects[p.what] = [p] + [q for q in standing if q not in again]
        if p.kind != "result" or not p.open:
            return
        twin = None
        if p.len >= LEAST_REFERENCE:
            twin = self.seen.get(p.text)
            if not twin or twin.form != "full":
                twin, self.seen[p.text] = None, p
        if quiet:
            return
        if twin:
            self.refer(p, twin)
            return
        reading = p.mate and self.reads(p.mate.name)
        cap = self.limits["cap_read" if reading else "cap"]
        if cap and p.len > cap:
            cap = min(cap + (p.len - cap) // 10, 4 * cap)
            text = cut(p.text, cap // 2, cap - cap // 2)
            if tokens(len(text)) < p.size():
                self.take(p, "capped", text)

    def refer(self, p, twin):
        plain = twin.id and len(twin.id) <= MAX_REFERENCE_ID and not any(
            b <= 32 or b in b"[]" for b in twin.id)
        calls = sum(q.kind == "call" and q.id == twin.id for q in self.parts[:p.number])
        if plain and calls == 1:
            self.take(p, "reference", b"[identical to the earlier output of call %s, %d bytes]"
                      % (twin.id, p.len))
            twin.stale = False
            p.points_to = twin
            twin.pointers.append(p)

    # ---- growing stale ----

    def become_stale(self, p):
        if p.form == "gone":
            return
        if p.kind == "thinking":
            p.brief = b""
        elif p.brief is None:
            side = self.limits["keep"] * UNIT // 2
            if p.superseded:
                p.brief = b"[%d lines, superseded: a later call asked for this again]" % lines(p.text)
            else:
                p.brief = cut(p.text, side, side) if p.len >= LEAST_BRIEF else p.text
        if p.kind == "thinking" or p.saved() > 0:
            p.stale, p.since = True, self.turn

    def grow_old(self, p):
        if p.form == "reference":
            if p.points_to.pointers[-1] is p:
                self.become_stale(p.points_to)
        elif not p.superseded and not (p.pointers and p.pointers[-1].message > p.message):
            self.become_stale(p)

    def leave_window(self, p):
        reading = p.mate and self.reads(p.mate.name) and self.limits["window_read"] > self.limits["window"]
        if reading and not p.error:
            self.waiting.append(p)
        else:
            self.grow_old(p)

    def age(self):
        window, waiting = self.limits["window"], []
        half = window // 2 if window < MAX_WAIT else MAX_WAIT
        for p, by in self.outdated:
            if by.form == "capped" and not contains(p, by):
                continue
            if self.reads(p.mate.name) and by.len < p.len // 2:
                continue
            if p.brief is not None or p.pointers or p.points_to or not p.open or \
                    p.form not in ("full", "capped"):
                continue
            if self.messages() - p.message <= half or p.message >= self.requested:
                waiting.append((p, by))
                continue
            p.superseded = True
            self.become_stale(p)
        self.outdated = waiting
        while self.waiting and self.messages() - self.waiting[0].message > self.limits["window_read"]:
            self.grow_old(self.waiting.pop(0))
        old = min(max(self.messages() - window, 0), self.requested)
        while self.aged < len(self.parts) and self.parts[self.aged].message < old:
            p = self.parts[self.aged]
            if p.kind == "result" and p.open:
                self.leave_window(p)
            self.aged += 1
        while self.aged_replies < self.loop and self.parts[self.aged_replies].message < old:
            p = self.parts[self.aged_replies]
            if p.done or (p.kind == "thinking" and self.may_be_cut(p)):
                self.become_stale(p)
            self.aged_replies += 1

    # ---- cutting ----

    def again(self, p):
        """Tokens of a part that a cut before it writes again."""
        if self.is_bound(p) and p.open:
            return 0
        return tokens(len(p.brief)) if p.stale else p.size()

    def rewritten(self, p):
        behind = sum(self.again(q) for q in self.parts[p.number:])
        if not self.deep(p):
            return behind
        return behind + sum(q.size() for q in self.parts[:p.number]) - sum(q.size() for q in self.head())

    def gain(self, p):
        """The rent of everything stale from here on, less what a cut here costs."""
        rent = sum(self.limits["read"] * q.saved() * (self.turn - q.since + 1)
                   for q in self.parts[p.number:] if q.stale)
        lost = sum(q.size() for q in self.parts[p.number:] if self.is_bound(q) and q.number >= self.loop)
        price = (self.limits["write"] - self.limits["read"]) * self.rewritten(p)
        return rent - price - lost * self.limits["thought"] * self.limits["write"]

    def cost_of_none(self, head):
        found = max(self.last_raw, head)
        return self.limits["read"] * (found - head) + self.limits["write"] * (self.raw() - found)

    def can_afford(self, p, head):
        if self.limits["risk"] >= ANY_RISK:
            return True
        written = self.rewritten(p)
        none = self.bill_of_none + self.cost_of_none(head)
        ours = self.bill + self.limits["read"] * (self.size() - head - written) + \
            self.limits["write"] * written
        return ours <= none + none // 1000 * self.limits["risk"]

    def rent_or_buy(self, head):
        """Cuts if it pays. Returns what the cache still finds, None if there is no cut."""
        best, floor = None, self.floor()
        for p in self.parts[floor:]:
            if p.stale:
                gain = self.gain(p)
                if gain >= 0 and (best is None or gain >= best[0]):
                    best = (gain, p)
        if best is None or not self.can_afford(best[1], head):
            return None
        at = best[1]
        found = head if self.deep(at) else sum(p.size() for p in self.parts[:at.number])
        for p in self.parts[at.number:]:
            if p.stale:
                self.take(p, "gone" if p.kind == "thinking" else "short", p.brief)
        for p in reversed(self.parts[at.number:]):
            if self.is_bound(p) and p.open:
                self.take(p, "gone", b"")
        self.cut_message = at.message
        return found

    def request(self):
        """A request of all parts so far. Returns the changes: {part: (form, text)}."""
        head = sum(p.size() for p in self.head())
        quiet = self.messages() <= self.limits["attach"] or self.messages() > self.limits["stop"] or \
            self.size() - head < self.limits["gate"]
        self.changed, self.cut_message = {}, None
        self.turn += 1
        for p in self.parts[self.born:]:
            self.be_born(p, quiet)
        self.born = len(self.parts)
        self.age()
        found = None
        if not quiet and self.limits["cuts"]:
            found = self.rent_or_buy(head)
        found = max(self.last_size if found is None else found, head)
        self.bill += self.limits["read"] * (found - head) + self.limits["write"] * (self.size() - found)
        self.bill_of_none += self.cost_of_none(head)
        self.last_size, self.last_raw = self.size(), self.raw()
        self.requested = self.messages()
        return self.changed
