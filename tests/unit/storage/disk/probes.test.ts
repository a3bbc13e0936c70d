import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../../base/clock.ts";
import { SystemClock } from "../../../../base/clock.ts";
import { probeDirect } from "../../../../storage/disk/probes/direct-probe.ts";
import { fileSystemOf, mountOf } from "../../../../storage/disk/probes/file-system.ts";
import { countRecords, writeAcknowledged } from "../../../../storage/disk/probes/killed-writer.ts";
import { measureSyncs } from "../../../../storage/disk/probes/sync-probe.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

/** Ends the writer after its n-th acknowledgement, as a kill does. */
class Killed extends Error {}

function writeUntil(path: string, last: number): void {
  const write = (): void =>
    writeAcknowledged(path, (record) => {
      if (record === last) throw new Killed();
    });
  expect(write).toThrow(Killed);
}

describe("records of a killed writer", () => {
  test("are all counted, and a torn one at the end is not", () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "records");
    writeUntil(path, 12);
    expect(countRecords(path)).toBe(12);
    appendFileSync(path, "0000000");
    expect(countRecords(path)).toBe(12);
  });

  test("are missed when the file lost its end, or a piece within", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "records");
    writeUntil(path, 12);
    const whole = await Bun.file(path).text();
    truncateSync(path, whole.length - 1);
    expect(countRecords(path)).toBe(11);
    await Bun.write(path, `${whole.slice(0, 32)}${"\0".repeat(16)}${whole.slice(48)}`);
    expect(countRecords(path)).toBe(2);
  });
});

describe("the other probes", () => {
  test("measure with the clock they are given, and leave nothing behind", () => {
    using directory = temporaryDirectory();
    let readings = 0;
    // Every look at the clock is a millisecond later than the one before.
    const ticking: Clock = { nowMs: () => 0, monotonicMs: () => readings++, after: () => () => {} };
    expect(measureSyncs(directory.path, ticking)).toEqual({ syncedUs: 1_000, unsyncedUs: 1_000 });
    expect(readings).toBeGreaterThan(200);
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test("tell of the real disk", () => {
    using directory = temporaryDirectory();
    const { syncedUs, unsyncedUs } = measureSyncs(directory.path, new SystemClock());
    expect(syncedUs).toBeGreaterThan(0);
    expect(unsyncedUs).toBeGreaterThan(0);
    expect(Object.values(probeDirect(directory.path)).every((value) => typeof value === "boolean")).toBe(true);
    expect(readdirSync(directory.path)).toEqual([]);
    const { kind, options, freeBytes, totalBytes } = fileSystemOf(directory.path);
    expect(kind).toMatch(/^\w+/);
    expect(options).toContain("rw");
    expect(freeBytes).toBeLessThanOrEqual(totalBytes);
  });
});

describe("the mount of a directory", () => {
  const MOUNTS = [
    "20 1 254:0 / / rw,relatime - ext4 /dev/vda rw,barrier=1",
    "30 20 0:40 / /dev/shm rw,nosuid - tmpfs tmpfs rw",
    "31 20 8:17 / /srv/big\\040disk rw - xfs /dev/sdb1 rw",
    "32 20 8:17 /part /srv/again ro - xfs /dev/sdb1 rw",
    "33 20 0:50 / /srv/pool rw shared:3 master:1 - btrfs /dev/sdc rw,space_cache",
    "",
  ].join("\n");
  const device = (major: number, minor: number): number => (major << 8) | minor;

  test.each([
    ["/var/lib/atoll", device(254, 0), "ext4"],
    ["/dev/shm/x", device(0, 40), "tmpfs"],
    ["/srv/big disk/atoll", device(8, 17), "xfs"],
    // A subvolume: its device is in no line.
    ["/srv/pool/volume", device(0, 77), "btrfs"],
    ["/srv/pooled", device(0, 77), "ext4"],
  ])("%s", (directory, number, kind) => {
    expect(mountOf(MOUNTS, number, directory)?.kind).toBe(kind);
  });

  test("is the nearest one, with its own options before those of the file system", () => {
    expect(mountOf(MOUNTS, device(8, 17), "/srv/again/data")?.options).toEqual(["ro", "rw"]);
    expect(mountOf("", 1, "/srv")).toBeNull();
  });
});
