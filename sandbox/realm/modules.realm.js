// Part 6: the pieces of the module linker that must live in the realm. The graph itself is the linker's business
// (sandbox/linker): it asks for modules to be compiled, linked and evaluated by path, and gets text back.
//
// The engine's module records are used without the classes that node:vm wraps around them: those read options that a
// tenant could plant on Object.prototype (a planted `sourceText` would be compiled with a loader that reaches built-in
// modules). Here nothing but positional arguments is read.

const modules = new NativeMap(); // manifest path -> record
const moduleCreateRecord = uncurry0(ModuleRecord.prototype.createModuleRecord);
const moduleLink = uncurry3(ModuleRecord.prototype.link);
const moduleInstantiate = uncurry0(ModuleRecord.prototype.instantiate);
const moduleEvaluate = uncurry2(ModuleRecord.prototype.evaluate);
const moduleStatus = uncurry0(ModuleRecord.prototype.getStatus);
const moduleError = uncurry0(ModuleRecord.prototype.getError);
const moduleNamespace = uncurry0(ModuleRecord.prototype.getNamespace);
const moduleSetExport = uncurry2(ModuleRecord.prototype.setExport);

/** The engine hands this to callbacks as the module's owner; it says nothing. */
const nobody = ObjectFreeze({ __proto__: null });

const ERROR_CHARS_MAX = 4096;

const failure = (error) =>
  `{"name":${JSONStringify(clip(errorName(error)))},"message":${JSONStringify(clip(describeError(error)))},` +
  `"stack":${JSONStringify(clip(stackOf(error)))}}`;

const clip = (text) => (text.length > ERROR_CHARS_MAX ? `${stringSlice(text, 0, ERROR_CHARS_MAX)}…` : text);

const errorName = (error) => {
  try {
    if (typeof error !== "object" || error === null) return "";
    const name = error.name;
    return typeof name === "string" ? name : "";
  } catch {
    return "";
  }
};

/** A module whose default export is `value`; `atEvaluation` runs when the engine evaluates it. */
const valueModule = (value, atEvaluation) => {
  const module = new ModuleRecord(
    "atoll:value",
    undefined,
    ["default"],
    () => {
      moduleSetExport(module, "default", value);
      if (atEvaluation !== undefined) atEvaluation();
    },
    nobody,
  );
  moduleInstantiate(module);
  return module;
};

/** What the shadowing import of `Bun` gets, where no hook is needed. */
const nothing = valueModule(undefined, undefined);

/** What stands before the first line of a module; cleanStack sets its columns right again. */
const SHADOWING_IMPORT = `import Bun from "${nonce}";`;
const PLAIN_IMPORT = `import     "${nonce}";`;

/** The engine's own import.meta has `require` and more, behind a prototype that it does not show. */
const emptyImportMeta = (meta) => {
  ReflectSetPrototypeOf(meta, null);
};

/**
 * Compile a JavaScript module. Each gets a first import of ours: it shadows the identifier `Bun`, the one global that
 * cannot be removed, and evaluating it is the hook by which a graph with cycles is entered rightly. A module that
 * declares `Bun` itself needs no shadow. A hashbang is a comment, and becomes one that may stand behind our import.
 */
const compile = (path, source) => {
  const make = (before) => {
    const module = new ModuleRecord(
      `worker:///${path}`,
      undefined,
      `${before}${stringStartsWith(source, "#!") ? "//" : ""}${source}\n//# sourceURL=worker:///${path}`,
      0,
      0,
      undefined,
      emptyImportMeta,
      nobody,
      (specifier, _referrer, attributes, phase) => importDynamically(path, specifier, attributes, phase),
    );
    return { __proto__: null, module, requests: moduleCreateRecord(module) };
  };
  try {
    return make(SHADOWING_IMPORT);
  } catch (error) {
    // Only a duplicate declaration may lead to the unshadowed form, never an accident such as a full stack.
    if (ReflectGetPrototypeOf(error) !== SyntaxErrorPrototype) throw error;
    return make(PLAIN_IMPORT);
  }
};

/** A module that our linker has prepared evaluates in a turn of its own, as import() is asynchronous throughout. */
const importDynamically = (importer, specifier, attributes, phase) => {
  const answer = deferred();
  if (phase !== "evaluation") {
    answer.reject(new NativeSyntaxError("only plain imports are supported"));
    return answer.promise;
  }
  const type = dataProperty(attributes, "type");
  const prepared = JSONParse(hostImport(importer, specifier, typeof type === "string" ? type : ""));
  const path = dataProperty(prepared, "path");
  if (path === undefined) {
    const name = dataProperty(prepared, "name");
    const message = dataProperty(prepared, "message");
    answer.reject(name === "SyntaxError" ? new NativeSyntaxError(message) : namedError(name, message));
  } else {
    const chain = dataProperty(prepared, "chain");
    nativeQueueMicrotask(() => finishImport(path, chain, answer));
  }
  return answer.promise;
};

/** The import settles as the language says: with the namespace, or with the very error that evaluation threw. */
const finishImport = async (path, chain, answer) => {
  try {
    await evaluateGraph(path, chain);
    answer.resolve(moduleNamespace(mapGet(modules, path).module));
  } catch (error) {
    answer.reject(error);
  }
};

