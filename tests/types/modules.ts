// MW-26 … MW-28: what an import of a file that is no JavaScript gives.
import bytes from "./data.bin";
import compiled from "./program.wasm";
import text from "./words.txt";

export const first: number = new Uint8Array(bytes)[0] ?? 0;
export const instance: Promise<WebAssembly.Instance> = WebAssembly.instantiate(compiled, {});
export const upper: string = text.toUpperCase();
// @ts-expect-error the bytes are no text
export const wrong: string = bytes;
