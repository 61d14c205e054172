// The address of a link that carries the right to decide.

export type Link = { id: string; token: string };

/** linkOf reads an address such as /decide/ID#TOKEN. */
export const linkOf = ({ pathname, hash }: Pick<Location, "pathname" | "hash">): Link => ({
  id: decodeURIComponent(pathname.split("/").pop() ?? ""),
  token: hash.slice(1),
});

/**
 * takeLink is linkOf, and takes the token out of the address and the history of the browser: whoever has the
 * device later would find it there. It stays with the tab, so that the page can be loaded again.
 */
export const takeLink = (
  at: Pick<Location, "pathname" | "search" | "hash">,
  past: Pick<History, "replaceState">,
  tab: () => Pick<Storage, "getItem" | "setItem">,
): Link => {
  const link = linkOf(at);
  const key = `posthouse.link.${link.id}`;
  if (!link.token) {
    try {
      return { ...link, token: tab().getItem(key) ?? "" };
    } catch {
      return link; // the browser keeps nothing
    }
  }
  past.replaceState(null, "", at.pathname + at.search);
  try {
    tab().setItem(key, link.token);
  } catch {
    // the browser keeps nothing: the page asks for the link again when it is loaded again
  }
  return link;
};
