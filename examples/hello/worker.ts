// Greets whoever asks: the smallest Worker worth deploying.
export default {
  async fetch(request) {
    const url = new URL(request.url);
    const name = url.searchParams.get("name") ?? "world";
    return new Response(`Hello, ${name}! This is ${request.method} ${url.pathname}, answered by Atoll.\n`, {
      headers: { "content-type": "text/plain; charset=utf-8" },
    });
  },
} satisfies ModuleWorker;
