// How the address that is shown came about: a list that Back leads to is shown as it was left.

let back = false;
addEventListener("popstate", () => (back = true));
for (const made of ["pushState", "replaceState"]) addEventListener(made, () => (back = false)); // wouter's events

/** cameBack says whether Back or Forward led to the address. */
export const cameBack = () => back;
