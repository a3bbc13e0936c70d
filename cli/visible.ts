/** Text of tenants for a terminal: colours and line ends of the author pass, nothing else may steer the terminal. */
export function visible(text: string): string {
  return text.replace(/\p{Cc}(?:\[[0-9;]*m)?/gu, (found) => {
    const [control = ""] = found;
    if (control === "\n" || control === "\t" || (control === "\u001b" && found.length > 1)) return found;
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}${found.slice(1)}`;
  });
}
