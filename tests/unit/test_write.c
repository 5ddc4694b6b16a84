/* Edits and the splice writer: a body, a few edits, and the exact bytes that must come out. Then
 * the refusals, taking edits back, and random edits on every sample and example: whatever is
 * accepted gives JSON of the same format with exactly the messages and texts that the view says. */
#include "write/write.h"

#include "format/format.h"
#include "support.h"
#include "test.h"
#include "view/edit.h"

static const struct why why = {"test", "because"};

/* ---- a table of edits ---------------------------------------------------------------------- */

enum op_kind { OP_END, REPLACE, DROP, DROP_MESSAGE, DROP_UNIT, INSERT, ANSWER };

struct op {
    enum op_kind kind;
    size_t message, part; /* ANSWER: the call is that part, the message goes behind its message */
    const char *text;     /* ' is not replaced here */
    paucis_err want;
};

struct write_case {
    const char *format, *body;
    struct op ops[7];
    const char *out; /* NULL: the writer refuses */
};

static size_t part_index(const struct view *v, size_t message, size_t part) {
    return view_message(v, message)->part + part;
}

static paucis_err op_run(struct view *v, const struct op *op) {
    struct span text = op->text ? span_of(op->text, strlen(op->text)) : SPAN("");
    size_t made;
    switch (op->kind) {
    case REPLACE: return paucis__edit_replace(v, why, part_index(v, op->message, op->part), text);
    case DROP: return paucis__edit_drop(v, why, part_index(v, op->message, op->part));
    case DROP_MESSAGE: return paucis__edit_drop_message(v, why, op->message);
    case DROP_UNIT: return paucis__edit_drop_unit(v, why, op->message);
    case INSERT: return paucis__edit_insert(v, why, op->message, NO_INDEX, text, &made);
    case ANSWER:
        return paucis__edit_insert(v, why, op->message, part_index(v, op->message, op->part), text,
                                   &made);
    case OP_END: break;
    }
    return PAUCIS_E_ARG;
}

/* The output reads again, in the same format, and has as many messages as the view. */
static void check_output(struct opened *o, const struct bytes *out) {
    struct opened again;
    CHECK_EQ(opened_read(&again, out->at, out->len, o->view.format->name), PAUCIS_OK);
    paucis__edit_settle(&o->view);
    CHECK_EQ(again.view.messages.count, o->view.order.count);
    opened_free(&again);
}

static void run_case(const struct write_case *c) {
    struct bytes body = bytes_quoted(c->body), out;
    struct opened o;
    CHECK_EQ(opened_read(&o, body.at, body.len, c->format), PAUCIS_OK);
    for (const struct op *op = c->ops; op->kind; op++) {
        size_t edits = o.view.edits.count;
        CHECK_EQ(op_run(&o.view, op), op->want);
        if (op->want) CHECK_EQ(o.view.edits.count, edits); /* refused: nothing changed */
    }
    CHECK_EQ(opened_write(&o, &out), c->out ? PAUCIS_OK : PAUCIS_E_INVARIANT);
    if (c->out) {
        struct bytes want = bytes_quoted(c->out);
        CHECK_BYTES(out.at, out.len, want.at, want.len);
        check_output(&o, &out);
        bytes_free(&want);
    }
    bytes_free(&out);
    bytes_free(&body);
    opened_free(&o);
}

static void run_cases(const struct write_case *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        TEST_NOTE("case %zu", i);
        run_case(&c[i]);
    }
}
#define RUN_CASES(cases) run_cases((cases), sizeof(cases) / sizeof *(cases))

/* ---- neutral: no rules, so only the splicing counts ---------------------------------------- */

#define M(n) "{'role':'user','content':[{'type':'text','text':'" n "'}]}"
#define FOUR(a, b, c, d) "{'messages': [ " a " ,\n" b ", " c "\t, " d " ] ,'x':1.0}"
#define P(n) "{'type':'text','text':'" n "'}"
#define PARTS(inside) "{'messages':[{'role':'user','content':[ " inside " ]}],'x':[]}"
#define CALL(args)                                                                     \
    "{'messages':[{'role':'assistant','content':[{'type':'tool_call','id':'c\\u0031'," \
    "'name':'n','arguments':'" args "'}]}"

