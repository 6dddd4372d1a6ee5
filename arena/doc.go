// Package arena allocates values of any Go type that are born one by one and die together.
package arena
