// RapidJSON with its SSE4.2 code on: parsing into a tree, and parsing in place in a copy of the
// body (the body itself must survive, so the copy is part of the price). One pool serves them all.
#ifdef __SSE4_2__
#define RAPIDJSON_SSE42
#endif
#include <rapidjson/document.h>

#include <cstring>
#include <memory>

#include "bench.h"

namespace bench {
namespace {

using Pool = rapidjson::MemoryPoolAllocator<>;

struct Tree {
    std::vector<char> memory, copy;
    Pool pool;

    explicit Tree(size_t largest)
        : memory(largest * 2 + (1 << 16)),
          copy(largest + kPadding),
          pool(memory.data(), memory.size()) {}

    template <typename Parse>
    bool parse(Parse run) {
        pool.Clear(); // nothing of the last body is left; the memory stays
        rapidjson::Document doc(&pool);
        run(doc);
        sink = sink + doc.IsObject();
        return !doc.HasParseError();
    }
};

} // namespace

void add_rapidjson(Rows &rows) {
    auto tree = std::make_shared<Tree>(rows.largest);
    rows.add("RapidJSON Parse", [tree](const Body &b) {
        return tree->parse([&](rapidjson::Document &doc) { doc.Parse(b.at, b.len); });
    });
    rows.add("RapidJSON ParseInsitu of a copy", [tree](const Body &b) {
        memcpy(tree->copy.data(), b.at, b.len + 1);
        return tree->parse([&](rapidjson::Document &doc) { doc.ParseInsitu(tree->copy.data()); });
    });
}

std::vector<std::string> versions_rapidjson() {
#ifdef RAPIDJSON_SSE42
    return {"RapidJSON " RAPIDJSON_VERSION_STRING ", SSE4.2"};
#else
    return {"RapidJSON " RAPIDJSON_VERSION_STRING};
#endif
}

} // namespace bench
