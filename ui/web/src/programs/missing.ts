const over = new Set(["done", "cancelled"]);

/** missing names the program that a thread would go on with and that is not served, or is "". */
export function missing(
  thread: { graph?: string | undefined; status?: string | undefined },
  served: { name: string }[],
): string {
  const name = thread.graph ?? "";
  if (name.startsWith("posthouse.") || over.has(thread.status ?? "")) return ""; // the runtime's own, or ended
  return served.some((p) => p.name === name) ? "" : name;
}
