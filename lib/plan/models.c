/* See models.h. */
#include "plan/models.h"

#include "core/chars.h"
#include "format/format.h"
#include "plan/check.h"
#include "stable/price.h"

static const struct model models[] = {
#define MODEL(name, window, price, tokenizer, bound) {name, window, price, tokenizer, bound},
#define FORMAT(name, window, price)
#include "plan/models.def"
#undef MODEL
#undef FORMAT
};

#define MODEL_COUNT (sizeof models / sizeof *models)

#define CLAUDE "claude-"

/* Names are compared without regard to case, and with one mark for the separators in use. */
static char plain(char c) { return c == '.' || c == '_' ? '-' : to_lower(c); }

static bool starts_with(struct span s, const char *word) {
    size_t n = strlen(word);
    if (s.len < n) return false;
    for (size_t i = 0; i < n; i++)
        if (plain(s.at[i]) != word[i]) return false;
    return true;
}

/* The name from "claude-" on; empty if it is another model. */
static struct span claude_name(struct span s) {
    while (s.len && !starts_with(s, CLAUDE)) s = span_of(s.at + 1, s.len - 1);
    return s;
}

/* A number of one or two digits at s.at[*i] between separators, or -1; more digits are a date. */
static int short_number(struct span s, size_t *i) {
    int n = 0;
    size_t from = *i;
    while (*i < s.len && is_digit(s.at[*i])) {
        if (*i - from < 2) n = n * 10 + (s.at[*i] - '0');
        ++*i;
    }
    return *i - from == 1 || *i - from == 2 ? n : -1;
}

/* The version is the first number in the name, with the number right behind it: opus-4-5-20251101
 * is 4.5, 3-7-sonnet is 3.7, sonnet-4-20250514 is 4.0. */
static bool is_newer_than_5(struct span name) {
    size_t i = sizeof CLAUDE - 1;
    while (i < name.len && !is_digit(name.at[i])) i++;
    if (i == name.len) return true;
    int major = short_number(name, &i), minor = 0;
    if (i + 1 < name.len && plain(name.at[i]) == '-' && is_digit(name.at[i + 1])) {
        i++;
        minor = short_number(name, &i);
    }
    return major < 0 || major > 5 || (major == 5 && minor > 0);
}

bool paucis__model_is_bound(struct span name) {
    name = claude_name(name);
    if (!name.len) return false;
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        size_t n = strlen(models[i].name);
        bool fits = starts_with(name, models[i].name) && (name.len == n || !is_digit(name.at[n]));
        if (fits && models[i].bound != BY_VERSION) return models[i].bound == BOUND;
    }
    return is_newer_than_5(name);
}

/* Names begin at the start or behind a vendor's prefix: "openai/gpt-5", "us.anthropic.claude-...",
 * "ft:gpt-4.1-...". */
const struct model *paucis__model_named(struct span name) {
    for (bool start = true; name.len; name = span_of(name.at + 1, name.len - 1)) {
        for (size_t i = 0; start && i < MODEL_COUNT; i++)
            if (starts_with(name, models[i].name)) return &models[i];
        start = *name.at == '/' || *name.at == '.' || *name.at == ':';
    }
    return NULL;
}

static size_t get(const struct json *j, size_t object, const char *key) {
    return object ? paucis__json_get(j, object, key, strlen(key)) : 0;
}

static size_t string_or_none(const struct json *j, size_t i) {
    return i && json_is_string(j, i) ? i : 0;
}

struct span paucis__body_model(struct view *v) {
    const struct json *j = v->j;
    size_t model = string_or_none(j, json_get(j, 0, "model"));
    if (!model) model = string_or_none(j, json_get(j, 0, "modelId"));
    struct span name = paucis__view_string(v, model);
    if (!name.at) v->failed = true;
    return name.at ? name : SPAN("");
}

/* By the model, else by the format. */
static const struct model *model_of(struct view *v) {
    static const struct model rows[] = {
#define MODEL(name, window, price, tokenizer, bound)
#define FORMAT(name, window, price) {name, window, price, NULL, FREE},
#include "plan/models.def"
    };
    const struct model *row = rows, *named = paucis__model_named(paucis__body_model(v));
    while (*row->name && strcmp(row->name, v->format->name) != 0) row++;
    return named ? named : row;
}

/* The most a request to this model may have: its window less what the answer may take. */
uint64_t paucis__body_window(struct view *v) {
    static const char *const reserves[] = {"max_tokens", "max_completion_tokens",
                                           "max_output_tokens"};
    uint64_t window = model_of(v)->window, reserved = 0;
    for (size_t i = 0; i < sizeof reserves / sizeof *reserves; i++) {
        size_t n = paucis__json_get(v->j, 0, reserves[i], strlen(reserves[i]));
        struct span digits = n ? json_raw(v->j, n) : SPAN("");
        for (size_t k = 0; k < digits.len && k < 9 && is_digit(digits.at[k]); k++)
            reserved =
                k ? reserved * 10 + (uint64_t)(digits.at[k] - '0') : (uint64_t)(digits.at[k] - '0');
    }
    if (!reserved || reserved > window / 2) reserved = window / 8;
    return window - reserved;
}

const paucis_price *paucis__body_price(struct view *v) {
    return paucis__price_named(model_of(v)->price);
}

bool paucis__check_is_bound(struct view *v) {
    const struct json *j = v->j;
    size_t thinking = json_get(j, 0, "thinking");
    if (!thinking) thinking = get(j, json_get(j, 0, "additionalModelRequestFields"), "thinking");
    size_t wish = get(j, get(j, thinking, "block_binding"), "prefix_mismatch_behavior");
    v->strict = string_or_none(j, wish) && json_is(j, wish, "error");
    if (v->strict) return true;
    if (string_or_none(j, wish) && json_is(j, wish, "drop_block")) return false;
    struct span name = paucis__body_model(v);
    if (!name.len) return v->model_elsewhere; /* wrongly saying no would cost the request */
    return paucis__model_is_bound(name);
}
