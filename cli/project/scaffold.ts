// The files of a new project. Everything comes out of this command, so it works without a network.
// @ts-expect-error TypeScript takes a declaration file for its types only; here it is content.
import ambientTypes from "../../sdk/index.d.ts" with { type: "text" };
import { projectFileJsonSchema } from "./project-schema.ts";

/** Content by path below the project's directory. */
export function scaffold(name: string): ReadonlyMap<string, string> {
  return new Map([
    ["atoll.json", `${JSON.stringify(projectFile(name), null, 2)}\n`],
    ["src/worker.ts", WORKER],
    ["test/worker.test.mjs", TEST],
    ["types/atoll.d.ts", ambientTypes as string],
    ["types/atoll.schema.json", `${JSON.stringify(projectFileJsonSchema(), null, 2)}\n`],
    ["tsconfig.json", TSCONFIG],
    [".gitignore", GITIGNORE],
    ["README.md", readme(name)],
  ]);
}

function projectFile(name: string): object {
  return {
    $schema: "./types/atoll.schema.json",
    name,
    main: "src/worker.ts",
    vars: { GREETING: "Hello" },
  };
}

const WORKER = `interface Env {
  readonly GREETING: string;
}

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname !== "/") return new Response("There is nothing here.\\n", { status: 404 });
    const name = url.searchParams.get("name") ?? "world";
    return new Response(\`\${env.GREETING}, \${name}!\\n\`);
  },
} satisfies ModuleWorker<Env>;
`;

const TEST = `// Run it with 'bun test', or with 'node --test' of Node.js 22.18 or later.
import assert from "node:assert/strict";
import { test } from "node:test";
import worker from "../src/worker.ts";

const env = { GREETING: "Hello" };

test("greets by name", async () => {
  const response = await worker.fetch(new Request("https://example.com/?name=Ada"), env);
  assert.equal(response.status, 200);
  assert.equal(await response.text(), "Hello, Ada!\\n");
});

test("knows no other path", async () => {
  const response = await worker.fetch(new Request("https://example.com/other"), env);
  assert.equal(response.status, 404);
});
`;

const TSCONFIG = `{
  "compilerOptions": {
    "target": "ESNext",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "lib": ["ESNext", "WebWorker"],
    "types": [],
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true
  },
  "include": ["src", "types"]
}
`;

const GITIGNORE = `node_modules/
.atoll/
.env*
`;

function readme(name: string): string {
  return `# ${name}

\`\`\`sh
atoll dev        # run it here, and again at every save; http://localhost:8787/
bun test         # run the tests
atoll diff       # what a deployment would change on the node
atoll deploy     # deploy it to the node
atoll destroy    # take it down
\`\`\`

\`src/worker.ts\` is the Worker, \`atoll.json\` says what it is called and what it is given. \`types/\` holds the types of the
Worker ABI and the schema of \`atoll.json\`.
`;
}
