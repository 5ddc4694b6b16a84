/* The view: a conversation as messages and parts over the body's JSON nodes, the same for every
 * wire format. A format adapter fills it; strategies read it and change it through edit.h; the
 * checker judges it; the writer turns what changed into splices.
 *
 *   message   one element of the array (Responses: one item, with the reasoning items that carry no
 *             text counted to the item after them); a top-level system text is a message in front
 *   part      a text, a call, a result, a thinking block, media, or something unknown
 *   slot      one JSON value that holds a piece of a part's text. Most parts have one. A result
 *             made of several blocks has one for each, and its text is all of them joined in order.
 *   unit      adjacent assistant messages with all results of their calls: the smallest thing that
 *             may be dropped whole
 *
 * Everything refers to JSON nodes and to other parts by index, 0 meaning none where nodes are
 * meant. */
#ifndef PAUCIS_VIEW_H
#define PAUCIS_VIEW_H

#include "json/json.h"

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };
enum kind { PART_TEXT, PART_CALL, PART_RESULT, PART_THINKING, PART_MEDIA, PART_OPAQUE };

enum part_flags {
    PART_MAY_REPLACE = 1,  /* the format allows another text here */
    PART_MAY_DROP = 2,     /* the part is an array element and may go by itself */
    PART_OBJECT = 4,       /* call whose arguments must stay a JSON object */
    PART_ERROR = 8,        /* result that says the call failed */
    PART_SEALED = 16,      /* carries a signature or encrypted data */
    PART_SERVER = 32,      /* call or result of a tool that the provider runs */
    PART_DROPPED = 64,     /* set by an edit */
    PART_OWN_ANSWER = 128, /* call that only a result of its own kind answers */
    PART_SPECIAL = 256,    /* call or result with members that have rules of their own */
    PART_MARK = 512        /* a cache mark that is a block of its own */
};

struct part {
    uint32_t node;     /* the block in its array, or the value itself where there is no block */
    uint32_t id, name; /* string nodes; a result's id is that of its call */
    uint32_t slot;     /* first slot */
    uint32_t nslots;
    uint32_t mate; /* index of the answering result, or of the answered call; NO_INDEX if none */
    uint32_t same; /* the body's first call with this id, before it or itself; NO_INDEX if none */
    uint32_t edit; /* the edit that replaced the text last, NO_INDEX if none */
    uint32_t message;
    uint16_t flags;
    uint8_t kind;
};

struct slot {
    uint32_t node; /* a string; for call arguments also an object */
    uint32_t host; /* the array element that goes if this slot's text moves elsewhere; 0: the string
                      stays and becomes empty */
};

enum message_flags {
    MESSAGE_TOP = 1,      /* stands outside the array: a top-level system text */
    MESSAGE_FROZEN = 2,   /* on a unit's first message: nothing in this unit is edited */
    MESSAGE_INSERTED = 4, /* not in the body */
    MESSAGE_DROPPED = 8,
    MESSAGE_TOUCHED = 16 /* on a unit's first message: there is an edit in this unit */
};

struct message {
    uint32_t node, last; /* first and last array element, equal but for Responses; if inserted: 0
                            and the body's message ahead */
    uint32_t part, nparts;
    uint32_t live;       /* parts not dropped */
    uint32_t unit, next; /* the unit's first message; its next one after this, or NO_INDEX */
    uint32_t insert;     /* the message inserted after this one, or NO_INDEX */
    uint8_t role, flags;
};

#define NO_INDEX UINT32_MAX

struct format;

struct why {
    const char *strategy, *reason; /* static texts: who wanted an edit, and why */
};

enum edit_op { EDIT_REPLACE, EDIT_DROP, EDIT_DROP_MESSAGE, EDIT_INSERT };

struct edit { /* one change, see edit.h */
    struct why why;
    enum edit_op op;
    uint32_t message, part; /* part NO_INDEX: the whole message */
    size_t after;           /* bytes of decoded text; before: see paucis__edit_before */
    struct span text;       /* EDIT_REPLACE and EDIT_INSERT; in the arena or static */
    struct span quoted;     /* the same as JSON spells it, if that is known; else at == NULL */
    uint32_t refers;        /* the part this text points to, NO_INDEX if none */
    uint32_t prior; /* replace: the edit before it on this part; insert: the message ahead */
    int64_t room;   /* bytes of JSON it saves; only reckoned where v->no_grow asks */
    bool undone;    /* the part has its own text back */
    bool object;    /* call: the text is the object itself, not a note for one */
};

struct view {
    struct mem *mem;
    struct arena *arena; /* texts live here until the next body */
    const struct json *j;
    const struct format *format;
    uint32_t list; /* node of the array of messages; 0 if there is none (Responses: plain input) */
    VEC(struct message) messages;
    VEC(struct part) parts;
    VEC(struct slot) slots;
    size_t standing;     /* messages in the array that are not dropped */
    size_t from_body;    /* so many messages came with the body; inserted ones follow */
    VEC(uint32_t) order; /* live messages in order: indices into messages */
    VEC(struct edit) edits;
    bool crowded; /* failed because there are more messages than PAUCIS_MAX_MESSAGES */
    bool failed;  /* memory ran out while an adapter was adding; checked once, at the end */
    struct message spare_message; /* handed out then */
    struct part spare_part;
    uint64_t seed; /* for hash tables */

