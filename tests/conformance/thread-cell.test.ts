import { ThreadCell } from "../../sandbox/thread-cell.ts";
import { describeCell } from "./cell.ts";

describeCell({ name: "ThreadCell", open: (...given) => new ThreadCell(...given) });
