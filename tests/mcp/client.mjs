// The official client, over stdio and over HTTP: what it sees, as one JSON object.
//   node client.mjs stdio COMMAND ARGS... | node client.mjs http URL [TOKEN]
// The handle to ask for is in $HANDLE.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [how, where, ...args] = process.argv.slice(2);
const transport =
  how === "stdio"
    ? new StdioClientTransport({ command: where, args, env: { ...process.env } })
    : new StreamableHTTPClientTransport(new URL(where), {
        requestInit: args[0] ? { headers: { Authorization: `Bearer ${args[0]}` } } : {},
      });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);

const fault = async (call) => {
  try {
    return (await call()).isError ? "tool" : "none";
  } catch (e) {
    return e.code;
  }
};
const handle = process.env.HANDLE;
const call = (a) => client.callTool({ name: "recall", arguments: a });
const resources = [];
let cursor;
do {
  const page = await client.listResources({ cursor });
  resources.push(...page.resources);
  cursor = page.nextCursor;
} while (cursor);

const seen = {
  server: client.getServerVersion(),
  tools: (await client.listTools()).tools,
  whole: (await call({ handle })).content[0].text,
  lines: (await call({ handle, lines: "2-3" })).content[0].text,
  grep: (await call({ handle, grep: "^.{5}" })).content[0].text,
  resources: resources.map((r) => r.uri),
  read: (await client.readResource({ uri: `paucis:///${handle}` })).contents[0].text,
  templates: (await client.listResourceTemplates()).resourceTemplates.length,
  faults: [
    await fault(() => call({ handle: "0000000000000000" })),
    await fault(() => call({ handle, lines: "zero" })),
    await fault(() => call({})),
    await fault(() => client.callTool({ name: "other", arguments: {} })),
    await fault(() => client.readResource({ uri: "paucis:///0000000000000000" })),
  ],
};
await client.ping();
await client.close();
console.log(JSON.stringify(seen));
