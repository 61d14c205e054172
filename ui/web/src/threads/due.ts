const waits =
  /^((?:sleeps until|starts at|waits for (?:the signal|a worker for) .* until|task .* is paused.* until|the next attempt of .* at)) (\d{4}-\d\d-\d\dT[\d:]+Z)$/s;

/** dueOf splits the server's line on a wait that no person ends from the time at its end: other lines have programs' words. */
export function dueOf(now: string | undefined): { line: string; at?: string } {
  const [, line, at] = waits.exec(now ?? "") ?? [];
  return line && at ? { line, at } : { line: now ?? "" };
}

/** pausedOf is the server's line on a task that is paused: by whom, and until when. It is undefined for another line. */
export function pausedOf(now: string | undefined): { by: string; at: string } | undefined {
  const { line, at } = dueOf(now);
  const by = at && /^task .* is paused(.*) until$/s.exec(line)?.[1];
  return at && by !== undefined && by !== "" ? { by: by.trim(), at } : undefined;
}
