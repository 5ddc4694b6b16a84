// paucis through its public header: the identity write by every kernel, and every form of the
// stable policy, other policy and strategy the library lists, so a new one appears by itself.
#include <cstring>
#include <memory>

#include "bench.h"
#include "paucis/paucis.h"

namespace bench {
namespace {

// One way to call the library: a context, options and an output buffer that are kept.
struct Call {
    paucis_ctx *ctx = nullptr;
    paucis_opts opts;
    paucis_kv kv = {nullptr, nullptr};
    std::vector<char> out;

    // Room for classic results, which may be longer than the body. What still does not fit is
    // refused and shows in the table.
    explicit Call(size_t largest) : out(largest + largest / 4 + 4096) {
        paucis_opts_init(&opts, sizeof opts);
        paucis_ctx_new(&ctx, nullptr);
    }
    ~Call() { paucis_ctx_free(ctx); }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    void option(const char *key, const char *val) {
        kv = {key, val};
        opts.kv = &kv;
        opts.nkv = 1;
    }
    bool into(const Body &b) {
        size_t n = 0;
        if (paucis_compact_into(ctx, b.at, b.len, &opts, out.data(), out.size(), &n, nullptr,
                                nullptr))
            return false;
        sink = sink + n;
        return true;
    }
    bool plan(const Body &b) {
        size_t edits = 0;
        if (paucis_plan(ctx, b.at, b.len, &opts, &edits, nullptr, nullptr)) return false;
        sink = sink + edits;
        return true;
    }
};

using SharedCall = std::shared_ptr<Call>;

SharedCall call_with(const Rows &rows, const char *policy, const char *strategies) {
    auto call = std::make_shared<Call>(rows.largest);
    call->opts.policy = policy;
    call->opts.strategies = strategies;
    return call;
}

void add_into(Rows &rows, std::string name, SharedCall call) {
    rows.add(std::move(name), [call](const Body &b) { return call->into(b); });
}

// A policy or strategy. What does not work without a budget gets one that most bodies exceed.
void add_decision(Rows &rows, std::string name, SharedCall call) {
    paucis_error e;
    size_t edits = 0;
    paucis_plan(call->ctx, "{}", 2, &call->opts, &edits, nullptr, &e);
    if (e.code == PAUCIS_E_ARG) {
        call->opts.budget_tokens = 16000;
        name += " -b 16K";
    }
    add_into(rows, std::move(name), std::move(call));
}

} // namespace

void add_paucis(Rows &rows) {
    auto read = call_with(rows, "none", nullptr);
    rows.add("paucis read + view, no write", [read](const Body &b) { return read->plan(b); });
    for (size_t i = 0; const paucis_info *k = paucis_kernel_at(i); i++) {
        auto call = call_with(rows, "none", nullptr);
        call->option("kernel", k->name);
        add_into(rows, std::string("paucis identity, ") + k->name + (i ? "" : " (best)"), call);
    }
    for (size_t i = 0; const paucis_info *f = paucis_form_at(i); i++) {
        auto call = call_with(rows, "stable", nullptr);
        call->option("form", f->name);
        add_into(rows, std::string("paucis -p stable -O form=") + f->name, call);
    }
    for (size_t i = 0; const paucis_info *p = paucis_policy_at(i); i++)
        if (strcmp(p->name, "none") != 0 && strcmp(p->name, "stable") != 0)
            add_decision(rows, std::string("paucis -p ") + p->name,
                         call_with(rows, p->name, nullptr));
    for (size_t i = 0; const paucis_info *s = paucis_strategy_at(i); i++)
        add_decision(rows, std::string("paucis -s ") + s->name, call_with(rows, nullptr, s->name));
}

std::vector<std::string> versions_paucis() {
    std::string line = std::string("paucis ") + paucis_version_string() + ", kernels here:";
    for (size_t i = 0; const paucis_info *k = paucis_kernel_at(i); i++) (line += " ") += k->name;
    return {line};
}

size_t paucis_memory(const Body &body, const char *policy) {
    Call call(body.len);
    call.opts.policy = policy;
    size_t n = 0;
    paucis_stats st;
    st.size = sizeof st;
    if (paucis_compact_into(call.ctx, body.at, body.len, &call.opts, call.out.data(),
                            call.out.size(), &n, &st, nullptr))
        return 0;
    bool same = n == body.len && memcmp(call.out.data(), body.at, n) == 0;
    return same || strcmp(policy, "none") != 0 ? st.peak_alloc : 0;
}

std::string paucis_classic(const Body &body) {
    Call call(body.len);
    call.opts.policy = "classic";
    const char *out = nullptr;
    size_t n = 0;
    paucis_compact(call.ctx, body.at, body.len, &call.opts, &out, &n, nullptr, nullptr);
    return std::string(out ? out : "", n);
}

} // namespace bench
