package redisstock

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestParseURL_EveryForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		addrs                string
		db                   int
		user, password       string
		master               string
		sentinelPassword     string
		cluster, single, tls bool
	}{
		"redis://localhost:6379/3":                                 {addrs: "localhost:6379", db: 3, single: true},
		"redis://ann:p%40ss@h1:1":                                  {addrs: "h1:1", user: "ann", password: "p@ss", single: true},
		"redis+cluster://h1:1,h2:2,h3:3":                           {addrs: "h1:1,h2:2,h3:3", cluster: true},
		"redis+cluster://h1":                                       {addrs: "h1:6379", cluster: true},
		"redis+cluster://[::1]:1,[::1]:2/0":                        {addrs: "[::1]:1,[::1]:2", cluster: true},
		"redis+cluster://ann:p%40ss@h1:1,h2:2/?dial_timeout=3":     {addrs: "h1:1,h2:2", user: "ann", password: "p@ss", cluster: true},
		"rediss+cluster://h1:1,h2:2":                               {addrs: "h1:1,h2:2", cluster: true, tls: true},
		"redis://h1:1?addr=h2:2&addr=h3:3":                         {addrs: "h1:1,h2:2,h3:3", cluster: true},
		"redis+sentinel://h1:1,h2/main":                            {addrs: "h1:1,h2:26379", master: "main"},
		"redis+sentinel://ann:word@h1:1/main?db=2":                 {addrs: "h1:1", master: "main", db: 2, user: "ann", password: "word"},
		"redis+sentinel://:w%2Frd@h1:1/main?sentinel_password=its": {addrs: "h1:1", master: "main", password: "w/rd", sentinelPassword: "its"},
		"rediss+sentinel://h1:1/main":                              {addrs: "h1:1", master: "main", tls: true},
		"redis://h1:1/2?addr=h2:2&master_name=main":                {addrs: "h1:1,h2:2", master: "main", db: 2},
	} {
		a, err := parseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := want
		switch {
		case a.cluster != nil:
			c := a.cluster
			got.addrs, got.user, got.password, got.cluster, got.tls = strings.Join(c.Addrs, ","), c.Username, c.Password, true, c.TLSConfig != nil
		case a.sentinel != nil:
			s := a.sentinel
			got.addrs, got.user, got.password, got.tls = strings.Join(s.SentinelAddrs, ","), s.Username, s.Password, s.TLSConfig != nil
			got.master, got.db, got.sentinelPassword = s.MasterName, s.DB, s.SentinelPassword
		default:
			s := a.server
			got.addrs, got.user, got.password, got.single, got.tls, got.db = s.Addr, s.Username, s.Password, true, s.TLSConfig != nil, s.DB
		}
		if got != want || (a.cluster != nil) != want.cluster || (a.server != nil) != want.single {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestParseURL_EachOfSeveralServersHasACertificateOfItsOwnName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rediss://h1:1":                            "h1",
		"rediss+cluster://h1:1,h2:2":               "",
		"rediss://h1:1?addr=h2:2":                  "",
		"rediss+sentinel://h1:1,h2:2/main":         "",
		"rediss://h1:1?addr=h2:2&master_name=main": "",
	} {
		a, err := parseURL(text)
		must(t, err)
		var of *tls.Config
		switch {
		case a.cluster != nil:
			of = a.cluster.TLSConfig
		case a.sentinel != nil:
			of = a.sentinel.TLSConfig
		default:
			of = a.server.TLSConfig
		}
		if of == nil || of.ServerName != want {
			t.Errorf("%s: %+v, want the name %q", text, of, want)
		}
	}
}

func TestParseURL_WhatIsWrongIsNamedAndTheFormShown(t *testing.T) {
	t.Parallel()
	for text, named := range map[string]string{
		"":                                             "no scheme",
		"127.0.0.1:6379":                               "no scheme",
		"http://h1:1":                                  "http",
		"redis+ring://h1:1":                            `"redis+ring"`,
		"redis://h1:1,h2:2":                            "names several",
		"redis+cluster://":                             `"" is not host:port`,
		"redis+cluster://h1:1,,h2":                     `"" is not host:port`,
		"redis+cluster://h1:x":                         `"h1:x" is not host:port`,
		"redis+cluster://h1:70000":                     `"h1:70000"`,
		"redis+cluster://h1:1/4":                       `"4"`,
		"redis://h1:1/4?addr=h2:2":                     `"4"`,
		"redis://h1:1?addr=h2":                         "h2",
		"redis+cluster://h1?adr=h2":                    "adr",
		"redis+cluster://h1:1?addr=h2:2":               "addr",
		"redis+cluster://h1:1?read_only=true":          "read_only",
		"redis+cluster://secret%zz@h1:1":               "as %2F",
		"redis://:secret/@h1:1":                        "as %2F",
		"redis://:secret?@h1:1":                        "as %2F",
		"redis://:secret#@h1:1":                        "as %2F",
		"redis+cluster://:secret/@h1:1,h2:2":           "as %2F",
		"redis+cluster://:secret?@h1:1":                "as %2F",
		"redis+cluster://:secret#@h1:1":                "as %2F",
		"redis+sentinel://:secret/x@h1:1/main":         "as %2F",
		"redis+sentinel://h1:1":                        "name the master",
		"redis+sentinel://h1:1/":                       "name the master",
		"redis+sentinel://h1:1/main/0":                 "name the master",
		"redis+sentinel://h1:1/main?db=x":              "database",
		"redis+sentinel://h1:1/main?replica_only=true": "replica_only",
		"redis://h1:1?master_name=":                    "master_name",
		"redis://secret@h1:1/x":                        "database",
	} {
		_, err := Open(Config{URL: text})
		if err == nil || !strings.Contains(err.Error(), named) || !strings.Contains(err.Error(), URLForms) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := Connect(text, 0); err == nil {
			t.Errorf("connected to %q", text)
		}
	}
}

func TestConnect_TheLibrarysClientForEveryForm(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, text := range []string{"redis://h1:1", "redis+cluster://h1:1", "redis+sentinel://h1:1/main"} {
		client, err := Connect(text, 0)
		must(t, err)
		_, sharded := client.(*redis.ClusterClient)
		kinds = append(kinds, map[bool]string{true: "cluster", false: "one"}[sharded])
		must(t, client.Close())
	}
	if !slices.Equal(kinds, []string{"one", "cluster", "one"}) {
		t.Error(kinds)
	}
}
