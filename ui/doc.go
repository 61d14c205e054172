// Package ui holds the files of the web pages, to be embedded in the binary and
// served by package server:
//
//	login.html  a template: the form that takes an access token
//	index.html  a template: the inbox, with the gates that wait, a form to decide each with a
//	            button for each verdict, and the approvals that somebody waits for on a connection
//	gate.html   one gate: who decided it, what ran under the decision, ask again
//	gate.js     fills it from /api/gates/{id}/grant
//	decide.html one gate, for who has a link with an approval token in its fragment
//	decide.js   fills it from /api/gates/{id}/by-token, and decides
//	shared.js   what these two pages share
//	weak.js     says above every page what the store may lose, from /readyz
//	hidden.js   marks characters that people do not see
//	json.js     reads and writes JSON without changing a number
//	inbox.js    fills it from /api/gates and /api/approvals and keeps it current
//	            with /api/events
//	docs.html   a template: the HTTP API for people
//	style.css   for all of them
//	icon.svg    the tab's
//
// The server's policy allows no inline script, no inline style and nothing from
// elsewhere, and the script shows what agents wrote as text only, never as
// HTML. There is no build step: what is here is what a browser gets.
package ui

import "embed"

// Files are the pages' files, by name.
//
//go:embed *.html *.js *.css *.svg
var Files embed.FS
