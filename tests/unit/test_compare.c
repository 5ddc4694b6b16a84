/* The rules that are seen only by comparing two bodies. Most cases are one body and one change. */
#include "format/format.h"
#include "plan/check.h"
#include "plan/models.h"
#include "support.h"
#include "test.h"

/* ---- bodies, with ' for " ------------------------------------------------------------------ */

#define CHAT                                                                              \
    "{'model':'m','messages':[{'role':'system','content':'sys'},"                         \
    "{'role':'user','content':[{'type':'text','text':'q1'},"                              \
    "{'type':'text','text':'q1b','cache_control':{'type':'ephemeral'}}]},"                \
    "{'role':'assistant','content':null,'reasoning_content':'r1','tool_calls':["          \
    "{'id':'c1','type':'function','function':{'name':'ls','arguments':'{}'},"             \
    "'extra_content':{'google':{'thought_signature':'S'}}},"                              \
    "{'id':'c2','type':'function','function':{'name':'ls','arguments':'{}'}}]},"          \
    "{'role':'tool','tool_call_id':'c1','content':'one'},"                                \
    "{'role':'tool','tool_call_id':'c2','content':'two'},"                                \
    "{'role':'assistant','content':'done','reasoning_details':[{'type':'reasoning.text'," \
    "'text':'t','signature':'s'}]},{'role':'user','content':'q2'}]}"

#define ANTHROPIC(model)                                                                          \
    "{'model':'" model                                                                            \
    "','max_tokens':9,'system':[{'type':'text','text':'sys'}],"                                   \
    "'tools':[{'name':'ls','input_schema':{'type':'object'}}],'messages':["                       \
    "{'role':'user','content':'q1'},{'role':'assistant','content':["                              \
    "{'type':'thinking','thinking':'','signature':'S1'},"                                         \
    "{'type':'server_tool_use','id':'srvtoolu_1','name':'web_search','input':{'query':'x'}},"     \
    "{'type':'web_search_tool_result','tool_use_id':'srvtoolu_1','content':["                     \
    "{'type':'web_search_result','url':'u','title':'t','encrypted_content':'E1'},"                \
    "{'type':'web_search_result','url':'v','title':'t','encrypted_content':'E2'}]},"              \
    "{'type':'text','text':'found','citations':[{'type':'web_search_result_location',"            \
    "'url':'u','encrypted_index':'I1'}]},"                                                        \
    "{'type':'tool_use','id':'t1','name':'ls','input':{'path':'a'}}]},"                           \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t1',"                         \
    "'content':[{'type':'text','text':'one','cache_control':{'type':'ephemeral'}},"               \
    "{'type':'image','source':{'type':'base64','media_type':'image/png','data':'iV'}}]}]},"       \
    "{'role':'assistant','content':[{'type':'fallback','from':{'model':'a'},'to':{'model':'b'}}," \
    "{'type':'thinking','thinking':'hm','signature':'S2'},"                                       \
    "{'type':'tool_use','id':'t2','name':'ls','input':{'path':'b'}}]},"                           \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t2','content':'two'}]},"      \
    "{'role':'assistant','content':[{'type':'thinking','thinking':'ah','signature':'S3'},"        \
    "{'type':'redacted_thinking','data':'D3'},"                                                   \
    "{'type':'tool_use','id':'t3','name':'ls','input':{'path':'c'}}]},"                           \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t3','content':'three'}]}]}"
#define FREE_MODEL "claude-opus-5"
#define BOUND_MODEL "claude-fable-5-1"

#define RESPONSES                                                                          \
    "{'model':'m','store':false,'instructions':'sys','input':["                            \
    "{'type':'compaction','encrypted_content':'K'},"                                       \
    "{'type':'message','role':'user','content':[{'type':'input_text','text':'q1'}]},"      \
    "{'type':'reasoning','id':'rs_1','summary':[],'encrypted_content':'E1'},"              \
    "{'type':'function_call','id':'fc_1','call_id':'c1','name':'ls','arguments':'{}'},"    \
    "{'type':'function_call_output','call_id':'c1','output':'one'},"                       \
    "{'type':'reasoning','id':'rs_2','summary':[{'type':'summary_text','text':'s'}],"      \
    "'encrypted_content':'E2'},"                                                           \
    "{'type':'message','role':'assistant','id':'msg_2','phase':'final_answer','content':[" \
    "{'type':'output_text','text':'done','annotations':[]}]},"                             \
    "{'type':'program','id':'p1','call_id':'c2','code':'x','fingerprint':'F'},"            \
    "{'type':'program_output','call_id':'c2','result':'y','status':'completed'},"          \
    "{'type':'message','role':'user','content':[{'type':'input_text','text':'q2'}]}]}"

