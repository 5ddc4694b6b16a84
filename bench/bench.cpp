// Speed of paucis and of others on the same bytes: bench [OPTIONS] FILE... [--node SCRIPT FILE...]
//
// A FILE holds one body a line and gives one table. Everything runs in one thread and one process,
// but for rows of node. Bodies lie in memory, split, before the clock starts; every row keeps its
// buffers and parsers. A pass is one walk over all bodies of the file. The rows take turns pass by
// pass, so that what disturbs the machine hits all of them, and so that a row finds in the cache
// what another left there: a file larger than the cache comes from main memory. A row's fastest
// pass counts, for each size class by itself. MB are 10^6 bytes.
//
// Then memory: what a fresh context holds at most beside the body, for every body of the files and
// for bodies made of the smallest values there are. A body that is refused, or that policy none
// does not give back as it was, counts as refused.
#include "bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "result.h"

namespace bench {

volatile size_t sink;

namespace {

struct Options {
    bool json = false;
    double seconds = 20;           // for one file
    std::vector<std::string> only; // parts of row names; none = all rows
    std::string node;              // script for the files named behind it
    struct File {
        std::string path, node;
    };
    std::vector<File> files;
};

// ---- bodies -------------------------------------------------------------------------------------

struct Corpus {
    std::string name;
    std::vector<char> memory;
    std::vector<Body> bodies;
    size_t bytes = 0, largest = 0;
};

[[noreturn]] void fail(const char *what, const std::string &subject) {
    fprintf(stderr, "bench: %s '%s'\n", what, subject.c_str());
    exit(2);
}

std::string read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream whole;
    whole << file.rdbuf();
    if (!file || whole.str().empty()) fail("cannot read", path);
    return whole.str();
}

// Every body begins on a cache line and has zeroes behind it.
Corpus load(const std::string &path) {
    std::string text = read_file(path);
    size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    Corpus c;
    c.name = path.substr(path.find_last_of('/') + 1);
    c.name = c.name.substr(0, c.name.find('.'));
    c.memory.resize(text.size() + (lines + 1) * 2 * kPadding);
    char *dst = c.memory.data();
    dst += kPadding - reinterpret_cast<uintptr_t>(dst) % kPadding;
    for (size_t at = 0, end; at < text.size(); at = end + 1) {
        end = std::min(text.find('\n', at), text.size());
        size_t len = end - at;
        if (!len) continue;
        memcpy(dst, text.data() + at, len);
        c.bodies.push_back({dst, len});
        c.bytes += len;
        c.largest = std::max(c.largest, len);
        dst += (len + 2 * kPadding - 1) / kPadding * kPadding;
    }
    return c;
}

// ---- speed --------------------------------------------------------------------------------------

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

struct Times {
    RowResult result;
    std::vector<double> best; // of each body
    double spent = 0;
};

void pass(const Row &row, const Corpus &c, Times &t) {
    std::vector<double> took(c.bodies.size());
    t.result.refused = 0;
    if (row.pass) took = row.pass();
    for (size_t i = 0; !row.pass && i < c.bodies.size(); i++) {
        double from = now();
        t.result.refused += !row.run(c.bodies[i]);
        took[i] = now() - from;
    }
    for (size_t k = 0; k < kClassCount; k++) {
        double sum = 0;
        for (size_t i = 0; i < took.size(); i++)
            if (kClasses[k].has(c.bodies[i].len)) sum += took[i];
        t.result.seconds[k] = std::min(t.result.seconds[k], sum);
        if (k == kAll) t.spent += sum;
    }
    for (size_t i = 0; i < took.size(); i++) t.best[i] = std::min(t.best[i], took[i]);
    t.result.passes++;
}

// One pass of each row warms up and does not count. Then each row has an equal share of the time,
// but at least three passes. Rows that goals are about have four shares: a slow row has fewer
// passes in a share and is disturbed more often in each, and that must not look like a goal met.
std::vector<RowResult> measure(const Rows &rows, const Corpus &c, double seconds) {
    double share = seconds / static_cast<double>(rows.list.size());
    std::vector<Times> times(rows.list.size());
    for (size_t r = 0; r < rows.list.size(); r++) {
        Times warm_up;
        times[r].best.assign(c.bodies.size(), INFINITY);
        warm_up.best = times[r].best;
        pass(rows.list[r], c, warm_up);
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t r = 0; r < rows.list.size(); r++) {
            auto passes = static_cast<double>(std::max<size_t>(1, times[r].result.passes));
            double next = times[r].spent / passes;
            double mine = is_goal(rows.list[r].name) ? 4 * share : share;
            if (times[r].result.passes >= 3 && times[r].spent + next > mine) continue;
            pass(rows.list[r], c, times[r]);
            more = true;
        }
    }
    std::vector<RowResult> results;
    for (size_t r = 0; r < rows.list.size(); r++) {
        times[r].result.name = rows.list[r].name;
        for (size_t k = 0; k < kClassCount; k++)
            for (size_t i = 0; i < c.bodies.size(); i++)
                if (kClasses[k].has(c.bodies[i].len)) times[r].result.each[k] += times[r].best[i];
        results.push_back(std::move(times[r].result));
    }
    return results;
}

