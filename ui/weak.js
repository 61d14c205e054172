// What the store may lose, above the content of each page: what /readyz says. All text
// enters the page by textContent, never as HTML.
"use strict";

(() => {
  const EVERY = 60000;
  let shown = "";

  function banner(weak) {
    const box = document.createElement("section");
    box.id = "weak";
    box.className = "card weak";
    box.setAttribute("role", "alert");
    const heading = document.createElement("h2");
    heading.textContent = "The store may lose what it has acknowledged";
    const list = document.createElement("ul");
    for (const why of weak) {
      const item = document.createElement("li");
      item.textContent = why;
      list.append(item);
    }
    const hint = document.createElement("p");
    hint.className = "hint";
    const command = document.createElement("code");
    command.textContent = "posthouse store check";
    hint.append("Whoever runs the store should change its settings; ", command, " says more.");
    box.append(heading, list, hint);
    return box;
  }

  // look asks again. An unchanged banner stays as it is, so that nobody hears it twice.
  async function look() {
    if (document.visibilityState !== "visible") {
      return;
    }
    let weak;
    try {
      const answer = await fetch("/readyz", { headers: { Accept: "application/json" } });
      if (!answer.ok) {
        return; // what it was may still be so
      }
      weak = (await answer.json()).weak || [];
    } catch {
      return;
    }
    const now = JSON.stringify(weak);
    if (now === shown) {
      return;
    }
    shown = now;
    document.getElementById("weak")?.remove();
    if (weak.length > 0) {
      document.querySelector("main").prepend(banner(weak));
    }
  }

  document.addEventListener("visibilitychange", look);
  setInterval(look, EVERY);
  look();
})();
