// Package ui holds the files of the web pages, to be embedded in the binary and
// served by package server.
//
// The page is an application in TypeScript: its sources are in web, where DESIGN.md says how it
// looks and why, and what Vite and tools/assets make of them is in dist, committed, so that building
// the binary needs no Node. Beside it are pages that work on their own:
//
//	login.html  a template: the form that takes an access token
//	code.js     has it take the code of a link
//	decide.html one gate, for who has a link with an approval token in its fragment
//	decide.js   fills it from /api/gates/{id}/by-token, and decides
//	hidden.js   marks characters that people do not see
//	json.js     reads and writes JSON without changing a number
//	api.html    the HTTP API for people
//	api.js      fills it from /openapi.json, and tries paths
//	api.css     its style, on that of the documentation
//	weak.js     says above api.html what the store may lose, from /readyz
//	style.css   for these
//	icon.svg    the tab's
//
// The server's policy allows no inline script, no inline style and nothing from
// elsewhere, and the pages show what agents wrote as text only, never as HTML.
package ui

import "embed"

// Files are the files of the pages that work on their own, by name.
//
//go:embed *.html *.js *.css *.svg
var Files embed.FS

// Site is the application: dist/index.html, its licences, and dist/assets with a hash of each file's
// content in its name. A name that ends in .gz is of a compressed file.
//
//go:embed dist
var Site embed.FS

// Docs are the documentation's pages with their files: a tar archive, compressed with zstd, which tools/docs
// makes of the Markdown of the repository. The server has each file below /docs.
//
//go:embed docs.tar.zst
var Docs []byte
