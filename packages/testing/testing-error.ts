/** Something about the test or its set-up; the message says what to change. */
export class TestingError extends Error {
  override readonly name = "TestingError";
}
