// Package mail is the channel of package notify to people's mailboxes.
//
//	app.Main(app.Programs{Open: programs, Channels: []notifyfile.Kind{mail.Kind()}})
//
// It is a module of its own, so that a binary links it only if it is used. A file of serve --notify then
// has a section for it:
//
//	mail:
//	  server: smtp.example.com:587
//	  username: posthouse
//	  passwordFile: smtp.password
//	  from: Posthouse <posthouse@example.com>
//	  people: {alice: alice@example.com, bob: bob@example.com}
//	  endpoints:
//	    - {name: finance, when: {gates: [refund*]}}
//
// A program without a file makes a [Sender] and its channels itself.
//
// # Who gets what
//
// A question goes to those of its assignees whom the configuration knows, to all people it knows if anybody
// may decide, and to the addresses in to. Who was asked is told how it ended. Each person gets a
// mail of their own: its link names the person.
//
// # Links
//
// The link leads to the page of the question, where a login is needed; a forwarded mail decides nothing for
// others. Opening a link decides nothing, so scanners may. An endpoint with decideFor sends its person a link that
// carries the right, which package notify describes.
//
// # Failures
//
// A server that is away, or answers with 4xx, gets the mail later, and only for those who do not
// have it. A mailbox that is refused with 5xx is given up, and the list of endpoints says so. A mail that comes twice
// has the same Message-ID. Bounces that come as mails later go to the address in bounces: they are not read.
package mail
