// Package delta decides how a changed value is stored: in full, or as a splice
// that keeps a prefix and a suffix of the value before it around a new middle.
//
// An appended message then costs the message. A value is written in full again
// only when the bytes that are dead, plus [SegmentCost] for each splice since,
// exceed its size; so what is stored grows with what changed, and what is read
// to rebuild a value stays within about twice its size.
package delta
