// simdjson: its DOM, the baseline of all ratios, and its On-Demand mode reading the strings of the
// conversation. On-Demand is inlined code, so this file is compiled for the machine it runs on; the
// DOM is dispatched inside the library.
#include <simdjson.h>

#include <memory>
#include <string_view>

#include "bench.h"

#define NAME_OF_TEXT(x) #x
#define NAME_OF(x) NAME_OF_TEXT(x)

namespace bench {
namespace {

using namespace simdjson;

// The strings of one value and of everything below it. Raw: where a string stands and how long it
// is, escapes as they are, which is what paucis keeps. Decoded: as a program would use it.
template <bool decoded>
error_code touch_string(ondemand::value &v, size_t &total) {
    if constexpr (decoded) {
        std::string_view s;
        if (auto err = v.get_string().get(s)) return err;
        total += s.size();
    } else {
        total += v.raw_json_token().size();
    }
    return SUCCESS;
}

template <bool decoded>
error_code touch_all(ondemand::value v, size_t &total) {
    ondemand::json_type type;
    if (auto err = v.type().get(type)) return err;
    if (type == ondemand::json_type::string) return touch_string<decoded>(v, total);
    if (type == ondemand::json_type::array) {
        ondemand::array list;
        if (auto err = v.get_array().get(list)) return err;
        for (auto element : list) {
            ondemand::value e;
            if (auto err = element.get(e)) return err;
            if (auto err = touch_all<decoded>(e, total)) return err;
        }
    } else if (type == ondemand::json_type::object) {
        ondemand::object members;
        if (auto err = v.get_object().get(members)) return err;
        for (auto member : members) {
            ondemand::value e;
            if (auto err = member.value().get(e)) return err;
            if (auto err = touch_all<decoded>(e, total)) return err;
        }
    }
    return SUCCESS;
}

// The conversation and what stands in front of it; tools and settings are skipped.
bool is_conversation(std::string_view key) {
    return key == "messages" || key == "input" || key == "system" || key == "instructions" ||
           key == "contents" || key == "systemInstruction";
}

template <bool decoded>
error_code read_conversation(ondemand::parser &parser, const Body &b) {
    ondemand::document doc;
    ondemand::object top;
    size_t total = 0;
    if (auto err = parser.iterate(b.at, b.len, b.len + kPadding).get(doc)) return err;
    if (auto err = doc.get_object().get(top)) return err;
    for (auto member : top) {
        std::string_view key;
        ondemand::value v;
        if (auto err = member.unescaped_key().get(key)) return err;
        if (auto err = member.value().get(v)) return err;
        if (!is_conversation(key)) continue;
        if (auto err = touch_all<decoded>(v, total)) return err;
    }
    sink = sink + total;
    return SUCCESS;
}

} // namespace

void add_simdjson(Rows &rows) {
    auto dom = std::make_shared<dom::parser>();
    rows.add(kBaseline, [dom](const Body &b) {
        dom::element root;
        bool ok = dom->parse(b.at, b.len, false).get(root) == SUCCESS;
        sink = sink + (ok && root.is_object());
        return ok;
    });
    auto raw = std::make_shared<ondemand::parser>();
    rows.add("simdjson On-Demand, raw strings",
             [raw](const Body &b) { return read_conversation<false>(*raw, b) == SUCCESS; });
    auto decoded = std::make_shared<ondemand::parser>();
    rows.add("simdjson On-Demand, decoded",
             [decoded](const Body &b) { return read_conversation<true>(*decoded, b) == SUCCESS; });
}

std::vector<std::string> versions_simdjson() {
    std::string version = std::to_string(SIMDJSON_VERSION_MAJOR) + "." +
                          std::to_string(SIMDJSON_VERSION_MINOR) + "." +
                          std::to_string(SIMDJSON_VERSION_REVISION);
    return {"simdjson " + version + ", DOM by its " + get_active_implementation()->name() +
            " code, On-Demand compiled as " NAME_OF(SIMDJSON_BUILTIN_IMPLEMENTATION)};
}

} // namespace bench