static const struct write_case replaces[] = {
    {"neutral", PARTS(P("a")), {{REPLACE, 0, 0, "b", 0}}, PARTS(P("b"))},
    {"neutral", PARTS(P("a")), {{REPLACE, 0, 0, "", 0}}, PARTS(P(""))},
    {"neutral", PARTS(P("a")), {{REPLACE, 0, 0, "b", 0}, {REPLACE, 0, 0, "c", 0}}, PARTS(P("c"))},
    {"neutral",
     PARTS(P("\\u0041\\\\") "," P("x")),
     {{REPLACE, 0, 0, "q\" b\\ n\n t\t z\x01 e\xc3\xa9 g\xf0\x9f\x98\x80", 0}},
     PARTS(P("q\\' b\\\\ n\\n t\\t z\\u0001 e\xc3\xa9 g\xf0\x9f\x98\x80") "," P("x"))},
    {"neutral", PARTS(P("a")), {{REPLACE, 0, 0, "\xed\xa0\x80", 0}}, PARTS(P("\\ud800"))},
    {"neutral",
     "{'messages':[{'role':'user','content':'a'}]}",
     {{REPLACE, 0, 0, "b", 0}},
     "{'messages':[{'role':'user','content':'b'}]}"},
    {"neutral", CALL("{}") "]}", {{REPLACE, 0, 0, "{\"a\":1}", 0}}, CALL("{\\'a\\':1}") "]}"},
    /* a result of several blocks: the first takes the text, the others go, media stays */
    {"neutral",
     "{'messages':[{'role':'tool','content':[{'type':'tool_result','tool_call_id':'c','content':["
     "{'type':'image'}, " P("a") ", " P("b") " ,{'type':'image'}," P("c") "]}," P("d") "]}]}",
     {{REPLACE, 0, 0, "new", 0}},
     "{'messages':[{'role':'tool','content':[{'type':'tool_result','tool_call_id':'c','content':["
     "{'type':'image'}, " P("new") " ,{'type':'image'}]}," P("d") "]}]}"},
};

static const struct write_case part_drops[] = {
    {"neutral",
     PARTS(P("a") " , " P("b") ",  " P("c")),
     {{DROP, 0, 0, NULL, 0}},
     PARTS(P("b") ",  " P("c"))},
    {"neutral",
     PARTS(P("a") " , " P("b") ",  " P("c")),
     {{DROP, 0, 1, NULL, 0}},
     PARTS(P("a") ",  " P("c"))},
    {"neutral",
     PARTS(P("a") " , " P("b") ",  " P("c")),
     {{DROP, 0, 2, NULL, 0}},
     PARTS(P("a") " , " P("b"))},
    {"neutral",
     PARTS(P("a") " , " P("b") ",  " P("c")),
     {{DROP, 0, 0, NULL, 0}, {DROP, 0, 1, NULL, 0}},
     PARTS(P("c"))},
    {"neutral",
     PARTS(P("a") " , " P("b") ",  " P("c")),
     {{DROP, 0, 2, NULL, 0}, {DROP, 0, 0, NULL, 0}},
     PARTS(P("b"))},
    {"neutral",
     PARTS(P("a") " , " P("b") ",  " P("c")),
     {{DROP, 0, 1, NULL, 0}, {DROP, 0, 2, NULL, 0}},
     PARTS(P("a"))},
    {"neutral",
     PARTS(P("a") " , " P("b") ",  " P("c")),
     {{DROP, 0, 0, NULL, 0}, {REPLACE, 0, 1, "B", 0}, {DROP, 0, 2, NULL, 0}},
     PARTS(P("B"))},
    /* the last one stays, and what is gone cannot go again or get a text */
    {"neutral",
     PARTS(P("a") " , " P("b")),
     {{DROP, 0, 0, NULL, 0},
      {DROP, 0, 1, NULL, PAUCIS_E_INVARIANT},
      {DROP, 0, 0, NULL, PAUCIS_E_INVARIANT},
      {REPLACE, 0, 0, "x", PAUCIS_E_INVARIANT}},
     PARTS(P("b"))},
    {"neutral", PARTS(P("a")), {{DROP, 0, 0, NULL, PAUCIS_E_INVARIANT}}, PARTS(P("a"))},
    /* neighbours that are not objects, and empty containers before the part */
    {"neutral",
     PARTS("1," P("a") ",[],{}," P("b") ",'s'"),
     {{DROP, 0, 1, NULL, PAUCIS_E_INVARIANT}},
     PARTS("1," P("a") ",[],{}," P("b") ",'s'")},
};

