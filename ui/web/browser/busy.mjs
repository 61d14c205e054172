// A server between the browser and the real one, which adds events to the stream and counts what is asked.

import { once } from "node:events";
import { createServer, request } from "node:http";

const heading = /^\/api\/events/;

/** busy puts rate events a second into each stream of the server at url. */
export async function busy(url, rate) {
  const target = new URL(url);
  const counts = { streams: 0, open: 0, reads: new Map() };
  const server = createServer((from, to) => {
    const headers = { ...from.headers, host: target.host };
    if (headers.origin) headers.origin = target.origin;
    const up = request({ host: target.hostname, port: target.port, path: from.url, method: from.method, headers });
    up.on("error", () => to.destroy());
    up.on("response", (answer) => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
      if (!heading.test(from.url)) return;
      counts.streams++;
      counts.open++;
      const step = 20;
      const some = ': of the test\nevent: checkpoint\ndata: {"type":"checkpoint"}\n\n'.repeat((rate * step) / 1000);
      const timer = setInterval(() => to.write(some), step);
      to.on("close", () => {
        clearInterval(timer);
        counts.open--;
        up.destroy();
      });
    });
    const path = from.url.split("?")[0];
    if (path.startsWith("/api/")) counts.reads.set(path, (counts.reads.get(path) ?? 0) + 1);
    from.pipe(up);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    counts,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
