// Package page has the routes of browsers: the inbox page, the page of a gate and their files,
// logging in and out, the documentation, and the page that describes all routes.
//
//	p, err := page.New(auth, time.Now)
//	routes := append(others, p.Routes()...)
//
// The policy of the answers lets a page load what this server serves, and nothing else.
package page
