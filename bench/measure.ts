// Runs one row: all peers are set up, warmed up, and then measured in turn (A B A B), so that whatever else the machine
// does meets them alike.
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { Peer } from "./peer.ts";
import type { Row, Sample, Settings, Subject } from "./row.ts";
import type { Series } from "./stats.ts";

export interface Plan extends Omit<Settings, "scratch"> {
  readonly rounds: number;
  /** A directory; every subject gets a new one below it. */
  readonly scratch: string;
  /** Progress, for people. */
  readonly say: (line: string) => void;
}

/** The series of each peer, in the order of `peers`. Rejects when a peer could not be measured. */
export async function measure(row: Row, peers: readonly Peer[], plan: Plan): Promise<Series[]> {
  const subjects: { readonly peer: Peer; readonly subject: Subject; readonly samples: Sample[] }[] = [];
  try {
    for (const peer of peers) {
      plan.say(`${row.name}: ${peer.name} is set up`);
      const scratch = await mkdtemp(join(plan.scratch, `${row.name}-${peer.name}-`));
      subjects.push({ peer, subject: await row.open(peer, { ...plan, scratch }), samples: [] });
    }
    for (const { peer, subject } of subjects) {
      if (subject.warmUp === undefined) continue;
      plan.say(`${row.name}: ${peer.name} warms up`);
      await subject.warmUp();
    }
    for (let round = 1; round <= plan.rounds; round++) {
      for (const { peer, subject, samples } of subjects) {
        plan.say(`${row.name}: round ${round} of ${plan.rounds}, ${peer.name}`);
        samples.push(await subject.sample());
      }
    }
  } finally {
    for (const { subject } of subjects) await subject.close();
  }
  return subjects.map(({ peer, samples }) => ({ peer: peer.name, samples }));
}
