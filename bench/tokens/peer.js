// How fast a tokenizer of npm is: node peer.js tiktoken|gpt-tokenizer NODE_MODULES ENCODING TEXT; one line
// of JSON, see peer.py.
const [name, modules, encoding, path] = process.argv.slice(2);
const text = require("fs").readFileSync(path, "utf8");
const documents = [];
for (let i = 0; i < text.length; i += 8192) documents.push(text.slice(i, i + 8192));

// A fresh tokenizer, as a function from a text to how many tokens it has.
const fresh = {
  tiktoken() {
    const one = require(modules + "/tiktoken").get_encoding(encoding);
    return (document) => one.encode_ordinary(document).length;
  },
  "gpt-tokenizer"() {
    const file = require.resolve(`${modules}/gpt-tokenizer/cjs/encoding/${encoding}.js`);
    for (const key of Object.keys(require.cache)) if (key.includes("gpt-tokenizer")) delete require.cache[key];
    const { countTokens } = require(file);
    const plain = { disallowedSpecial: new Set() };
    return (document) => countTokens(document, plain);
  },
}[name];

function pass(count) {
  const start = process.hrtime.bigint();
  let tokens = 0;
  for (const document of documents) tokens += count(document);
  return { seconds: Number(process.hrtime.bigint() - start) / 1e9, tokens };
}

let cold = Infinity, warm = Infinity, tokens;
for (let round = 0; round < 2; round++) {
  const count = fresh();
  const first = pass(count);
  cold = Math.min(cold, first.seconds);
  warm = Math.min(warm, pass(count).seconds, pass(count).seconds);
  tokens = first.tokens;
}
const { version } = require(`${modules}/${name}/package.json`);
console.log(JSON.stringify({ name: `npm ${name} ${version}`, cold_s: cold, warm_s: warm, tokens }));
