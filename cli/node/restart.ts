// Replace this process by a fresh one of the same command, with the same pid: the only way to stop a thread that is
// inside native code. Recovery is the ordinary start on the same data directory.
import { dlopen, FFIType, ptr } from "bun:ffi";
import { ownCommand } from "./own-command.ts";

/** Does not return. Listening sockets close on exec; clients see their connections cut, as after a crash. */
export function restartProcess(): never {
  const libc = dlopen("libc.so.6", {
    execv: { args: [FFIType.cstring, FFIType.ptr], returns: FFIType.int },
  });
  const args = [...ownCommand(), ...process.argv.slice(2)].map((arg) => Buffer.from(`${arg}\0`));
  const list = new BigUint64Array(args.length + 1);
  args.forEach((arg, i) => {
    list[i] = BigInt(ptr(arg));
  });
  libc.symbols.execv(ptr(Buffer.from(`${process.execPath}\0`)), ptr(list));
  // Exec failed: end, and let a service manager start the node again.
  process.exit(86);
}
