// The realm bootstrap as one script. Its parts are plain scripts that share one scope: a realm has no module loader that
// tenant code could not reach as well.
import primordials from "./primordials.realm.js" with { type: "text" };
import lockdown from "./lockdown.realm.js" with { type: "text" };
import format from "./format.realm.js" with { type: "text" };
import bodies from "./bodies.realm.js" with { type: "text" };
import calls from "./calls.realm.js" with { type: "text" };
import modules from "./modules.realm.js" with { type: "text" };
import invoke from "./invoke.realm.js" with { type: "text" };
import seal from "./seal.realm.js" with { type: "text" };

const parts = [primordials, lockdown, format, bodies, calls, modules, invoke, seal];

/**
 * Evaluates to a function `(register, say, sayChunk, hostImport, room, enter, leave, nonce, usesWasm) => void`; see Realm for what they are. The
 * source URL keeps the host's own file name out of every stack.
 */
export const REALM_BOOTSTRAP = `(register, say, sayChunk, hostImport, room, enter, leave, nonce, usesWasm) => {
"use strict";
${parts.join("\n")}
}
//# sourceURL=atoll:realm
`;
