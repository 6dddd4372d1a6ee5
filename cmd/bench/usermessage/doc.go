// SPDX-License-Identifier: Apache-2.0

// Package usermessage runs freehold bench on a type of message of the user's: it builds a program from package
// messages and the user's package, and runs it.
//
// The program is built inside the user's module, from a file that exists in an overlay alone, and with a copy of go.mod
// that requires freehold besides. So the user's internal packages and replacements hold, and no file of the user's
// changes. The copy may select newer versions of protobuf than the user's go.mod does.
package usermessage
