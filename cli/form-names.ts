import * as forms from "../control/forms/form-urls.ts";
import { isFormUrl } from "../base/ids.ts";
import { nearest } from "./nearest.ts";
import { UsageError } from "./usage-error.ts";

const BY_NAME = new Map<string, string>(Object.values(forms).map((url) => [shortFormName(url), url]));

/** `ModuleWorker` for people, where the URL is of a Form that is known; the URL itself otherwise. */
export function shortFormName(url: string): string {
  return /^https:\/\/edge\.forms\.takoform\.com\/forms\/([A-Za-z]+)\//.exec(url)?.[1] ?? url;
}

/** The exact URL of a Form that was named either way. Throws a UsageError. */
export function formUrlOf(text: string): string {
  const url = BY_NAME.get(text) ?? (isFormUrl(text) ? text : null);
  if (url !== null) return url;
  const like = nearest(text, [...BY_NAME.keys()]);
  throw new UsageError(`${text} is no Form${like === null ? "; give its exact URL" : `; did you mean ${like}?`}`);
}
