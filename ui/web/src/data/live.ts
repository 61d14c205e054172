// One stream of events for all tabs: HTTP/1.1 allows a browser six connections to a host. The tab that
// has the lock reads the stream and tells the others. Events only mark data stale; what is on the
// screen is read again at most twice a second.

import { useSyncExternalStore } from "react";
import { now, timed } from "../api/clock";

export type Live = {
  live: boolean;
  /** ever says that it was live once. */
  ever: boolean;
  paused: boolean;
  since: number;
  /** out is since when nobody is logged in here. */
  out?: number | undefined;
};
type Message = { kind: "event" } | { kind: "state"; live: boolean; since: number } | { kind: "who" };

const pause = 500;
const maxWait = 15_000;
const silence = 40_000; // the server writes a comment each 15 seconds

export class Feed {
  private state: Live = { live: false, ever: false, paused: false, since: now() };
  private readonly listeners = new Set<() => void>();
  private readonly channel = new BroadcastChannel("posthouse-live");
  private leads = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = 0;

  /**
   * stale is called when what is shown may be old, and once more after it returned true. who is called
   * when somebody else, or nobody, may be logged in.
   */
  constructor(
    private readonly stale: () => boolean,
    private readonly who: () => void,
  ) {
    this.channel.onmessage = ({ data }: MessageEvent<Message>) => this.heard(data);
    this.channel.postMessage({ kind: "who" } satisfies Message);
    const lead = () => {
      this.leads = true;
      return this.follow();
    };
    if (navigator.locks) void navigator.locks.request("posthouse-live", lead);
    else void lead();
  }

  private heard(m: Message) {
    if (m.kind === "event") this.mark();
    else if (m.kind === "state") this.set(m.live, m.since);
    else if (this.leads) this.tell({ kind: "state", live: this.state.live, since: this.state.since });
  }

  private tell(m: Message) {
    this.channel.postMessage(m);
  }

  private set(live: boolean, since = now()) {
    if (live === this.state.live) return;
    this.state = { ...this.state, live, ever: this.state.ever || live, since };
    for (const l of this.listeners) l();
    if (this.leads) this.tell({ kind: "state", live, since });
    if (!live) return;
    this.mark(); // for what came before
    this.who();
  }

  private mark() {
    if (this.timer || this.state.paused) return;
    const wait = Math.max(0, this.last + pause - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.last = performance.now();
      if (this.stale()) this.mark();
    }, wait);
  }

  /** pause keeps what is on the screen as it is, until it is called again. */
  pause() {
    this.state = { ...this.state, paused: !this.state.paused, since: now() };
    for (const l of this.listeners) l();
    this.mark();
  }

  /**
   * out notes whether nobody is logged in. The stream of who was ends only with the next look of the server
   * at the session, or is that of another tab.
   */
  out(out: boolean) {
    if (out === !!this.state.out) return;
    this.state = { ...this.state, out: out ? now() : undefined };
    for (const l of this.listeners) l();
  }

  private async follow(): Promise<void> {
    for (let wait = 500; ; wait = Math.min(wait * 2, maxWait)) {
      try {
        await this.stream(() => {
          wait = 500;
        });
      } catch {
        // told by the state
      }
      this.set(false);
      await new Promise((done) => {
        setTimeout(done, wait);
        addEventListener("focus", done, { once: true }); // somebody looks at it: try at once
      });
    }
  }

  private async stream(begun: () => void) {
    const stop = new AbortController();
    let guard = setTimeout(() => stop.abort(), silence);
    try {
      const answer = await timed("/api/events?modes=records", {
        headers: { Accept: "text/event-stream" },
        signal: stop.signal,
      });
      if (answer.status === 401) this.who();
      if (!answer.ok || !answer.body) throw new Error(answer.statusText);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      begun();
      this.set(true);
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(guard);
        guard = setTimeout(() => stop.abort(), silence);
        if (/^data:/m.test(value)) {
          this.mark();
          this.tell({ kind: "event" });
        }
      }
    } finally {
      clearTimeout(guard);
      stop.abort();
    }
  }

  use = () =>
    useSyncExternalStore(
      (l) => {
        this.listeners.add(l);
        return () => this.listeners.delete(l);
      },
      () => this.state,
    );
}
