// What a person searches the inbox for.

import { typed } from "../threads/filter";
import type { Filter } from "./filter";

/** words say of each filter what it narrows to. */
export const words: Record<keyof Filter, string> = {
  question: "question",
  program: "program",
  thread: "thread",
  requester: "asked by",
  label: "label",
  assigned: "assigned to",
  decider: "decided by",
  q: "with",
};

/** without leaves one filter out. */
export const without = (filter: Filter, name: keyof Filter): Filter => {
  const { [name]: _, ...rest } = filter;
  return rest;
};

/** withIt adds a filter, or leaves it out where it is empty. */
export const withIt = (filter: Filter, name: keyof Filter, text: string): Filter =>
  text.trim() ? { ...filter, [name]: text.trim() } : without(filter, name);

/** searched reads what was typed into the search: name=value is a label once Enter was pressed, all else is text. */
export function searched(filter: Filter, text: string, enter: boolean): Filter {
  const { label } = typed(text);
  return enter && label ? { ...without(filter, "q"), label } : withIt(filter, "q", text);
}