#define GEMINI                                                                                \
    "{'contents':[{'role':'user','parts':[{'text':'q1'}]},"                                   \
    "{'role':'model','parts':[{'functionCall':{'name':'ls','args':{'p':'a'}},"                \
    "'thoughtSignature':'G1'},{'functionCall':{'name':'ls','args':{'p':'b'}}}]},"             \
    "{'role':'user','parts':[{'functionResponse':{'name':'ls','response':{'output':'one'}}}," \
    "{'functionResponse':{'name':'ls','response':{'output':'two'}}}]},"                       \
    "{'role':'model','parts':[{'text':'done','thoughtSignature':'G2'}]},"                     \
    "{'role':'user','parts':[{'text':'q2'}]},"                                                \
    "{'role':'model','parts':[{'functionCall':{'id':'g3','name':'ls','args':{'p':'c'}},"      \
    "'thoughtSignature':'G3'}]},"                                                             \
    "{'role':'user','parts':[{'functionResponse':{'id':'g3','name':'ls',"                     \
    "'response':{'output':'three'}}}]}]}"

#define BEDROCK                                                                                 \
    "{'modelId':'us.anthropic.claude-opus-5-5-20260901-v1:0','system':[{'text':'sys'}],"        \
    "'toolConfig':{'tools':[{'toolSpec':{'name':'ls'}}]},'messages':["                          \
    "{'role':'user','content':[{'text':'q1'},{'cachePoint':{'type':'default'}}]},"              \
    "{'role':'assistant','content':[{'reasoningContent':{'reasoningText':{'text':'r1',"         \
    "'signature':'S1'}}},{'toolUse':{'toolUseId':'t1','name':'ls','input':{}}}]},"              \
    "{'role':'user','content':[{'toolResult':{'toolUseId':'t1','content':[{'text':'one'}]}}]}," \
    "{'role':'assistant','content':[{'reasoningContent':{'reasoningText':{'text':'r2',"         \
    "'signature':'S2'}}},{'toolUse':{'toolUseId':'t2','name':'ls','input':{}}}]},"              \
    "{'role':'user','content':[{'toolResult':{'toolUseId':'t2','content':[{'text':'two'}]}}]}]}"

/* A body as sent, and the next one: the reply to it and the results of its calls. */
#define SENT                                                                                 \
    "{'model':'claude-opus-5-5','max_tokens':9,'system':'sys','messages':["                  \
    "{'role':'user','content':'q1'},"                                                        \
    "{'role':'assistant','content':[{'type':'thinking','thinking':'','signature':'S1'},"     \
    "{'type':'tool_use','id':'t1','name':'ls','input':{'a':1,'b':2}}]},"                     \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t1','content':'one'}]}," \
    "{'role':'assistant','content':[{'type':'thinking','thinking':'','signature':'S2'},"     \
    "{'type':'tool_use','id':'t2','name':'ls','input':{}}]},"                                \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t2','content':'two',"    \
    "'cache_control':{'type':'ephemeral'}}]}]}"