static const struct write_case message_drops[] = {
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 0, 0, NULL, 0}},
     "{'messages': [ " M("b") ", " M("c") "\t, " M("d") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 1, 0, NULL, 0}},
     "{'messages': [ " M("a") ", " M("c") "\t, " M("d") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 3, 0, NULL, 0}},
     "{'messages': [ " M("a") " ,\n" M("b") ", " M("c") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 2, 0, NULL, 0}, {DROP_MESSAGE, 1, 0, NULL, 0}},
     "{'messages': [ " M("a") "\t, " M("d") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 1, 0, NULL, 0}, {DROP_MESSAGE, 0, 0, NULL, 0}, {DROP_MESSAGE, 3, 0, NULL, 0}},
     "{'messages': [ " M("c") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 0, 0, NULL, 0}, {DROP_MESSAGE, 1, 0, NULL, 0}, {DROP_MESSAGE, 2, 0, NULL, 0}},
     "{'messages': [ " M("d") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 1, 0, NULL, 0}, {DROP_MESSAGE, 2, 0, NULL, 0}, {DROP_MESSAGE, 3, 0, NULL, 0}},
     "{'messages': [ " M("a") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 0, 0, NULL, 0},
      {REPLACE, 1, 0, "B", 0},
      {DROP_MESSAGE, 2, 0, NULL, 0},
      {REPLACE, 2, 0, "C", PAUCIS_E_INVARIANT},
      {DROP, 2, 0, NULL, PAUCIS_E_INVARIANT},
      {DROP_MESSAGE, 2, 0, NULL, PAUCIS_E_INVARIANT}},
     "{'messages': [ " M("B") "\t, " M("d") " ] ,'x':1.0}"},
    /* none left: no rule against it here */
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 0, 0, NULL, 0},
      {DROP_MESSAGE, 1, 0, NULL, 0},
      {DROP_MESSAGE, 2, 0, NULL, 0},
      {DROP_MESSAGE, 3, 0, NULL, 0}},
     "{'messages': [  ] ,'x':1.0}"},
    /* a unit goes whole: the call, and its answers wherever they stand */
    {"neutral",
     CALL("{}") "," M("b") ",{'role':'tool','content':[{'type':'tool_result','tool_call_id':'c1',"
                           "'content':'r'}]}," M("d") "]}",
     {{DROP_UNIT, 0, 0, NULL, 0}},
     "{'messages':[" M("b") "," M("d") "]}"},
};

#define NEW(n) "{'role':'user','content':[{'type':'text','text':'" n "'}]}"
static const struct write_case inserts[] = {
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{INSERT, 0, 0, "n", 0}},
     FOUR(M("a") "," NEW("n"), M("b"), M("c"), M("d"))},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{INSERT, 3, 0, "n\n", 0}},
     FOUR(M("a"), M("b"), M("c"), M("d") "," NEW("n\\n"))},
    /* two behind one message: the later edit stands nearer */
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{INSERT, 1, 0, "first", 0}, {INSERT, 1, 0, "second", 0}},
     FOUR(M("a"), M("b") "," NEW("second") "," NEW("first"), M("c"), M("d"))},
    /* in front: behind a first message that goes */
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 0, 0, NULL, 0}, {INSERT, 0, 0, "n", 0}},
     "{'messages': [ " NEW("n") "," M("b") ", " M("c") "\t, " M("d") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{INSERT, 0, 0, "n", 0},
      {INSERT, 0, 0, "m", 0},
      {DROP_MESSAGE, 0, 0, NULL, 0},
      {DROP_MESSAGE, 1, 0, NULL, 0}},
     "{'messages': [ " NEW("m") "," NEW("n") "," M("c") "\t, " M("d") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{INSERT, 0, 0, "n", 0},
      {INSERT, 1, 0, "m", 0},
      {DROP_MESSAGE, 0, 0, NULL, 0},
      {DROP_MESSAGE, 1, 0, NULL, 0},
      {DROP_MESSAGE, 3, 0, NULL, 0}},
     "{'messages': [ " NEW("n") "," NEW("m") "," M("c") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 1, 0, NULL, 0}, {INSERT, 1, 0, "n", 0}},
     "{'messages': [ " M("a") "," NEW("n") ", " M("c") "\t, " M("d") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 3, 0, NULL, 0}, {INSERT, 3, 0, "n", 0}, {DROP_MESSAGE, 2, 0, NULL, 0}},
     "{'messages': [ " M("a") " ,\n" M("b") "," NEW("n") " ] ,'x':1.0}"},
    /* nothing is left but what is new */
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 0, 0, NULL, 0},
      {DROP_MESSAGE, 1, 0, NULL, 0},
      {DROP_MESSAGE, 2, 0, NULL, 0},
      {DROP_MESSAGE, 3, 0, NULL, 0},
      {INSERT, 3, 0, "n", 0}},
     "{'messages': [  " NEW("n") "] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 0, 0, NULL, 0},
      {DROP_MESSAGE, 1, 0, NULL, 0},
      {DROP_MESSAGE, 2, 0, NULL, 0},
      {DROP_MESSAGE, 3, 0, NULL, 0},
      {INSERT, 0, 0, "n", 0}},
     "{'messages': [ " NEW("n") " ] ,'x':1.0}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{DROP_MESSAGE, 0, 0, NULL, 0},
      {DROP_MESSAGE, 1, 0, NULL, 0},
      {DROP_MESSAGE, 2, 0, NULL, 0},
      {DROP_MESSAGE, 3, 0, NULL, 0},
      {INSERT, 1, 0, "n", 0},
      {INSERT, 3, 0, "m", 0}},
     "{'messages': [ " NEW("n") " ," NEW("m") "] ,'x':1.0}"},
    /* the answer to a call carries its id as it is spelled */
    {"neutral",
     CALL("{}") "]}",
     {{ANSWER, 0, 0, "gone", 0}},
     CALL("{}") ",{'role':'tool','content':[{'type':'tool_result','tool_call_id':'c\\u0031',"
                "'content':'gone'}]}]}"},
    {"neutral",
     FOUR(M("a"), M("b"), M("c"), M("d")),
     {{INSERT, 0, 0, "", PAUCIS_E_INVARIANT}},
     FOUR(M("a"), M("b"), M("c"), M("d"))},
};

