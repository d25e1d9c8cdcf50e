// Folds a JSONL file of AG-UI events with the official client, several times, and prints one JSON line.
//   node client.mjs DIR FILE REPEATS      DIR/node_modules holds @ag-ui/client
// The events are parsed and copied before the clock starts: what is timed is the client's own pipeline alone.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

process.env.NODE_ENV = "production"; // Its development mode freezes every message after every event.
const [dir, file, repeats] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(dir), "package.json"));
const { AbstractAgent } = require("@ag-ui/client");
const { from } = createRequire(require.resolve("@ag-ui/client"))("rxjs");
const { version } = require("@ag-ui/client/package.json");

const events = fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const { threadId, runId } = events[0];
class Replay extends AbstractAgent {
  run() { return from(this.events); }
}
const print = console.log;
// Types that it does not know are dropped with a warning each.
console.log = () => {};
console.warn = () => {};
console.error = () => {};
const seconds = [];
let messages = 0;
for (let n = 0; n < Number(repeats); n += 1) {
  const agent = new Replay({ agentId: "replay", threadId });
  agent.events = structuredClone(events);
  const begun = process.hrtime.bigint();
  await agent.runAgent({ runId });
  seconds.push(Number(process.hrtime.bigint() - begun) / 1e9);
  messages = agent.messages.length;
}
print(JSON.stringify({ version, events: events.length, messages, seconds }));
