package stack

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// Secrets of one run, used as their UTF-8 bytes. The key that tickets are signed
// with is not among them: nobody outside the gateways has a use for it.
type Secrets struct {
	JWTHS256    string `json:"jwt_hs256"`
	JWTIssuer   string `json:"jwt_issuer"`
	JWTAudience string `json:"jwt_audience"`
	Webhook     string `json:"webhook"`
	AdminToken  string `json:"admin_token"`
	MerchantKey string `json:"merchant_key"` // made by warmup once there is a schema
}

func newSecrets() Secrets {
	return Secrets{
		JWTHS256: newSecret(), JWTIssuer: "sluice-up", JWTAudience: "sluice",
		Webhook: newSecret(), AdminToken: newSecret(),
	}
}

// newSecret returns 256 random bits as 64 hex digits.
func newSecret() string {
	bits := make([]byte, 32)
	_, _ = rand.Read(bits) // never fails: the process ends if there is no randomness
	return hex.EncodeToString(bits)
}

// warmupEnv is what warmup needs to know of the stack.
func (i Info) warmupEnv() []string {
	return append(i.tokenEnv(),
		"SLUICE_REDIS_URL="+i.Redis.URL,
		"SLUICE_NATS_URL="+i.NATS.URL,
		"SLUICE_POSTGRES_URL="+i.Postgres.URL)
}

// gatewayEnv has no Postgres: the gateway never touches it.
func (i Info) gatewayEnv(ticketKey string, drain time.Duration) []string {
	return append(i.tokenEnv(),
		"SLUICE_REDIS_URL="+i.Redis.URL,
		"SLUICE_NATS_URL="+i.NATS.URL,
		"SLUICE_TICKET_KEY="+ticketKey,
		"SLUICE_ADMIN_TOKEN="+i.Secrets.AdminToken,
		"SLUICE_ADDRESS_RATE=0", // all traffic here has one address
		"SLUICE_USER_RATE=0",    // and buyers who click as often as a test wants
		"SLUICE_MAX_CONNECTIONS_PER_ADDRESS=0",
		"SLUICE_DRAIN="+drain.String())
}

func (i Info) workerEnv() []string {
	return append(i.warmupEnv(),
		"SLUICE_ADMIN_TOKEN="+i.Secrets.AdminToken,
		"SLUICE_WEBHOOK_KEY="+i.Secrets.Webhook,
		"SLUICE_DRAIN=200ms",
		"SLUICE_STOP_WITHIN=3s") // within workerGrace
}

func (i Info) tokenEnv() []string {
	return []string{
		"SLUICE_JWT_HS256=" + i.Secrets.JWTHS256,
		"SLUICE_JWT_ISSUER=" + i.Secrets.JWTIssuer,
		"SLUICE_JWT_AUDIENCE=" + i.Secrets.JWTAudience,
	}
}
