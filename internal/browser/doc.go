// Package browser drives a headless Chromium, so that tests see the pages as
// people do: their scripts run, under the policy the server sends.
//
// [Find] looks for the program, [Start] starts it with a profile of its own,
// [Browser.Open] loads a page with cookies, and [Page.Eval] and [Page.Wait] run
// expressions there. It speaks the DevTools protocol over one WebSocket.
//
// Package browser may import the WebSocket client and nothing of this module.
package browser
