// Folds exported streams with the official client and compares them with what it made of the streams they came from.
//   node compare.mjs VECTORS EXPORTS      beside oracle.mjs and its node_modules
import fs from "node:fs";
import path from "node:path";
import { canonStr, oracle, readJsonl } from "./oracle.mjs";

// Where the store holds something else than the client on purpose; the reasons stand in engine/tests/agui_vectors.rs.
const ON_PURPOSE = new Set([
  "edge-interrupt-then-success-clears",
  "edge-interrupt-then-cancelled-clears",
  "edge-subagent-suspended-resume-next-run",
  "conf-draft-duplicate-interrupt-id",
  "edge-state-delta-big-numbers",
]);
const [vectors, exports_] = process.argv.slice(2);
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
// Ids that somebody made up, by the order in which they come.
const renamed = (text, known) => {
  const names = new Map();
  const name = (id) => (known.includes(id) ? id : (names.has(id) || names.set(id, `made-up-${names.size}`), names.get(id)));
  return text.replace(/uuid#\d+/g, name).replace(UUID, name);
};
const shown = (client, known) =>
  ["messages", "state", "pendingInterrupts"].map((part) => renamed(canonStr(client[part] ?? (part === "state" ? {} : [])), known));

const wrong = [];
let equal = 0;
let excepted = 0;
for (const file of fs.readdirSync(exports_).sort()) {
  const name = file.replace(/\.jsonl$/, "");
  const { client } = JSON.parse(fs.readFileSync(path.join(vectors, `${name}.expected.json`), "utf8"));
  if (client.outcome !== "completed") continue;
  const known = fs.readFileSync(path.join(vectors, file), "utf8");
  const got = await oracle(readJsonl(path.join(exports_, file)));
  const [want, is] = [shown(client, known), shown(got.client, known)];
  const same = want.every((part, place) => part === is[place]);
  const why = [];
  if (!same && !ON_PURPOSE.has(name)) why.push(`want ${want}\n  is   ${is}`);
  if (got.client.error) why.push(`the client refuses: ${got.client.error}`);
  if (!got.verify.ok) why.push(`its verifier refuses event ${got.verify.index}: ${got.verify.error}`);
  if (why.length > 0) wrong.push(`${name}: ${why.join("\n  ")}`);
  else if (same) equal += 1;
  else excepted += 1;
}
console.log(`${equal} exports fold to the same, ${excepted} to something else on purpose, ${wrong.length} wrong`);
if (wrong.length > 0 || equal < 250) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
