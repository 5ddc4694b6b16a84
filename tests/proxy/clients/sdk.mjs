// Tool loops with the official SDKs: node sdk.mjs CLIENT BASE-URL stream|whole. Prints every answer of the
// model as a line of JSON, so that two runs can be compared. The same few long files are read again and
// again, so that there is something to shorten.
const [client, base, mode] = process.argv.slice(2);
const stream = mode === "stream";
globalThis.AI_SDK_LOG_WARNINGS = false;
const say = (value) => console.log(JSON.stringify(value));
const read = ({ path }) =>
  Array.from({ length: 120 }, (_, i) => `${path}: line ${i}, value ${(path.charCodeAt(4) * 7919 + i * 104729) % 100003}`).join("\n");
const schema = { type: "object", properties: { path: { type: "string" }, n: { type: "number" } }, required: ["path", "n"] };
const task = `Read the files (${client}).`;

async function openaiChat() {
  const { default: OpenAI } = await import("openai");
  const api = new OpenAI({ baseURL: base + "/v1", apiKey: "sk-test" });
  const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: task }];
  const tools = [{ type: "function", function: { name: "read", description: "reads", parameters: schema } }];
  for (;;) {
    const request = { model: "gpt-test", messages, tools };
    const answer = stream
      ? await api.chat.completions.stream({ ...request, stream_options: { include_usage: true } }).finalChatCompletion()
      : await api.chat.completions.create(request);
    const { role, content, tool_calls } = answer.choices[0].message;
    say({ content: content?.trim() ?? null, tool_calls });
    messages.push(tool_calls?.length ? { role, content, tool_calls } : { role, content });
    if (!tool_calls?.length) return;
    for (const call of tool_calls)
      messages.push({ role: "tool", tool_call_id: call.id, content: read(JSON.parse(call.function.arguments)) });
  }
}

async function openaiResponses() {
  const { default: OpenAI } = await import("openai");
  const api = new OpenAI({ baseURL: base + "/v1", apiKey: "sk-test" });
  const input = [{ role: "user", content: task }];
  const tools = [{ type: "function", name: "read", description: "reads", parameters: schema, strict: false }];
  for (;;) {
    const request = { model: "gpt-test", instructions: "Be brief.", input, tools, store: false };
    const answer = stream
      ? await api.responses.stream(request).finalResponse()
      : await api.responses.create(request);
    const calls = answer.output.filter((item) => item.type === "function_call");
    say(answer.output.map(({ type, arguments: a, content }) => ({ type, a, text: content?.[0]?.text })));
    for (const { type, call_id, name, arguments: args } of calls) input.push({ type, call_id, name, arguments: args });
    if (!calls.length) return;
    for (const call of calls)
      input.push({ type: "function_call_output", call_id: call.call_id, output: read(JSON.parse(call.arguments)) });
  }
}

async function anthropic() {
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  const api = new Anthropic({ baseURL: base, apiKey: "sk-ant-test" });
  const messages = [{ role: "user", content: task }];
  const tools = [{ name: "read", description: "reads", input_schema: schema }];
  for (;;) {
    const marked = messages.map((m, i) => {
      if (i !== messages.length - 1 || typeof m.content === "string") return m;
      const content = m.content.map((b, k) =>
        k === m.content.length - 1 ? { ...b, cache_control: { type: "ephemeral" } } : b);
      return { ...m, content };
    });
    const request = { model: "claude-test", max_tokens: 1000, system: "Be brief.", messages: marked, tools };
    const answer = stream ? await api.messages.stream(request).finalMessage() : await api.messages.create(request);
    say(answer.content);
    messages.push({ role: "assistant", content: answer.content });
    const calls = answer.content.filter((b) => b.type === "tool_use");
    if (!calls.length) return;
    messages.push({ role: "user", content: calls.map((b) => ({ type: "tool_result", tool_use_id: b.id, content: read(b.input) })) });
  }
}

async function gemini() {
  const { GoogleGenAI } = await import("@google/genai");
  const api = new GoogleGenAI({ apiKey: "g-test", httpOptions: { baseUrl: base } });
  const contents = [{ role: "user", parts: [{ text: task }] }];
  const tools = [{ functionDeclarations: [{ name: "read", description: "reads", parametersJsonSchema: schema }] }];
  for (;;) {
    const request = { model: "gemini-test", contents, config: { tools } };
    let content;
    if (stream) {
      for await (const piece of await api.models.generateContentStream(request))
        content = piece.candidates?.[0]?.content ?? content;
    } else {
      content = (await api.models.generateContent(request)).candidates[0].content;
    }
    say(content);
    contents.push(content);
    const calls = content.parts.filter((p) => p.functionCall);
    if (!calls.length) return;
    contents.push({ role: "user", parts: calls.map((p) =>
      ({ functionResponse: { id: p.functionCall.id, name: "read", response: { output: read(p.functionCall.args) } } })) });
  }
}

async function ai(model) {
  const { generateText, streamText, tool, stepCountIs } = await import("ai");
  const { z } = await import("zod");
  const tools = { read: tool({ description: "reads", inputSchema: z.object({ path: z.string(), n: z.number() }),
                               execute: async (input) => read(input) }) };
  const request = { model, prompt: task, tools, stopWhen: stepCountIs(100), maxRetries: 0 };
  if (stream) {
    const result = streamText(request);
    for await (const _ of result.fullStream);
    for (const step of await result.steps) say({ text: step.text.trim(), calls: step.toolCalls.map((c) => c.input) });
  } else {
    const result = await generateText(request);
    for (const step of result.steps) say({ text: step.text.trim(), calls: step.toolCalls.map((c) => c.input) });
  }
}

const clients = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  gemini,
  "ai-openai": async () => {
    const { createOpenAI } = await import("@ai-sdk/openai");
    await ai(createOpenAI({ baseURL: base + "/v1", apiKey: "sk-test" }).chat("gpt-test"));
  },
  "ai-anthropic": async () => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    await ai(createAnthropic({ baseURL: base + "/v1", apiKey: "sk-ant-test" })("claude-test"));
  },
};
await clients[client]();
