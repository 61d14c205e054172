const id = "announced";

/** announce tells people who do not see the screen what happened on it. */
export function announce(text: string) {
  const at = document.getElementById(id);
  if (at) at.textContent = text;
}

/** Announced is where what is announced stands, out of sight. */
export const Announced = () => <p id={id} role="status" className="visually-hidden" />;
