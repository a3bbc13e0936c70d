// Entry of a cell that is a process. Nothing but this file knows that the channel is a pair of pipes.
import { openCellSide } from "./cell-entry.ts";
import { encodeFrame, FrameDecoder, FROM_HOST } from "./wire/frame-codec.ts";

const out = Bun.stdout.writer();
const side = openCellSide({
  send: (frame) => {
    for (const piece of encodeFrame(frame)) void out.write(piece);
    void out.flush();
  },
});

const decoder = new FrameDecoder(FROM_HOST);
for await (const bytes of Bun.stdin.stream()) for (const frame of decoder.push(bytes)) side.receive(frame);
// The host is gone, and with it whoever could want something.
process.exit(0);