#define NEXT                                                                                 \
    "{'model':'claude-opus-5-5','max_tokens':99,'system':[{'type':'text','text':'sys'}],"    \
    "'messages':[{'role':'user','content':[{'type':'text','text':'q1'}]},"                   \
    "{'role':'assistant','content':[{'type':'thinking','thinking':'','signature':'S1'},"     \
    "{'type':'tool_use','id':'t1','name':'ls','input':{'b':2,'a':1}}]},"                     \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t1','content':'one'}]}," \
    "{'role':'assistant','content':[{'type':'thinking','thinking':'','signature':'S2'},"     \
    "{'type':'tool_use','id':'t2','name':'ls','input':{}}]},"                                \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t2','content':'two'}]}," \
    "{'role':'assistant','content':[{'type':'text','text':'so'},"                            \
    "{'type':'thinking','thinking':'','signature':'S3'},"                                    \
    "{'type':'tool_use','id':'t3','name':'ls','input':{}}]},"                                \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t3','content':'three',"  \
    "'cache_control':{'type':'ephemeral'}}]}]}"

/* ---- one case ------------------------------------------------------------------------------ */

#define MAX_CHANGES 3

struct change {
    const char *find, *put; /* each place of `find`, which must be there */
};

struct row {
    const char *rules; /* expected, in the order of their places, "" for none */
    struct change change[MAX_CHANGES];
};

static struct bytes changed(const char *text, const struct change *c) {
    struct bytes b = bytes_copy(text, strlen(text));
    for (const struct change *end = c ? c + MAX_CHANGES : c; c != end && c->find; c++) {
        size_t find = strlen(c->find), put = strlen(c->put), hits = 0;
        struct bytes out = {must_malloc(b.len * (put + 1) + 1), 0};
        for (size_t i = 0; i < b.len;) {
            bool hit = b.len - i >= find && !memcmp(b.at + i, c->find, find);
            memcpy(out.at + out.len, hit ? c->put : b.at + i, hit ? put : 1);
            out.len += hit ? put : 1;
            i += hit ? find : 1;
            hits += hit;
        }
        TEST_NOTE("%s", c->find);
        CHECK(hits > 0);
        bytes_free(&b);
        b = bytes_copy(out.at, out.len);
        bytes_free(&out);
    }
    for (size_t i = 0; i < b.len; i++)
        if (b.at[i] == '\'') b.at[i] = '"';
    return b;
}

typedef paucis_err compare_fn(struct check *c, struct view *other);

/* The rules that comparing reports, joined by blanks. */
static void compare(compare_fn *fn, struct bytes old, struct bytes now, char *rules, size_t size) {
    struct opened a, b;
    struct check c = {0};
    rules[0] = 0;
    if (CHECK_EQ(opened_read(&b, now.at, now.len, NULL), PAUCIS_OK) &&
        CHECK_EQ(opened_read(&a, old.at, old.len, b.view.format->name), PAUCIS_OK)) {
        a.view.seed = b.view.seed;
        c.v = &b.view;
        CHECK_EQ(fn(&c, &a.view), PAUCIS_OK);
        paucis__check_sort(&c);
        for (size_t i = 0, n = 0; i < c.breaks.count && n < size; i++)
            n += (size_t)snprintf(rules + n, size - n, "%s%s", i ? " " : "", c.breaks.at[i].rule);
        VEC_FREE(&b.mem, c.breaks);
        opened_free(&a);
    }
    opened_free(&b);
}

static void run(compare_fn *fn, const char *old_text, const char *now_text, const struct row *rows,
                size_t n) {
    struct bytes old = changed(old_text, NULL);
    for (size_t i = 0; i < n; i++) {
        struct bytes now = changed(now_text, rows[i].change);
        char rules[1000];
        const struct change *c = rows[i].change;
        TEST_NOTE("%s -> %s", c->find ? c->find : "as it is", c->find ? c->put : "");
        compare(fn, old, now, rules, sizeof rules);
        CHECK_STR(rules, rows[i].rules);
        bytes_free(&now);
    }
    bytes_free(&old);
}

#define RUN(fn, old, now, ...)                           \
    run(fn, old, now, (const struct row[]){__VA_ARGS__}, \
        sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))
#define BEFORE(text, ...) RUN(paucis__check_before, text, text, __VA_ARGS__)

/* ---- before compaction --------------------------------------------------------------------- */