static void neutral_replace(void) { RUN_CASES(replaces); }
static void neutral_drop_parts(void) { RUN_CASES(part_drops); }
static void neutral_drop_messages(void) { RUN_CASES(message_drops); }
static void neutral_insert(void) { RUN_CASES(inserts); }

/* ---- formats with rules -------------------------------------------------------------------- */

#define FN(id, args) \
    "{'id':'" id "','type':'function','function':{'name':'f','arguments':'" args "'}}"
#define CHAT(calls, result)                                                \
    "{'messages':[{'role':'assistant','content':'hi','tool_calls':[" calls \
    "]},"                                                                  \
    "{'role':'tool','tool_call_id':'c','content':" result                  \
    "},{'role':'user','content':'u'},"                                     \
    "{'role':'assistant','content':'end'}]}"
#define TXT(n) "{'type':'text','text':'" n "'}"

static const struct write_case chat[] = {
    /* arguments stay a string that holds an object */
    {"openai-chat",
     CHAT(FN("c", "{\\'a\\':1}"), "'r'"),
     {{REPLACE, 0, 1, "say \"x\"\n", 0}},
     CHAT(FN("c", "{\\'_note\\':\\'say \\\\\\'x\\\\\\'\\\\n\\'}"), "'r'")},
    {"openai-chat",
     CHAT(FN("c", "{}"), "'r'"),
     {{REPLACE, 1, 0, "R", 0}, {REPLACE, 0, 0, "HI", 0}},
     "{'messages':[{'role':'assistant','content':'HI','tool_calls':[" FN(
         "c",
         "{}") "]},"
               "{'role':'tool','tool_call_id':'c','content':'R'},{'role':'user','content':'u'},"
               "{'role':'assistant','content':'end'}]}"},
    {"openai-chat",
     CHAT(FN("c", "{}"), "[" TXT("a") "," TXT("b") "]"),
     {{REPLACE, 1, 0, "R", 0}},
     CHAT(FN("c", "{}"), "[" TXT("R") "]")},
    /* no blank text, no answer dropped alone from its array, nothing in the last message */
    {"openai-chat",
     CHAT(FN("c", "{}"), "'r'"),
     {{REPLACE, 1, 0, "", PAUCIS_E_INVARIANT},
      {REPLACE, 1, 0, " \n\t", PAUCIS_E_INVARIANT},
      {INSERT, 1, 0, " ", PAUCIS_E_INVARIANT},
      {DROP, 1, 0, NULL, PAUCIS_E_INVARIANT},
      {REPLACE, 3, 0, "x", PAUCIS_E_INVARIANT},
      {DROP_MESSAGE, 3, 0, NULL, PAUCIS_E_INVARIANT}},
     CHAT(FN("c", "{}"), "'r'")},
    {"openai-chat",
     CHAT(FN("c", "{}"), "'r'"),
     {{DROP_UNIT, 0, 0, NULL, 0}},
     "{'messages':[{'role':'user','content':'u'},{'role':'assistant','content':'end'}]}"},
    /* the calls' order in the JSON is not that of the parts */
    {"openai-chat",
     "{'messages':[{'tool_calls':[" FN(
         "c",
         "{}") "],'content':'hi','role':'assistant'},"
               "{'role':'tool','content':'r','tool_call_id':'c'},{'role':'user','content':'u'}]}",
     {{REPLACE, 0, 0, "HI", 0}, {REPLACE, 1, 0, "R", 0}},
     "{'messages':[{'tool_calls':[" FN(
         "c",
         "{}") "],'content':'HI','role':'assistant'},"
               "{'role':'tool','content':'R','tool_call_id':'c'},{'role':'user','content':'u'}]}"},
    {"openai-chat",
     "{'messages':[{'tool_calls':[" FN(
         "c",
         "{}") "],'content':'hi','role':'assistant'},"
               "{'role':'tool','content':'r','tool_call_id':'c'},{'role':'user','content':'u'},"
               "{'role':'assistant','content':'end'}]}",
     {{REPLACE, 0, 0, "HI", 0}, {REPLACE, 0, 1, "A", 0}},
     "{'messages':[{'tool_calls':[" FN(
         "c", "{\\'_note\\':\\'A\\'}") "],'content':'HI','role':'assistant'},"
                                       "{'role':'tool','content':'r','tool_call_id':'c'},{'role':'"
                                       "user','content':'u'},"
                                       "{'role':'assistant','content':'end'}]}"},
    /* an unknown role freezes its own message and no other */
    {"openai-chat",
     "{'messages':[{'role':'odd','content':'a'},{'role':'user','content':'b'},"
     "{'role':'user','content':'c'}]}",
     {{REPLACE, 0, 0, "A", PAUCIS_E_INVARIANT},
      {DROP_MESSAGE, 0, 0, NULL, PAUCIS_E_INVARIANT},
      {REPLACE, 1, 0, "B", 0}},
     "{'messages':[{'role':'odd','content':'a'},{'role':'user','content':'B'},"
     "{'role':'user','content':'c'}]}"},
    /* so does a key that stands twice */
    {"openai-chat",
     "{'messages':[{'role':'user','content':'a','content':'b'},"
     "{'role':'user','content':'c'}]}",
     {{REPLACE, 0, 0, "A", PAUCIS_E_INVARIANT}},
     "{'messages':[{'role':'user','content':'a','content':'b'},{'role':'user','content':'c'}]}"},
};

