// The classic pipeline the conventional way, as a yardstick: the body parsed in situ into a
// RapidJSON tree, thinking_prune, dedup, lingua and pairing on the tree, the tree serialised into a
// buffer that is kept. It is tuned as one would tune it: one pool, one output buffer and one hash
// table for all bodies, SSE4.2 in parser and writer, strings hashed by XXH3 and never copied.
//
// It reads messages of openai-chat and anthropic and items of openai-responses, and decides as
// paucis does on those, with less care: validity rules are not checked (no unit is frozen), UTF-8
// is not checked, thinking bound to its prefix is not known, a result of several texts is left
// alone. tree_agrees() says for a body whether the two results are equal as JSON.
#ifdef __SSE4_2__
#define RAPIDJSON_SSE42
#endif
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <memory>
#include <string_view>

#include "bench.h"

namespace bench {
namespace {

using rapidjson::SizeType;
using rapidjson::Value;
using Pool = rapidjson::MemoryPoolAllocator<>;
using std::string_view;

constexpr uint32_t kNone = UINT32_MAX;

enum class Role : uint8_t { system, user, assistant, tool };
enum class Kind : uint8_t { text, call, result, thinking, other };

struct Part {
    Kind kind;
    bool dropped = false;
    Value *text; // the string; null if there is none or more than one
    string_view id;
};

struct Message {
    Value *node;
    Role role;
    bool dropped = false;
    uint32_t part, nparts; // in content order, calls of openai-chat behind
};

struct Insert {
    uint32_t after; // message
    string_view id;
};

// ---- reading the tree ---------------------------------------------------------------------------

string_view text_of(const Value *v) {
    return v && v->IsString() ? string_view(v->GetString(), v->GetStringLength()) : string_view();
}

Value *member(Value &object, const char *name, size_t len) {
    Value key(rapidjson::StringRef(name, static_cast<SizeType>(len)));
    auto it = object.FindMember(key);
    return it == object.MemberEnd() ? nullptr : &it->value;
}

template <size_t n>
Value *member(Value &object, const char (&name)[n]) {
    return member(object, name, n - 1);
}

// The one text of a result: a string, or a list with one block of text.
Value *result_text(Value *content) {
    if (!content || content->IsString()) return content;
    Value *found = nullptr;
    if (!content->IsArray()) return nullptr;
    for (Value &block : content->GetArray()) {
        Value *text = block.IsObject() ? member(block, "text") : nullptr;
        if (text && found) return nullptr;
        if (text) found = text;
    }
    return found;
}

struct View {
    std::vector<Message> messages;
    std::vector<Part> parts;
    std::vector<uint32_t> order; // messages that are left
    size_t last_user = 0;        // 1 + the last message a user wrote

    void add(Kind kind, Value *text, string_view id = {}) {
        parts.push_back({kind, false, text && text->IsString() ? text : nullptr, id});
    }

    void block(Value &b) {
        string_view type = b.IsObject() ? text_of(member(b, "type")) : string_view();
        if (type == "text" || type == "output_text" || type == "input_text")
            add(Kind::text, member(b, "text"));
        else if (type == "tool_use")
            add(Kind::call, nullptr, text_of(member(b, "id")));
        else if (type == "tool_result")
            add(Kind::result, result_text(member(b, "content")), text_of(member(b, "tool_use_id")));
        else if (type == "thinking" || type == "redacted_thinking")
            add(Kind::thinking, nullptr);
        else
            add(Kind::other, nullptr);
    }

    // A message of openai-chat or anthropic, or a message item of openai-responses.
    Role message(Value &m) {
        string_view role = text_of(member(m, "role"));
        Value *content = member(m, "content");
        size_t first = parts.size();
        if (role == "tool") {
            add(Kind::result, result_text(content), text_of(member(m, "tool_call_id")));
            return Role::tool;
        }
        if (content && content->IsArray())
            for (Value &b : content->GetArray()) block(b);
        else if (content && content->IsString())
            add(Kind::text, content);
        if (role == "assistant") {
            Value *calls = member(m, "tool_calls");
            if (calls && calls->IsArray())
                for (Value &c : calls->GetArray())
                    add(Kind::call, nullptr, c.IsObject() ? text_of(member(c, "id")) : "");
            return Role::assistant;
        }
        if (role != "user") return Role::system;
        for (size_t i = first; i < parts.size(); i++)
            if (parts[i].kind != Kind::result) return Role::user;
        return first < parts.size() ? Role::tool : Role::user;
    }

