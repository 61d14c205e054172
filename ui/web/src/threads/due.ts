const waits =
  /^((?:sleeps until|starts at|waits for (?:the signal|a worker for) .* until|the next attempt of .* at)) (\d{4}-\d\d-\d\dT[\d:]+Z)$/s;

/** dueOf splits the server's line on a wait that no person ends from the time at its end: other lines have programs' words. */
export function dueOf(now: string | undefined): { line: string; at?: string } {
  const [, line, at] = waits.exec(now ?? "") ?? [];
  return line && at ? { line, at } : { line: now ?? "" };
}
