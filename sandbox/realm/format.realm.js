// Part 3: how values look in log lines. Shows data properties only; getters are not run. Bounded in depth and length.

const FORMAT_CHARS_MAX = 16384;
const FORMAT_DEPTH_MAX = 4;
const FORMAT_ITEMS_MAX = 64;

const dataProperty = (object, key) => {
  const descriptor = ReflectGetOwnPropertyDescriptor(object, key);
  if (descriptor === undefined) return undefined;
  return ReflectHas(descriptor, "value") ? descriptor.value : undefined;
};

/** What is known about something thrown, as text; never throws itself. */
const describeError = (error) => {
  try {
    if (typeof error !== "object" || error === null) return `thrown: ${formatValue(error, 1, null)}`;
    const name = typeof error.name === "string" ? error.name : "Error";
    const message = typeof error.message === "string" ? error.message : "";
    return message === "" ? name : `${name}: ${message}`;
  } catch {
    return "an error that cannot be described";
  }
};

const stackOf = (error) => {
  try {
    const stack = dataProperty(error, "stack");
    return typeof stack === "string" ? cleanStack(stack) : "";
  } catch {
    return "";
  }
};

/** Keep frames of tenant modules, drop those of the bootstrap. */
const cleanStack = (stack) => {
  let clean = "";
  let start = 0;
  while (start < stack.length) {
    let end = stringIndexOf(stack, "\n", start);
    if (end < 0) end = stack.length;
    const line = stringSlice(stack, start, end);
    if (stringIndexOf(line, "worker:///", 0) >= 0)
      clean = clean === "" ? unshiftColumn(line) : `${clean}\n${unshiftColumn(line)}`;
    start = end + 1;
  }
  return clean;
};

/** Our import stands before the first line of each module; see compile. */
const unshiftColumn = (line) => {
  const end = line[line.length - 1] === ")" ? line.length - 1 : line.length;
  let colon = end - 1;
  while (colon > 0 && line[colon] >= "0" && line[colon] <= "9") colon--;
  if (line[colon] !== ":" || line[colon - 1] !== "1" || line[colon - 2] !== ":") return line;
  const column = NativeNumber(stringSlice(line, colon + 1, end)) - SHADOWING_IMPORT.length;
  if (!(column > 0)) return line;
  return `${stringSlice(line, 0, colon + 1)}${numberToString(column)}${stringSlice(line, end, line.length)}`;
};

const formatObject = (value, depth, seen) => {
  for (let at = seen; at !== null; at = at.next) if (at.value === value) return "[Circular]";
  const trail = { __proto__: null, value, next: seen };
  if (ArrayIsArray(value)) {
    if (depth >= FORMAT_DEPTH_MAX) return "[Array]";
    let text = "[";
    for (let i = 0; i < value.length && i < FORMAT_ITEMS_MAX; i++) {
      text += (i === 0 ? " " : ", ") + formatValue(dataProperty(value, i), depth + 1, trail);
      if (text.length > FORMAT_CHARS_MAX) break;
    }
    if (value.length > FORMAT_ITEMS_MAX) text += `, … ${value.length - FORMAT_ITEMS_MAX} more`;
    return value.length === 0 ? "[]" : `${text} ]`;
  }
  if (value instanceof NativeError) {
    const stack = stackOf(value);
    return stack === "" ? describeError(value) : `${describeError(value)}\n${stack}`;
  }
  if (depth >= FORMAT_DEPTH_MAX) return "[Object]";
  const keys = ReflectOwnKeys(value);
  let text = "{";
  let shown = 0;
  for (let i = 0; i < keys.length && shown < FORMAT_ITEMS_MAX; i++) {
    const descriptor = ReflectGetOwnPropertyDescriptor(value, keys[i]);
    if (descriptor === undefined || descriptor.enumerable !== true) continue;
    const shownKey = typeof keys[i] === "symbol" ? `[${NativeString(keys[i])}]` : keys[i];
    const item = ReflectHas(descriptor, "value") ? formatValue(descriptor.value, depth + 1, trail) : "[Getter]";
    text += `${shown++ === 0 ? " " : ", "}${shownKey}: ${item}`;
    if (text.length > FORMAT_CHARS_MAX) break;
  }
  return shown === 0 ? "{}" : `${text} }`;
};

