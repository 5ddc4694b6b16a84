/* paucis mcp: removed texts for agents. On stdin and stdout one message a line, or with --http as
 * a server of its own. */
#include "mcp.h"

#ifdef PAUCIS_STORE
#include <unistd.h>

static int serve_lines(struct store *s) {
    struct input in;
    struct output o;
    struct buf out = {0};
    const char *line;
    size_t n, end;
    bool failed = !input_open(&in, NULL) || !output_open(&o, NULL, STDOUT_FILENO);
    if (failed) return EXIT_USAGE;
    struct lines lines = {.in = &in};
    while (!failed && lines_next(&lines, &line, &n, &end, &failed)) {
        if (line_blank(line, n)) continue;
        mcp_answer(s, line, n, &out);
        if (out.len) buf_str(&out, "\n");
        failed = !output_buf(&o, &out);
    }
    failed = failed || !output_commit(&o);
    output_abort(&o);
    buf_free(&out);
    buf_free(&lines.buf);
    input_close(&in);
    return failed ? EXIT_USAGE : EXIT_DONE;
}

int cmd_mcp(const struct args *a) {
    struct store *s;
    if (a->noperands) return usage_error("mcp takes no operands");
    int code = keep_open(a, false, false, &s);
    if (code) return code;
    if (!s) return usage_error("there is nothing to recall: the store is 'none'");
#ifdef PAUCIS_MCP_HTTP
    code = a->value[FLAG_HTTP] ? mcp_http(s, a->value[FLAG_HTTP]) : serve_lines(s);
#else
    code = serve_lines(s);
#endif
    store_close(s);
    return code;
}
#endif
