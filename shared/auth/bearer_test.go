package auth_test

import (
	"testing"

	"sluice/shared/auth"
)

func TestBearer_OneHeaderOfThatScheme(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		headers []string
		want    string
	}{
		{nil, ""},
		{[]string{"Bearer abc"}, "abc"},
		{[]string{"bearer  abc "}, "abc"},
		{[]string{"Basic abc"}, ""},
		{[]string{"Bearer"}, ""},
		{[]string{"abc"}, ""},
		{[]string{"Bearer abc", "Bearer abc"}, ""},
	} {
		if got := auth.Bearer(tc.headers...); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.headers, got, tc.want)
		}
	}
}
