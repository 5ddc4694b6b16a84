// Speed of paucis and of other JSON readers on the same bytes: bench [OPTIONS] FILE...
//
// A FILE holds one body a line and gives one table. Everything runs in one thread and one process.
// Bodies lie in memory, split, before the clock starts; every row keeps its buffers and parsers. A pass
// is one walk over all bodies of the file; the rows take turns pass by pass, so that a disturbance of
// the machine hits all of them, and each row's fastest pass counts. MB are 10^6 bytes.
//
// Then memory: what a fresh context holds at most beside the body, for every body, and for two bodies
// made of the smallest values there are.
#include "bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

namespace bench {

volatile size_t sink;

namespace {

struct Options {
    bool json = false, memory = true;
    double seconds = 20; // for one file, warm-up included
    std::vector<std::string> only; // rows whose name contains one of these
    std::vector<std::string> files;
};

// ---- bodies ---------------------------------------------------------------------------------------

const struct {
    const char *name;
    size_t below;
} kClasses[] = {{"<64K", 64000},         {"64-256K", 256000}, {"256K-1M", 1000000},
                {"1-4M", 4000000},       {"4-16M", 16000000}, {">16M", SIZE_MAX}};
constexpr size_t kClassCount = sizeof kClasses / sizeof *kClasses;

size_t class_of(size_t len) {
    size_t c = 0;
    while (len >= kClasses[c].below) c++;
    return c;
}

struct Corpus {
    std::string name;
    std::vector<char> memory;
    std::vector<Body> bodies; // by class, else in the order of the file
    size_t bytes = 0, largest = 0;
};

std::vector<size_t> line_ends(const std::string &text) {
    std::vector<size_t> ends;
    for (size_t at = 0; at < text.size(); at = ends.back() + 1)
        ends.push_back(std::min(text.find('\n', at), text.size()));
    return ends;
}

// Bodies come to lie on cache lines with zeroes behind them.
Corpus load(const std::string &path) {
    Corpus c;
    std::ifstream file(path, std::ios::binary);
    std::stringstream whole;
    whole << file.rdbuf();
    if (!file) {
        fprintf(stderr, "bench: cannot read '%s'\n", path.c_str());
        exit(2);
    }
    std::string text = whole.str();
    c.name = path.substr(path.find_last_of('/') + 1);
    std::vector<size_t> ends = line_ends(text);
    c.memory.resize(text.size() + (ends.size() + 1) * 2 * kPadding);
    char *dst = c.memory.data();
    dst += kPadding - reinterpret_cast<uintptr_t>(dst) % kPadding;
    size_t at = 0;
    for (size_t end : ends) {
        size_t len = end - at;
        if (len) c.bodies.push_back({dst, len});
        memcpy(dst, text.data() + at, len);
        dst += (len + 2 * kPadding - 1) / kPadding * kPadding;
        c.bytes += len;
        c.largest = std::max(c.largest, len);
        at = end + 1;
    }
    std::stable_sort(c.bodies.begin(), c.bodies.end(), [](const Body &a, const Body &b) {
        return class_of(a.len) < class_of(b.len);
    });
    return c;
}

// ---- speed ----------------------------------------------------------------------------------------

struct Timing {
    double total = INFINITY;
    double by_class[kClassCount];
    size_t refused = 0, passes = 0;
    Timing() { std::fill(by_class, by_class + kClassCount, INFINITY); }
};

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

void pass(const Row &row, const Corpus &c, Timing &t) {
    double total = 0;
    size_t refused = 0;
    for (size_t i = 0; i < c.bodies.size();) {
        size_t k = class_of(c.bodies[i].len);
        double from = now();
        for (; i < c.bodies.size() && class_of(c.bodies[i].len) == k; i++)
            refused += !row.run(c.bodies[i]);
        double spent = now() - from;
        t.by_class[k] = std::min(t.by_class[k], spent);
        total += spent;
    }
    t.total = std::min(t.total, total);
    t.refused = refused;
    t.passes++;
}

// The first pass of each row warms up and does not count. Slow rows get fewer passes: none takes more
// than its share of the time, but all get three.
std::vector<Timing> measure(const Rows &rows, const Corpus &c, double seconds) {
    std::vector<Timing> timings(rows.list.size());
    std::vector<double> spent(rows.list.size());
    for (size_t r = 0; r < rows.list.size(); r++) {
        Timing warm_up;
        pass(rows.list[r], c, warm_up);
    }
    double share = seconds / static_cast<double>(rows.list.size());
    for (bool more = true; more;) {
        more = false;
        for (size_t r = 0; r < rows.list.size(); r++) {
            if (timings[r].passes >= 3 && spent[r] + timings[r].total > share) continue;
            double from = now();
            pass(rows.list[r], c, timings[r]);
            spent[r] += now() - from;
            more = true;
        }
    }
    return timings;
}

Rows all_rows(size_t largest, const Options &o) {
    Rows rows{largest, {}}, chosen{largest, {}};
    add_paucis(rows);
    add_simdjson(rows);
    add_rapidjson(rows);
    add_plain_c(rows);
    for (Row &row : rows.list) {
        bool wanted = o.only.empty() || row.name == kBaseline;
        for (const std::string &part : o.only) wanted |= row.name.find(part) != std::string::npos;
        if (wanted) chosen.list.push_back(std::move(row));
    }
    return chosen;
}

// ---- memory ---------------------------------------------------------------------------------------

struct Memory {
    double pooled = 0, median = 0, worst = 0; // parts of the body's size
    size_t worst_len = 0, refused = 0;
};

Memory memory_of(const std::vector<Body> &bodies) {
    Memory m;
    std::vector<double> ratios;
    double bytes = 0, held = 0;
    for (const Body &b : bodies) {
        size_t peak = paucis_memory(b);
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

// Bodies of the smallest values: all brackets, and a conversation of empty messages.
std::vector<std::pair<std::string, std::string>> hostile_bodies() {
    std::string arrays = "[[]", messages = "{\"messages\":[{}", turns = "{\"messages\":[";
    for (size_t i = 1; i < 4000000; i++) arrays += ",[]";
    for (size_t i = 1; i < 1000000; i++) messages += ",{}";
    for (size_t i = 0; i < 1000000; i++) turns += "{\"role\":\"user\",\"content\":\"\"},";
    turns.pop_back();
    return {{"4 million empty arrays", arrays + "]"},
            {"1 million messages {}", messages + "]}"},
            {"1 million messages with empty text", turns + "]}"}};
}

// ---- output ---------------------------------------------------------------------------------------

double mb_per_s(size_t bytes, double seconds) { return static_cast<double>(bytes) / seconds / 1e6; }

struct Report {
    const Options &o;
    std::string json; // grows while the tables are printed

    explicit Report(const Options &options) : o(options) {}

    template <typename... Args>
    void text(const char *format, Args... args) {
        if (!o.json) printf(format, args...);
        fflush(stdout);
    }
    template <typename... Args>
    void field(const char *format, Args... args) {
        char buffer[512];
        snprintf(buffer, sizeof buffer, format, args...);
        json += buffer;
    }
};

std::string machine() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.compare(0, 10, "model name") == 0) return line.substr(line.find(':') + 2);
    return "unknown processor";
}

void report_head(Report &r) {
    std::vector<std::string> lines = {machine(), std::string("compiled by ") + __VERSION__};
    for (auto *list : {versions_paucis, versions_simdjson, versions_rapidjson, versions_plain_c})
        for (const std::string &line : list()) lines.push_back(line);
    r.field("{\"schema\":1,\"versions\":[");
    for (size_t i = 0; i < lines.size(); i++) {
        r.text("%s\n", lines[i].c_str());
        r.field("%s\"%s\"", i ? "," : "", lines[i].c_str());
    }
    r.field("],\"corpora\":[");
}

struct Classes {
    size_t bytes[kClassCount] = {};
    explicit Classes(const Corpus &c) {
        for (const Body &b : c.bodies) bytes[class_of(b.len)] += b.len;
    }
};

void report_row(Report &r, const Row &row, const Timing &t, double base, size_t bytes,
                const Classes &classes) {
    double speed = mb_per_s(bytes, t.total);
    r.text("%-34s %8.0f %7.2f", row.name.c_str(), speed, base / t.total);
    r.field("{\"name\":\"%s\",\"mb_per_s\":%.1f,\"ratio\":%.4f,\"passes\":%zu,\"refused\":%zu,"
            "\"by_class\":{",
            row.name.c_str(), speed, base / t.total, t.passes, t.refused);
    const char *comma = "";
    for (size_t k = 0; k < kClassCount; k++) {
        if (!classes.bytes[k]) continue;
        double here = mb_per_s(classes.bytes[k], t.by_class[k]);
        r.text(" %8.0f", here);
        r.field("%s\"%s\":%.1f", comma, kClasses[k].name, here);
        comma = ",";
    }
    r.field("}}");
    if (t.refused) r.text("  %zu refused", t.refused);
    r.text("\n");
}

void report_corpus(Report &r, const Corpus &c, bool first) {
    Rows rows = all_rows(c.largest, r.o);
    std::vector<Timing> timings = measure(rows, c, r.o.seconds);
    Classes classes(c);
    double base = NAN;
    for (size_t i = 0; i < rows.list.size(); i++)
        if (rows.list[i].name == kBaseline) base = timings[i].total;
    r.text("\n%s: %zu bodies, %.1f MB, largest %.2f MB\n%-34s %8s %7s", c.name.c_str(),
           c.bodies.size(), static_cast<double>(c.bytes) / 1e6,
           static_cast<double>(c.largest) / 1e6, "MB/s, fastest pass", "all", "ratio");
    for (size_t k = 0; k < kClassCount; k++)
        if (classes.bytes[k]) r.text(" %8s", kClasses[k].name);
    r.text("\n");
    r.field("%s{\"name\":\"%s\",\"bodies\":%zu,\"bytes\":%zu,\"rows\":[", first ? "" : ",",
            c.name.c_str(), c.bodies.size(), c.bytes);
    for (size_t i = 0; i < rows.list.size(); i++) {
        if (i) r.field(",");
        report_row(r, rows.list[i], timings[i], base, c.bytes, classes);
    }
    r.field("]");
}

void report_memory(Report &r, const std::string &name, const Memory &m) {
    r.text("%-38s %8.1f %8.1f %8.1f", name.c_str(), m.pooled * 100, m.median * 100, m.worst * 100);
    r.text("  at %.2f MB\n", static_cast<double>(m.worst_len) / 1e6);
    if (m.refused) r.text("  %zu of them refused\n", m.refused);
    r.field("\"memory\":{\"pooled\":%.4f,\"median\":%.4f,\"worst\":%.4f,\"refused\":%zu}", m.pooled,
            m.median, m.worst, m.refused);
}

void report_hostile(Report &r) {
    r.field("],\"hostile\":[");
    bool first = true;
    for (auto &[name, text] : hostile_bodies()) {
        text.append(kPadding, '\0');
        Memory m = memory_of({{text.data(), text.size() - kPadding}});
        if (!first) r.field(",");
        r.field("{\"name\":\"%s\",", name.c_str());
        report_memory(r, name, m);
        r.field("}");
        first = false;
    }
    r.field("]}");
}

void run(const Options &o) {
    Report r(o);
    report_head(r);
    std::vector<std::pair<std::string, Memory>> memory;
    for (size_t i = 0; i < o.files.size(); i++) {
        Corpus c = load(o.files[i]);
        if (c.bodies.empty()) continue;
        report_corpus(r, c, i == 0);
        r.field(",");
        memory.push_back({c.name, memory_of(c.bodies)});
        const Memory &m = memory.back().second;
        r.field("\"memory\":{\"pooled\":%.4f,\"median\":%.4f,\"worst\":%.4f,\"refused\":%zu}}",
                m.pooled, m.median, m.worst, m.refused);
    }
    (void)memory;
    report_hostile(r);
}

}  // namespace
}  // namespace bench

int main(int argc, char **argv) {
    (void)argc; (void)argv;
}
