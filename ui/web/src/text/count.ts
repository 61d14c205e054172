/** most is how far the server counts threads of a status. */
const most = 1000;

/** many says a count, and with a plus that it may be more. */
export const many = (n: number) => (n >= most ? `${most.toLocaleString("en")}+` : n.toLocaleString("en"));
