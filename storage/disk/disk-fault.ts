import { AtollError } from "../../base/errors.ts";

/**
 * Run disk work and turn whatever the platform throws into `temporarily_unavailable`: its own errors carry paths,
 * which nobody outside may see. An AtollError passes as it is.
 */
export async function diskFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AtollError) throw error;
    throw new AtollError("temporarily_unavailable", "The host cannot use its disk at the moment.", {
      hint: "Check the free space and the health of the disk that holds the data directory.",
      cause: error,
    });
  }
}
