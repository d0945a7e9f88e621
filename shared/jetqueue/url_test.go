package jetqueue

import (
	"strings"
	"testing"
)

func TestCheckURL_ShowsNothingOfWhatItRefuses(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"nats://127.0.0.1:4222", "127.0.0.1", "nats://a:4222, nats://b:4222,c:1", "tls://ann:p%2Fw@h:4222", "nats://token@h", "wss://h/path"} {
		if err := CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, named := range map[string]string{
		"":                                      "server 1",
		"nats://":                               "server 1",
		"http://secret@h:4222":                  "server 1",
		"nats://ann:secret/x@h:4222":            "server 1",
		"nats://a:4222,nats://ann:sec%zret@b:1": "server 2",
	} {
		err := CheckURL(bad)
		if err == nil || !strings.Contains(err.Error(), named) || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
