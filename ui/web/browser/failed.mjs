// A reporter: the file of each test that failed, a line each.

import { relative } from "node:path";

export default async function* failed(events) {
  for await (const { type, data } of events)
    if (type === "test:fail") yield `${relative(".", data.file ?? data.name)}\n`;
}
