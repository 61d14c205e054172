/** newKey returns an Idempotency-Key. A page that came without TLS has no randomUUID. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
