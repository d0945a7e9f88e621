package alerts

import (
	"errors"
	"net/url"
	"time"

	"sluice/shared/sale"
)

// Config of Alerts.
type Config struct {
	Webhook       string        // URL of the receiver; "" for none
	Runbook       string        // URL that an alert's name is put behind, as an anchor
	Promise       time.Duration // within which a reservation is to be settled
	BacklogFor    time.Duration // for which the promise must be broken before somebody is told
	DependencyFor time.Duration // for which a store must not answer
	NotLiveFor    time.Duration // for which a sale that should sell must not have been live
	Kinds         Kinds
}

// Check refuses what makes no sense; the errors name the worker's flags.
func (c Config) Check() error {
	if c.BacklogFor < 0 || c.DependencyFor < 0 || c.NotLiveFor < 0 {
		return errors.New("-alert-backlog-for (SLUICE_ALERT_BACKLOG_FOR), -alert-dependency-for (SLUICE_ALERT_DEPENDENCY_FOR) and -alert-not-live-for (SLUICE_ALERT_NOT_LIVE_FOR) must not be negative")
	}
	if c.Webhook == "" {
		return nil
	}
	// The URL may hold a secret: it is not repeated.
	if u, err := url.Parse(c.Webhook); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("-alert-webhook (SLUICE_ALERT_WEBHOOK) must be an http or https URL")
	}
	return nil
}

// RunbookOf is where the runbook speaks of an alert.
func (c Config) RunbookOf(name sale.AlertName) string { return c.Runbook + "#" + anchor(name) }