// All rows, or those asked for; beside rows of node only what they are compared with.
Rows chosen_rows(const Corpus &c, const Options &o, const Options::File &file,
                 std::vector<std::string> &about) {
    Rows all{c.largest, {}}, chosen{c.largest, {}};
    add_plain_c(all);
    add_paucis(all);
    add_tree(all);
    add_simdjson(all);
    add_rapidjson(all);
    for (Row &row : all.list) {
        bool wanted = is_goal(row.name) || (o.only.empty() && file.node.empty());
        for (const std::string &part : o.only) wanted |= row.name.find(part) != std::string::npos;
        if (wanted) chosen.list.push_back(std::move(row));
    }
    if (!file.node.empty())
        for (std::string &line : add_node(chosen, file.node, file.path))
            if (std::find(about.begin(), about.end(), line) == about.end()) about.push_back(line);
    return chosen;
}

// ---- memory -------------------------------------------------------------------------------------

MemoryResult memory_of(const std::string &name, const std::vector<Body> &bodies,
                       const char *policy) {
    MemoryResult m;
    std::vector<double> ratios;
    double bytes = 0, held = 0;
    m.name = name + ", " + policy;
    for (const Body &b : bodies) {
        size_t peak = paucis_memory(b, policy);
        m.refused += !peak;
        bytes += static_cast<double>(b.len);
        held += static_cast<double>(peak);
        ratios.push_back(static_cast<double>(peak) / static_cast<double>(b.len));
        if (ratios.back() > m.worst) {
            m.worst = ratios.back();
            m.worst_len = b.len;
        }
    }
    std::sort(ratios.begin(), ratios.end());
    m.pooled = held / bytes;
    m.median = ratios[ratios.size() / 2];
    return m;
}

std::string repeated(const char *open, const char *element, size_t n, const char *close) {
    std::string s = open;
    for (size_t i = 0; i < n; i++) (s += element) += ',';
    s.back() = close[0];
    return s += close + 1;
}

// Bodies of the smallest values there are; the bound is PAUCIS_MAX_TOKENS in lib/limits.h.
std::vector<MemoryResult> memory_of_hostile() {
    const char *turn = "{\"role\":\"user\",\"content\":\"\"}", *open = "{\"messages\":[";
    const std::pair<const char *, std::string> bodies[] = {
        {"4 million []", repeated("[", "[]", 4000000, "]")},
        {"1 million messages {}", repeated(open, "{}", 1000000, "]}")},
        {"1 million messages of empty text", repeated(open, turn, 1000000, "]}")},
    };
    std::vector<MemoryResult> results;
    for (const auto &[name, text] : bodies)
        results.push_back(memory_of(name, {{text.data(), text.size()}}, "none"));
    const std::string &turns = bodies[2].second;
    results.push_back(memory_of(bodies[2].first, {{turns.data(), turns.size()}}, "classic"));
    return results;
}

// ---- the whole ----------------------------------------------------------------------------------

std::string machine() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.compare(0, 10, "model name") == 0) return line.substr(line.find(':') + 2);
    return "unknown processor";
}

CorpusResult run_corpus(const Corpus &c, const Options &o, const Options::File &file,
                        std::vector<std::string> &about) {
    CorpusResult result;
    result.name = c.name;
    result.bodies = c.bodies.size();
    result.bytes = c.bytes;
    result.largest = c.largest;
    for (const Body &b : c.bodies) {
        for (size_t k = 0; k < kClassCount; k++)
            if (kClasses[k].has(b.len)) result.class_bytes[k] += b.len;
        result.agree += tree_agrees(b, paucis_classic(b));
    }
    result.rows = measure(chosen_rows(c, o, file, about), c, o.seconds);
    if (file.node.empty())
        for (const char *policy : {"none", "classic", "stable"})
            result.memory.push_back(memory_of(c.name, c.bodies, policy));
    return result;
}

Result run(const Options &o) {
    Result result;
    result.about = {machine(), std::string("compiled by ") + __VERSION__};
    for (auto *list : {versions_paucis, versions_simdjson, versions_rapidjson, versions_plain_c})
        for (std::string &line : list()) result.about.push_back(std::move(line));
    for (const Options::File &file : o.files)
        result.corpora.push_back(run_corpus(load(file.path), o, file, result.about));
    result.hostile = memory_of_hostile();
    return result;
}

Options parse(int argc, char **argv) {
    Options o;
    for (int i = 1; i < argc; i++) {
        std::string arg = argv[i];
        bool takes_value = arg == "--seconds" || arg == "--only" || arg == "--node";
        if (takes_value && i + 1 == argc) fail("no value for", arg);
        if (arg == "--json")
            o.json = true;
        else if (arg == "--seconds")
            o.seconds = strtod(argv[++i], nullptr);
        else if (arg == "--only")
            o.only.push_back(argv[++i]);
        else if (arg == "--node")
            o.node = argv[++i];
        else if (arg.size() > 1 && arg[0] == '-')
            fail("unknown option", arg);
        else
            o.files.push_back({arg, o.node});
    }
    if (o.files.empty()) {
        fprintf(stderr,
                "usage: bench [--json] [--seconds N] [--only ROW]... FILE... [--node SCRIPT "
                "FILE...]\n");
        exit(2);
    }
    return o;
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    bench::Options options = bench::parse(argc, argv);
    bench::Result result = bench::run(options);
    (options.json ? bench::print_json : bench::print_text)(result);
    return 0;
}
