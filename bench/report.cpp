// See result.h.
#include <cstdio>

#include "bench.h"
#include "result.h"

namespace bench {
namespace {

double mb_per_s(size_t bytes, double seconds) { return static_cast<double>(bytes) / seconds / 1e6; }
double mb(size_t bytes) { return static_cast<double>(bytes) / 1e6; }

const RowResult *row_named(const CorpusResult &c, const std::string &name) {
    for (const RowResult &row : c.rows)
        if (row.name == name) return &row;
    return nullptr;
}

// How many times as fast as the row that ratios refer to.
double ratio(const CorpusResult &c, const RowResult &row) {
    const RowResult *base = row_named(c, kBaseline);
    return base ? base->seconds[kAll] / row.seconds[kAll] : NAN;
}

void text_corpus(const CorpusResult &c) {
    printf("\n%s: %zu bodies, %.1f MB, largest %.2f MB\n", c.name.c_str(), c.bodies, mb(c.bytes),
           mb(c.largest));
    printf("%-37s %6s", "MB/s", "ratio");
    for (size_t k = 0; k < kClassCount; k++)
        if (c.class_bytes[k]) printf(" %8s", kClasses[k].name);
    printf(" %8s\n", "each");
    for (const RowResult &row : c.rows) {
        printf("%-37s %6.2f", row.name.c_str(), ratio(c, row));
        for (size_t k = 0; k < kClassCount; k++)
            if (c.class_bytes[k]) printf(" %8.0f", mb_per_s(c.class_bytes[k], row.seconds[k]));
        printf(" %8.0f", mb_per_s(c.bytes, row.each[kAll]));
        if (row.refused) printf("  refused %zu", row.refused);
        printf("\n");
    }
    printf("the tree's result is the same as paucis's on %zu bodies\n", c.agree);
}

// One line of the goals: the classic pipeline's speed, or how many times that of another row. Once
// by the fastest pass and once by each body's fastest time; a goal is met if both say so.
void text_goal(const Result &r, const std::string &name, double goal) {
    printf("%-43s %5.2f", (name == kClassic ? name + ", GB/s" : "times " + name).c_str(), goal);
    for (const CorpusResult &c : r.corpora) {
        const RowResult *classic = row_named(c, kClassic), *other = row_named(c, name);
        if (!classic || !other || !c.class_bytes[kGoal]) {
            printf(" %19s", "-");
            continue;
        }
        double pass = classic->seconds[kGoal], each = classic->each[kGoal];
        double gigabytes = static_cast<double>(c.class_bytes[kGoal]) / 1e9;
        pass = (name == kClassic ? gigabytes : other->seconds[kGoal]) / pass;
        each = (name == kClassic ? gigabytes : other->each[kGoal]) / each;
        printf(" %6.2f %5.2f %-6s", pass, each, pass >= goal && each >= goal ? "met" : "MISSED");
    }
    printf("\n");
}

void text_goals(const Result &r) {
    printf("\n%-43s %5s", "goals, bodies of 100 KB to 10 MB", "goal");
    for (const CorpusResult &c : r.corpora) printf(" %19s", c.name.c_str());
    printf("\n");
    text_goal(r, kClassic, 2);
    text_goal(r, kBaseline, 1);
    text_goal(r, kTree, 4);
    for (const char *peer : kPeers) text_goal(r, peer, 5);
}

void text_memory(const MemoryResult &m) {
    printf("%-44s %8.1f %8.1f %8.1f  at %.2f MB", m.name.c_str(), m.pooled * 100, m.median * 100,
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
    printf(",\"ratio\":%.4f,\"passes\":%zu,\"refused\":%zu,\"each\":%.1f,\"mb_per_s\":{",
           ratio(c, row), row.passes, row.refused, mb_per_s(c.bytes, row.each[kAll]));
    const char *comma = "";
    for (size_t k = 0; k < kClassCount; k++) {
        if (!c.class_bytes[k]) continue;
        printf("%s\"%s\":%.1f", comma, kClasses[k].name,
               mb_per_s(c.class_bytes[k], row.seconds[k]));
        comma = ",";
    }
    printf("}}");
}

} // namespace

void print_text(const Result &r) {
    for (const std::string &line : r.about) printf("%s\n", line.c_str());
    for (const CorpusResult &c : r.corpora) text_corpus(c);
    text_goals(r);
    printf("\n%-44s %8s %8s %8s\n", "memory beside the body, %", "pooled", "median", "worst");
    for (const CorpusResult &c : r.corpora)
        for (const MemoryResult &m : c.memory) text_memory(m);
    for (const MemoryResult &m : r.hostile) text_memory(m);
}

void print_json(const Result &r) {
    printf("{\"schema\":2,");
    json_list("about", r.about, json_string);
    printf(",");
    json_list("corpora", r.corpora, [](const CorpusResult &c) {
        printf("{\"name\":");
        json_string(c.name);
        printf(",\"bodies\":%zu,\"bytes\":%zu,\"largest\":%zu,\"agree\":%zu,", c.bodies, c.bytes,
               c.largest, c.agree);
        json_list("memory", c.memory, json_memory);
        printf(",");
        json_list("rows", c.rows, [&](const RowResult &row) { json_row(c, row); });
        printf("}");
    });
    printf(",");
    json_list("hostile", r.hostile, json_memory);
    printf("}\n");
}

} // namespace bench
