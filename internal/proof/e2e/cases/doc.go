// Package cases holds programs that fail on other engines in production: what people who do
// this job reported, in words and programs of our own. Each stands for a kind of defect.
//
// It holds tests only.
package cases
