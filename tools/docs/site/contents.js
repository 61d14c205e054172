"use strict";

// The contents, at the side of every page, where the page has this script: nothing moves once it is shown.
{
  const place = document.currentScript;
  for (const [title, ...pages] of CONTENTS) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const list = document.createElement("ul");
    summary.textContent = title;
    for (const [name, address] of pages) {
      const link = document.createElement("a");
      link.href = address;
      link.textContent = name;
      if (location.pathname === address) {
        link.setAttribute("aria-current", "page");
        details.open = true;
      }
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    details.append(summary, list);
    place.before(details);
  }
  const elsewhere = document.createElement("p");
  elsewhere.className = "elsewhere";
  for (const [name, address] of [
    ["API console", "/docs/api"],
    ["Inbox", "/"],
  ]) {
    const link = document.createElement("a");
    link.href = address;
    link.textContent = name;
    elsewhere.append(link);
  }
  place.before(elsewhere);
}
