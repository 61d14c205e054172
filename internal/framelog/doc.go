// Package framelog is the format of the files that store/filestore writes: frames, one
// after the other. A frame has a head, which says what it is, and a body:
//
//	offset  bytes
//	0       4      length of the head, little endian
//	4       4      length of the body
//	8       4      CRC-32C of the body
//	12      4      CRC-32C of the 12 bytes before and the head
//	16      ...    head: its kind, then fields in canonical encoding; then the body
//
// So a file can be read without its bodies, and nothing is believed unread. A file of
// the journal is a [Segment] and then [Group] frames, each with the frames of one commit
// in its body. A thread's log is a [Thread] and then [Entry] frames, copied from the
// journal byte by byte. The slots' log has [Slot] frames.
//
// [Scan] walks a file. It tells an end from damage; what damage means is the reader's to
// say.
package framelog