#define USE(input) "{'type':'tool_use','id':'t','name':'f','input':" input "}"
#define ANTHROPIC(first, use, result, last)                                                   \
    "{" first "'messages':[{'role':'user','content':'q'},{'role':'assistant','content':[" use \
    "]},"                                                                                     \
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t','content':" result     \
    "}]},"                                                                                    \
    "{'role':'assistant','content':'a'},{'role':'user','content':'z'}]" last "}"

#define CONVERSE(content)                                                                     \
    "{'toolConfig':{},'messages':[{'role':'user','content':[{'text':'q'}]},{'role':"          \
    "'assistant','content':[{'toolUse':{'toolUseId':'t','name':'f','input':{}}}]},{'role':"   \
    "'user','content':[{'toolResult':{'toolUseId':'t','content':[" content                    \
    "]}}]},{'role':'assistant','content':[{'text':'a'}]},{'role':'user','content':[{'text':'" \
    "z'}]}]}"
#define ITEMS(output)                                                                    \
    "{'model':'m','input':[{'role':'user','content':'q'},{'type':'function_call','call_" \
    "id':'c','name':'f','arguments':'{}'},{'type':'function_call_output','call_id':'c'," \
    "'output':[" output                                                                  \
    "]},{'role':'assistant','content':'a'},{'role':'user','content':"                    \
    "'z'}]}"

static const struct write_case others[] = {
    /* arguments stay an object */
    {"anthropic",
     ANTHROPIC("", USE("{'a':[1]}"), "'r'", ""),
     {{REPLACE, 1, 0, "n\"", 0}},
     ANTHROPIC("", USE("{'_note':'n\\''}"), "'r'", "")},
    {"anthropic",
     ANTHROPIC("", TXT("x") "," USE("{}"), "[" TXT("a") "," TXT("b") "]", ""),
     {{REPLACE, 2, 0, "R", 0}, {DROP, 1, 0, NULL, 0}},
     ANTHROPIC("", USE("{}"), "[" TXT("R") "]", "")},
    /* a top-level text may stand before the messages or behind them */
    {"anthropic",
     ANTHROPIC("'system':'s',", USE("{}"), "'r'", ""),
     {{REPLACE, 0, 0, "S", 0},
      {REPLACE, 3, 0, "R", 0},
      {DROP_MESSAGE, 0, 0, NULL, PAUCIS_E_INVARIANT},
      {INSERT, 0, 0, "x", PAUCIS_E_INVARIANT}},
     ANTHROPIC("'system':'S',", USE("{}"), "'R'", "")},
    {"anthropic",
     ANTHROPIC("", USE("{}"), "'r'", ",'system':'s'"),
     {{REPLACE, 0, 0, "S", 0}, {REPLACE, 3, 0, "R", 0}, {DROP_MESSAGE, 1, 0, NULL, 0}},
     "{'messages':[{'role':'assistant','content':[" USE(
         "{}") "]},"
               "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t','content':'R'}]},"
               "{'role':'assistant','content':'a'},{'role':'user','content':'z'}],'system':'S'}"},
    /* an element that goes takes its second text along */
    {"bedrock",
     CONVERSE("{'text':'a'}, {'text':'b','json':{'x':'c'}} ,{'json':['d']},{'text':'e'}"),
     {{REPLACE, 2, 0, "R", 0}},
     CONVERSE("{'text':'R'} ,{'json':['']}")},
    {"bedrock",
     CONVERSE("{'json':{'x':'c'},'text':'a'},{'json':{'x':'c'},'text':'b'}"),
     {{REPLACE, 2, 0, "R", 0}},
     CONVERSE("{'json':{'x':''},'text':'R'}")},
    {"openai-responses",
     ITEMS(
         "{'type':'input_text','text':'a'},{'text':'b','stdout':'c','stderr':'d'},{'stdout':'e'}"),
     {{REPLACE, 2, 0, "R", 0}},
     ITEMS("{'type':'input_text','text':'R'},{'stdout':''}")},
};

