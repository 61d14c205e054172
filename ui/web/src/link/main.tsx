import "../styles/fonts.css";
import "../styles/tokens.css";
import "../styles/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { takeLink } from "./address";
import { decide } from "./link";
import { LinkScreen } from "./screen";
import { Sending } from "../gate/decide";
import { applyTheme } from "../shell/theme";

applyTheme();
const root = document.getElementById("root");
if (!root) throw new Error("the page has no root");
const link = takeLink(location, history, () => sessionStorage);
addEventListener("hashchange", () => location.reload()); // another link to the same question
createRoot(root).render(
  <StrictMode>
    <Sending value={decide(link)}>
      <LinkScreen link={link} />
    </Sending>
  </StrictMode>,
);
