// Package operate has the resources that operators watch and steer a process by.
package operate
