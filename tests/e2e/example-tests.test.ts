// The tests that stand beside the examples.
import "../../examples/hello/worker.test.ts";
