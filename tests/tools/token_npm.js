// Token ids by npm tiktoken: node token_npm.js NODE_MODULES ENCODING < JSON strings > arrays, line by line.
const { get_encoding } = require(process.argv[2] + "/tiktoken");
const encoding = get_encoding(process.argv[3]);
const lines = require("fs").readFileSync(0, "utf8").split("\n");
const out = [];
for (const line of lines)
  if (line) out.push("[" + encoding.encode_ordinary(JSON.parse(line)).join(",") + "]");
process.stdout.write(out.join("\n") + "\n");