static void chat_edits(void) { RUN_CASES(chat); }
static void other_edits(void) { RUN_CASES(others); }

/* While a broken body is being mended, more may go; but an array does not become empty, and what
 * belongs to no message stays. */
static void mending(void) {
    static const char only[] = "{'messages':[{'role':'user','content':'a'}]}";
    static const char tail[] =
        "{'store':false,'input':[{'role':'user','content':'a'},{'role':'user','content':'b'},"
        "{'type':'reasoning','id':'r','summary':[]}]}";
    static const char want[] =
        "{'store':false,'input':[{'type':'message','role':'user','content':'n'},"
        "{'type':'reasoning','id':'r','summary':[]}]}";
    struct bytes body = bytes_quoted(only), out, expected = bytes_quoted(want);
    struct opened o;
    size_t made;
    CHECK_EQ(opened_read(&o, body.at, body.len, "openai-chat"), PAUCIS_OK);
    CHECK_EQ(paucis__edit_drop_message(&o.view, why, 0), PAUCIS_E_INVARIANT);
    o.view.mending = true; /* the array may not become empty */
    CHECK_EQ(paucis__edit_drop_message(&o.view, why, 0), PAUCIS_E_INVARIANT);
    opened_free(&o);
    bytes_free(&body);

    body = bytes_quoted(tail);
    CHECK_EQ(opened_read(&o, body.at, body.len, "openai-responses"), PAUCIS_OK);
    o.view.mending = true;
    CHECK_EQ(paucis__edit_drop_message(&o.view, why, 0), PAUCIS_OK);
    CHECK_EQ(paucis__edit_insert(&o.view, why, 0, NO_INDEX, SPAN("n"), &made), PAUCIS_OK);
    CHECK_EQ(paucis__edit_drop_message(&o.view, why, 1), PAUCIS_OK);
    CHECK_EQ(opened_write(&o, &out), PAUCIS_OK);
    CHECK_BYTES(out.at, out.len, expected.at, expected.len);
    opened_free(&o);
    bytes_free(&body);
    bytes_free(&out);
    bytes_free(&expected);
}

/* ---- what an edit says of itself, and taking it back --------------------------------------- */

static void records(void) {
    struct bytes body = bytes_quoted(PARTS(P("caf\\u00e9") "," P("b")));
    struct opened o;
    CHECK_EQ(opened_read(&o, body.at, body.len, "neutral"), PAUCIS_OK);
    CHECK_EQ(paucis__edit_replace(&o.view, why, 0, SPAN("xy")), PAUCIS_OK);
    CHECK_EQ(paucis__edit_drop(&o.view, why, 1), PAUCIS_OK);
    const struct edit *e = o.view.edits.at;
    CHECK(e[0].op == EDIT_REPLACE && e[0].after == 2 && e[0].part == 0);
    CHECK(e[1].op == EDIT_DROP && e[1].after == 0 && e[1].part == 1);
    CHECK_EQ(paucis__edit_before(&o.view, &e[0]), 5);
    CHECK_EQ(paucis__edit_before(&o.view, &e[1]), 1);
    CHECK_STR(e[0].why.strategy, "test");
    CHECK_STR(e[1].why.reason, "because");
    struct span text;
    CHECK_EQ(paucis__view_text(&o.view, 0, &text), PAUCIS_OK);
    CHECK_BYTES(text.at, text.len, "xy", 2);
    CHECK_EQ(paucis__view_text_len(&o.view, 0), 2);
    bytes_free(&body);
    opened_free(&o);
}

