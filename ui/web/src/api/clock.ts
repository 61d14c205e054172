// The time of the server, as the Date of its answers tells it. Deadlines are kept by the server's clock, and the
// clock of a device may be days off: now is what everything asks that says how long ago, how long yet, or today.

const second = 1000;
const jitter = 5 * second;

/**
 * clock returns a clock that goes by elapsed, which runs evenly from any beginning, and begins at own: the time
 * of this device when elapsed was zero. An answer was made between sent and now, in the second that its Date
 * names, so each one bounds how far off own is. Answers that contradict the earlier ones replace them.
 */
export function clock(elapsed: () => number, own: number) {
  let [low, high, last] = [-Infinity, Infinity, 0];
  const began = () => (low <= own && own <= high ? own : (low + high) / 2);
  return {
    /** now is in milliseconds, and goes back only by more than a few seconds: then it was wrong before. */
    now(): number {
      const at = Math.floor(elapsed() + began());
      return (last = at < last && last - at < jitter ? last : at);
    },
    hear(date: string | null, sent: number) {
      const at = Date.parse(date ?? "");
      if (Number.isNaN(at)) return;
      const [from, to] = [at - elapsed(), at + second - sent];
      [low, high] = from > high || to < low ? [from, to] : [Math.max(from, low), Math.min(to, high)];
    },
    /** off is by how much this device's clock is ahead: not known better than an answer takes. */
    off: () => own - began(),
  };
}

const elapsed = () => performance.now();

export const { now, hear, off } = clock(elapsed, Date.now() - elapsed());

/** timed is fetch, and hears of each answer what time it is. */
export const timed: typeof fetch = async (...of) => {
  const sent = elapsed();
  const answer = await fetch(...of);
  hear(answer.headers.get("Date"), sent);
  return answer;
};
