"""The shared library through ctypes: enough of paucis.h for the tests."""
import ctypes
import hashlib
import os
import pathlib

from support import PAUCIS

LIB = pathlib.Path(os.environ.get("LIB") or pathlib.Path(PAUCIS).resolve().parent / "libpaucis.so")
P, S, U32, U64, SIZE = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64,
                        ctypes.c_size_t)


class Kv(ctypes.Structure):
    _fields_ = [("key", S), ("val", S)]


LOG = ctypes.CFUNCTYPE(None, P, S, U64, U64)
HANDLE = ctypes.CFUNCTYPE(SIZE, P, P, SIZE, P)


class Opts(ctypes.Structure):
    _fields_ = [("size", U32), ("flags", U32), ("format", S), ("policy", S), ("strategies", S),
                ("budget_tokens", U64), ("kv", ctypes.POINTER(Kv)), ("nkv", SIZE), ("log", LOG),
                ("log_ud", P), ("tokenizer", P), ("memo", P), ("handle", HANDLE), ("handle_ud", P), ("level", S), ("price", P)]


class Stats(ctypes.Structure):
    _fields_ = [("size", U32), ("budget_met", U32), ("format", S), ("policy", S)] + [
        (name, U64) for name in
        ("bytes_in", "bytes_out", "tokens_in", "tokens_out", "messages_in", "messages_out", "edits",
         "first_changed_byte", "breaks", "dedup_hits", "snippet_hits", "total_bytes_saved",
         "original_tokens", "final_tokens", "elided_messages", "peak_alloc")] + [
        ("tokenizer", S), ("tokens_exact", U64), ("cuts", U64), ("cut_now", U32), ("render", U32)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("msg", S), ("pos", SIZE)]


class Edit(ctypes.Structure):
    _fields_ = [("op", S), ("strategy", S), ("reason", S), ("message", SIZE), ("part", SIZE),
                ("role", S), ("kind", S), ("pos", SIZE), ("len", SIZE), ("before", SIZE),
                ("after", SIZE), ("text", P), ("text_len", SIZE)]


class Part(ctypes.Structure):
    _fields_ = [("message", SIZE), ("role", S), ("kind", S), ("id", P), ("name", P), ("text", P),
                ("id_len", SIZE), ("name_len", SIZE), ("text_len", SIZE), ("flags", U32),
                ("pos", SIZE), ("len", SIZE)]


class Step(ctypes.Structure):
    _fields_ = [("changes", SIZE), ("cut", SIZE), ("budget_met", U32), ("forced", U32)] + [
        (name, U64) for name in ("bytes_in", "bytes_out", "rent", "price")]


class Change(ctypes.Structure):
    _fields_ = [("part", SIZE), ("form", S), ("reason", S), ("text", P), ("text_len", SIZE)]


class Cut(ctypes.Structure):
    _fields_ = [("message", SIZE), ("messages", SIZE), ("forced", U32), ("planned", U32),
                ("rent", U64), ("price", U64), ("saved", U64), ("break_even", U64)]


PASS_THROUGH, WITH_TOKENS, WITH_BREAKS, BOUND = 1, 2, 4, 8
NO_CUT = 2 ** (8 * ctypes.sizeof(SIZE)) - 1


class Break(ctypes.Structure):
    _fields_ = [("rule", S), ("text", S), ("pointer", S), ("pos", SIZE), ("message", SIZE)]


class With(ctypes.Structure):
    _fields_ = [("before", P), ("before_len", SIZE), ("sent", P), ("sent_len", SIZE)]


REMEMBER = 16  # PAUCIS_REMEMBER
NAME_NEW = 32  # PAUCIS_NAME_NEW


