// What only a system call tells.
import { dlopen, FFIType, ptr } from "bun:ffi";

/** landlock_create_ruleset has this number on every architecture. */
const LANDLOCK_CREATE_RULESET = 444;
const LANDLOCK_VERSION_FLAG = 1;

/** Version of the kernel's Landlock interface; null without one. */
export function landlockAbi(): number | null {
  const libc = dlopen("libc.so.6", {
    syscall: { args: [FFIType.i64, FFIType.ptr, FFIType.u64, FFIType.u32], returns: FFIType.i64 },
  });
  try {
    const abi = Number(libc.symbols.syscall(LANDLOCK_CREATE_RULESET, null, 0, LANDLOCK_VERSION_FLAG));
    return abi > 0 ? abi : null;
  } finally {
    libc.close();
  }
}

/** `struct timex` of a 64-bit Linux: a request of zero changes nothing, `status` is a 32-bit word at 40. */
const TIMEX_BYTES = 208;
const STATUS_AT = 40;
const STA_UNSYNC = 0x40;

/** Whether a time service disciplines the kernel's clock; null when the kernel does not say. */
export function clockSynchronized(): boolean | null {
  const libc = dlopen("libc.so.6", { adjtimex: { args: [FFIType.ptr], returns: FFIType.i32 } });
  try {
    const timex = new DataView(new ArrayBuffer(TIMEX_BYTES));
    if (libc.symbols.adjtimex(ptr(timex)) < 0) return null;
    return (timex.getInt32(STATUS_AT, true) & STA_UNSYNC) === 0;
  } finally {
    libc.close();
  }
}
