// Started by spy.test.ts: provokes errors that nobody catches, and prints what became of them.
import { openSpyRig, runStep } from "./spy-steps.ts";

const rig = openSpyRig();
await rig.loaded();
await rig.text("/patch");
const results: string[] = [];
for (const name of ["listeners", "rejections", "timers", "plain"]) results.push(await runStep(rig, name));
const report = await rig.text("/report");
console.log(JSON.stringify({ results, lines: rig.lines, report }));
await rig.cell.stop("retired");
process.exit(0);
