/** So often a busy thread is asked again, and so long it is waited before. */
const most = 5;
const pause = 400;

/**
 * whileBusy calls again for as long as a thread is busy, a few times: a runner that looks whether
 * there is something to do holds a thread for a moment. Other errors are thrown at once.
 */
export async function whileBusy<T>(call: () => Promise<T>, wait = pause): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await call();
    } catch (error) {
      if (tried === most || (error as { code?: unknown }).code !== "busy") throw error;
    }
    await new Promise((done) => setTimeout(done, wait));
  }
}
