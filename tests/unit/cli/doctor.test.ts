// Every check of `atoll doctor` on machines that are made up, one fact at a time.
import { describe, expect, test } from "bun:test";
import { clock } from "../../../cli/doctor/clock-check.ts";
import { cores } from "../../../cli/doctor/cores.ts";
import { dataDirectory } from "../../../cli/doctor/data-directory.ts";
import { diagnose, verdictOf } from "../../../cli/doctor/diagnosis.ts";
import { directIo } from "../../../cli/doctor/direct-io.ts";
import { diskSpace } from "../../../cli/doctor/disk-space.ts";
import { fileSystem } from "../../../cli/doctor/file-system.ts";
import type { Finding, Verdict } from "../../../cli/doctor/finding.ts";
import { ioLimits } from "../../../cli/doctor/io-limits.ts";
import { killSurvival } from "../../../cli/doctor/kill-survival.ts";
import { landlock } from "../../../cli/doctor/landlock.ts";
import { memory } from "../../../cli/doctor/memory.ts";
import { openFiles } from "../../../cli/doctor/open-files.ts";
import { ports } from "../../../cli/doctor/ports.ts";
import type { Probes } from "../../../cli/doctor/probes.ts";
import { seccomp } from "../../../cli/doctor/seccomp.ts";
import { syncHonesty } from "../../../cli/doctor/sync-honesty.ts";
import { userNamespaces } from "../../../cli/doctor/user-namespaces.ts";

const GIB = 2 ** 30;
const meminfo = (bytes: number): string => `MemTotal:  99999999 kB\nMemAvailable:   ${bytes / 1_024} kB\n`;
const limits = (soft: string): string =>
  `Limit   Soft Limit  Hard Limit  Units\nMax open files   ${soft}   1048576   files\n`;
const NOW = Date.UTC(2026, 5, 1);
const DIRECTORY = { mode: 0o40700, uid: 7, isDirectory: true };
const KEY = { path: "secret-key", mode: 0o100600, uid: 7 };
const listener = (outcome: string) => ({ address: "127.0.0.1:8080", port: 8080, outcome });

/** What is said has to have these words in it. */
type Row = readonly [what: string, finding: Finding, verdict: Verdict, words: string];

