// Package seldom logs what clients cause, a few lines a second, so that a client that tries
// again and again does not fill a disk.
//
//	log := seldom.New(logger, time.Now)
//	log.Warn("an access token was refused", "from", address)
//
// The next line after some that were left out says how many: more=94.
package seldom