static void undoing(void) {
    static const struct op ops[] = {
        {REPLACE, 1, 0, "B", 0},  {DROP_MESSAGE, 0, 0, NULL, 0}, {INSERT, 0, 0, "n", 0},
        {REPLACE, 1, 0, "BB", 0}, {INSERT, 2, 0, "m", 0},        {DROP_MESSAGE, 3, 0, NULL, 0},
        {INSERT, 0, 0, "k", 0},
    };
    size_t n = sizeof ops / sizeof *ops;
    struct bytes body = bytes_quoted(FOUR(M("a"), M("b"), M("c"), M("d"))), was[8], now;
    struct opened o;
    CHECK_EQ(opened_read(&o, body.at, body.len, "neutral"), PAUCIS_OK);
    for (size_t i = 0; i <= n; i++) {
        CHECK_EQ(opened_write(&o, &was[i]), PAUCIS_OK);
        if (i < n) CHECK_EQ(op_run(&o.view, &ops[i]), PAUCIS_OK);
    }
    CHECK_BYTES(was[0].at, was[0].len, body.at, body.len);
    for (size_t i = n + 1; i-- > 0;) {
        TEST_NOTE("back to %zu edits", i);
        paucis__edit_undo(&o.view, i);
        CHECK_EQ(opened_write(&o, &now), PAUCIS_OK);
        CHECK_BYTES(now.at, now.len, was[i].at, was[i].len);
        bytes_free(&now);
        bytes_free(&was[i]);
    }
    bytes_free(&body);
    opened_free(&o);
}

/* What is saved is saved once: a text that was cut, or a part that went, does not count again when
 * what holds it goes. */
static void room_counts_once(void) {
    struct bytes body = bytes_quoted("{'messages':[" M("0123456789") "," M(
        "b") ",{'role':'user',"
             "'content':[" P("0123456789") "," P("c") "]}," M("d") "]}");
    struct bytes out;
    struct opened o;
    CHECK_EQ(opened_read(&o, body.at, body.len, "neutral"), PAUCIS_OK);
    o.view.no_grow = true;
    static const struct op ops[] = {
        {REPLACE, 0, 0, "01", 0},      {REPLACE, 0, 0, "0", 0}, {DROP_MESSAGE, 0, 0, NULL, 0},
        {REPLACE, 2, 0, "0", 0},       {DROP, 2, 0, NULL, 0},   {REPLACE, 2, 1, "", 0},
        {DROP_MESSAGE, 2, 0, NULL, 0},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        CHECK_EQ(op_run(&o.view, &ops[i]), PAUCIS_OK);
        CHECK_EQ(opened_write(&o, &out), PAUCIS_OK);
        CHECK((int64_t)(body.len - out.len) >= o.view.room);
        bytes_free(&out);
    }
    paucis__edit_undo(&o.view, 0);
    CHECK_EQ(o.view.room, 0);
    bytes_free(&body);
    opened_free(&o);
}

/* ---- random edits -------------------------------------------------------------------------- */

static const char *const words[] = {"x", "[gone]", "a \"quoted\" text\n",
                                    "",  " ",      "\xf0\x9f\x98\x80"};

static void random_edit(struct view *v, uint64_t *seed) {
    struct op op = {OP_END, 0, 0, words[random_below(seed, 6)], 0};
    if (!v->from_body) return;
    op.message = random_below(seed, v->from_body);
    const struct message *m = view_message(v, op.message);
    op.part = m->nparts ? random_below(seed, m->nparts) : 0;
    size_t kind = random_below(seed, 12);
    op.kind = !m->nparts || kind > 9 ? DROP_MESSAGE : kind < 5 ? REPLACE : kind < 7 ? DROP : INSERT;
    if (op.kind == INSERT && m->nparts && view_part(v, m->part)->kind == PART_CALL)
        op.kind = ANSWER;
    if (kind == 11) {
        op.kind = DROP_UNIT;
        op.message = m->unit;
    }
    (void)op_run(v, &op);
}

/* A text as the view has it now is the text that a reader of the output finds. */
static void compare_texts(struct opened *o, struct opened *again) {
    for (size_t i = 0; i < o->view.order.count; i++) {
        struct message *m = view_message(&o->view, o->view.order.at[i]);
        struct message *n = view_message(&again->view, i);
        if (!CHECK_EQ(n->nparts, m->live)) return;
        size_t q = n->part;
        for (VIEW_EACH_PART(&o->view, p, m)) {
            struct span a, b;
            CHECK_EQ(paucis__view_text(&o->view, p, &a), PAUCIS_OK);
            CHECK_EQ(paucis__view_text(&again->view, q++, &b), PAUCIS_OK);
            if (view_part(&o->view, p)->flags & PART_OBJECT) continue; /* became a note */
            if (!CHECK_BYTES(a.at, a.len, b.at, b.len)) return;
        }
    }
}

