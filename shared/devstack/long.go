package devstack

import "os"

// Long reports whether tests run at their full size, which takes longer than
// `make test` may: `make long` sets SLUICE_LONG=1.
func Long() bool { return os.Getenv("SLUICE_LONG") == "1" }
