// The least a Worker can do.
export default {
  async fetch() {
    return new Response("Hello, world!\n");
  },
};
