// Where the focus goes when what had it is no longer there: to what is left around that place, so that
// the next Tab goes on from there. Browsers let it fall to the page's beginning.

let had: HTMLElement | undefined;
let pressed = false; // since then: somebody pointed elsewhere
let around: HTMLElement[] = [];

function take(e: FocusEvent) {
  if (!(e.target instanceof HTMLElement) || e.target === document.body) return;
  had = e.target;
  pressed = false;
  around = [];
  for (let at = had.parentElement; at && at !== document.body; at = at.parentElement) around.push(at);
}

const isLost = () => document.activeElement === null || document.activeElement === document.body;
const isThere = (at: HTMLElement) => at.isConnected && !at.matches(":disabled") && at.checkVisibility();
const isPart = (at: HTMLElement) =>
  at.matches("[tabindex], article, aside, dialog, footer, form, li, main, nav, section, [role]");

/** settle puts the focus somewhere, if its element has gone. Who clicked beside everything left it on purpose. */
function settle() {
  if (!had || !isLost()) return;
  if (isThere(had)) {
    if (pressed) had = undefined;
    else if (document.hasFocus()) had.focus({ preventScroll: true }); // it was moved within its list
    return;
  }
  const left = around.find((at) => isPart(at) && isThere(at));
  if (left && left.id !== "main") put(left);
  else toMain();
}

/** put gives the focus to what is no control. */
function put(at: HTMLElement) {
  if (!at.hasAttribute("tabindex")) {
    at.tabIndex = -1;
    at.addEventListener("blur", () => at.removeAttribute("tabindex"), { once: true });
  }
  at.focus({ preventScroll: true });
}

/** toMain puts the focus on what a screen shows, past the navigation. */
export function toMain() {
  const main = document.getElementById("main");
  if (main) put(main.querySelector<HTMLElement>("h1") ?? main);
}

let kept = false;

/** keepFocus begins to look after the focus, for as long as the page is there. */
export function keepFocus() {
  if (kept) return;
  kept = true;
  let due = false;
  const soon = () => {
    if (due || !had) return;
    due = true;
    setTimeout(() => {
      due = false;
      settle();
    }, 50); // by then what is new has taken it, where it does
  };
  const changes = new MutationObserver(soon);
  changes.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"] });
  document.addEventListener("pointerdown", () => (pressed = true), true);
  document.addEventListener("focusin", take);
  document.addEventListener("focusout", soon);
}