static void chat(void) {
    BEFORE(CHAT, {"", {{0}}},
           /* legal: shorter texts, other arguments, a unit gone */
           {"", {{"'one'", "'[cut]'"}, {"'arguments':'{}'", "'arguments':'{\\\"n\\\":1}'"}}},
           {"", {{"'done'", "'[cut]'"}, {"'q1'", "'\\u0071'"}}},
           {"",
            {{",{'role':'assistant','content':'done','reasoning_details':[{'type':"
              "'reasoning.text','text':'t','signature':'s'}]}",
              ""}}},
           {"",
            {{"{'role':'user','content':'q2'}",
              "{'role':'user','content':'[note]'},{'role':'user','content':'q2'}"}}},
           {"", {{"'reasoning_content':'r1'", "'reasoning_content':'r'"}}},
           /* not legal */
           {"A-R10 A-R10", {{"'c2'", "'c9'"}}}, {"A-R11", {{"'reasoning_content':'r1',", ""}}},
           {"A-R12", {{"'thought_signature':'S'", "'thought_signature':'T'"}}},
           {"A-R12", {{",'extra_content':{'google':{'thought_signature':'S'}}", ""}}},
           {"A-R12", {{"'signature':'s'", "'signature':'x'"}}},
           {"G3", {{"'content':'done'", "'content':'done','x':1"}}},
           {"G3", {{"'id':'c2'", "'id':'c2','x':1"}}},
           {"G6", {{"'role':'system'", "'role':'developer'"}}},
           {"G6", {{"'role':'user','content':'q2'", "'role':'assistant','content':'q2'"}}},
           {"G6",
            {{"'c1','content':'one'", "'cX','content':'one'"},
             {"'c2','content':'two'", "'c1','content':'one'"},
             {"'cX','content':'one'", "'c2','content':'two'"}}},
           {"G13", {{",'cache_control':{'type':'ephemeral'}", ""}}},
           {"G13", {{"'text':'q1'", "'text':'q1','cache_control':{'type':'ephemeral'}"}}});
}

static void anthropic(void) {
    BEFORE(
        ANTHROPIC(FREE_MODEL), {"", {{0}}},
        {"", {{"'two'", "'[cut]'"}, {"{'path':'b'}", "{'_note':'x'}"}}},
        {"",
         {{"{'type':'image','source':{'type':'base64','media_type':'image/png','data':'iV'}}",
           "{'type':'text','text':'[image]'}"}}},
        {"", {{"{'type':'thinking','thinking':'hm','signature':'S2'},", ""}}},
        {"",
         {{"{'type':'thinking','thinking':'ah','signature':'S3'},", ""},
          {"{'type':'redacted_thinking','data':'D3'},", ""}}},
        {"", {{"'thinking':'','signature':'S1'", "'thinking':'filled','signature':'S1'"}}},
        {"B-R13", {{"'S3'", "'S9'"}}}, {"B-R13", {{"'thinking':'ah'", "'thinking':'a'"}}},
        {"B-R13", {{"'D3'", "'D9'"}}},
        {"B-R13", {{"{'type':'redacted_thinking','data':'D3'},", ""}}},
        {"B-R14", {{"'S1'", "'S9'"}}}, {"B-R14", {{"'thinking':'hm'", "'thinking':'h'"}}},
        {"B-R14",
         {{"{'type':'tool_use','id':'t2'",
           "{'type':'thinking','thinking':'','signature':'S9'},"
           "{'type':'tool_use','id':'t2'"}}},
        {"B-R25", {{"'E2'", "'E9'"}}},
        {"B-R25",
         {{",{'type':'web_search_result','url':'v','title':'t','encrypted_content':'E2'}", ""}}},
        {"B-R25", {{",'encrypted_index':'I1'", ""}}},
        {"B-R25",
         {{",'citations':[{'type':'web_search_result_location','url':'u',"
           "'encrypted_index':'I1'}]",
           ""}}},
        {"B-R30", {{"'to':{'model':'b'}", "'to':{'model':'c'}"}}},
        {"B-R30", {{"{'type':'fallback','from':{'model':'a'},'to':{'model':'b'}},", ""}}},
        {"G3", {{"'tool_use_id':'t2',", "'tool_use_id':'t2','x':1,"}}},
        {"G6", {{"]},{'role':'assistant','content':[{'type':'fallback'", ",{'type':'fallback'"}}},
        {"G7 G7", {{"'t2'", "'t9'"}}}, {"G13", {{",'cache_control':{'type':'ephemeral'}", ""}}},
        {"G13", {{"'two'", "'two','cache_control':{'type':'ephemeral'}"}}});
}

