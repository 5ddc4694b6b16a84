// What a run of the benchmark found, and its two printed forms.
#ifndef PAUCIS_BENCH_RESULT_H
#define PAUCIS_BENCH_RESULT_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// Bodies are timed by size class; a body may be in several.
struct SizeClass {
    const char *name;
    size_t from, below;
    bool has(size_t len) const { return len >= from && len < below; }
};
constexpr SizeClass kClasses[] = {{"all", 0, SIZE_MAX},         {"100K-10M", 100000, 10000001},
                                  {"<100K", 0, 100000},         {"100K-1M", 100000, 1000000},
                                  {"1-10M", 1000000, 10000001}, {">10M", 10000001, SIZE_MAX}};
constexpr size_t kClassCount = sizeof kClasses / sizeof *kClasses;
enum { kAll, kGoal }; // the first two

struct RowResult {
    std::string name;
    std::vector<double> seconds = std::vector<double>(kClassCount, INFINITY); // fastest pass
    std::vector<double> each = std::vector<double>(kClassCount); // sum of each body's fastest time
    size_t passes = 0, refused = 0; // refused: bodies it did not accept
};

// Peak memory of a fresh context beside body and output, as parts of the body's size.
struct MemoryResult {
    std::string name;
    double pooled = 0, median = 0, worst = 0;
    size_t worst_len = 0, refused = 0;
};

struct CorpusResult {
    std::string name;
    size_t bodies = 0, bytes = 0, largest = 0;
    std::vector<size_t> class_bytes = std::vector<size_t>(kClassCount);
    std::vector<RowResult> rows;
    size_t agree = 0; // bodies of which the tree's pipeline makes the same as paucis
    std::vector<MemoryResult> memory;
};

struct Result {
    std::vector<std::string> about; // machine, compiler, versions
    std::vector<CorpusResult> corpora;
    std::vector<MemoryResult> hostile;
};

void print_text(const Result &r);
void print_json(const Result &r); // one object, stable keys, "schema":2

} // namespace bench

#endif
