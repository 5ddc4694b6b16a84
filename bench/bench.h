// What the benchmark's files share: bodies, and rows of the table. A row is a name and a function
// that takes one body; a new competitor or a new way to call paucis is one more add() in one
// rows_*.cpp. Rows of another process (rows_node.cpp) do a whole pass at a time and keep their own
// clock.
#ifndef PAUCIS_BENCH_H
#define PAUCIS_BENCH_H

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace bench {

// Zero bytes behind every body: simdjson reads past the end, RapidJSON in situ needs a terminator.
constexpr size_t kPadding = 64;

struct Body {
    const char *at;
    size_t len;
};

struct Row {
    std::string name;
    std::function<bool(const Body &)> run;               // false: this body was not accepted
    std::function<std::vector<double>()> pass = nullptr; // instead of run: seconds for each body
};

struct Rows {
    size_t largest; // body, so that buffers are made once and outside the clock
    std::vector<Row> list;

    void add(std::string name, std::function<bool(const Body &)> run) {
        list.push_back({std::move(name), std::move(run), nullptr});
    }
};

// Each adds its rows; buffers and parsers live in the rows and are reused from body to body.
void add_paucis(Rows &rows);
void add_simdjson(Rows &rows);
void add_rapidjson(Rows &rows);
void add_plain_c(Rows &rows);
void add_tree(Rows &rows);
// Rows of a script for node that reads the same file; returns the versions it names.
std::vector<std::string> add_node(Rows &rows, const std::string &script, const std::string &file);

constexpr const char *kBaseline = "simdjson DOM"; // ratios are to this row
constexpr const char *kClassic = "paucis -p classic";
constexpr const char *kTree = "tree: RapidJSON in situ, edit, write";
constexpr const char *kPeers[] = {"node: @langchain/core trimMessages", "node: ai pruneMessages"};

// Is this row the classic pipeline or one that it has a goal against?
inline bool is_goal(const std::string &name) {
    return name == kClassic || name == kBaseline || name == kTree || name == kPeers[0] ||
           name == kPeers[1];
}

// Name and version of everything compared, one line each.
std::vector<std::string> versions_paucis();
std::vector<std::string> versions_simdjson();
std::vector<std::string> versions_rapidjson();
std::vector<std::string> versions_plain_c();

// Memory beside the body and the output, in bytes, that a fresh paucis context needs for it under a
// policy; 0 if it is refused.
size_t paucis_memory(const Body &body, const char *policy);

// What -p classic makes of a body, and whether the tree's pipeline makes the same JSON of it.
std::string paucis_classic(const Body &body);
bool tree_agrees(const Body &body, const std::string &paucis);

// What a row found must not be optimised away.
extern volatile size_t sink;

} // namespace bench

#endif
