package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSoak_RefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-minutes 0": "-minutes", "-minutes 4.9": "-minutes", "-minutes NaN": "-minutes", "-capacity -5": "-capacity", "-capacity NaN": "-capacity", "-gateways 0": "-gateways", "-workers 99": "-workers",
	} {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"soak"}, strings.Fields(args)...), func(string) string { return "" }, &out, &out)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
