// The C libraries most programs use, and memcpy, which is the limit for anything that writes its
// output into another buffer.
#include <cjson/cJSON.h>
#include <jansson.h>

#include <cstring>
#include <memory>

#include "bench.h"

namespace bench {

void add_plain_c(Rows &rows) {
    auto copy = std::make_shared<std::vector<char>>(rows.largest);
    rows.add("memcpy", [copy](const Body &b) {
        memcpy(copy->data(), b.at, b.len);
        sink = sink + static_cast<unsigned char>((*copy)[b.len / 2]);
        return true;
    });
    rows.add("jansson", [](const Body &b) {
        json_error_t error;
        json_t *root = json_loadb(b.at, b.len, JSON_ALLOW_NUL, &error);
        json_decref(root); // NULL is fine
        return root != nullptr;
    });
    rows.add("cJSON", [](const Body &b) {
        cJSON *root = cJSON_ParseWithLength(b.at, b.len);
        cJSON_Delete(root); // NULL is fine
        return root != nullptr;
    });
}

std::vector<std::string> versions_plain_c() {
    return {"jansson " JANSSON_VERSION, std::string("cJSON ") + cJSON_Version()};
}

} // namespace bench