const ROWS: readonly Row[] = [
  ["no Landlock", landlock(null), "warn", "no Landlock"],
  ["Landlock for files alone", landlock(3), "warn", "files only"],
  ["Landlock", landlock(4), "ok", "ABI 4"],
  ["seccomp", seccomp("kill_process kill_thread trap errno log allow\n"), "ok", "there"],
  ["no seccomp", seccomp(null), "warn", "no seccomp"],
  ["seccomp without killing", seccomp("errno allow"), "warn", "no seccomp"],
  ["user namespaces", userNamespaces({ max: "9\n", unprivileged: "1\n", apparmor: null }), "ok", "can make"],
  ["none of them", userNamespaces({ max: null, unprivileged: null, apparmor: null }), "warn", "has none"],
  ["a limit of 0", userNamespaces({ max: "0\n", unprivileged: null, apparmor: null }), "warn", "max_user"],
  ["Debian's switch", userNamespaces({ max: "9", unprivileged: "0\n", apparmor: null }), "warn", "userns_clone"],
  ["Ubuntu's switch", userNamespaces({ max: "9", unprivileged: null, apparmor: "1\n" }), "warn", "apparmor"],
  ["no control groups", ioLimits({ controllers: null, ioMax: null }), "warn", "hierarchy"],
  ["no io controller", ioLimits({ controllers: "cpu memory\n", ioMax: null }), "warn", "no io controller"],
  ["an io controller", ioLimits({ controllers: "cpu io memory\n", ioMax: "" }), "ok", "and is not"],
  ["an io limit", ioLimits({ controllers: "io", ioMax: "8:0 rbps=1048576\n" }), "ok", "rbps=1048576"],
  ["few files", openFiles(limits("512")), "fail", "only 512"],
  ["the files of a shell", openFiles(limits("1024")), "warn", "1024"],
  ["many files", openFiles(limits("65536")), "ok", "65536"],
  ["all files", openFiles(limits("unlimited")), "ok", "unlimited"],
  ["memory", memory({ meminfo: meminfo(GIB), groupMax: "max\n", groupCurrent: "5\n" }), "ok", "1 GiB"],
  ["little memory", memory({ meminfo: meminfo(GIB / 4), groupMax: null, groupCurrent: null }), "warn", "256 MiB"],
  ["no memory", memory({ meminfo: meminfo(GIB / 16), groupMax: null, groupCurrent: null }), "fail", "64 MiB"],
  [
    "a full group",
    memory({ meminfo: meminfo(8 * GIB), groupMax: `${GIB}`, groupCurrent: `${GIB - 1024}` }),
    "fail",
    "0 MiB",
  ],
  ["two cores", cores({ cores: 2, cpuMax: "max 100000\n" }), "ok", "2 cores"],
  ["one core", cores({ cores: 1, cpuMax: null }), "warn", "1 cores"],
  ["half of eight cores' worth", cores({ cores: 8, cpuMax: "50000 100000\n" }), "warn", "0.5 cores"],
  ["a clock", clock({ nowMs: NOW, jumpedMs: 0.4, synchronized: true }), "ok", "time service"],
  ["a clock that says nothing", clock({ nowMs: NOW, jumpedMs: 0, synchronized: null }), "ok", "evenly"],
  ["a lonely clock", clock({ nowMs: NOW, jumpedMs: 0, synchronized: false }), "warn", "no time service"],
  ["a clock set back", clock({ nowMs: NOW, jumpedMs: -3_600_000, synchronized: true }), "warn", "-3600000 ms"],
  ["a clock without a battery", clock({ nowMs: 0, jumpedMs: 0, synchronized: true }), "fail", "1970-01-01"],
  ["free ports", ports({ listeners: [listener("free")], own: new Set() }), "ok", "free"],
  ["a taken port", ports({ listeners: [listener("EADDRINUSE")], own: new Set([8443]) }), "fail", "another process"],
  ["our own port", ports({ listeners: [listener("EADDRINUSE")], own: new Set([8080]) }), "ok", "node that runs"],
  ["a low port", ports({ listeners: [listener("EACCES")], own: new Set() }), "fail", "may not"],
  ["a foreign address", ports({ listeners: [listener("EADDRNOTAVAIL")], own: new Set() }), "fail", "no address"],
  ["another refusal", ports({ listeners: [listener("EAFNOSUPPORT")], own: new Set() }), "fail", "EAFNOSUPPORT"],
  ["a new directory", dataDirectory({ uid: 7, directory: null, writable: true, secrets: [] }), "ok", "can be made"],
  [
    "no place for one",
    dataDirectory({ uid: 7, directory: null, writable: false, secrets: [] }),
    "fail",
    "cannot be made",
  ],
  [
    "a file in its place",
    dataDirectory({ uid: 7, directory: { ...DIRECTORY, isDirectory: false }, writable: true, secrets: [] }),
    "fail",
    "is a file",
  ],
  ["a directory", dataDirectory({ uid: 7, directory: DIRECTORY, writable: true, secrets: [KEY] }), "ok", "alone"],
  [
    "root looking at it",
    dataDirectory({ uid: 0, directory: DIRECTORY, writable: true, secrets: [KEY] }),
    "ok",
    "alone",
  ],
  [
    "one of somebody else",
    dataDirectory({ uid: 8, directory: DIRECTORY, writable: false, secrets: [] }),
    "fail",
    "may not write",
  ],
  [
    "an open secret",
    dataDirectory({ uid: 7, directory: DIRECTORY, writable: true, secrets: [{ ...KEY, mode: 0o100640 }] }),
    "fail",
    "secret-key can be read by other users (mode 640)",
  ],
  [
    "a secret left by root",
    dataDirectory({ uid: 0, directory: DIRECTORY, writable: true, secrets: [{ ...KEY, uid: 0 }] }),
    "fail",
    "another user",
  ],
  [
    "an open directory",
    dataDirectory({ uid: 7, directory: { ...DIRECTORY, mode: 0o40755 }, writable: true, secrets: [KEY] }),
    "warn",
    "mode 755",
  ],
  ["space", diskSpace({ freeBytes: 20 * GIB, totalBytes: 40 * GIB, freeFiles: null }), "ok", "20 GiB of 40 GiB"],
  ["little space", diskSpace({ freeBytes: GIB, totalBytes: 40 * GIB, freeFiles: 1e6 }), "warn", "1 GiB"],
  ["no space", diskSpace({ freeBytes: 1e8, totalBytes: 40 * GIB, freeFiles: 1e6 }), "fail", "95 MiB"],
  ["no more files", diskSpace({ freeBytes: 20 * GIB, totalBytes: 40 * GIB, freeFiles: 5 }), "warn", "5 more files"],
  ["ext4", fileSystem({ kind: "ext4", options: ["rw", "relatime"] }), "ok", "ext4"],
  ["ext4 read-only", fileSystem({ kind: "ext4", options: ["ro"] }), "fail", "read-only"],
  ["ext4 without barriers", fileSystem({ kind: "ext4", options: ["rw", "nobarrier"] }), "warn", "nobarrier"],
  ["tmpfs", fileSystem({ kind: "tmpfs", options: ["rw"] }), "warn", "reboot"],
  ["nfs", fileSystem({ kind: "nfs4", options: ["rw"] }), "warn", "another machine"],
  ["a container's layer", fileSystem({ kind: "overlay", options: ["rw"] }), "warn", "container"],
  ["something else", fileSystem({ kind: "fuse.sshfs", options: ["rw"] }), "warn", "not tested"],
  ["writes that survive", killSurvival({ acknowledged: 32, found: 33 }), "ok", "all 32"],
  ["writes that do not", killSurvival({ acknowledged: 32, found: 30 }), "fail", "2 of 32"],
  ["a sync", syncHonesty({ syncedUs: 300, unsyncedUs: 4 }), "ok", "reach the disk"],
  ["a sync that does nothing", syncHonesty({ syncedUs: 5, unsyncedUs: 2 }), "warn", "probably not durable"],
  ["a slow sync that does nothing", syncHonesty({ syncedUs: 130, unsyncedUs: 110 }), "warn", "probably not durable"],
  ["the sync of a tired disk", syncHonesty({ syncedUs: 45_000, unsyncedUs: 4 }), "warn", "45.0 ms"],
  ["direct writes", directIo({ direct: true, preallocates: true }), "ok", "preallocated"],
  ["neither", directIo({ direct: false, preallocates: false }), "warn", "no preallocation and no O_DIRECT"],
];

