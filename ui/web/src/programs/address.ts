// The addresses of programs.

/** pathless says whether a browser takes a name for a step in the path, or - for the name that is elsewhere. */
const pathless = (name: string) => name === "." || name === ".." || name === "-";

/** programPath returns the address of a program's screen. */
export const programPath = (name: string) =>
  pathless(name) ? `/programs/-?program=${encodeURIComponent(name)}` : `/programs/${encodeURIComponent(name)}`;

/** programOf returns the program that an address is of. */
export const programOf = (path: string, search: string) => {
  const last = path.split("/")[2] ?? "";
  if (last === "-") return new URLSearchParams(search).get("program") ?? last;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
};

/** inProgram returns the parameters of a call about a program. */
export const inProgram = (name: string) =>
  pathless(name) ? { path: { program: "-" }, query: { program: name } } : { path: { program: name } };
