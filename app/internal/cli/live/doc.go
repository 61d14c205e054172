// Package live has the commands that show what happens as it happens.
//
// [Watch] prints what is recorded, line by line. [Top] shows what waits, runs and has failed, again and
// again. [Follow] is what posthouse log -f does after the drawing.
package live
