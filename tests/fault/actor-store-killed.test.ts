import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { ActorRig, actor } from "../unit/storage/actor/actor-rig.ts";

const OWNER = new URL("./actor-store-owner.ts", import.meta.url).pathname;
const LIVES = 4;

for (const durability of ["strict", "relaxed"] as const) {
  test(`AN-82: no count told by a ${durability} store is lost, though its thread and its process are killed again and again`, async () => {
    using directory = temporaryDirectory();
    const told = new Map<string, number>();
    for (let life = 1; life <= LIVES; life++) {
      const linesMax = 150 + life * 61;
      const child = Bun.spawn([process.execPath, OWNER, directory.path, String(life), durability], {
        stdout: "pipe",
        stderr: "inherit",
      });
      let output = "";
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
        output += chunk;
        if (output.split("\n").length > linesMax) child.kill("SIGKILL");
      }
      await child.exited;
      expect(child.signalCode).toBe("SIGKILL");
      for (const line of output.split("\n").slice(0, -1)) {
        const [id = "", count = ""] = line.split(" ");
        // Each count is told once, and none is told anew after a crash.
        expect(Number(count)).toBeGreaterThan(told.get(id) ?? 0);
        told.set(id, Number(count));
      }
    }
    expect([...told.keys()].sort()).toEqual(["a", "b", "c", "d"]);

    const rig = await ActorRig.open(directory.path, LIVES + 1);
    for (const [id, count] of told) {
      const store = await rig.store(actor(id));
      const { rows } = store.query(
        "SELECT n, (SELECT count(*) FROM turn) AS turns, (SELECT max(n) FROM turn) AS last FROM counter",
      );
      const [found] = rows;
      expect(Number(found?.["n"])).toBeGreaterThanOrEqual(count);
      expect(found).toEqual({ n: found?.["n"] ?? 0, turns: found?.["n"] ?? 0, last: found?.["n"] ?? 0 });
      expect(await store.close()).toBe("clean");
    }
    const actors = join(directory.path, "actors");
    for (const name of readdirSync(actors, { recursive: true }).map(String)) {
      if (!name.endsWith(".sqlite")) continue;
      const database = new DatabaseSync(join(actors, name), { readOnly: true });
      expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      database.close();
    }
    await rig.close();
  }, 60_000);
}
