// Package slack is the channel of package notify to Slack, where people decide with buttons.
//
//	app.Main(app.Programs{Open: programs, Channels: []notifyfile.Kind{slack.Kind()}})
//
// It is a module of its own, so that a binary links it only if it is used. A file of serve --notify then
// has a section for it:
//
//	slack:
//	  workspace: T0123456789
//	  tokenFile: slack.token
//	  appTokenFile: slack.app # Socket Mode: no port is open to Slack
//	  people: {U0123456789: alice, U0987654321: bob}
//	  endpoints:
//	    - {name: finance, channel: C0123456789, when: {gates: [refund*]}}
//
// A program without a file makes an [App] and its channels itself.
//
// # Messages
//
// A question is one message, with its values as on record, buttons and a link. It is posted once: before a message
// is sent, that is noted beside the thread's log, and after a crash or a lost answer the app looks in the channel for
// what it posted. When the question is decided, by whatever way, the message says by whom, and its buttons go.
//
// # Answers
//
// A button decides in the name that the configuration has for the member of the workspace who pressed it, by the rules
// that hold everywhere: who may decide, requesters, quorum, deadline. A member who is not known decides nothing and is
// told so. A button counts for the content that its message shows; a question with more content than fits has a link in
// place of buttons.
//
// A change, an answer in words and a reason are typed into a modal. It has an input of each member of what is shown, or of the
// schema of the answer; what was not touched goes on record byte for byte, and a value that does not fit is refused
// beside its input.
//
// Slack sends what was pressed over Socket Mode, a connection that the app opens, or to the request URL
// /api/channels/slack of the server, signed. Both may be on.
package slack
