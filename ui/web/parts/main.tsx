// The page of parts: each part of src/parts with its states, in both themes. npm run dev shows it at
// /parts/; it is not built into the binary.

import "../src/styles/fonts.css";
import "../src/styles/tokens.css";
import "../src/styles/base.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "../src/data/query";
import { more } from "./more";
import { parts } from "./states";
import css from "./main.module.css";

const Column = ({ theme }: { theme: "light" | "dark" }) => (
  <section className={css.column} style={{ colorScheme: theme }} aria-label={theme}>
    {[...parts, ...more].map((p) => (
      <article key={p.name} className={css.part}>
        <h2>
          {p.name} <span>{p.about}</span>
        </h2>
        {p.states.map(([state, shown]) => (
          <div key={state} className={css.state}>
            <span>{state}</span>
            <div>{shown}</div>
          </div>
        ))}
      </article>
    ))}
  </section>
);

const root = document.getElementById("root");
if (!root) throw new Error("the page has no root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <main className={css.page}>
        <h1>Parts</h1>
        <Column theme="light" />
        <Column theme="dark" />
      </main>
    </QueryClientProvider>
  </StrictMode>,
);
