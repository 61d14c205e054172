// Package natsstore keeps threads in NATS.
package natsstore
