/** patience is how long an answer may take until it is asked for again, in milliseconds. */
export const patience = 60_000;

type Read = { state: { fetchStatus: string; dataUpdateCount: number; errorUpdateCount: number } };

/** Reads knows which queries are being read, and since when. */
export class Reads {
  private readonly begun = new WeakMap<Read, { read: number; at: number }>();

  /** underWay says whether a query is being read, and was not for too long: that answer may never come. */
  underWay(q: Read, now: number): boolean {
    if (q.state.fetchStatus !== "fetching") return false;
    const read = q.state.dataUpdateCount + q.state.errorUpdateCount;
    const before = this.begun.get(q);
    if (before?.read === read) return now - before.at < patience || !this.begun.delete(q);
    this.begun.set(q, { read, at: now });
    return true;
  }
}