static void anthropic_bound(void) {
    BEFORE(ANTHROPIC(BOUND_MODEL), {"", {{0}}},
           /* a later edit, an edit with all later thinking gone, the first thinking gone */
           {"", {{"'three'", "'[cut]'"}}},
           {"",
            {{"{'type':'thinking','thinking':'ah','signature':'S3'},", ""},
             {"{'type':'redacted_thinking','data':'D3'},", ""},
             {"'two'", "'[cut]'"}}},
           {"", {{"{'type':'thinking','thinking':'','signature':'S1'},", ""}}},
           {"",
            {{",'cache_control':{'type':'ephemeral'}", ",'cache_control':{'type':'ephemeral'}"},
             {"'name':'ls','input_schema'", "'name' : 'l\\u0073', 'input_schema'"}}},
           {"B-R15 B-R15", {{"'two'", "'[cut]'"}}}, {"B-R15 B-R15 B-R15", {{"'one'", "'[cut]'"}}},
           {"B-R15 B-R15 B-R15 B-R15", {{"'sys'", "'system'"}}},
           {"B-R15 B-R15 B-R15 B-R15", {{"'type':'object'", "'type':'object','x':1"}}},
           {"B-R16", {{"{'type':'thinking','thinking':'hm','signature':'S2'},", ""}}},
           /* the client's own wish decides */
           {"",
            {{"'max_tokens':9",
              "'thinking':{'type':'adaptive','block_binding':"
              "{'prefix_mismatch_behavior':'drop_block'}}"},
             {"'two'", "'[cut]'"}}});
    BEFORE(ANTHROPIC(FREE_MODEL), {"B-R15 B-R15",
                                   {{"'max_tokens':9",
                                     "'thinking':{'type':'adaptive','block_binding':"
                                     "{'prefix_mismatch_behavior':'error'}}"},
                                    {"'two'", "'[cut]'"}}});
}

static void compaction_block(void) {
    static const char body[] =
        "{'model':'claude-fable-5-1','max_tokens':9,'system':'s','messages':["
        "{'role':'user','content':'q1'},"
        "{'role':'assistant','content':[{'type':'thinking','thinking':'','signature':'S1'},"
        "{'type':'text','text':'a1'}]},{'role':'user','content':'q2'},"
        "{'role':'assistant','content':[{'type':'compaction','content':'sum','signature':'K'},"
        "{'type':'thinking','thinking':'','signature':'S2'},{'type':'text','text':'a2'}]},"
        "{'role':'user','content':'q3'}]}";
    BEFORE(body, {"", {{0}}}, {"", {{"'q1'", "'[cut]'"}}}, /* before the summary nothing counts */
           {"",
            {{"{'role':'user','content':'q1'},{'role':'assistant','content':[{'type':'thinking',"
              "'thinking':'','signature':'S1'},{'type':'text','text':'a1'}]},",
              ""}}},
           {"B-R29 B-R15", {{"'content':'sum'", "'content':'s'"}}},
           {"B-R29 B-R15", {{"{'type':'compaction','content':'sum','signature':'K'},", ""}}});
}

