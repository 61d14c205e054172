// The server's API, typed by the description that it serves itself. Payloads, schemas and states come
// as the texts on record (values=text), see text/json.ts: nothing here makes numbers of them.

import createClient, { type Middleware } from "openapi-fetch";
import { timed } from "./clock";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Gate = Schemas["Gate"];
export type Grant = Schemas["Grant"];
export type Decision = Schemas["Decision"];
export type Role = Schemas["MeBody"]["role"];

/** A Problem is an answer that is not what was asked for. docs/errors.md explains its code. */
export class Problem extends Error {
  constructor(readonly body: Partial<Schemas["Problem"]> & { detail: string }) {
    super(body.detail);
  }
  get code(): string {
    return this.body.code ?? "unavailable";
  }
}

const unreachable = () =>
  new Problem({
    code: "unavailable",
    detail: "The server cannot be reached.",
    hint: "What was acknowledged stays on record; this page tries again by itself.",
  });

/** These answers hold no values, so their routes have no such parameter. */
const plain = new RegExp(
  "^/(api/((dead-letters|encryption|find|keys|me|people|processes|queues|status|substitutes|tokens|verifications|waits|webhooks" +
    "|witness|workers)(/.*)?|gates/{id}/deliveries|programs/{program}/standing|threads(/{id}(/(cancel|copy|entries/{seq}|hold|outline|releases|usage))?)?)|readyz|version)$",
);

const asText: Middleware = {
  async onRequest({ request, schemaPath }) {
    if (plain.test(schemaPath)) return request;
    const url = new URL(request.url);
    url.searchParams.set("values", "text");
    const { method, headers, signal } = request;
    const body = method === "GET" ? undefined : await request.text(); // a stream would need HTTP/2
    return new Request(url, { method, headers, signal, body });
  },
};

export const api = createClient<paths>({
  baseUrl: location.origin,
  headers: { Accept: "application/json" },
  fetch: timed,
});
api.use(asText);

let ended = () => {};

/** onEnded names what is called when an answer says that nobody is logged in any more. */
export const onEnded = (call: () => void) => {
  ended = call;
};

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** ask returns what a call answered, with its status. It throws a [Problem] for any other answer. */
export async function ask<T>(call: Promise<Answer<T>>): Promise<{ data: T; status: number }> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (answer.response.ok) return { data: answer.data as T, status: answer.response.status };
  const body = (answer.error ?? {}) as Partial<Schemas["Problem"]>;
  if (answer.response.status === 401) ended();
  throw new Problem({
    ...body,
    status: answer.response.status,
    detail: body.detail ?? body.title ?? answer.response.statusText,
  });
}

/** get returns the data of [ask]. */
export const get = async <T>(call: Promise<Answer<T>>): Promise<T> => (await ask(call)).data;
