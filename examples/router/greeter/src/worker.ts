// Greets in the words of its Version. It has no address: only Workers that are bound to it can ask.
interface Env {
  readonly WORDS: string;
}

export default {
  fetch(request, env) {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    return Response.json({ greeting: `${env.WORDS}, ${name}!`, words: env.WORDS });
  },
} satisfies ModuleWorker<Env>;