    // An item of openai-responses that is no message. Reasoning without text is no message at all.
    bool item(Value &m, string_view type, Role &role) {
        role = Role::assistant;
        if (type == "function_call" || type == "custom_tool_call") {
            add(Kind::call, nullptr, text_of(member(m, "call_id")));
        } else if (type == "function_call_output" || type == "custom_tool_call_output") {
            add(Kind::result, result_text(member(m, "output")), text_of(member(m, "call_id")));
            role = Role::tool;
        } else if (type == "reasoning") {
            Value *summary = member(m, "summary");
            if (!summary || !summary->IsArray() || summary->Empty()) return false;
            add(Kind::other, nullptr);
        } else {
            add(Kind::other, nullptr);
        }
        return true;
    }

    void read(Value &list) {
        messages.clear();
        parts.clear();
        order.clear();
        last_user = 0;
        for (Value &m : list.GetArray()) {
            auto first = static_cast<uint32_t>(parts.size());
            auto index = static_cast<uint32_t>(messages.size());
            Role role = Role::system;
            bool counts = true;
            Value *type = m.IsObject() ? member(m, "type") : nullptr;
            if (type && text_of(type) != "message")
                counts = item(m, text_of(type), role);
            else if (m.IsObject())
                role = message(m);
            messages.push_back(
                {&m, role, false, first, static_cast<uint32_t>(parts.size()) - first});
            if (counts) order.push_back(index);
            if (role == Role::user) last_user = index + 1;
        }
    }
};

// ---- strategies ---------------------------------------------------------------------------------

// Strings to numbers, one table for all bodies.
struct Seen {
    struct Entry {
        uint64_t hash;
        string_view text;
        uint32_t value;
    };
    std::vector<Entry> entries;
    std::vector<uint32_t> slots;

    void start(size_t most) {
        size_t n = 16;
        while (n < most * 2) n *= 2;
        slots.assign(n, kNone);
        entries.clear();
    }
    Entry *find(string_view text, uint64_t hash, size_t &slot) {
        for (slot = hash & (slots.size() - 1); slots[slot] != kNone;
             slot = (slot + 1) & (slots.size() - 1)) {
            Entry &e = entries[slots[slot]];
            if (e.hash == hash && e.text == text) return &e;
        }
        return nullptr;
    }
    // The entry for the text; made with the value if there is none.
    Entry *get(string_view text, uint32_t value, bool add = true) {
        uint64_t hash = XXH3_64bits(text.data(), text.size());
        size_t slot;
        if (Entry *e = find(text, hash, slot)) return e;
        if (!add) return nullptr;
        slots[slot] = static_cast<uint32_t>(entries.size());
        entries.push_back({hash, text, value});
        return nullptr;
    }
};

size_t space_before(const unsigned char *s, size_t n) { // bytes of Unicode White_Space ending at n
    if (n && (s[n - 1] == ' ' || (s[n - 1] >= 9 && s[n - 1] <= 13))) return 1;
    if (n >= 2 && s[n - 2] == 0xc2 && (s[n - 1] == 0x85 || s[n - 1] == 0xa0)) return 2;
    if (n < 3 || s[n - 1] < 0x80) return 0;
    unsigned c = unsigned(s[n - 3]) << 16 | unsigned(s[n - 2]) << 8 | s[n - 1];
    bool space = c == 0xe19a80 || (c >= 0xe28080 && c <= 0xe2808a) || c == 0xe280a8 ||
                 c == 0xe280a9 || c == 0xe280af || c == 0xe2819f || c == 0xe38080;
    return space ? 3 : 0;
}

string_view trim_right(string_view s) {
    auto *p = reinterpret_cast<const unsigned char *>(s.data());
    while (size_t n = space_before(p, s.size())) s.remove_suffix(n);
    return s;
}

bool is_fence(string_view s) {
    auto *p = reinterpret_cast<const unsigned char *>(s.data());
    size_t at = 0;
    for (size_t n = 1; n && at < s.size();) {
        n = 0;
        for (size_t k = 1; k <= 3 && at + k <= s.size() && !n; k++)
            if (space_before(p + at, k) == k) n = k;
        at += n;
    }
    return s.compare(at, 3, "```") == 0;
}

bool is_noise(string_view s) {
    for (size_t i = 0; i < s.size(); i++) {
        if (strchr(".-_*=", s[i]) && s[i]) continue;
        if (s.compare(i, 3, "\xe2\x80\xa6") != 0) return false;
        i += 2;
    }
    return true;
}

// Could anything here get shorter? Errs towards yes; no branch in the loop, so it is vector code.
bool may_squeeze(string_view s) {
    auto plain = [](char c) { return static_cast<unsigned char>((c | 32) - 'a') < 26; };
    auto shown = [](char c) { return c > ' ' && c < 127; };
    if (s.size() < 3 || !plain(s[0]) || !plain(s[1]) || !shown(s.back())) return true;
    auto *p = reinterpret_cast<const unsigned char *>(s.data());
    unsigned char found = 0;
    for (size_t i = 2; i < s.size(); i++) {
        unsigned char a = p[i - 2], b = p[i - 1], c = p[i];
        unsigned char noise = (c == '.') | (c == '-') | (c == '_') | (c == '*') | (c == '=');
        found |= ((b == ' ') & (c == ' ')) | ((b == '\n') & (noise | (c == 0xe2))) |
                 ((c == '\n') & (((b <= ' ') & (b != '\n')) | (b >= 0x80))) |
                 ((a == '\n') & (b == '\n') & (c == '\n'));
    }
    return found;
}

size_t squeeze(string_view text, char *out) {
    char *to = out;
    bool code = false;
    size_t blank = 0;
    for (size_t at = 0; at < text.size();) {
        size_t lf = text.find('\n', at), len = lf == text.npos ? text.size() - at : lf - at + 1;
        string_view line = text.substr(at, len), body = line.substr(0, len - (lf != text.npos));
        at += len;
        bool fence = is_fence(body);
        if (fence || code) {
            code ^= fence;
            if (fence) blank = 0;
            to = std::copy(line.begin(), line.end(), to);
            continue;
        }
        body = trim_right(body);
        if (is_noise(body)) {
            if (blank++ == 0) *to++ = '\n';
            continue;
        }
        blank = 0;
        for (size_t i = 0; i < body.size(); i++)
            if (body[i] != ' ' || !i || body[i - 1] != ' ') *to++ = body[i];
        if (lf != text.npos) *to++ = '\n';
    }
    return static_cast<size_t>(to - out);
}

struct Pipeline {
    View view;
    Seen seen;
    std::vector<Insert> inserts;
    std::vector<uint32_t> mates;
    std::vector<char> scratch;
    Pool *pool = nullptr;
    bool edited = false; // something is dropped or inserted