static void responses(void) {
    BEFORE(
        RESPONSES, {"", {{0}}}, {"", {{"'one'", "'[cut]'"}}},
        /* reasoning gone together with the ids that depend on it, or with the whole turn */
        {"",
         {{"{'type':'reasoning','id':'rs_1','summary':[],'encrypted_content':'E1'},", ""},
          {"'id':'fc_1',", ""}}},
        {"",
         {{"{'type':'reasoning','id':'rs_1','summary':[],'encrypted_content':'E1'},", ""},
          {"{'type':'function_call','id':'fc_1','call_id':'c1','name':'ls','arguments':'{}'},", ""},
          {"{'type':'function_call_output','call_id':'c1','output':'one'},", ""}}},
        {"C-R4", {{"{'type':'reasoning','id':'rs_1','summary':[],'encrypted_content':'E1'},", ""}}},
        {"C-R4 C-R4",
         {{"{'type':'reasoning','id':'rs_2','summary':[{'type':'summary_text',"
           "'text':'s'}],'encrypted_content':'E2'},",
           ""}}},
        {"C-R5", {{"'E1'", "'[gone]'"}}}, {"C-R5", {{",'encrypted_content':'E2'", ""}}},
        {"C-R12", {{"'K'", "'[gone]'"}}},
        {"C-R12", {{"{'type':'compaction','encrypted_content':'K'},", ""}}},
        {"C-R14", {{"'fingerprint':'F'", "'fingerprint':'G'"}}},
        {"C-R16", {{"'phase':'final_answer',", ""}}},
        {"G3", {{"'output':'one'", "'output':'one','x':1"}}}, {"G7 G7", {{"'c1'", "'c9'"}}},
        {"G7", {{"'fc_1'", "'fc_9'"}}});
}

static void gemini(void) {
    BEFORE(
        GEMINI, {"", {{0}}}, {"", {{"'one'", "'[cut]'"}, {"{'p':'b'}", "{'_note':'x'}"}}},
        {"D-R5", {{"'G1'", "'G9'"}}}, {"D-R5", {{",'thoughtSignature':'G1'", ""}}},
        {"D-R4", {{",'thoughtSignature':'G3'", ""}}},
        {"D-R5 D-R5",
         {{",'thoughtSignature':'G1'", ""}, {"{'p':'b'}}", "{'p':'b'}},'thoughtSignature':'G1'"}}},
        {"G7 G7", {{"'g3'", "'g9'"}}}, {"G3", {{"'text':'q2'", "'text':'q2','x':1"}}});
}

static void bedrock(void) {
    BEFORE(BEDROCK, {"", {{0}}}, {"", {{"'two'", "'[cut]'"}}},
           {"E-R6", {{"'text':'r2'", "'text':'r'"}}}, {"E-R6", {{"'S1'", "'S9'"}}},
           {"B-R15", {{"'one'", "'[cut]'"}}}, {"G13", {{",{'cachePoint':{'type':'default'}}", ""}}},
           {"G13", {{"{'text':'one'}]}}", "{'text':'one'}]}},{'cachePoint':{'type':'default'}}"}}},
           {"G3 B-R15", {{"'toolUseId':'t1','content'", "'toolUseId':'t1','x':1,'content'"}}},
           {"G7 G7", {{"'t2'", "'t9'"}}});
}

/* A whole unit gone, its place taken by a note, and repeated texts and ids around it. */
static void repeats(void) {
    static const char unit[] =
        "{'role':'assistant','content':'look','tool_calls':[{'id':'call_0','type':'function',"
        "'function':{'name':'ls','arguments':'{}'}}]},"
        "{'role':'tool','tool_call_id':'call_0','content':'same'},";
    static const char first[] =
        "{'role':'assistant','content':'look','reasoning_content':'r','tool_calls':[{'id':'call_0',"
        "'type':'function','function':{'name':'ls','arguments':'{1}'}}]},"
        "{'role':'tool','tool_call_id':'call_0','content':'same'},";
    char body[4000];
    (void)snprintf(
        body, sizeof body,
        "{'messages':[{'role':'user','content':'q'},%s%s%s%s{'role':'user','content':'z'}]}", first,
        unit, unit, unit);
    BEFORE(body, {"", {{0}}}, {"", {{first, ""}}},
           {"", {{first, "{'role':'user','content':'[2 gone]'},"}}},
           {"", {{first, "{'role':'user','content':'[2 gone]'},"}, {"'same'", "'[cut]'"}}});
}

/* ---- sent one request earlier -------------------------------------------------------------- */

