// Reasons that were typed and not sent yet stay with their tab, also when it is loaded again. They are of who
// typed them: another person who logs in there does not see them.

const prefix = "reason ";

/** typed is the reason that was typed for a gate. */
export const typed = (gate: string): string => sessionStorage.getItem(prefix + gate) ?? "";

/** keep keeps a reason, or forgets it if it is empty. */
export function keep(gate: string, reason: string) {
  try {
    if (reason) sessionStorage.setItem(prefix + gate, reason);
    else sessionStorage.removeItem(prefix + gate);
  } catch {
    // It stays in its field.
  }
}

/** ownedBy forgets all reasons unless they are of the person who is logged in. */
export function ownedBy(name: string | undefined) {
  if (name === sessionStorage.getItem("who")) return;
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
  if (name) sessionStorage.setItem("who", name);
  else sessionStorage.removeItem("who");
}
