// Answers with one MiB.
const bytes = new Uint8Array(2 ** 20).fill(120);

export default {
  async fetch() {
    return new Response(bytes);
  },
};
