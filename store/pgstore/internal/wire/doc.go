// Package wire writes the arguments of a call as Postgres reads them, in its binary format:
//
//	var a wire.Args
//	a.Reset()
//	a.Text("name")
//	a.Array(wire.Int8, len(numbers), func(i int) { a.PutInt8(numbers[i]) })
//	conn.ExecParams(ctx, sql, a.Encoded(), a.Types(), formats, formats)
//
// The driver would do so too. But it looks at the type of each element of an array, and an
// append has an element for each entry of a group in dozens of arrays.
package wire
