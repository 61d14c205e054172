// A link with a code logs in at once. The code is in the fragment, which is in no request's address, and
// goes to the server in the form.
"use strict";
(() => {
const code = /^#code=(once_[A-Za-z0-9]+)$/.exec(location.hash);
if (code) {
  history.replaceState(null, "", location.pathname + location.search);
  const form = document.querySelector("form");
  form.elements.token.value = code[1];
  form.submit();
}
})();
