// A node with the two fictional Forms on a real port, for tests that kill it.
//
//   bun control-server.ts <data directory> [fault point] [hold]
//
// It ends itself by SIGKILL at the fault point; with `hold` the backend takes calls and never answers. The first line
// on stdout is `{"url": …, "token": …}`.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SystemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { SystemRandom } from "../../base/random.ts";
import { createApi } from "../../api/server.ts";
import { Control } from "../../control/control.ts";
import { DEFAULT_CONTROL_CONFIG } from "../../control/control-config.ts";
import { FormRegistry } from "../../control/forms/registry.ts";
import { ensureAdmin } from "../../control/principals/first-start.ts";
import { Principals } from "../../control/principals/principals.ts";
import { ControlStore } from "../../storage/control/control-store.ts";
import { loadMasterKey } from "../../storage/secrets/master-key.ts";
import { Sealer } from "../../storage/secrets/sealer.ts";
import { SealedVault } from "../../storage/secrets/vault.ts";
import { hostConfig, MemoryArtifacts } from "./control-rig.ts";
import { KeyValueEntryForm } from "./publisher/key-value-entry.ts";
import { PublisherBackend } from "./publisher/publisher-backend.ts";
import { RenderedGreetingForm } from "./publisher/rendered-greeting.ts";

const [data = "", fault = "none", hold] = process.argv.slice(2);
mkdirSync(data, { recursive: true });
const clock = new SystemClock();
const random = new SystemRandom();
const store = ControlStore.open(join(data, "control.sqlite"));
const masterKey = await loadMasterKey({
  path: join(data, "secret-key"),
  given: process.env["ATOLL_SECRET_KEY"],
  random,
});
const backend = new PublisherBackend(join(data, "publisher"));
if (hold === "hold") backend.standStill();
const vault = new SealedVault(store, new Sealer(masterKey, "vault", random));
const principals = new Principals({ store, clock, random });
await ensureAdmin(principals, join(data, "admin-token"));
const control = new Control({
  store,
  clock,
  random,
  masterKey,
  forms: new FormRegistry([new KeyValueEntryForm(backend), new RenderedGreetingForm(backend, vault)]),
  log: silentLogger,
  config: DEFAULT_CONTROL_CONFIG,
  faults: (point) => {
    if (point === fault) process.kill(process.pid, "SIGKILL");
  },
});
const api = createApi({ control, principals, artifacts: new MemoryArtifacts(), host: hostConfig(), log: silentLogger });
control.start();
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => api.handle(request) });
const token = readFileSync(join(data, "admin-token"), "utf8").trim();
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}/apis/forms.takoform.com/v2`, token }));