    size_t limit(size_t keep) const {
        return view.order.size() > keep ? view.order.size() - keep : 0;
    }
    bool is_last(uint32_t message) const { return message + 1 == view.messages.size(); }
    Part *begin(const Message &m) { return view.parts.data() + m.part; }
    Part *end(const Message &m) { return begin(m) + m.nparts; }

    void thinking_prune() {
        size_t n = limit(4), kept = 0;
        for (size_t i = 0; i < view.order.size(); i++) {
            Message &m = view.messages[view.order[i]];
            if (i < n && m.role == Role::assistant && view.order[i] < view.last_user) {
                uint32_t left = 0;
                for (Part *p = begin(m); p < end(m); p++) {
                    p->dropped = p->kind == Kind::thinking;
                    left += !p->dropped;
                }
                edited |= left < m.nparts;
                m.dropped = m.nparts && !left;
            }
            if (!m.dropped) view.order[kept++] = view.order[i];
        }
        view.order.resize(kept);
    }

    void dedup() {
        seen.start(view.parts.size());
        for (uint32_t index : view.order) {
            Message &m = view.messages[index];
            for (Part *p = begin(m); p < end(m); p++) {
                string_view text = text_of(p->text);
                if (p->kind != Kind::result || text.size() < 256) continue;
                auto *first = seen.get(text, static_cast<uint32_t>(p - view.parts.data()));
                if (!first || is_last(index)) continue;
                std::string marker = "[DEDUP] identical to tool_call_id=";
                marker.append(view.parts[first->value].id);
                marker += " (" + std::to_string(text.size()) + " bytes)";
                p->text->SetString(marker.data(), static_cast<SizeType>(marker.size()), *pool);
            }
        }
    }

    void lingua() {
        size_t n = limit(6);
        for (size_t i = 0; i < n; i++) {
            Message &m = view.messages[view.order[i]];
            if (m.role != Role::assistant) continue;
            for (Part *p = begin(m); p < end(m); p++) {
                string_view text = text_of(p->text);
                if (p->kind != Kind::text || !may_squeeze(text)) continue;
                if (scratch.size() < text.size() + 1) scratch.resize(text.size() + 1);
                size_t len = squeeze(text, scratch.data());
                bool blank = trim_right({scratch.data(), len}).empty();
                if (len >= text.size() || blank) continue;
                char *at = static_cast<char *>(pool->Malloc(len));
                memcpy(at, scratch.data(), len);
                p->text->SetString(rapidjson::StringRef(at, static_cast<SizeType>(len)));
            }
        }
    }