    /* What may be edited (edit.h asks): */
    bool ruled;           /* the format has validity rules */
    bool results_in_user; /* results come inside user messages */
    bool locked;          /* the provider compares the body with one it has seen: no edit at all */
    bool model_elsewhere; /* no model in the body, and it may be one that binds thinking */
    bool bound;           /* thinking is only valid behind the prefix it was made with */
    bool strict;          /* and the client wants to be told if it is not: none may go */
    bool clears_results;  /* the request asks the provider to clear old results itself */
    bool folded;          /* edits come from the stable policy, which keeps what was once sent: new
                             results may be shortened, and bound thinking may go behind a cut */
    bool mending;         /* broken units are being repaired: they are not frozen */
    bool no_grow;         /* no edit may make the output longer than the input */
    const char *insert_user, *insert_result; /* forms of new messages, see struct format */
    int64_t room;  /* bytes of JSON the edits so far have saved, never negative with no_grow */
    uint32_t loop; /* last message a user wrote, or NO_INDEX; the current tool loop is behind it */
    uint32_t thought; /* last message with bound thinking, or NO_INDEX; see paucis__edit_settle */
};

/* ---- for adapters -------------------------------------------------------------------------- */

/* Each adds to what was added last: a part to the last message, a slot to the last part. The
 * pointer is good until the next call. When memory runs out they set v->failed and hand out a
 * spare. */
struct message *paucis__view_message(struct view *v, enum role role, size_t node);
struct part *paucis__view_part(struct view *v, enum kind kind, size_t node, unsigned flags);
void paucis__view_slot(struct view *v, size_t node, size_t host);
/* A slot for every string leaf below node (objects and arrays are walked), in order. */
void paucis__view_leaves(struct view *v, size_t node);

/* After an adapter has read everything: pairs calls with results, gives messages whose parts are
 * all results the role TOOL, and forms units. */
paucis_err paucis__view_link(struct view *v);

void paucis__view_clear(struct view *v); /* for the next body; keeps memory */
void paucis__view_free(struct view *v);

/* ---- for everyone -------------------------------------------------------------------------- */

static inline struct message *view_message(const struct view *v, size_t i) {
    return &v->messages.at[i];
}
static inline struct part *view_part(const struct view *v, size_t i) { return &v->parts.at[i]; }

/* Parts of message m that have not been dropped: for (VIEW_EACH_PART(v, p, m)) */
#define VIEW_EACH_PART(v, p, m)                                            \
    size_t p = paucis__view_live((v), (m)->part, (m)->part + (m)->nparts), \
           p##_end = (m)->part + (m)->nparts;                              \
    p < p##_end;                                                           \
    p = paucis__view_live((v), p + 1, p##_end)

static inline size_t paucis__view_live(const struct view *v, size_t p, size_t end) {
    while (p < end && (v->parts.at[p].flags & PART_DROPPED)) p++;
    return p;
}

static inline bool view_is_frozen(const struct view *v, const struct message *m) {
    return view_message(v, m->unit)->flags & MESSAGE_FROZEN;
}
static inline void view_freeze(const struct view *v, size_t message) {
    view_message(v, view_message(v, message)->unit)->flags |= MESSAGE_FROZEN;
}

/* The part's text as it is now: decoded, blocks joined; for call arguments that are an object,
 * their JSON. Points into the body where nothing had to be decoded, else into the arena. */
paucis_err paucis__view_text(struct view *v, size_t part, struct span *text);
/* The same for those who look at lines: the blocks of a result are joined by newlines. */
paucis_err paucis__view_lines(struct view *v, size_t part, struct span *text);
/* And as it came, whatever was done to it. */
paucis_err paucis__view_original(struct view *v, size_t part, struct span *text);
/* Its length, without decoding. */
size_t paucis__view_text_len(const struct view *v, size_t part);

size_t paucis__view_original_len(const struct view *v, size_t part); /* of the text it came with */

/* The body's own bytes, if they are the part's text as JSON would quote it, as nearly always; else
 * at == NULL. */
struct span paucis__view_quoted(const struct view *v, size_t part);

/* Bytes that are equal for two parts iff their texts are: the text as JSON would quote it. Where
 * the body spells it that way already, these are the body's own bytes. */
paucis_err paucis__view_key(struct view *v, size_t part, struct span *key);
/* The same for a text that is no part's own. */
paucis_err paucis__view_quote(struct view *v, struct span text, struct span *key);

/* A text that is quoted, decoded into the arena; at == NULL if memory ran out. */
struct span paucis__view_unquoted(struct view *v, struct span quoted);

/* A string node decoded; at == NULL only if memory ran out. Node 0 gives the empty text. */
struct span paucis__view_string(struct view *v, size_t node);

/* Its length, without decoding. */
size_t paucis__view_string_len(const struct view *v, size_t node);

/* The classic estimate of the whole: 2/7 of a token a byte of text, 8 a message. */
uint64_t paucis__count_tokens(const struct view *v);

/* Do two string nodes say the same? */
bool paucis__view_same_string(struct view *v, size_t a, size_t b);

const char *paucis__role_name(enum role r);
const char *paucis__kind_name(enum kind k);

#endif