class Library:
    """One context."""

    def __init__(self):
        self.lib = ctypes.CDLL(str(LIB))
        self.lib.paucis_bound.restype = SIZE
        self.ctx = P()
        self.logged = []
        self.log = LOG(lambda ud, name, hits, saved: self.logged.append((name.decode(), hits, saved)))
        self.named = {}  # with the option handles: what a handle names, of the last body
        self.handle = HANDLE(self.name)
        if self.lib.paucis_ctx_new(ctypes.byref(self.ctx), None):
            raise MemoryError

    def name(self, ud, at, n, to):
        text = ctypes.string_at(at, n)
        name = hashlib.sha256(text).hexdigest()[:16].encode()
        self.named[name] = text
        ctypes.memmove(to, name, 16)
        return 16

    def close(self):
        self.lib.paucis_ctx_free(self.ctx)

    def options(self, strategies, budget, options, fmt):
        pairs = [(k.encode(), v.encode()) for k, v in options.items() if k != "handles"]
        o = Opts()
        self.lib.paucis_opts_init(ctypes.byref(o), SIZE(ctypes.sizeof(o)))
        o.format = fmt.encode() if fmt else None
        o.strategies = strategies.encode() if strategies else None
        if budget is not None:
            o.budget_tokens = budget
        if "handles" in options:
            self.named.clear()
            o.handle = self.handle
        o.kv, o.nkv, o.log = (Kv * len(pairs))(*pairs), len(pairs), self.log
        return o

    def compact(self, body, strategies, budget=None, options=(), fmt="neutral", flags=0):
        """(error code, output, statistics)"""
        o = self.options(strategies, budget, dict(options), fmt)
        o.flags |= flags
        st, e, out, n = Stats(size=ctypes.sizeof(Stats)), Error(), P(), SIZE()
        self.logged.clear()
        code = self.lib.paucis_compact(self.ctx, body, SIZE(len(body)), ctypes.byref(o),
                                       ctypes.byref(out), ctypes.byref(n), ctypes.byref(st),
                                       ctypes.byref(e))
        return code, ctypes.string_at(out, n.value) if not code else b"", st

    def breaks(self, body, fmt, before=None, sent=None):
        """(rule, message) of every break; None if the body cannot be judged"""
        o = self.options(None, None, {}, fmt)
        w = With(ctypes.cast(before, P), len(before or b""), ctypes.cast(sent, P), len(sent or b""))
        list_, n = ctypes.POINTER(Break)(), SIZE()
        code = self.lib.paucis_check(self.ctx, body, SIZE(len(body)), ctypes.byref(o),
                                     ctypes.byref(w), ctypes.byref(list_), ctypes.byref(n), None)
        return None if code else [(list_[i].rule.decode(), list_[i].message) for i in range(n.value)]

    def read(self, body, fmt):
        """The parts of a body, as dictionaries."""
        o, n = self.options(None, None, {}, fmt), SIZE()
        code = self.lib.paucis_read(self.ctx, body, SIZE(len(body)), ctypes.byref(o),
                                    ctypes.byref(n), None)
        if code:
            raise ValueError(code)
        return [self.read_get(i) for i in range(n.value)]

    def read_get(self, i):
        p = Part()
        self.lib.paucis_read_get(self.ctx, SIZE(i), ctypes.byref(p))
        words = {k: ctypes.string_at(getattr(p, k), getattr(p, k + "_len"))
                 for k in ("id", "name", "text")}
        return {**{k: getattr(p, k) for k, _ in Part._fields_}, **words}

    def cuts(self):
        """After plan: all cuts, and the one that would come next."""
        found, c = [], Cut()
        while not self.lib.paucis_plan_cut(self.ctx, SIZE(len(found)), ctypes.byref(c)):
            found.append({k: getattr(c, k) for k, _ in Cut._fields_})
        return found

    def name_again(self):
        """Of a body that was compacted with NAME_NEW; error code"""
        return self.lib.paucis_name_again(self.ctx)

    def compact_into(self, body, room, strategies, budget=None, options=(), fmt="neutral"):
        """(error code, output or the size it needs)"""
        o = self.options(strategies, budget, dict(options), fmt)
        dst, n = ctypes.create_string_buffer(room + 1), SIZE()
        code = self.lib.paucis_compact_into(self.ctx, body, SIZE(len(body)), ctypes.byref(o), dst,
                                            SIZE(room), ctypes.byref(n), None, None)
        return code, dst.raw[:n.value] if not code else n.value

    def plan(self, body, strategies, budget=None, options=(), fmt="neutral"):
        """(error code, edits as dictionaries)"""
        o = self.options(strategies, budget, dict(options), fmt)
        n, edits = SIZE(), []
        code = self.lib.paucis_plan(self.ctx, body, SIZE(len(body)), ctypes.byref(o),
                                    ctypes.byref(n), None, None)
        for i in range(n.value):
            e = Edit()
            self.lib.paucis_plan_get(self.ctx, SIZE(i), ctypes.byref(e))
            edits.append({k: getattr(e, k) for k, _ in Edit._fields_})
        return code, edits


class Session:
    """The fold for those who hold the conversation themselves."""

    def __init__(self, library, options=(), flags=0, budget=None):
        self.lib = library.lib
        o = library.options(None, budget, dict(options), "neutral")
        o.format, o.flags = None, flags
        self.it = P()
        self.lib.paucis_session_free.restype = None
        code = self.lib.paucis_session_new(ctypes.byref(self.it), None, ctypes.byref(o), None)
        if code:
            raise ValueError(code)

    def close(self):
        self.lib.paucis_session_free(self.it)

    def add(self, part):
        """part: as Library.read gives it"""
        words = {k: ctypes.cast(ctypes.c_char_p(part[k]), P) for k in ("id", "name", "text")}
        p = Part(message=part["message"], role=part["role"], kind=part["kind"], flags=part["flags"],
                 id_len=len(part["id"]), name_len=len(part["name"]), text_len=len(part["text"]), **words)
        code = self.lib.paucis_session_add(self.it, ctypes.byref(p))
        if code:
            raise ValueError(code)

    def request(self):
        """(the step, {part: (form, text or None)} of what changed)"""
        step, changes = Step(), {}
        code = self.lib.paucis_session_request(self.it, ctypes.byref(step))
        if code:
            raise ValueError(code)
        for i in range(step.changes):
            c = Change()
            self.lib.paucis_session_change(self.it, SIZE(i), ctypes.byref(c))
            text = ctypes.string_at(c.text, c.text_len) if c.text else None
            changes[c.part] = (c.form.decode(), text)
        return step, changes
