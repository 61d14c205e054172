// Package ui holds the files of the web pages, to be embedded in the binary and
// served by package server.
//
// The page is an application in TypeScript: its sources are in web, where DESIGN.md says how it
// looks and why, and what Vite and tools/assets make of them is in dist, committed, so that building
// the binary needs no Node. Two pages stand on its parts: login.html, a template with the form that
// takes an access token, and decide.html, one gate, for who has a link with an approval token in its
// fragment. Beside them is a page that works on its own:
//
//	api.html    the HTTP API for people
//	hidden.js   marks characters that people do not see
//	api.js      fills it from /openapi.json, and tries paths
//	api.css     its style, on that of the documentation
//	weak.js     says above api.html what the store may lose, from /readyz
//	icon.svg    the tab's
//
// The server's policy allows no inline script, no inline style and nothing from
// elsewhere, and the pages show what agents wrote as text only, never as HTML.
package ui

import "embed"

// Files are the files of the page that works on its own, by name.
//
//go:embed *.html *.js *.css *.svg
var Files embed.FS

// Site is the application: in dist the pages index.html, login.html and decide.html, the licences, and
// assets with a hash of each file's content in its name. A name that ends in .gz is of a compressed file.
//
//go:embed dist
var Site embed.FS

// Docs are the documentation's pages with their files: a tar archive, compressed with zstd, which tools/docs
// makes of the Markdown of the repository. The server has each file below /docs.
//
//go:embed docs.tar.zst
var Docs []byte

// Full is the Markdown of all guides in one text, compressed with zstd, which tools/docs makes, too. The server has it at
// /llms-full.txt.
//
//go:embed llms-full.txt.zst
var Full []byte
