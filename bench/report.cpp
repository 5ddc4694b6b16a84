// See result.h.
#include <cstdio>

#include "bench.h"
#include "result.h"

namespace bench {
namespace {

double mb_per_s(size_t bytes, double seconds) { return static_cast<double>(bytes) / seconds / 1e6; }
double mb(size_t bytes) { return static_cast<double>(bytes) / 1e6; }

// Seconds of the row that ratios refer to.
double baseline(const CorpusResult &c) {
    for (const RowResult &row : c.rows)
        if (row.name == kBaseline) return row.seconds;
    return NAN;
}

void text_corpus(const CorpusResult &c) {
    printf("\n%s: %zu bodies, %.1f MB, largest %.2f MB\n", c.name.c_str(), c.bodies, mb(c.bytes),
           mb(c.largest));
    printf("%-34s %8s %7s", "MB/s", "all", "ratio");
    for (size_t k = 0; k < kClassCount; k++)
        if (c.class_bytes[k]) printf(" %8s", kClasses[k].name);
    printf("\n");
    for (const RowResult &row : c.rows) {
        printf("%-34s %8.0f %7.2f", row.name.c_str(), mb_per_s(c.bytes, row.seconds),
               baseline(c) / row.seconds);
        for (size_t k = 0; k < kClassCount; k++)
            if (c.class_bytes[k]) printf(" %8.0f", mb_per_s(c.class_bytes[k], row.by_class[k]));
        if (row.refused) printf("  refused %zu", row.refused);
        printf("\n");
    }
}

void text_memory(const MemoryResult &m) {
    printf("%-34s %8.1f %8.1f %8.1f  at %.2f MB", m.name.c_str(), m.pooled * 100, m.median * 100,
           m.worst * 100, mb(m.worst_len));
    if (m.refused) printf("  refused %zu", m.refused);
    printf("\n");
}

void json_string(const std::string &s) {
    putchar('"');
    for (char c : s) {
        if (c == '"' || c == '\\') putchar('\\');
        putchar(c);
    }
    putchar('"');
}

// Calls print for each element, commas between.
template <typename List, typename Print>
void json_list(const char *key, const List &list, Print print) {
    printf("\"%s\":[", key);
    const char *comma = "";
    for (const auto &element : list) {
        printf("%s", comma);
        print(element);
        comma = ",";
    }
    printf("]");
}

void json_memory(const MemoryResult &m) {
    printf("{\"name\":");
    json_string(m.name);
    printf(",\"pooled\":%.4f,\"median\":%.4f,\"worst\":%.4f,\"worst_bytes\":%zu,\"refused\":%zu}",
           m.pooled, m.median, m.worst, m.worst_len, m.refused);
}

void json_row(const CorpusResult &c, const RowResult &row) {
    printf("{\"name\":");
    json_string(row.name);
    printf(",\"mb_per_s\":%.1f,\"ratio\":%.4f,\"passes\":%zu,\"refused\":%zu,\"by_size\":{",
           mb_per_s(c.bytes, row.seconds), baseline(c) / row.seconds, row.passes, row.refused);
    const char *comma = "";
    for (size_t k = 0; k < kClassCount; k++) {
        if (!c.class_bytes[k]) continue;
        printf("%s\"%s\":%.1f", comma, kClasses[k].name,
               mb_per_s(c.class_bytes[k], row.by_class[k]));
        comma = ",";
    }
    printf("}}");
}

} // namespace

void print_text(const Result &r) {
    for (const std::string &line : r.about) printf("%s\n", line.c_str());
    for (const CorpusResult &c : r.corpora) text_corpus(c);
    printf("\n%-34s %8s %8s %8s\n", "memory beside the body, %", "pooled", "median", "worst");
    for (const CorpusResult &c : r.corpora) text_memory(c.memory);
    for (const MemoryResult &m : r.hostile) text_memory(m);
}

void print_json(const Result &r) {
    printf("{\"schema\":1,");
    json_list("about", r.about, json_string);
    printf(",");
    json_list("corpora", r.corpora, [](const CorpusResult &c) {
        printf("{\"name\":");
        json_string(c.name);
        printf(",\"bodies\":%zu,\"bytes\":%zu,\"largest\":%zu,\"memory\":", c.bodies, c.bytes,
               c.largest);
        json_memory(c.memory);
        printf(",");
        json_list("rows", c.rows, [&](const RowResult &row) { json_row(c, row); });
        printf("}");
    });
    printf(",");
    json_list("hostile", r.hostile, json_memory);
    printf("}\n");
}

} // namespace bench