static void sent(void) {
    RUN(paucis__check_sent, SENT, NEXT, {"", {{0}}},
        {"", {{"{'type':'thinking','thinking':'','signature':'S1'},", ""}}},
        {"", {{"'three'", "'[cut]'"}, {"'so'", "'[cut]'"}}},
        {"",
         {{"'one'", "'[cut]'"}, /* a cut, and all thinking behind it is gone */
          {"{'type':'thinking','thinking':'','signature':'S2'},", ""},
          {"{'type':'thinking','thinking':'','signature':'S3'},", ""}}},
        {"B-R14", {{"'S2'", "'S9'"}}}, {"B-R15", {{"'two'", "'[cut]'"}}},
        {"B-R15 B-R15", {{"'one'", "'[cut]'"}}}, {"B-R15 B-R15 B-R15", {{"'sys'", "'system'"}}},
        {"B-R16", {{"{'type':'thinking','thinking':'','signature':'S2'},", ""}}});
    /* Thinking that had been removed comes back. */
    static const char removed[] =
        "{'model':'claude-opus-5-5','max_tokens':9,'system':'sys','messages':["
        "{'role':'user','content':'q1'},"
        "{'role':'assistant','content':[{'type':'tool_use','id':'t1','name':'ls','input':{}}]},"
        "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t1','content':'one'}]},"
        "{'role':'assistant','content':[{'type':'thinking','thinking':'','signature':'S2'},"
        "{'type':'text','text':'a2'}]},{'role':'user','content':'q2'}]}";
    RUN(paucis__check_sent, removed, removed, {"", {{0}}},
        {"B-R16",
         {{"{'type':'tool_use'",
           "{'type':'thinking','thinking':'','signature':'S1'},"
           "{'type':'tool_use'"}}},
        {"B-R13", {{"'S2'", "'S9'"}}});
    /* Other models bind nothing. */
    RUN(paucis__check_sent, SENT, NEXT,
        {"", {{"'claude-opus-5-5'", "'claude-opus-5'"}, {"'one'", "'[cut]'"}}});
}

/* ---- the examples -------------------------------------------------------------------------- */

/* Every body is like itself, whatever is wrong with it. */
static void bodies_against_themselves(void) {
    struct files f = files_bodies();
    for (size_t i = 0; i < f.count; i++) {
        struct opened o;
        char rules[1000];
        bool known = opened_read(&o, f.at[i].body.at, f.at[i].body.len, NULL) == PAUCIS_OK;
        opened_free(&o);
        if (!known) continue;
        TEST_NOTE("%s", f.at[i].name);
        compare(paucis__check_before, f.at[i].body, f.at[i].body, rules, sizeof rules);
        CHECK_STR(rules, "");
        compare(paucis__check_sent, f.at[i].body, f.at[i].body, rules, sizeof rules);
        CHECK_STR(rules, "");
    }
    files_free(&f);
}

static struct bytes read_file(const char *folder, const char *name) {
    char path[4096];
    const char *root = getenv("SRC");
    struct bytes b = {NULL, 0};
    (void)snprintf(path, sizeof path, "%s/tests/formats/%s/%s", root ? root : ".", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) return b;
    b.at = must_malloc(1 << 16);
    b.len = fread(b.at, 1, 1 << 16, f);
    (void)fclose(f);
    return b;
}

