import { httpLoadRow } from "./http-load.ts";

const MIB = 2 ** 20;
/** 1,024 bytes, serialized as JSON.stringify does it. */
const RECORD = JSON.stringify({ id: 7, name: "a record of one kilobyte", tags: ["a", "b"], text: "x".repeat(955) });

export const statelessRows = [
  httpLoadRow({
    name: "fetch",
    title: "a stateless Worker answers a GET with 14 bytes",
    worker: "hello",
    answer: "Hello, world!\n",
  }),
  httpLoadRow({
    name: "echo-json",
    title: `a Worker parses ${RECORD.length} bytes of JSON and answers with the same`,
    worker: "echo-json",
    contentType: "application/json",
    body: RECORD,
    answer: RECORD,
  }),
  httpLoadRow({
    name: "upload",
    title: "a Worker reads a body of 1 MiB chunk by chunk",
    worker: "upload",
    body: "x".repeat(MIB),
    answer: String(MIB),
  }),
  httpLoadRow({
    name: "download",
    title: "a Worker answers with a body of 1 MiB",
    worker: "download",
    answer: "x".repeat(MIB),
  }),
];
