import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OperationId, ResourceUid } from "../../../../base/ids.ts";
import { SystemRandom } from "../../../../base/random.ts";
import { ControlStore } from "../../../../storage/control/control-store.ts";
import { HeldInputStore } from "../../../../storage/secrets/held-inputs.ts";
import { loadMasterKey } from "../../../../storage/secrets/master-key.ts";
import { Sealer } from "../../../../storage/secrets/sealer.ts";
import { decodeSecrets, encodeSecrets } from "../../../../storage/secrets/secret-map.ts";
import { SealedVault } from "../../../../storage/secrets/vault.ts";
import { rejection, rejectionCode } from "../../../support/rejection.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const random = new SystemRandom();
const KEY = new Uint8Array(32).fill(1);
const OTHER = new Uint8Array(32).fill(2);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const uid = "r-1" as ResourceUid;
const operationId = "op-1" as OperationId;

const secretMap = fc.dictionary(fc.string({ maxLength: 10 }), fc.string({ unit: "grapheme", maxLength: 40 }), {
  maxKeys: 5,
});

describe("Sealer", () => {
  test("what was sealed opens under the same key about the same thing, and nowhere else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), fc.string(), (plain, about, other) => {
        const sealer = new Sealer(KEY, "a", random);
        const sealed = sealer.seal(plain, about);
        expect(Buffer.from(sealer.unseal(sealed, about) ?? [])).toEqual(Buffer.from(plain));
        expect(sealer.unseal(sealed, `${about}!`)).toBeNull();
        if (other !== about) expect(sealer.unseal(sealed, other)).toBeNull();
        for (const stranger of [new Sealer(OTHER, "a", random), new Sealer(KEY, "b", random)]) {
          expect(stranger.unseal(sealed, about)).toBeNull();
          expect(stranger.unseal({ ...sealed, keyId: stranger.keyId }, about)).toBeNull();
        }
      }),
    );
  });

  test("one changed bit anywhere is noticed, and so is a cut", () => {
    const sealer = new Sealer(KEY, "a", random);
    const sealed = sealer.seal(bytes("the secret"), "x");
    for (let i = 0; i < sealed.bytes.length * 8; i++) {
      const damaged = sealed.bytes.slice();
      damaged[i >> 3] = (damaged[i >> 3] ?? 0) ^ (1 << (i & 7));
      expect(sealer.unseal({ ...sealed, bytes: damaged }, "x")).toBeNull();
    }
    for (let length = 0; length < sealed.bytes.length; length++) {
      expect(sealer.unseal({ ...sealed, bytes: sealed.bytes.slice(0, length) }, "x")).toBeNull();
    }
  });

  test("sealing twice gives different bytes, and the plain text is not among them", () => {
    const sealer = new Sealer(KEY, "a", random);
    const [a, b] = [sealer.seal(bytes("hunter2"), "x"), sealer.seal(bytes("hunter2"), "x")];
    expect(Buffer.from(a.bytes).equals(b.bytes)).toBe(false);
    expect(Buffer.from(a.bytes).includes("hunter2")).toBe(false);
  });

  test("HA-116, HA-138: comparison material matches its value only, and is unknown under another key", () => {
    const sealer = new Sealer(KEY, "a", random);
    const material = sealer.material(bytes("v"), "op-1");
    expect(sealer.matches(material, bytes("v"), "op-1")).toBe("equal");
    expect(sealer.matches(material, bytes("w"), "op-1")).toBe("different");
    expect(sealer.matches(material, bytes("v"), "op-2")).toBe("different");
    expect(new Sealer(OTHER, "a", random).matches(material, bytes("v"), "op-1")).toBe("unknown");
    expect(sealer.matches({ ...material, bytes: material.bytes.slice(1) }, bytes("v"), "op-1")).toBe("unknown");
  });

  test("HA-132: equal values of two Operations have unrelated material, and context cannot flow into value", () => {
    const sealer = new Sealer(KEY, "a", random);
    const hex = (plain: string, about: string) =>
      Buffer.from(sealer.material(bytes(plain), about).bytes).toString("hex");
    expect(hex("v", "op-1")).not.toBe(hex("v", "op-2"));
    expect(hex("bc", "a")).not.toBe(hex("c", "ab"));
  });

  test("the name of a key tells nothing of it and differs by purpose", () => {
    const ids = [new Sealer(KEY, "a", random), new Sealer(KEY, "b", random), new Sealer(OTHER, "a", random)].map(
      (sealer) => sealer.keyId,
    );
    expect(new Set(ids).size).toBe(3);
    expect(new Sealer(KEY, "a", random).keyId).toBe(ids[0] as string);
  });
});

describe("secret maps", () => {
  test("they survive encoding, and equal maps have equal bytes whatever their order", () => {
    fc.assert(
      fc.property(secretMap, (map) => {
        const reversed = Object.fromEntries(Object.entries(map).reverse());
        expect(Buffer.from(encodeSecrets(reversed))).toEqual(Buffer.from(encodeSecrets(map)));
        expect(new Map(Object.entries(decodeSecrets(encodeSecrets(map))))).toEqual(new Map(Object.entries(map)));
      }),
    );
  });
});

