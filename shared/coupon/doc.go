// Package coupon is what a coupon is: a template, which is a rule and may change, and
// an instance, which is a fact: somebody holds it, under the terms of the moment at
// which it was claimed. It does no I/O and is told the time.
package coupon