/* The examples of legal rewrites, against what they may have been before. */
static void legal_rewrites(void) {
    static const char *const names[] = {
        "A11_legal_rewrite_result.json", "B14_legal_rewrite_result.json",
        "C12_legal_rewrite_result.json", "D11_legal_rewrite_result.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes now = read_file("examples", names[i]), old = read_file("compare", names[i]);
        char rules[1000];
        TEST_NOTE("%s", names[i]);
        if (CHECK(now.at && old.at)) {
            compare(paucis__check_before, old, now, rules, sizeof rules);
            CHECK_STR(rules, "");
        }
        bytes_free(&now);
        bytes_free(&old);
    }
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void models(void) {
    static const struct {
        const char *name;
        bool bound;
    } rows[] = {
        {"claude-fable-5-1", true},
        {"claude-opus-5-5-20260901", true},
        {"anthropic/claude-sonnet-5.5", true},
        {"us.anthropic.claude-haiku-5-5-v1:0", true},
        {"claude-opus-5-5[1m]", true},
        {"claude-fable-5-2", true},
        {"claude-fable-5-10", true},
        {"claude-opus-6", true},
        {"claude-latest", true},
        {"claude-mythos-5-1", false},
        {"claude-mythos-5-1@20261001", false},
        {"claude-mythos-5-2", true},
        {"claude-opus-5", false},
        {"claude-opus-5-20260401", false},
        {"claude-opus-4-5-20251101", false},
        {"claude-3-7-sonnet-20250219", false},
        {"claude-2.1", false},
        {"gpt-6", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TEST_NOTE("%s", rows[i].name);
        CHECK_EQ(paucis__model_is_bound(span_of(rows[i].name, strlen(rows[i].name))),
                 rows[i].bound);
    }
}

/* Every allocation fails once; the answer is an error or the whole truth, and nothing leaks. */
static void memory(void) {
    static const struct change edit[MAX_CHANGES] = {{"'two'", "'[cut]'"}, {"'E2'", "'E9'"}};
    struct bytes old = changed(ANTHROPIC(BOUND_MODEL), NULL);
    struct bytes now = changed(ANTHROPIC(BOUND_MODEL), edit);
    paucis_check_with with = {.before = old.at, .before_len = old.len};
    bool done = false;
    for (size_t n = 0; !done && n < 10000; n++) {
        struct counter counter;
        counter_init(&counter);
        paucis_alloc alloc = counter_alloc(&counter);
        const paucis_break *breaks;
        size_t nbreaks;
        paucis_ctx *ctx;
        counter.fail_from = n;
        counter.fail_to = n + 1;
        if (paucis_ctx_new(&ctx, &alloc) == PAUCIS_OK) {
            paucis_err err =
                paucis_check(ctx, now.at, now.len, NULL, &with, &breaks, &nbreaks, NULL);
            done = counter.calls <= n;
            CHECK(err == PAUCIS_E_NOMEM || err == PAUCIS_OK);
            if (err == PAUCIS_OK) CHECK_EQ(nbreaks, 4);
            paucis_ctx_free(ctx);
        }
        CHECK_EQ(counter.blocks, 0);
        CHECK_EQ(counter.wrong_sizes, 0);
    }
    CHECK(done);
    bytes_free(&old);
    bytes_free(&now);
}

/* Shapes that would take for ever if anything grew with the square. */
static void large(void) {
    static const struct {
        const char *head, *unit, *other, *tail;
    } rows[] = {
        {"{\"messages\":[",
         "{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[{\"id\":\"c\"}]},",
         "{\"role\":\"assistant\",\"content\":\"b\"},", "{\"role\":\"user\",\"content\":\"z\"}]}"},
        {"{\"system\":\"\",\"model\":\"claude-fable-5-1\",\"messages\":[",
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"signature\":\"S\"}]},",
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"signature\":\"T\"}]},",
         "{\"role\":\"user\",\"content\":\"z\"}]}"},
        {"{\"contents\":[{\"role\":\"user\",\"parts\":[", "{\"text\":\"a\"},",
         "{\"inlineData\":{}},", "{\"text\":\"z\"}]}]}"},
        {"{\"messages\":[{\"role\":\"tool\",", "\"a\":{\"cache_control\":{}},", "\"b\":0,",
         "\"content\":\"z\"}]}"},
    };
    size_t n = test_is_sanitized() ? 20000 : 100000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes old = bytes_repeat(rows[i].head, rows[i].unit, n, rows[i].tail);
        struct bytes now = bytes_repeat(rows[i].head, rows[i].other, n, rows[i].tail);
        char rules[100];
        TEST_NOTE("%s", rows[i].unit);
        compare(paucis__check_before, old, now, rules, sizeof rules);
        compare(paucis__check_sent, old, now, rules, sizeof rules);
        compare(paucis__check_before, old, old, rules, sizeof rules);
        CHECK_STR(rules, "");
        bytes_free(&old);
        bytes_free(&now);
    }
}

int main(void) {
    return TEST_RUN(CASE(chat), CASE(anthropic), CASE(anthropic_bound), CASE(compaction_block),
                    CASE(responses), CASE(gemini), CASE(bedrock), CASE(repeats), CASE(sent),
                    CASE(bodies_against_themselves), CASE(legal_rewrites), CASE(models),
                    CASE(memory), CASE(large));
}