describe("master key", () => {
  const load = (path: string, given?: string) => loadMasterKey({ path, given, random });

  test("the first start makes a file of mode 0600, later starts read it", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "secret-key");
    const key = await load(path);
    expect(key).toHaveLength(32);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await load(path)).toEqual(key);
  });

  test("a key from the environment wins and makes no file; base64, base64url and hex are read", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "secret-key");
    const raw = Buffer.from(KEY);
    for (const given of [
      raw.toString("base64"),
      raw.toString("base64url"),
      raw.toString("hex"),
      ` ${raw.toString("hex")}\n`,
    ]) {
      expect(await load(path, given)).toEqual(KEY);
    }
    expect(() => statSync(path)).toThrow();
  });

  test("a file that others can read, or that holds no key, is refused without quoting it", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "secret-key");
    await load(path);
    chmodSync(path, 0o640);
    expect(await rejectionCode(load(path))).toBe("temporarily_unavailable");
    writeFileSync(path, "not a key but hunter2");
    chmodSync(path, 0o600);
    const reason = await rejection(load(path));
    expect(reason.message).not.toContain("hunter2");
    expect(reason.message).not.toContain(directory.path);
    expect(readFileSync(path, "utf8")).toContain("hunter2");
    for (const given of [
      "short",
      Buffer.alloc(31).toString("base64"),
      Buffer.alloc(33).toString("base64"),
      "x".repeat(64),
    ]) {
      expect(await rejectionCode(load(path, given))).toBe("temporarily_unavailable");
    }
  });
});

describe("vault", () => {
  const open = (store: ControlStore, key = KEY) => new SealedVault(store, new Sealer(key, "vault", random));

  test("kept values are revealed, compared and forgotten; keeping again replaces", async () => {
    const store = ControlStore.open(":memory:");
    const vault = open(store);
    expect(await vault.reveal(uid)).toBeNull();
    expect(vault.compare(uid, {})).toBe("unknown");
    await vault.keep(uid, { A: "1", B: "2" });
    expect(await vault.reveal(uid)).toEqual({ A: "1", B: "2" });
    expect(vault.compare(uid, { B: "2", A: "1" })).toBe("equal");
    expect(vault.compare(uid, { A: "1" })).toBe("different");
    await vault.keep(uid, { A: "3" });
    expect(await vault.reveal(uid)).toEqual({ A: "3" });
    await vault.forget(uid);
    expect(await vault.reveal(uid)).toBeNull();
    store.close();
  });

  test("WV-48: under another key nothing is revealed and nothing can be compared", async () => {
    const store = ControlStore.open(":memory:");
    await open(store).keep(uid, { A: "1" });
    const other = open(store, OTHER);
    expect(await rejectionCode(other.reveal(uid))).toBe("backend_unavailable");
    expect(other.compare(uid, { A: "1" })).toBe("unknown");
    store.close();
  });

  test("values sealed for one Resource do not open for another", async () => {
    const store = ControlStore.open(":memory:");
    const vault = open(store);
    await vault.keep(uid, { A: "1" });
    const row = store.privateInputs.secret(uid);
    const stolen = "r-2" as ResourceUid;
    store.write(() => store.privateInputs.putSecret({ ...row!, uid: stolen }));
    expect(await rejectionCode(vault.reveal(stolen))).toBe("backend_unavailable");
    store.close();
  });
});

describe("held inputs", () => {
  test("HA-133, HA-138: the transfer value expires, the comparison material stays", () => {
    const store = ControlStore.open(":memory:");
    const held = new HeldInputStore(store, new Sealer(KEY, "private-inputs", random));
    store.write(() => held.accept(operationId, { A: "1" }, 100));
    expect(held.transfer(operationId, 99)).toEqual({ type: "held", values: { A: "1" } });
    expect(held.transfer(operationId, 100)).toEqual({ type: "lost", reason: "expired" });
    store.write(() => store.privateInputs.dropExpiredTransfers(100));
    expect(held.transfer(operationId, 0)).toEqual({ type: "lost", reason: "expired" });
    expect(held.comparable(operationId)).toBe(true);
    expect(held.compare(operationId, { A: "1" })).toBe("equal");
    expect(held.compare(operationId, { A: "2" })).toBe("different");
    store.close();
  });

  test("HA-108, HA-139: another key makes the value unavailable and the comparison impossible", () => {
    const store = ControlStore.open(":memory:");
    const first = new HeldInputStore(store, new Sealer(KEY, "private-inputs", random));
    store.write(() => first.accept(operationId, { A: "1" }, 100));
    const second = new HeldInputStore(store, new Sealer(OTHER, "private-inputs", random));
    expect(second.transfer(operationId, 0)).toEqual({ type: "lost", reason: "unavailable" });
    expect(second.comparable(operationId)).toBe(false);
    expect(second.compare(operationId, { A: "1" })).toBe("unknown");
    store.close();
  });
});
