// How fast npm tiktoken is: node peer.js NODE_MODULES ENCODING TEXT; one line of JSON, see peer.py.
const modules = process.argv[2];
const { get_encoding } = require(modules + "/tiktoken");
const text = require("fs").readFileSync(process.argv[4], "utf8");
const documents = [];
for (let i = 0; i < text.length; i += 8192) documents.push(text.slice(i, i + 8192));

function pass(encoding) {
  const start = process.hrtime.bigint();
  let tokens = 0;
  for (const document of documents) tokens += encoding.encode_ordinary(document).length;
  return { seconds: Number(process.hrtime.bigint() - start) / 1e9, tokens };
}

let cold = Infinity, warm = Infinity, tokens;
for (let round = 0; round < 2; round++) {
  const encoding = get_encoding(process.argv[3]);
  const first = pass(encoding);
  cold = Math.min(cold, first.seconds);
  warm = Math.min(warm, pass(encoding).seconds, pass(encoding).seconds);
  tokens = first.tokens;
  encoding.free();
}
const name = "npm tiktoken " + require(modules + "/tiktoken/package.json").version;
console.log(JSON.stringify({ name, cold_s: cold, warm_s: warm, tokens }));
