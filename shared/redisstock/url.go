package redisstock

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// URLForms says what a URL may look like, for the help of flags and for errors.
const URLForms = "redis://[user:pass@]host:port/db for one server, redis+cluster://[user:pass@]host:port,host:port,… for a cluster, " +
	"redis+sentinel://[user:pass@]host:port,…/MASTER_NAME[?db=0] for Sentinel; rediss… for TLS"

// address is what a URL names: one of the three is set.
type address struct {
	server   *redis.Options
	cluster  *redis.ClusterOptions
	sentinel *redis.FailoverOptions
}

// parseURL reads a URL of URLForms, or of the library's own: redis://host:port?addr=host:port
// is a cluster, and with master_name it is Sentinel. Errors never show the URL, which may
// have a password.
func parseURL(text string) (a address, err error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return a, errors.New("it has no scheme; use " + URLForms)
	}
	if server := strings.IndexAny(rest, "/?"); server >= 0 && strings.LastIndex(rest, "@") > server && !strings.Contains(rest[:server], "@") {
		return a, fmt.Errorf("%w; use %s", errUnreadable, URLForms)
	}
	plain, kind, _ := strings.Cut(scheme, "+")
	switch {
	case (plain == "redis" || plain == "rediss") && kind == "cluster":
		a.cluster, err = parseCluster(plain, rest)
	case (plain == "redis" || plain == "rediss") && kind == "sentinel":
		a.sentinel, err = parseSentinel(plain, rest)
	case kind == "":
		a, err = parsePlain(text, rest)
	default:
		err = fmt.Errorf("scheme %q is unknown", scheme)
	}
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return address{}, fmt.Errorf("%w; use %s", withoutURL(err), URLForms)
	}
	a.expectOwnNames()
	return a, nil
}

// expectOwnNames has each of several servers show a certificate of its own name, not of the
// first one's.
func (a address) expectOwnNames() {
	if a.cluster != nil && a.cluster.TLSConfig != nil {
		a.cluster.TLSConfig.ServerName = ""
	}
	if a.sentinel != nil && a.sentinel.TLSConfig != nil {
		a.sentinel.TLSConfig.ServerName = ""
	}
}

func parsePlain(text, rest string) (a address, err error) {
	if strings.Contains(split(rest).hosts, ",") {
		return a, errors.New("redis:// names one server, and this names several")
	}
	u, err := url.Parse(text)
	if err != nil {
		return a, err
	}
	switch query := u.Query(); {
	case query.Has("master_name"):
		a.sentinel, err = redis.ParseFailoverURL(text)
	case query.Has("addr"):
		if err := noDatabase(strings.Trim(u.Path, "/")); err != nil {
			return a, err
		}
		a.cluster, err = redis.ParseClusterURL(text)
	default:
		a.server, err = redis.ParseURL(text)
	}
	return a, err
}

func parseCluster(scheme, rest string) (*redis.ClusterOptions, error) {
	p := split(rest)
	if err := noDatabase(p.path); err != nil {
		return nil, err
	}
	servers, query, err := p.servers("6379")
	if err != nil {
		return nil, err
	}
	return redis.ParseClusterURL(p.inOneHost(scheme, p.user, servers, query))
}

// parseSentinel takes user and password of the URL for the servers that keep the sales;
// those of the Sentinels are sentinel_username and sentinel_password.
func parseSentinel(scheme, rest string) (*redis.FailoverOptions, error) {
	p := split(rest)
	if p.path == "" || strings.Contains(p.path, "/") {
		return nil, errors.New("it must name the master after the Sentinels' addresses")
	}
	servers, query, err := p.servers("26379")
	if err != nil {
		return nil, err
	}
	own, err := url.Parse("redis://" + p.user + "x")
	if err != nil {
		return nil, err
	}
	name, err := url.PathUnescape(p.path)
	if err != nil {
		return nil, err
	}
	user, password := query.Get("sentinel_username"), query.Get("sentinel_password")
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	query.Set("master_name", name)
	if own.User != nil {
		word, _ := own.User.Password()
		query.Set("username", own.User.Username())
		query.Set("password", word)
	}
	o, err := redis.ParseFailoverURL(p.inOneHost(scheme, "", servers, query))
	if err != nil {
		return nil, err
	}
	o.SentinelUsername, o.SentinelPassword = user, password
	return o, nil
}

// noDatabase refuses a database other than the one that a cluster has.
func noDatabase(path string) error {
	if path != "" && path != "0" {
		return fmt.Errorf("a cluster has database 0 alone, and this names %q", path)
	}
	return nil
}

// parts of a URL that may name several servers, as they were written.
type parts struct {
	user               string // with its @; empty when there is none
	hosts, path, query string
}

func split(rest string) (p parts) {
	rest, p.query, _ = strings.Cut(rest, "?")
	p.hosts, p.path, _ = strings.Cut(rest, "/")
	if at := strings.LastIndex(p.hosts, "@"); at >= 0 {
		p.user, p.hosts = p.hosts[:at+1], p.hosts[at+1:]
	}
	p.path = strings.TrimSuffix(p.path, "/")
	return p
}

// servers are host:port each; a port that is not said is usual.
func (p parts) servers(usual string) (servers []string, query url.Values, err error) {
	for _, each := range strings.Split(p.hosts, ",") {
		host, port, err := net.SplitHostPort(each)
		if err != nil {
			host, port, err = net.SplitHostPort(each + ":" + usual)
		}
		if n, bad := strconv.Atoi(port); err != nil || host == "" || bad != nil || n < 1 || n > 65535 {
			return nil, nil, fmt.Errorf("%q is not host:port", each)
		}
		servers = append(servers, net.JoinHostPort(host, port))
	}
	query, err = url.ParseQuery(p.query)
	if err == nil && query.Has("addr") {
		err = errors.New("servers belong before the path, separated by commas, not into addr")
	}
	return servers, query, err
}

// inOneHost writes the library's form: one server where the host belongs, the others
// behind it.
func (p parts) inOneHost(scheme, user string, servers []string, query url.Values) string {
	query["addr"] = servers[1:]
	return scheme + "://" + user + servers[0] + "?" + query.Encode()
}

// check refuses what would read from replicas, which are behind.
func (a address) check() error {
	switch c, s := a.cluster, a.sentinel; {
	case c != nil && (c.ReadOnly || c.RouteByLatency || c.RouteRandomly):
		return errors.New("read_only, route_by_latency and route_randomly cannot be used: replicas are behind")
	case s != nil && s.MasterName == "":
		return errors.New("master_name is empty")
	case s != nil && (s.ReplicaOnly || s.RouteByLatency || s.RouteRandomly):
		return errors.New("replica_only, route_by_latency and route_randomly cannot be used: replicas are behind")
	default:
		return nil
	}
}

// errUnreadable is of what is no URL. What net/url says of it quotes it, or the part that it
// stumbled over, which may be of a password.
var errUnreadable = errors.New("it is no URL; write / ? # % @ : of a user and a password as %2F and so on")

func withoutURL(err error) error {
	if errors.As(err, new(*url.Error)) {
		return errUnreadable
	}
	return err
}