describe("a check", () => {
  test.each(ROWS)("says what %s means", (_, finding, verdict, words) => {
    expect(finding.verdict).toBe(verdict);
    expect(finding.says).toContain(words);
    expect(finding.advice === undefined).toBe(verdict === "ok");
  });
});

/** A machine where all is well, but for `changes`. */
function machine(changes: Partial<Probes>): Probes {
  return {
    landlock: () => 7,
    seccomp: () => "kill_process errno",
    userNamespaces: () => ({ max: "9", unprivileged: null, apparmor: null }),
    controlGroup: () => ({ controllers: "io", ioMax: null }),
    limits: () => limits("65536"),
    memory: () => ({ meminfo: meminfo(GIB), groupMax: null, groupCurrent: null }),
    cores: () => ({ cores: 4, cpuMax: null }),
    clock: async () => ({ nowMs: NOW, jumpedMs: 0, synchronized: true }),
    ports: async () => ({ listeners: [listener("free")], own: new Set() }),
    dataDirectory: () => ({ uid: 7, directory: DIRECTORY, writable: true, secrets: [KEY] }),
    fileSystem: () => ({ kind: "xfs", options: ["rw"], freeBytes: 9 * GIB, totalBytes: 9 * GIB, freeFiles: null }),
    killSurvival: async () => ({ acknowledged: 32, found: 32 }),
    syncs: async () => ({ syncedUs: 300, unsyncedUs: 3 }),
    direct: async () => ({ direct: true, preallocates: true }),
    ...changes,
  };
}

describe("a diagnosis", () => {
  test("of a good machine is all ok, each check once", async () => {
    const found = await Array.fromAsync(diagnose(machine({})));
    expect(found.filter(({ verdict }) => verdict !== "ok")).toEqual([]);
    expect(new Set(found.map(({ check }) => check)).size).toBe(15);
    expect(verdictOf(found)).toBe("ok");
  });

  test("is as bad as the worst check", async () => {
    const slow = { syncs: async () => ({ syncedUs: 1, unsyncedUs: 1 }) };
    expect(verdictOf(await Array.fromAsync(diagnose(machine(slow))))).toBe("warn");
    const lossy = { ...slow, killSurvival: async () => ({ acknowledged: 2, found: 0 }) };
    expect(verdictOf(await Array.fromAsync(diagnose(machine(lossy))))).toBe("fail");
  });

  test("goes on when something cannot be looked at, and says why without a path", async () => {
    const denied = () => {
      throw Object.assign(new Error("EACCES: permission denied, mkdir '/srv/atoll/x'"), { code: "EACCES" });
    };
    const found = await Array.fromAsync(diagnose(machine({ fileSystem: denied, syncs: async () => denied() })));
    expect(found.filter(({ verdict }) => verdict === "warn").map(({ check, says }) => [check, says])).toEqual([
      ["file-system", "this could not be looked at (EACCES)"],
      ["disk-space", "this could not be looked at (EACCES)"],
      ["sync-honesty", "this could not be looked at (EACCES)"],
    ]);
  });
});
