// What a run of the benchmark found, and its two printed forms.
#ifndef PAUCIS_BENCH_RESULT_H
#define PAUCIS_BENCH_RESULT_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// Bodies are also timed by size class.
struct SizeClass {
    const char *name;
    size_t below;
};
constexpr SizeClass kClasses[] = {{"<64K", 64000},   {"64-256K", 256000}, {"256K-1M", 1000000},
                                  {"1-4M", 4000000}, {"4-16M", 16000000}, {">16M", SIZE_MAX}};
constexpr size_t kClassCount = sizeof kClasses / sizeof *kClasses;

inline size_t class_of(size_t len) {
    size_t c = 0;
    while (len >= kClasses[c].below) c++;
    return c;
}

struct RowResult {
    std::string name;
    double seconds = 0; // sum over the bodies of the fastest time for each
    std::vector<double> by_class = std::vector<double>(kClassCount);
    size_t passes = 0, refused = 0; // refused: bodies it did not accept
};

// Peak memory of a fresh context beside the body, as parts of the body's size.
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
    MemoryResult memory;
};

struct Result {
    std::vector<std::string> about; // machine, compiler, versions
    std::vector<CorpusResult> corpora;
    std::vector<MemoryResult> hostile;
};

void print_text(const Result &r);
void print_json(const Result &r); // one object, stable keys, "schema":1

} // namespace bench

#endif