const formatValue = (value, depth, seen) => {
  try {
    switch (typeof value) {
      case "string":
        return depth === 0 ? value : JSONStringify(value);
      case "bigint":
        return `${NativeString(value)}n`;
      case "function": {
        const name = dataProperty(value, "name");
        return typeof name === "string" && name !== "" ? `[Function: ${name}]` : "[Function]";
      }
      case "object":
        return value === null ? "null" : formatObject(value, depth, seen);
      default:
        return NativeString(value);
    }
  } catch {
    return "[Unprintable]";
  }
};

/** Console formatting: %s %d %i %f %j %o %O %c and %% in a leading string, then the rest separated by spaces. */
const formatLine = (args) => {
  let text = "";
  let next = 0;
  if (args.length > 0 && typeof args[0] === "string") {
    const pattern = args[0];
    next = 1;
    let from = 0;
    for (;;) {
      const at = stringIndexOf(pattern, "%", from);
      if (at < 0 || at === pattern.length - 1) break;
      const kind = pattern[at + 1];
      text += stringSlice(pattern, from, at);
      from = at + 2;
      if (kind === "%") text += "%";
      else if (next >= args.length) text += `%${kind}`;
      else if (kind === "s") text += formatValue(args[next++], 0, null);
      else if (kind === "d" || kind === "i" || kind === "f") {
        const value = args[next++];
        text += typeof value === "number" ? numberToString(kind === "i" ? value - (value % 1) : value) : "NaN";
      } else if (kind === "j" || kind === "o" || kind === "O") text += formatValue(args[next++], 1, null);
      else if (kind === "c") next++;
      else text += `%${kind}`;
    }
    text += stringSlice(pattern, from, pattern.length);
  }
  for (; next < args.length; next++) {
    if (next > 0) text += " ";
    text += formatValue(args[next], 0, null);
    if (text.length > FORMAT_CHARS_MAX) break;
  }
  return text.length > FORMAT_CHARS_MAX ? `${stringSlice(text, 0, FORMAT_CHARS_MAX)}…` : text;
};

/**
 * Queue a log line for the invocation that is running (0: none); `source` is 0 for the console, 1 for what was thrown.
 * Lines are lost when the host has no room for more in this turn.
 */
const logLine = (level, text, source = 0) => {
  if (!room()) return;
  const invocation = contextGetStore(contextStorage);
  const id = invocation === undefined ? 0 : invocation.id;
  say(`[13,${id},"${level}",${JSONStringify(text)},${source}]`);
};

const logError = (what, error) => {
  const stack = stackOf(error);
  const text = `${what}: ${describeError(error)}`;
  logLine("error", stack === "" ? text : `${text}\n${stack}`, 1);
};

const installConsole = () => {
  const counts = new NativeMap();
  const times = new NativeMap();
  const print = (level) =>
    function (...args) {
      logLine(level, formatLine(args));
    };
  const now = () => ReflectApply(performanceNow, nativePerformance, []);
  const elapsed = (label) => {
    const name = label === undefined ? "default" : NativeString(label);
    const started = mapGet(times, name);
    if (started !== undefined)
      logLine("info", `${name}: ${numberToString(MathFloor((now() - started) * 1000) / 1000)}ms`);
    return name;
  };
  const console = {
    log: print("info"),
    info: print("info"),
    warn: print("warn"),
    error: print("error"),
    debug: print("debug"),
    dir: (value) => logLine("info", formatValue(value, 1, null)),
    table: (value) => logLine("info", formatValue(value, 1, null)),
    trace: (...args) => logLine("info", `Trace: ${formatLine(args)}\n${stackOf(new NativeError("trace"))}`),
    assert: (condition, ...args) => {
      if (!condition)
        logLine("error", args.length === 0 ? "Assertion failed" : `Assertion failed: ${formatLine(args)}`);
    },
    count: (label) => {
      const name = label === undefined ? "default" : NativeString(label);
      const count = (mapGet(counts, name) ?? 0) + 1;
      mapSet(counts, name, count);
      logLine("info", `${name}: ${count}`);
    },
    countReset: (label) => {
      mapDelete(counts, label === undefined ? "default" : NativeString(label));
    },
    time: (label) => {
      mapSet(times, label === undefined ? "default" : NativeString(label), now());
    },
    timeLog: (label) => {
      elapsed(label);
    },
    timeEnd: (label) => {
      mapDelete(times, elapsed(label));
    },
    group: print("info"),
    groupCollapsed: print("info"),
    groupEnd: () => {},
  };
  hide(globalThis, "console", console);
  reportUncaught = (error) => logError("Uncaught", error);
};
