"""The shared library through ctypes: enough of paucis.h for the tests."""
import ctypes
import os
import pathlib

from support import PAUCIS

LIB = pathlib.Path(os.environ.get("LIB") or pathlib.Path(PAUCIS).resolve().parent / "libpaucis.so")
P, S, U32, U64, SIZE = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64,
                        ctypes.c_size_t)


class Kv(ctypes.Structure):
    _fields_ = [("key", S), ("val", S)]


LOG = ctypes.CFUNCTYPE(None, P, S, U64, U64)


class Opts(ctypes.Structure):
    _fields_ = [("size", U32), ("flags", U32), ("format", S), ("policy", S), ("strategies", S),
                ("budget_tokens", U64), ("kv", ctypes.POINTER(Kv)), ("nkv", SIZE), ("log", LOG),
                ("log_ud", P)]


class Stats(ctypes.Structure):
    _fields_ = [("size", U32), ("budget_met", U32), ("format", S), ("policy", S)] + [
        (name, U64) for name in
        ("bytes_in", "bytes_out", "tokens_in", "tokens_out", "messages_in", "messages_out", "edits",
         "first_changed_byte", "breaks", "dedup_hits", "snippet_hits", "total_bytes_saved",
         "original_tokens", "final_tokens", "elided_messages", "peak_alloc")]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("msg", S), ("pos", SIZE)]


class Edit(ctypes.Structure):
    _fields_ = [("op", S), ("strategy", S), ("reason", S), ("message", SIZE), ("part", SIZE),
                ("role", S), ("kind", S), ("pos", SIZE), ("len", SIZE), ("before", SIZE),
                ("after", SIZE), ("text", P), ("text_len", SIZE)]


class Library:
    """One context."""

    def __init__(self):
        self.lib = ctypes.CDLL(str(LIB))
        self.lib.paucis_bound.restype = SIZE
        self.ctx = P()
        self.logged = []
        self.log = LOG(lambda ud, name, hits, saved: self.logged.append((name.decode(), hits, saved)))
        if self.lib.paucis_ctx_new(ctypes.byref(self.ctx), None):
            raise MemoryError

    def close(self):
        self.lib.paucis_ctx_free(self.ctx)

    def options(self, strategies, budget, options, fmt):
        pairs = [(k.encode(), v.encode()) for k, v in options.items()]
        o = Opts()
        self.lib.paucis_opts_init(ctypes.byref(o), SIZE(ctypes.sizeof(o)))
        o.format, o.strategies = fmt.encode(), strategies.encode()
        if budget is not None:
            o.budget_tokens = budget
        o.kv, o.nkv, o.log = (Kv * len(pairs))(*pairs), len(pairs), self.log
        return o

    def compact(self, body, strategies, budget=None, options=(), fmt="neutral"):
        """(error code, output, statistics)"""
        o = self.options(strategies, budget, dict(options), fmt)
        st, e, out, n = Stats(size=ctypes.sizeof(Stats)), Error(), P(), SIZE()
        self.logged.clear()
        code = self.lib.paucis_compact(self.ctx, body, SIZE(len(body)), ctypes.byref(o),
                                       ctypes.byref(out), ctypes.byref(n), ctypes.byref(st),
                                       ctypes.byref(e))
        return code, ctypes.string_at(out, n.value) if not code else b"", st

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
