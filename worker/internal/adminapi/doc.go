// Package adminapi is what operators see of sales and may do with them, over HTTP, on
// the ops listener. Every call shows the admin token; refusals and errors are
// application/problem+json.
//
// A file holds one resource. A list has a file of its own too: it reads a page of
// rows, and says how one of them looks (see auditlog.go).
//
// Trust: whoever shows the token may do everything here. The name that an operator
// gives beside it (Sluice-Operator) is written into the audit log as it is, unchecked.
// A change is made in Postgres, where it is recorded in the same transaction, and
// answered; loops bring it to Redis, the catalogue and the gateways.
package adminapi
