// Keyboard shortcuts of `atoll dev`, on a terminal.

export type Key = "restart" | "open" | "quit";

export const KEYS_TEXT = "press r to restart, o to open it in a browser, q to quit";

const KEYS: Readonly<Record<string, Key>> = {
  r: "restart",
  o: "open",
  q: "quit",
  "\u0003": "quit", // Ctrl+C, which raw mode hands over as a character
  "\u0004": "quit", // Ctrl+D
};

/** Listen until the returned function is called, which gives the terminal back as it was. */
export function listenToKeys(stdin: NodeJS.ReadStream, pressed: (key: Key) => void): () => void {
  const onData = (chunk: Buffer | string): void => {
    for (const char of String(chunk)) {
      const key = KEYS[char.toLowerCase()];
      if (key !== undefined) pressed(key);
    }
  };
  stdin.setRawMode(true);
  stdin.resume();
  stdin.on("data", onData);
  return () => {
    stdin.off("data", onData);
    stdin.setRawMode(false);
    stdin.pause();
  };
}
