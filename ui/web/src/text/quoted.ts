/** runtime is the name under which the runtime itself withdraws questions and lets them expire. */
export const runtime = "posthouse";

/** quoted puts in quotation marks what somebody typed. The runtime's own words have none. */
export const quoted = (by: string | undefined, text: string) => (by === runtime ? text : `“${text}”`);