static uint64_t first_difference(const struct bytes *a, const struct bytes *b) {
    size_t i = 0;
    while (i < a->len && i < b->len && a->at[i] == b->at[i]) i++;
    return i == a->len && i == b->len ? PAUCIS_NO_BYTE : i;
}

static void random_round(const struct file *f, uint64_t *seed) {
    struct opened o, again;
    struct bytes out;
    if (opened_read(&o, f->body.at, f->body.len, NULL) == PAUCIS_OK) {
        for (size_t n = 1 + random_below(seed, 6); n; n--) random_edit(&o.view, seed);
        paucis_err err = opened_write(&o, &out);
        CHECK(err == PAUCIS_OK || err == PAUCIS_E_INVARIANT);
        if (!err) {
            CHECK_EQ(paucis__write_first_change(&o.json, &o.splices),
                     first_difference(&f->body, &out));
            err = opened_read(&again, out.at, out.len, o.view.format->name);
            paucis__edit_settle(&o.view);
            if (!CHECK_EQ(err, PAUCIS_OK) ||
                !CHECK_EQ(again.view.messages.count, o.view.order.count))
                test_show_bytes("output", out.at, out.len);
            else
                compare_texts(&o, &again);
            opened_free(&again);
        }
        bytes_free(&out);
    }
    opened_free(&o);
}

/* What the writer relies on: the messages stand in the list in order and leave none of its elements
 * out but at the end (reasoning that nothing follows), and a part's slots lie inside its message.
 */
static void check_cover(const struct view *v) {
    size_t next = v->list + 1;
    for (size_t i = 0; i < v->from_body; i++) {
        const struct message *m = view_message(v, i);
        size_t end = json_next(v->j, m->last);
        for (size_t p = m->part; p < m->part + m->nparts; p++)
            for (size_t k = 0; k < view_part(v, p)->nslots; k++) {
                size_t node = v->slots.at[view_part(v, p)->slot + k].node;
                CHECK(node >= m->node && node < end);
            }
        if (m->flags & MESSAGE_TOP) continue;
        CHECK_EQ(m->node, next);
        CHECK(m->last >= m->node);
        next = end;
    }
    if (v->list) CHECK(next <= json_node(v->j, v->list)->end);
}

static void messages_cover_the_list(void) {
    static const char *const odd[] = {
        "{'store':false,'input':[{'type':'reasoning','id':'r','summary':[]}]}",
        "{'store':false,'input':[1,null,{},[],{'type':'x'},{'type':'reasoning'}]}",
        "{'contents':[1,null,{},[],{'parts':1},{'parts':[1,{'text':1}]}]}",
        "{'messages':[1,null,{},[],'x',{'content':1},{'role':'user','content':[1,{},[]]}]}",
    };
    struct files f = files_bodies();
    for (size_t i = 0; i < f.count + sizeof odd / sizeof *odd; i++)
        for (size_t k = 0; k == 0 || paucis__formats[k - 1]; k++) {
            struct bytes b = i < f.count ? bytes_copy(f.at[i].body.at, f.at[i].body.len)
                                         : bytes_quoted(odd[i - f.count]);
            const char *format = k ? paucis__formats[k - 1]->name : NULL;
            struct opened o;
            TEST_NOTE("%s as %s", i < f.count ? f.at[i].name : "odd", format ? format : "it is");
            if (opened_read(&o, b.at, b.len, format) == PAUCIS_OK) check_cover(&o.view);
            opened_free(&o);
            bytes_free(&b);
        }
    files_free(&f);
}

static void random_edits(void) {
    struct files f = files_bodies();
    uint64_t seed = 6;
    size_t rounds = test_is_long() ? 5000 : test_is_sanitized() ? 100 : 500;
    for (size_t i = 0; i < f.count; i++)
        for (size_t n = 0; n < rounds; n++) {
            TEST_NOTE("%s, round %zu", f.at[i].name, n);
            random_round(&f.at[i], &seed);
        }
    files_free(&f);
}

int main(void) {
    return TEST_RUN(CASE(neutral_replace), CASE(neutral_drop_parts), CASE(neutral_drop_messages),
                    CASE(neutral_insert), CASE(chat_edits), CASE(other_edits), CASE(mending),
                    CASE(records), CASE(undoing), CASE(room_counts_once),
                    CASE(messages_cover_the_list), CASE(random_edits));
}
