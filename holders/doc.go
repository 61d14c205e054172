// Package holders says which process holds which threads: the leases of a store, by their owners.
//
//	report, err := holders.List(ctx, led, 0)
//	for _, p := range report.Processes {
//		fmt.Println(p.Process, p.Threads, p.Silent)
//	}
package holders
