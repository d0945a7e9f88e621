package main

import (
	"fmt"
	"testing"
	"time"

	"sluice/shared/devstack"
)

// What the README promises of 500,000 users, from the start of the command to its end.
const (
	loadListWithin   = 10 * time.Second
	changeListWithin = 10 * time.Second
	slack            = 3 // the machine may be busy
)

// crowd are n user ids as long as a UUID.
func crowd(from, n int) []string {
	users := make([]string, n)
	for i := range users {
		users[i] = fmt.Sprintf("00000000-0000-4000-8000-%012d", from+i)
	}
	return users
}

func TestApply_ALongAllowListLoadsAndChangesWithinItsBound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	size := 20_000
	if devstack.Long() {
		size = 500_000
	}
	id := newName()
	file := b.file(saleText(id, alreadyOpen, ", eligibility: {allow_list: ids.txt}"))
	within := func(what string, bound time.Duration, users ...string) {
		t.Helper()
		b.list(file, users...)
		start := time.Now()
		b.run("apply", file)
		took := time.Since(start)
		t.Logf("%s: %d users in %v", what, len(users), took.Round(time.Millisecond))
		if took > slack*bound {
			t.Errorf("%s took %v, the promise is %v", what, took, bound)
		}
		if n := len(b.allowed(id)); n != len(users) {
			t.Errorf("%s: redis allows %d users, want %d", what, n, len(users))
		}
	}
	within("load", loadListWithin, crowd(0, size)...)
	within("a tenth changed", changeListWithin, crowd(size/10, size)...)
	within("all changed", changeListWithin, crowd(2*size, size)...)
	within("unchanged", changeListWithin, crowd(2*size, size)...)
	b.run("verify", id)
}
