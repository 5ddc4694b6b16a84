/* Strategies through the public interface. The last bytes say how it is run: format, list of
 * strategies, switches, sizes; constants are made small so that small bodies are cut.
 *
 * The output reads as the same format and breaks no rule more often than the input; it is the same
 * whoever asks, with statistics or without, and into a buffer; nothing before first_changed_byte
 * differs; with grow=no it is not longer; the plan has as many edits as the statistics say. */
#include "fuzz.h"

static const char *const lists[] = {
    "apply_all",
    "thinking_prune",
    "dedup",
    "snippet",
    "lingua",
    "streaming_llm",
    "tool_call_dedup",
    "pairing",
    "compact_to_budget",
    "apply_all,compact_to_budget",
    "snippet,dedup,streaming_llm,pairing",
    "thinking_prune,tool_call_dedup,dedup,snippet,lingua,streaming_llm,pairing",
};
enum { LISTS = sizeof lists / sizeof *lists };

static const char *const switches[] = {
    "mend",
    "units",
    "dedup.whole",
    "dedup.clear_ids",
    "lingua.careful",
    "pairing.strict",
    "streaming_llm.alternate",
    "thinking_prune.spare_loop",
};
enum { SWITCHES = sizeof switches / sizeof *switches };

static const char *const sizes[] = {
    "dedup.min",
    "snippet.head",
    "snippet.tail",
    "streaming_llm.sinks",
    "streaming_llm.recent",
    "tool_call_dedup.keep_last",
    "lingua.keep_last",
    "snippet.keep_last",
    "thinking_prune.keep_last",
    "compact_to_budget.keep_last",
    "compact_to_budget.min",
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const paucis_kv fixed[] = {
    {"snippet.min", "8"}, {"streaming_llm.min_messages", "3"}, {"tool_call_dedup.min", "2"}};
enum { FIXED = sizeof fixed / sizeof *fixed };

/* How often the body breaks each rule; false if it cannot be read. */
static bool count_breaks(paucis_ctx *c, const char *body, size_t size, const paucis_opts *o,
                         size_t *counts) {
    const paucis_break *b;
    size_t n;
    paucis_opts plain = *o;
    plain.strategies = NULL;
    if (paucis_check(c, body, size, &plain, NULL, &b, &n, NULL) != PAUCIS_OK) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; paucis_rule_at(r); r++)
            counts[r] += strcmp(paucis_rule_at(r)->name, b[i].rule) == 0;
    return true;
}

static void judge(paucis_ctx *c, const char *body, size_t size, paucis_opts *o, bool grow) {
    enum { MOST_RULES = 256 };
    size_t before[MOST_RULES] = {0}, after[MOST_RULES] = {0}, n, again, edits;
    paucis_stats st = {.size = sizeof st};
    const char *out;
    paucis_error e;
    paucis_err err = paucis_compact(c, body, size, o, &out, &n, &st, &e);
    FUZZ_CHECK(err == PAUCIS_OK || err == PAUCIS_E_PARSE || err == PAUCIS_E_FORMAT ||
               err == PAUCIS_E_LIMIT);
    if (err) return;
    char *kept = malloc(n + 1);
    FUZZ_CHECK(kept);
    memcpy(kept, out, n);
    FUZZ_CHECK(grow || n <= size);
    FUZZ_CHECK(n <= paucis_bound(size, o) && n == st.bytes_out);
    size_t same = st.first_changed_byte == PAUCIS_NO_BYTE ? n : (size_t)st.first_changed_byte;
    FUZZ_CHECK(same <= size && same <= n && memcmp(kept, body, same) == 0);
    FUZZ_CHECK(st.first_changed_byte != PAUCIS_NO_BYTE || n == size);
    o->flags = PAUCIS_WITH_BREAKS | PAUCIS_WITH_TOKENS;
    FUZZ_CHECK(paucis_compact(c, body, size, o, &out, &again, NULL, &e) == PAUCIS_OK);
    FUZZ_CHECK(again == n && memcmp(out, kept, n) == 0);
    FUZZ_CHECK(paucis_plan(c, body, size, o, &edits, NULL, &e) == PAUCIS_OK && edits == st.edits);
    o->format = st.format; /* dropped messages may have been the only evidence */
    FUZZ_CHECK(count_breaks(c, body, size, o, before) && count_breaks(c, kept, n, o, after));
    for (size_t r = 0; r < MOST_RULES; r++) FUZZ_CHECK(after[r] <= before[r]);
    free(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_input in = {data, size};
    unsigned which = fuzz_byte(&in), list = fuzz_byte(&in) % LISTS, on = fuzz_byte(&in);
    unsigned grow = fuzz_byte(&in), budget = fuzz_byte(&in);
    char numbers[SIZES][4];
    paucis_kv kv[FIXED + SIZES + SWITCHES + 1];
    size_t nkv = 0;
    paucis_ctx *c;
    paucis_opts o;
    paucis_opts_init(&o, sizeof o);
    for (size_t i = 0; i < FIXED; i++) kv[nkv++] = fixed[i];
    for (size_t i = 0; i < SIZES; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%u", fuzz_byte(&in) % 16);
        kv[nkv++] = (paucis_kv){sizes[i], numbers[i]};
    }
    for (size_t i = 0; i < SWITCHES; i++)
        kv[nkv++] = (paucis_kv){switches[i], on >> i & 1 ? "yes" : "no"};
    kv[nkv++] = (paucis_kv){"grow", grow & 1 ? "no" : "yes"};
    const paucis_info *format = paucis_format_at(which);
    if (format) o.format = format->name;
    o.strategies = lists[list];
    o.budget_tokens = budget;
    o.kv = kv;
    o.nkv = nkv;
    FUZZ_CHECK(paucis_ctx_new(&c, NULL) == PAUCIS_OK);
    judge(c, (const char *)in.data, in.size, &o, !(grow & 1));
    paucis_ctx_free(c);
    return 0;
}