/** [["specifier","attribute type"], …] of a module's own imports, as JSON text. */
const describeRequests = (requests) => {
  let text = "[";
  for (let i = 1; i < requests.length; i++) {
    const type = attributeType(dataProperty(requests[i], "attributes"));
    if (i > 1) text += ",";
    text += `[${JSONStringify(dataProperty(requests[i], "specifier"))},${JSONStringify(type)}]`;
  }
  return `${text}]`;
};

const attributeType = (attributes) => {
  if (typeof attributes !== "object" || attributes === null) return "";
  const type = dataProperty(attributes, "type");
  return typeof type === "string" ? type : "";
};

/** Define a module; its requests as JSON, or a failure object. */
const defineModule = (path, kind, content) => {
  try {
    const record = { __proto__: null, module: undefined, requests: undefined, hook: undefined, enter: undefined };
    if (kind === "javascript") {
      const compiled = compile(path, content);
      record.module = compiled.module;
      record.requests = compiled.requests;
    } else if (kind === "text") {
      record.module = valueModule(content, undefined);
    } else {
      const bytes = bytesOfLatin1(content);
      record.module = valueModule(kind === "wasm" ? new WebAssemblyModule(bytes) : typedArrayBuffer(bytes), undefined);
    }
    mapSet(modules, path, record);
    return kind === "javascript" ? describeRequests(record.requests) : "[]";
  } catch (error) {
    return failure(error);
  }
};

/**
 * Bind a module's requests to modules; `targets` is a NUL-separated list of paths in request order. `hooked` is for the
 * modules of a graph with cycles; see evaluateGraph.
 */
const linkModule = (path, targets, hooked) => {
  const record = mapGet(modules, path);
  if (hooked) {
    record.hook = valueModule(undefined, () => {
      if (record.enter !== undefined) record.enter();
    });
  }
  const specifiers = [nonce];
  const list = [hooked ? record.hook : nothing];
  let count = 1;
  for (let from = 0; from < targets.length; ) {
    let end = stringIndexOf(targets, "\0", from);
    if (end < 0) end = targets.length;
    defineItem(specifiers, count, dataProperty(record.requests[count], "specifier"));
    defineItem(list, count, mapGet(modules, stringSlice(targets, from, end)).module);
    count++;
    from = end + 1;
  }
  moduleLink(record.module, specifiers, list, 0);
};

const defineItem = (list, index, value) =>
  ReflectDefineProperty(list, index, {
    __proto__: null,
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });

/** Bind exports and imports of the whole graph below `path`; "" or a failure object. */
const instantiateModule = (path) => {
  try {
    const module = mapGet(modules, path).module;
    if (moduleStatus(module) === "unlinked") moduleInstantiate(module);
    return "";
  } catch (error) {
    return failure(error);
  }
};

/**
 * Evaluate the graph below `root` in the order of the language. The engine's records do that by themselves, but its
 * driver first walks down by its own, wrong idea of cycles, and spares only modules that it has entered already. So for
 * a graph with cycles the driver has to enter all others (`chain`) before the root: each one's hook enters the next, and
 * the last one's starts the root (MW-43). Returns a promise; throws what evaluation threw at once.
 */
const evaluateGraph = (root, chain) => {
  const target = mapGet(modules, root).module;
  // Somebody else's import is at its top-level await.
  if (moduleStatus(target) === "evaluating") return moduleEvaluate(waiterFor(target), -1, false);
  let outcome;
  let failed = false;
  let error;
  const enterFrom = (index) => {
    let next = index;
    while (next < chain.length && !canEnter(chain[next])) next++;
    if (next < chain.length) {
      const record = mapGet(modules, chain[next]);
      record.enter = () => {
        record.enter = undefined;
        enterFrom(next + 1);
        // What the failure kept from running must not be run on the driver's way back.
        if (failed) throw error;
      };
      try {
        ignoreRejection(moduleEvaluate(record.module, -1, false));
      } catch {
        // The root's own outcome tells.
      }
      return;
    }
    try {
      outcome = moduleEvaluate(target, -1, false);
    } catch (thrown) {
      failed = true;
      error = thrown;
      return;
    }
    if (moduleStatus(target) === "errored") {
      failed = true;
      error = moduleError(target);
      ignoreRejection(outcome);
    }
  };
  enterFrom(0);
  if (failed) throw error;
  return outcome;
};

/** A module that does nothing but depend on another one, so that its evaluation ends with that one's. */
const waiterFor = (module) => {
  const waiter = new ModuleRecord("atoll:wait", undefined, 'import "it";', 0, 0, undefined, emptyImportMeta, nobody);
  moduleCreateRecord(waiter);
  moduleLink(waiter, ["it"], [module], 0);
  moduleInstantiate(waiter);
  return waiter;
};

const canEnter = (path) => {
  const record = mapGet(modules, path);
  return record.hook !== undefined && moduleStatus(record.module) === "linked";
};

/** Evaluate the entrypoint's graph and describe what it exports; calls back with JSON or a failure object. */
const evaluateEntrypoint = (path, chainJson, done) => {
  // In a turn of its own: no frame of the host may be below tenant code on a stack.
  nativeSetImmediate(() => {
    work(0, () => finishEntrypoint(path, JSONParse(chainJson), done));
  });
};

const finishEntrypoint = async (path, chain, done) => {
  try {
    await evaluateGraph(path, chain);
    done(describeExports(path));
  } catch (error) {
    done(failure(error));
  }
};
