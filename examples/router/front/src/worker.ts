// Takes requests from outside and sends them on to the Workers behind it.
interface Env {
  readonly GREETER: WorkerService;
}

const HELP = "GET /greet/<name> is answered by the Worker 'greeter'.\n";

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/") return new Response(HELP);
    const name = /^\/greet\/([^/]+)$/.exec(pathname)?.[1];
    if (name === undefined) return new Response("There is nothing here.\n", { status: 404 });
    // The binding chooses the Worker; the host name in this URL chooses nothing.
    return await env.GREETER.fetch(`https://greeter/${name}`, { signal: request.signal });
  },
} satisfies ModuleWorker<Env>;