    // Links: a result answers the latest call with its id that stands before it.
    void pairing() {
        seen.start(view.parts.size());
        mates.assign(view.parts.size(), kNone);
        for (uint32_t index : view.order) {
            Message &m = view.messages[index];
            uint32_t orphans = 0, live = 0;
            for (Part *p = begin(m); p < end(m); p++) {
                auto k = static_cast<uint32_t>(p - view.parts.data());
                live += !p->dropped;
                if (p->kind == Kind::call) {
                    if (auto *e = seen.get(p->id, k)) e->value = k;
                } else if (p->kind == Kind::result) {
                    auto *e = seen.get(p->id, k, false);
                    if (e) mates[e->value] = k;
                    orphans += p->dropped = !e;
                }
            }
            if (!orphans) continue;
            edited = true;
            m.dropped = orphans == live;
        }
        for (uint32_t index : view.order) {
            Message &m = view.messages[index];
            for (Part *p = begin(m); p < end(m); p++)
                if (p->kind == Kind::call && mates[p - view.parts.data()] == kNone)
                    inserts.push_back({index, p->id});
        }
        edited |= !inserts.empty();
    }

    // ---- back into the tree ----

    Value placeholder(const Message &asked, string_view id) {
        static const char text[] = "[tool result unavailable: elided by context management]";
        Value call(rapidjson::StringRef(id.data(), static_cast<SizeType>(id.size())));
        Value m(rapidjson::kObjectType);
        if (member(*asked.node, "call_id")) {
            m.AddMember("type", "function_call_output", *pool);
            m.AddMember("call_id", call, *pool).AddMember("output", text, *pool);
        } else if (member(*asked.node, "tool_calls")) {
            m.AddMember("role", "tool", *pool).AddMember("tool_call_id", call, *pool);
            m.AddMember("content", text, *pool);
        } else {
            Value part(rapidjson::kObjectType), list(rapidjson::kArrayType);
            part.AddMember("type", "tool_result", *pool).AddMember("tool_use_id", call, *pool);
            part.AddMember("content", text, *pool);
            list.PushBack(part, *pool);
            m.AddMember("role", "user", *pool).AddMember("content", list, *pool);
        }
        return m;
    }

    void drop_parts(Message &m) {
        Value *content = member(*m.node, "content");
        if (!content || !content->IsArray()) return;
        SizeType kept = 0, n = content->Size();
        for (SizeType i = 0; i < n && i < m.nparts; i++) {
            if (begin(m)[i].dropped) continue;
            if (kept != i) (*content)[kept] = (*content)[i];
            kept++;
        }
        while (content->Size() > kept) content->PopBack();
    }

    void rebuild(Value &list) {
        Value fresh(rapidjson::kArrayType);
        size_t next = 0;
        fresh.Reserve(static_cast<SizeType>(view.messages.size() + inserts.size()), *pool);
        for (uint32_t i = 0; i < view.messages.size(); i++) {
            Message &m = view.messages[i];
            if (m.dropped) continue;
            size_t first = next;
            for (Part *p = begin(m); p < end(m); p++)
                if (p->dropped) {
                    drop_parts(m);
                    break;
                }
            for (; next < inserts.size() && inserts[next].after == i; next++) continue;
            std::vector<Value> made;
            for (size_t k = first; k < next; k++) made.push_back(placeholder(m, inserts[k].id));
            fresh.PushBack(*m.node, *pool);
            for (Value &v : made) fresh.PushBack(v, *pool);
        }
        list = fresh;
    }

    bool run(rapidjson::Document &doc) {
        if (doc.HasParseError() || !doc.IsObject()) return false;
        Value *list = member(doc, "messages");
        if (!list) list = member(doc, "input");
        if (!list || !list->IsArray()) return false;
        pool = &doc.GetAllocator();
        inserts.clear();
        edited = false;
        view.read(*list);
        thinking_prune();
        dedup();
        lingua();
        pairing();
        if (edited) rebuild(*list);
        return true;
    }
};

struct Conventional {
    std::vector<char> memory, copy;
    Pool pool;
    Pipeline pipeline;
    rapidjson::StringBuffer out;

    explicit Conventional(size_t largest)
        : memory(largest * 2 + (1 << 20)),
          copy(largest + kPadding),
          pool(memory.data(), memory.size()) {}

    bool run(const Body &b) {
        pool.Clear();
        memcpy(copy.data(), b.at, b.len + 1);
        rapidjson::Document doc(&pool);
        doc.ParseInsitu(copy.data());
        if (!pipeline.run(doc)) return false;
        out.Clear();
        rapidjson::Writer<rapidjson::StringBuffer> writer(out);
        return doc.Accept(writer);
    }
};

} // namespace

void add_tree(Rows &rows) {
    auto tree = std::make_shared<Conventional>(rows.largest);
    rows.add(kTree, [tree](const Body &b) {
        bool ok = tree->run(b);
        sink = sink + tree->out.GetSize();
        return ok;
    });
}

bool tree_agrees(const Body &b, const std::string &paucis) {
    Conventional tree(b.len);
    if (!tree.run(b)) return false;
    rapidjson::Document mine, theirs;
    mine.Parse(tree.out.GetString());
    theirs.Parse(paucis.c_str());
    return mine == theirs;
}

} // namespace bench
