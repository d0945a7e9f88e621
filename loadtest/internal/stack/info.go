package stack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// InfoFile is the name of the announcement in Config.OutDir.
const InfoFile = "stack.json"

// Info says where everything is. Its JSON form is a promise to other people's
// scripts.
type Info struct {
	Gateways []GatewayInfo `json:"gateways"`
	Workers  []WorkerInfo  `json:"workers"`
	Redis    StoreInfo     `json:"redis"`
	NATS     StoreInfo     `json:"nats"`
	Postgres StoreInfo     `json:"postgres"`
	Secrets  Secrets       `json:"secrets"`
	Dir      string        `json:"dir"` // holds the stores' data and logs
}

// GatewayInfo is one gateway: where buyers reach it, and its health and metrics.
type GatewayInfo struct {
	URL    string `json:"url"`
	OpsURL string `json:"ops_url"`
	PID    int    `json:"pid"`
}

// WorkerInfo is one worker: where buyers read their orders, and its admin, health
// and metrics.
type WorkerInfo struct {
	URL      string `json:"url"`
	AdminURL string `json:"admin_url"`
	PID      int    `json:"pid"`
}

// StoreInfo is one store, with the URL its clients connect to.
type StoreInfo struct {
	URL    string `json:"url"`
	PID    int    `json:"pid"`              // of its first server; of Postgres, of the primary
	Others []int  `json:"others,omitempty"` // the pids of a cluster's other servers
}

// PIDs are those of all servers of the store.
func (s StoreInfo) PIDs() []int { return append([]int{s.PID}, s.Others...) }

// ReadInfo reads the announcement at path.
func ReadInfo(path string) (Info, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Info{}, fmt.Errorf("cannot read the running stack: %w", err)
	}
	var info Info
	if err := json.Unmarshal(content, &info); err != nil {
		return Info{}, fmt.Errorf("cannot read the running stack from %s: %w", path, err)
	}
	if lacks := info.lacks(); lacks != nil {
		return Info{}, fmt.Errorf("stack file %s lacks %s", path, strings.Join(lacks, ", "))
	}
	return info, nil
}

// lacks are the stores that are missing. A client without a URL would look for one in the
// environment, and find another stack's.
func (i Info) lacks() (fields []string) {
	for _, store := range []struct{ field, url string }{{"redis.url", i.Redis.URL}, {"nats.url", i.NATS.URL}, {"postgres.url", i.Postgres.URL}} {
		if store.url == "" {
			fields = append(fields, store.field)
		}
	}
	return fields
}

// ReadTarget is ReadInfo for whoever sends attempts: there are gateways, and the secrets
// that buyers' tokens are signed with.
func ReadTarget(path string) (Info, error) {
	info, err := ReadInfo(path)
	if err != nil {
		return info, err
	}
	var lacks []string
	if len(info.Gateways) == 0 {
		lacks = append(lacks, "gateways")
	}
	for n, g := range info.Gateways {
		if g.URL == "" || g.OpsURL == "" {
			lacks = append(lacks, fmt.Sprintf("gateways[%d].url or ops_url", n))
		}
	}
	if s := info.Secrets; s.JWTHS256 == "" || s.JWTIssuer == "" || s.JWTAudience == "" {
		lacks = append(lacks, "secrets.jwt_hs256, jwt_issuer or jwt_audience, without which every attempt would be refused as invalid_token")
	}
	if lacks != nil {
		return info, fmt.Errorf("stack file %s lacks %s", path, strings.Join(lacks, ", "))
	}
	return info, nil
}

// EnvFile is the name of the shell's view of the announcement: the first gateway's
// and worker's URLs, those of their health and metrics, that of the admin API, the worker's pid, and what the programs need to join the stack.
const EnvFile = "env"

// write replaces the announcement in dir at once: a reader sees the old one or the
// new one. It holds secrets, so it is for this user only.
func (i Info) write(dir, ticketKey, natsMonitors string) error {
	content, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot announce the stack: %w", err)
	}
	if err := replace(filepath.Join(dir, EnvFile), i.shellEnv(ticketKey, natsMonitors)); err != nil {
		return err
	}
	return replace(filepath.Join(dir, InfoFile), append(content, '\n'))
}

func (i Info) shellEnv(ticketKey, natsMonitors string) []byte {
	var text []byte
	for _, variable := range append(i.warmupEnv(), "SLUICE_TICKET_KEY="+ticketKey, "SLUICE_ADMIN_TOKEN="+i.Secrets.AdminToken,
		"SLUICE_WEBHOOK_KEY="+i.Secrets.Webhook, "MERCHANT_KEY="+i.Secrets.MerchantKey,
		"SLUICE_NATS_MONITOR="+natsMonitors, "GATEWAY_OPS="+i.Gateways[0].OpsURL, "WORKER_OPS="+i.Workers[0].AdminURL,
		"GATEWAY="+i.Gateways[0].URL, "WORKER="+i.Workers[0].URL, "ADMIN="+i.Workers[0].AdminURL+"/admin/v1", "WORKER_PID="+strconv.Itoa(i.Workers[0].PID)) {
		name, value, _ := strings.Cut(variable, "=")
		text = fmt.Appendf(text, "export %s='%s'\n", name, value)
	}
	return text
}

func replace(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("cannot announce the stack: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("cannot announce the stack: %w", err)
	}
	return nil
}
