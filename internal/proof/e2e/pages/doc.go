// Package pages compares what a page of the documentation says with what its commands print.
// It also draws what they show at a terminal: see [Picture].
//
// Ids, hashes, times and sizes differ from run to run. A page has those of the day it was written:
//
//	ids := pages.IDs{}
//	cmd, err := ids.Translate("posthouse checkpoint show 019a…") // the page's id becomes this run's
//	ids.Learn(whatThePageSays, whatTheCommandSaid)               // pairs the ids of both
//	same := pages.Sketch(page) == pages.Sketch(run)              // all that must be equal
package pages
