// Package powercut has a disk that loses, at a power cut, what was not synced.
//
//	disk := powercut.New(powercut.Strict)
//	m, err := disk.Mount(dir)                       // as a file system, with FUSE
//	off := disk.Arm(powercut.Faults{CutAt: 117})    // the power goes at the 117th change
//	... a program works below dir, until off is closed; kill it ...
//	err = m.Unmount()
//	disk.Cut(rnd, 0.5)                              // loses, or keeps by chance, what was not synced
//
// A [Disk] is in memory. It keeps for each file what its programs read and what was
// synced, and between the two every change since, in pieces of 4 KiB. A sync makes the
// changes before it durable. A cut makes a disk of the rest: it keeps each piece, or loses
// it, by chance, so that later writes may be there and earlier ones not.
//
// Names are changes of their directory. In the model [Strict] they are durable by a sync
// of that directory only, and each may be lost without the others, as POSIX allows. In the
// model [Ext4] any sync makes all earlier names durable, and a cut loses the newest ones.
// Modes, owners and times are never lost.
//
// A program that maps a file shared and writes to it is seen only for files with names
// that end in -shm, as SQLite's index of its log does; other files cannot be mapped
// shared.
//
// Package trial drives stores on such a disk, and counts what they lose.
package powercut
