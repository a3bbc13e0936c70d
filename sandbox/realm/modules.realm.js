// Part 6: the pieces of the module linker that must live in the realm. The graph itself is the linker's business
// (sandbox/linker): it asks for modules to be compiled, linked and evaluated by path, and gets text back.

const modules = new NativeMap(); // manifest path -> record
const moduleLinkRequests = uncurry1(SourceTextModule.prototype.linkRequests);
const moduleInstantiate = uncurry0(SourceTextModule.prototype.instantiate);
const moduleEvaluate = uncurry0(SourceTextModule.prototype.evaluate);
const moduleRequests = getterOf(SourceTextModule.prototype, "moduleRequests");
const moduleNamespace = getterOf(ReflectGetPrototypeOf(SourceTextModule.prototype), "namespace");
const syntheticSetExport = uncurry2(SyntheticModule.prototype.setExport);

const failure = (error) =>
  `{"name":${JSONStringify(errorName(error))},"message":${JSONStringify(describeError(error))},"stack":${JSONStringify(stackOf(error))}}`;

const errorName = (error) => {
  try {
    return typeof error === "object" && error !== null && typeof error.name === "string" ? error.name : "";
  } catch {
    return "";
  }
};

/** A module whose default export is `value`; `atEvaluation` runs when the engine evaluates it. */
const valueModule = (value, atEvaluation) => {
  const module = new SyntheticModule(["default"], function () {
    syntheticSetExport(this, "default", value);
    atEvaluation();
  });
  hide(module, "then", undefined);
  return module;
};

const insertAfterHashbang = (source, prefix) => {
  if (!stringStartsWith(source, "#!")) return prefix + source;
  const end = stringIndexOf(source, "\n", 0);
  return end < 0 ? source : stringSlice(source, 0, end + 1) + prefix + stringSlice(source, end + 1, source.length);
};

/**
 * Compile a JavaScript module. Each gets a first import of ours: it shadows the identifier `Bun`, the one global that
 * cannot be removed, and evaluating it is the hook by which a cycle is entered at the right member. A module that
 * declares `Bun` itself needs no shadow.
 */
const compile = (path, source) => {
  const sourceUrl = `\n//# sourceURL=worker:///${path}`;
  const options = {
    __proto__: null,
    identifier: `worker:///${path}`,
    importModuleDynamically: (specifier, _referrer, attributes) => importDynamically(path, specifier, attributes),
    initializeImportMeta: () => {},
  };
  const make = (prefix) => {
    const module = new SourceTextModule(insertAfterHashbang(source, prefix) + sourceUrl, options);
    hide(module, "then", undefined);
    return module;
  };
  try {
    return make(`import Bun from "${nonce}";`);
  } catch {
    return make(`import "${nonce}";`);
  }
};

const importDynamically = (path, specifier, attributes) => {
  const answer = deferred();
  const type = dataProperty(attributes, "type");
  hostImport(path, specifier, typeof type === "string" ? type : "", (found, name, message) => {
    if (found !== "") answer.resolve(mapGet(modules, found).module);
    else answer.reject(importError(name, message));
  });
  return answer.promise;
};

const importError = (name, message) => {
  if (name === "SyntaxError") return new SyntaxErrorConstructor(message);
  return namedError(name, message);
};
const SyntaxErrorConstructor = SyntaxError;

/** [["specifier","attribute type"], …] of a module's own imports, as JSON text. */
const requestsOf = (module) => {
  const requests = moduleRequests(module);
  let text = "[";
  for (let i = 1; i < requests.length; i++) {
    const type = dataProperty(requests[i].attributes, "type");
    if (i > 1) text += ",";
    text += `[${JSONStringify(requests[i].specifier)},${JSONStringify(typeof type === "string" ? type : "")}]`;
  }
  return `${text}]`;
};

/** Define a module; its requests as JSON, or a failure object. */
const defineModule = (path, kind, content) => {
  try {
    const record = { __proto__: null, module: undefined, hook: undefined, enter: undefined };
    if (kind === "javascript") {
      record.module = compile(path, content);
      record.hook = valueModule(undefined, () => {
        if (record.enter !== undefined) record.enter();
      });
    } else if (kind === "text") {
      record.module = valueModule(content, () => {});
    } else {
      const bytes = bytesOfLatin1(content);
      const value = kind === "wasm" ? new WebAssemblyModule(bytes) : typedArrayBuffer(bytes);
      record.module = valueModule(value, () => {});
    }
    mapSet(modules, path, record);
    return kind === "javascript" ? requestsOf(record.module) : "[]";
  } catch (error) {
    return failure(error);
  }
};

/** Bind a module's requests to modules; `targets` is a NUL-separated list of paths in request order. */
const linkModule = (path, targets) => {
  const record = mapGet(modules, path);
  const list = [record.hook];
  let count = 1;
  for (let from = 0; from < targets.length; ) {
    let end = stringIndexOf(targets, "\0", from);
    if (end < 0) end = targets.length;
    ReflectDefineProperty(list, count++, {
      __proto__: null,
      value: mapGet(modules, stringSlice(targets, from, end)).module,
      writable: true,
      enumerable: true,
      configurable: true,
    });
    from = end + 1;
  }
  moduleLinkRequests(record.module, list);
};

/** Bind exports and imports of the whole graph below `path`; "" or a failure object. */
const instantiateModule = (path) => {
  try {
    moduleInstantiate(mapGet(modules, path).module);
    return "";
  } catch (error) {
    return failure(error);
  }
};

/**
 * Evaluate one component. In a cycle the driver must meet every other member as already evaluating when it starts the
 * entry, so each member's hook starts the next one and the last hook starts the entry.
 */
const evaluateComponent = (members) => {
  const entry = mapGet(modules, members[0]).module;
  if (members.length === 1) return moduleEvaluate(entry);
  let result;
  for (let i = 1; i < members.length; i++) {
    const next = i + 1 < members.length ? members[i + 1] : members[0];
    mapGet(modules, members[i]).enter = () => {
      const evaluated = moduleEvaluate(mapGet(modules, next).module);
      if (next === members[0]) result = evaluated;
      else ignoreRejection(evaluated);
    };
  }
  ignoreRejection(moduleEvaluate(mapGet(modules, members[1]).module));
  return result === undefined ? moduleEvaluate(entry) : result;
};

/** Evaluate components given as JSON [[path, …], …], dependencies first; calls back with "" or a failure object. */
const evaluateComponents = async (json, done) => {
  try {
    const components = JSONParse(json);
    let last;
    for (let i = 0; i < components.length; i++) {
      last = evaluateComponent(components[i]);
      // Only the last one is awaited: modules with top-level await run side by side, and its promise covers them all.
      if (i < components.length - 1) ignoreRejection(last);
    }
    await last;
    done("");
  } catch (error) {
    done(failure(error));
  }
};
