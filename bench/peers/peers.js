// Two ways to shorten a conversation on node, for build/bench/bench: node peers.js BODIES.jsonl
//
// The bodies are openai-chat. Text goes in and text comes out, so JSON.parse and JSON.stringify are
// on the clock. Both peers are given the easiest case: strings, not bytes; for LangChain the
// cheapest token counter there is, and the calls' raw form kept for the way back; for the AI SDK
// bodies that were stored as its own messages, so that nothing is converted on the clock.
//
// Protocol: see rows_node.cpp. A pass is one walk over all bodies.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
} from "@langchain/core/messages";
import { pruneMessages } from "ai";

const MAX_TOKENS = 16000; // as for the rows of paucis that need a budget

// ---- @langchain/core ----------------------------------------------------------------------------

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function toLangChainCall(call) {
  return { id: call.id, name: call.function.name, args: parsed(call.function.arguments) };
}

function toLangChain(m) {
  switch (m.role) {
    case "system":
      return new SystemMessage(m.content);
    case "user":
      return new HumanMessage(m.content);
    case "tool":
      return new ToolMessage({ content: m.content, tool_call_id: m.tool_call_id });
    default: {
      const content = m.content ?? "";
      if (!m.tool_calls) return new AIMessage(content);
      const tool_calls = m.tool_calls.map(toLangChainCall);
      return new AIMessage({ content, tool_calls, additional_kwargs: { tool_calls: m.tool_calls } });
    }
  }
}

const ROLES = { system: "system", human: "user", ai: "assistant", tool: "tool" };

function fromLangChain(m) {
  const out = { role: ROLES[m.getType()], content: m.content };
  if (m.tool_call_id) out.tool_call_id = m.tool_call_id;
  if (m.additional_kwargs.tool_calls) out.tool_calls = m.additional_kwargs.tool_calls;
  return out;
}

// Characters over 4. trimMessages counts all that is left after each message it takes away, so a
// message's count is remembered.
const counts = new WeakMap();

function countOne(m) {
  let n = counts.get(m);
  if (n === undefined) {
    n = 0;
    if (typeof m.content === "string") n = m.content.length;
    else for (const block of m.content) n += block.text?.length ?? 0;
    for (const call of m.additional_kwargs.tool_calls ?? []) n += call.function.arguments.length;
    counts.set(m, (n = Math.ceil(n / 4)));
  }
  return n;
}

function tokenCounter(messages) {
  let n = 0;
  for (const m of messages) n += countOne(m);
  return n;
}

async function langchain(text) {
  const body = JSON.parse(text);
  const kept = await trimMessages(body.messages.map(toLangChain), {
    maxTokens: MAX_TOKENS,
    strategy: "last",
    includeSystem: true,
    tokenCounter,
  });
  body.messages = kept.map(fromLangChain);
  return JSON.stringify(body);
}

// ---- the AI SDK ---------------------------------------------------------------------------------

function plainText(content) {
  return typeof content === "string" ? content : (content ?? []).map((b) => b.text ?? "").join("");
}

// Off the clock: the body as the SDK's own messages (ModelMessage), as JSON.
function toSdk(text) {
  const body = JSON.parse(text);
  const names = new Map();
  body.messages = body.messages.map((m) => {
    if (m.role === "tool") {
      const output = { type: "text", value: plainText(m.content) };
      const [toolCallId, toolName] = [m.tool_call_id, names.get(m.tool_call_id) ?? "?"];
      return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
    }
    if (m.role !== "assistant") return { role: m.role, content: plainText(m.content) };
    const content = m.reasoning_content ? [{ type: "reasoning", text: m.reasoning_content }] : [];
    if (m.content?.length) content.push({ type: "text", text: plainText(m.content) });
    for (const call of m.tool_calls ?? []) {
      const { name, arguments: input } = call.function;
      names.set(call.id, name);
      content.push({ type: "tool-call", toolCallId: call.id, toolName: name, input: parsed(input) });
    }
    return { role: "assistant", content };
  });
  return JSON.stringify(body);
}

function aiSdk(text) {
  const body = JSON.parse(text);
  body.messages = pruneMessages({
    messages: body.messages,
    reasoning: "before-last-message",
    toolCalls: "before-last-8-messages",
    emptyMessages: "remove",
  });
  return JSON.stringify(body);
}

// ---- rows ---------------------------------------------------------------------------------------

const bodies = readFileSync(process.argv[2], "utf8").split("\n").filter((line) => line.trim());
const rows = {
  "JSON.parse, JSON.stringify": { run: (text) => JSON.stringify(JSON.parse(text)), bodies },
  "@langchain/core trimMessages": { run: langchain, bodies },
  "ai pruneMessages": { run: aiSdk, bodies: bodies.map(toSdk) },
};
let sink = 0; // what was made must not be optimised away

async function pass(row) {
  const took = [];
  for (const text of row.bodies) {
    const from = process.hrtime.bigint();
    sink += (await row.run(text)).length;
    took.push(Number(process.hrtime.bigint() - from) / 1e9);
  }
  return took;
}

const require = createRequire(import.meta.url);
const version = (name) => `${name} ${require(`${name}/package.json`).version}`;

console.log(Object.keys(rows).join("\t"));
console.log([`node ${process.version}`, version("@langchain/core"), version("ai")].join("\t"));
for await (const name of createInterface({ input: process.stdin }))
  console.log((await pass(rows[name])).join(" "));
process.exitCode = sink > 0 ? 0 : 1;
