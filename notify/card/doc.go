// Package card has events as people read them: what channels such as mail and chat make their messages
// of.
//
//	c := card.Of(m.Event, nil)
//	c.Title   // "Refund order 7?"
//	c.Fields  // amount: 250.50
//	c.Outcome // "Approved by alice, 2026-11-26 12:00 UTC"
//
// Values are shown as they are on record. Characters that people would not see are marked, as in ‹U+202E›, and so
// are letters of another script than their word's, as in ‹Cyrillic А›cme; [Card.Warning] says so. A text that is cut
// says so: [Card.Whole] is false then, and the card is not enough to decide by.
package card
