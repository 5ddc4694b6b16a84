// A provider over TLS and HTTP/2: node h2.mjs KEY CERT. Prints its port. Answers tell the protocol and how
// many connections there have been; /break ends the stream in the middle.
import { constants, createSecureServer } from "node:http2";
import { readFileSync } from "node:fs";
const [key, cert] = process.argv.slice(2).map((f) => readFileSync(f));
let sessions = 0;
const server = createSecureServer({ key, cert, allowHTTP1: true });
server.on("session", () => sessions++);
server.on("request", async (req, res) => {
  let bytes = 0;
  for await (const piece of req) bytes += piece.length;
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(`data: ${JSON.stringify({ version: req.httpVersion, sessions, bytes })}\n\n`);
  setTimeout(() => {
    if (req.url.includes("/break")) res.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else res.end("data: [DONE]\n\n");
  }, 100);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
