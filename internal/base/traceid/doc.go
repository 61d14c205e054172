// Package traceid reads and makes trace context as W3C Trace Context has it, level 1.
//
//	c, ok := traceid.Parse(r.Header.Get("traceparent"))
//	if !ok {
//		c = traceid.New()
//	}
//
// What a client sends is taken only in the exact form of the standard. [Link] is where people look at a trace.
package traceid
