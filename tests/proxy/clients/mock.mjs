// A stand-in provider that we did not write: node mock.mjs. Prints its port; ends with its stdin.
import { LLMock } from "@copilotkit/aimock";
const mock = new LLMock({ port: 0 });
mock.onMessage(/sum up/, { content: "All files were read." });
await mock.start();
console.log(new URL(mock.url).port);
process.stdin.resume().on("end", () => process.exit(0));
