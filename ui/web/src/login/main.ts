import "../styles/fonts.css";
import "../styles/tokens.css";
import "../styles/base.css";
import "./login.css";
import { applyTheme } from "../shell/theme";

applyTheme();

// A link with a code logs in at once. The code is in the fragment, which is in no request's address, and goes to
// the server in the form.
const code = /^#code=(once_[A-Za-z0-9]+)$/.exec(location.hash)?.[1];
const token = document.querySelector<HTMLInputElement>("#token");
if (code && token) {
  history.replaceState(null, "", location.pathname + location.search);
  token.value = code;
  token.form?.submit();
}
